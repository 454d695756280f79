#include "tree/pages/names_page.h"

#include <algorithm>
#include <cstring>

#include "net/crypto/little_endian.h"
#include "net/stream/frame.h"
#include "tree/meta/entry.h"
#include "tree/pages/compare.h"
#include "tree/pages/page_reader.h"

namespace rdcp::tree {

using net::load_le;
using net::store_le;

namespace {

constexpr std::byte kSums{0};
constexpr std::byte kNames{1};
constexpr std::size_t kSumsHeaderBytes = 5;
constexpr std::size_t kNameMax = 255 * 4;  // no filesystem has longer names

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The functions below return what is wrong with a page, or null.
using Fault = const char*;
constexpr Fault kSenseless = "it makes no sense";

Fault take_directory(PageReader& from, const AdmittedNames& admitted, std::string& path) {
  const auto length = from.number<std::uint32_t>();
  if (length > kQuestionPathMax) return kSenseless;
  path = from.text(length);
  return from.cut() ? kSenseless : admitted.fault_of(path);
}

Fault take_sums(PageReader& from, const AdmittedNames& admitted, std::vector<SummedDirectory>& sums) {
  const auto count = from.number<std::uint32_t>();
  if (count == 0 || count > net::Verdicts::kCount) return kSenseless;
  for (std::uint32_t i = 0; i < count; ++i) {
    SummedDirectory& sum = sums.emplace_back();
    if (Fault fault = take_directory(from, admitted, sum.path)) return fault;
    sum.count = from.number<std::uint64_t>();
    sum.digest = from.digest();
  }
  return !from.cut() && from.at_end() ? nullptr : kSenseless;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameMax && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

Fault take_names(PageReader& from, const AdmittedNames& admitted, ListedNames& names) {
  if (Fault fault = take_directory(from, admitted, names.path)) return fault;
  names.parts = from.number<std::uint32_t>();
  names.part = from.number<std::uint32_t>();
  if (names.parts == 0 || names.parts > kPartsMax || names.part >= names.parts) return kSenseless;
  while (!from.at_end() && !from.cut()) {
    const std::string_view name = from.text(from.number<std::uint16_t>());
    if (!is_name(name) || part_of(name, names.parts) != names.part) return kSenseless;
    names.names.push_back(name);
  }
  return from.cut() ? kSenseless : nullptr;
}

}  // namespace

void NameSum::add(std::string_view name) {
  ++count;
  digest.add(0, name.size(), io::digest_of(bytes_of(name)));
}

std::uint32_t part_of(std::string_view name, std::uint32_t parts) {
  return static_cast<std::uint32_t>(io::check_of(bytes_of(name)) % parts);
}

void NamesWriter::put(std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(slot_.data() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
}

template <class T>
void NamesWriter::number(T value) {
  store_le(slot_.data() + used_, value);
  used_ += sizeof value;
}

void NamesWriter::begin_sums(std::span<std::byte> slot) {
  slot_ = slot;
  slot_[0] = kSums;
  used_ = kSumsHeaderBytes;
  sums_ = 0;
  is_sums_ = true;
}

bool NamesWriter::add(const SummedDirectory& directory) {
  if (sums_ == net::Verdicts::kCount || directory.path.size() > kQuestionPathMax ||
      !has_room(4 + directory.path.size() + 8 + 16)) {
    return false;
  }
  number(static_cast<std::uint32_t>(directory.path.size()));
  put(directory.path);
  number(directory.count);
  std::memcpy(slot_.data() + used_, directory.digest.bytes.data(), 16);
  used_ += 16;
  ++sums_;
  return true;
}

bool NamesWriter::begin_names(std::span<std::byte> slot, std::string_view path, std::uint32_t parts,
                              std::uint32_t part) {
  slot_ = slot;
  used_ = 0;
  is_sums_ = false;
  if (path.size() > kQuestionPathMax || !has_room(1 + 4 + path.size() + 8)) return false;
  slot_[used_++] = kNames;
  number(static_cast<std::uint32_t>(path.size()));
  put(path);
  number(parts);
  number(part);
  return true;
}

bool NamesWriter::add(std::string_view name) {
  if (!has_room(2 + name.size())) return false;
  number(static_cast<std::uint16_t>(name.size()));
  put(name);
  return true;
}

std::size_t NamesWriter::finish() {
  if (is_sums_) store_le(slot_.data() + 1, sums_);
  return used_;
}

io::Result<NamesPage> read_names_page(std::span<const std::byte> page, const AdmittedNames& admitted) {
  NamesPage read;
  Fault fault = kSenseless;
  if (!page.empty()) {
    PageReader from(page.subspan(1));
    if (page[0] == kSums) fault = take_sums(from, admitted, read.sums);
    if (page[0] == kNames) fault = take_names(from, admitted, read.names);
  }
  if (fault == nullptr) return read;
  return io::plain_error(io::ErrorKind::protocol, "compare", "a page of names", fault);
}

}  // namespace rdcp::tree
