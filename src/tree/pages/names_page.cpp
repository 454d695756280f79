#include "tree/pages/names_page.h"

#include <algorithm>

#include "io/bytes.h"
#include "net/stream/frame.h"
#include "tree/meta/entry.h"
#include "tree/pages/compare.h"

namespace rdcp::tree {

namespace {

constexpr std::uint8_t kSums = 0;
constexpr std::uint8_t kNames = 1;
constexpr std::size_t kSumsCountAt = 1;
constexpr std::size_t kNameMax = 255 * 4;  // no filesystem has longer names

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The functions below return what is wrong with a page, or null.
using Fault = const char*;
constexpr Fault kSenseless = "it makes no sense";

Fault take_directory(io::ByteReader& from, const AdmittedNames& admitted, EntryPath& path) {
  const auto length = from.number<std::uint32_t>();
  if (length > kQuestionPathMax) return kSenseless;
  const std::string_view bytes = from.text(length);
  return from.cut() ? kSenseless : admitted.admit(bytes, path);
}

Fault take_sums(io::ByteReader& from, const AdmittedNames& admitted, std::vector<SummedDirectory>& sums) {
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

Fault take_names(io::ByteReader& from, const AdmittedNames& admitted, ListedNames& names) {
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

void NamesWriter::begin_sums(std::span<std::byte> slot) {
  slot_ = slot;
  to_ = io::ByteWriter(slot);
  to_.number(kSums);
  to_.number(std::uint32_t{0});  // finish() puts the count here
  sums_ = 0;
  is_sums_ = true;
}

bool NamesWriter::add(const SummedDirectory& directory) {
  if (sums_ == net::Verdicts::kCount || directory.path.size() > kQuestionPathMax) return false;
  io::ByteWriter to = to_;
  to.number(static_cast<std::uint32_t>(directory.path.size()));
  to.text(directory.path);
  to.number(directory.count);
  to.digest(directory.digest);
  if (to.full()) return false;
  to_ = to;
  ++sums_;
  return true;
}

bool NamesWriter::begin_names(std::span<std::byte> slot, std::string_view path, std::uint32_t parts,
                              std::uint32_t part) {
  to_ = io::ByteWriter(slot);
  is_sums_ = false;
  to_.number(kNames);
  to_.number(static_cast<std::uint32_t>(path.size()));
  to_.text(path);
  to_.number(parts);
  to_.number(part);
  return path.size() <= kQuestionPathMax && !to_.full();
}

bool NamesWriter::add(std::string_view name) {
  io::ByteWriter to = to_;
  to.number(static_cast<std::uint16_t>(name.size()));
  to.text(name);
  if (to.full()) return false;
  to_ = to;
  return true;
}

std::size_t NamesWriter::finish() {
  if (is_sums_) io::store_le(slot_.data() + kSumsCountAt, sums_);
  return to_.used();
}

io::Result<NamesPage> read_names_page(std::span<const std::byte> page, const AdmittedNames& admitted) {
  NamesPage read;
  Fault fault = kSenseless;
  io::ByteReader from(page);
  const auto kind = from.number<std::uint8_t>();
  if (kind == kSums && !from.cut()) fault = take_sums(from, admitted, read.sums);
  if (kind == kNames) fault = take_names(from, admitted, read.names);
  if (fault == nullptr) return read;
  return io::plain_error(io::ErrorKind::protocol, "compare", "a page of names", fault);
}

}  // namespace rdcp::tree
