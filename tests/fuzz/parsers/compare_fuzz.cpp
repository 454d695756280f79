// Whatever page of questions a source sends: what is read has safe names at or beneath the landing and values
// that the page's format allows, and all of it can be written and read again. The first byte chooses the
// landing, the rest is the page.
#include "net/stream/frame.h"
#include "tests/fuzz/admitted.h"
#include "tests/fuzz/targets.h"
#include "tree/pages/compare.h"

namespace rdcp::fuzz {
namespace {

using tree::EntryType;
using tree::Question;
using tree::QuestionReader;
using tree::QuestionWriter;

void check_question(const Question& question, bool all_names) {
  const tree::Entry& entry = question.entry;
  require(lies_where_it_may(entry.path, all_names) && entry.path.size() <= tree::kQuestionPathMax);
  require(!entry.path.empty() || entry.type == EntryType::directory);
  require(entry.mode <= 07777 && entry.mtime.nanoseconds < 1'000'000'000);
  require(entry.type == EntryType::file || (entry.size == 0 && !question.content));
  require((entry.type == EntryType::symlink) == !entry.link_target.empty());
  require(entry.link_target.find('\0') == std::string::npos);
  require(entry.type == EntryType::hard_link ? lies_where_it_may(entry.first_name, all_names)
                                             : entry.first_name.empty() && !question.first_changes);
  require(entry.xattrs.empty() && entry.data.empty() && !entry.attributes_only);
}

// Compares the questions of a page with those that were read before.
void read_again(Bytes page, const std::vector<Question>& expected) {
  QuestionReader reader(admitted_names(true));
  require(reader.open(page).ok());
  Question question;
  for (const Question& other : expected) {
    const auto more = reader.next(question);
    require(more.ok() && *more && question.entry == other.entry && question.content == other.content);
    require(question.xattrs == other.xattrs && question.first_changes == other.first_changes);
    require(question.entry.type != EntryType::hard_link || question.linked == other.linked);
  }
  const auto end = reader.next(question);
  require(end.ok() && !*end);
}

}  // namespace

void fuzz_compare(Bytes input) {
  if (input.empty()) return;
  const bool all_names = (input[0] & std::byte{1}) == std::byte{0};
  QuestionReader reader(admitted_names(all_names));
  if (!reader.open(input.subspan(1))) return;
  std::vector<Question> read;
  Question question;
  for (auto more = reader.next(question); more && *more; more = reader.next(question)) {
    check_question(question, all_names);
    read.push_back(question);
  }
  require(read.size() <= net::Verdicts::kCount);
  if (read.empty()) return;
  // The writer never needs more than was read, but for owners that were not repeated.
  std::vector<std::byte> slot(input.size() + read.size() * 1024);
  QuestionWriter writer;
  writer.begin(slot);
  for (const Question& one : read) require(writer.add(one));
  read_again(std::span(slot).first(writer.finish()), read);
}

}  // namespace rdcp::fuzz
