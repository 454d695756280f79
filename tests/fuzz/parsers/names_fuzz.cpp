// Whatever page of names a source sends: its directories lie at or beneath the landing, its names are single
// ones of the part that the page says it is, and what was read can be written again as it was. The first byte
// chooses the landing, the rest is the page.
#include <algorithm>

#include "net/stream/frame.h"
#include "tests/fuzz/admitted.h"
#include "tests/fuzz/targets.h"
#include "tree/pages/compare.h"
#include "tree/pages/names_page.h"

namespace rdcp::fuzz {
namespace {

using tree::ListedNames;
using tree::NamesWriter;
using tree::SummedDirectory;

std::size_t write_sums(const std::vector<SummedDirectory>& sums, std::span<std::byte> slot) {
  NamesWriter writer;
  writer.begin_sums(slot);
  for (const SummedDirectory& sum : sums) require(writer.add(sum));
  return writer.finish();
}

std::size_t write_names(const ListedNames& names, std::span<std::byte> slot) {
  NamesWriter writer;
  require(writer.begin_names(slot, names.path, names.parts, names.part));
  for (const std::string_view name : names.names) require(writer.add(name));
  return writer.finish();
}

void check_names(const ListedNames& names, bool all_names) {
  require(lies_where_it_may(names.path, all_names) && names.path.size() <= tree::kQuestionPathMax);
  require(names.parts > 0 && names.parts <= tree::kPartsMax && names.part < names.parts);
  for (const std::string_view name : names.names) {
    require(!name.empty() && tree::is_safe_path(name) && name.find('/') == std::string_view::npos);
    require(tree::part_of(name, names.parts) == names.part);
  }
}

}  // namespace

void fuzz_names(Bytes input) {
  if (input.empty()) return;
  const bool all_names = (input[0] & std::byte{1}) == std::byte{0};
  const Bytes page = input.subspan(1);
  const auto read = tree::read_names_page(page, admitted_names(all_names));
  if (!read) return;
  require(read->sums.size() <= net::Verdicts::kCount);
  for (const SummedDirectory& sum : read->sums) require(lies_where_it_may(sum.path, all_names));
  const bool is_sums = !read->sums.empty();
  if (!is_sums) check_names(read->names, all_names);
  std::vector<std::byte> again(page.size());
  const std::size_t bytes = is_sums ? write_sums(read->sums, again) : write_names(read->names, again);
  require(std::ranges::equal(std::span(again).first(bytes), page));
}

}  // namespace rdcp::fuzz
