// Whatever pages a peer sends: questions and names that are read are safe paths and single names, and what
// was read can be written and read again.
#include <array>
#include <cstdlib>
#include <span>

#include "tree/pages/compare.h"
#include "tree/pages/names_page.h"

namespace rdcp::tree {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void read_questions(std::span<const std::byte> page) {
  static std::array<std::byte, 1 << 20> slot;
  const AdmittedNames admitted = AdmittedNames::all();
  QuestionReader reader(admitted);
  if (!reader.open(page)) return;
  Question question;
  for (auto more = reader.next(question); more && *more; more = reader.next(question)) {
    require(is_safe_path(question.entry.path) && question.entry.path.size() <= kQuestionPathMax);
    QuestionWriter writer;
    writer.begin(slot);
    require(writer.add(question));
    QuestionReader again(admitted);
    Question same;
    require(again.open(std::span(slot).first(writer.finish())).ok());
    const auto read = again.next(same);
    require(read.ok() && *read && same.entry == question.entry);
  }
}

void read_names(std::span<const std::byte> bytes) {
  const auto page = read_names_page(bytes, AdmittedNames::all());
  if (!page) return;
  for (const SummedDirectory& sum : page->sums) require(is_safe_path(sum.path));
  require(is_safe_path(page->names.path));
  for (const std::string_view name : page->names.names) {
    require(is_safe_path(name) && name.find('/') == std::string_view::npos);
  }
}

}  // namespace
}  // namespace rdcp::tree

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] % 2 == 0) {
    rdcp::tree::read_questions(bytes);
  } else {
    rdcp::tree::read_names(bytes);
  }
  return 0;
}
