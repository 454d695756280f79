// Whatever a file with digests contains (--manifest, --sums): each line that is taken names a safe path, and
// is read as the same one where it is written out; an error names the line and quotes nothing of it. The
// first byte chooses the form of the file.
#include <algorithm>

#include "tests/fuzz/scratch.h"
#include "tests/fuzz/targets.h"
#include "tree/check/sum_file.h"

namespace rdcp::fuzz {
namespace {

using tree::EntryType;
using tree::SumForm;
using tree::SumLine;

bool is_same(const SumLine& a, const SumLine& b) {
  return a.type == b.type && a.path == b.path && a.size == b.size && a.mtime == b.mtime &&
         std::uint32_t{a.mtime_ns} == b.mtime_ns && a.digest == b.digest && a.has_facts == b.has_facts;
}

void check_line(const SumLine& line, SumForm form) {
  require(tree::is_safe_path(line.path) && line.mtime_ns < 1'000'000'000u);
  require(line.type != EntryType::hard_link && line.first_name.empty() && !line.linked);
  require(line.type == EntryType::file || line.size == 0);
  const std::string text = tree::text_of(line, form);
  require(!text.empty() && text.back() == '\n' && std::ranges::count(text, '\n') == 1);
  const auto again = tree::parse_sum_line(std::string_view(text).substr(0, text.size() - 1), form);
  require(again.ok() && is_same(*again, line));
}

// Returns how many lines the text has before the first one that is refused.
std::size_t read_lines(std::string_view text, SumForm form) {
  std::size_t taken = 0;
  bool head = form == SumForm::manifest;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (head && line != tree::kManifestHead) return taken;
    if (!head && !line.empty()) {
      const auto parsed = tree::parse_sum_line(line, form);
      if (!parsed) return taken;
      check_line(*parsed, form);
      ++taken;
    }
    head = false;
  }
  return taken;
}

// The file, read as rdcp reads it, has the same lines.
void read_file(std::string_view text, SumForm form, std::size_t expected) {
  static const Scratch scratch;
  scratch.write("sums", text);
  auto reader = tree::SumReader::open(scratch / "sums", form);
  std::size_t taken = 0;
  SumLine line;
  if (reader) {
    auto more = reader->next(line);
    for (; more && *more; more = reader->next(line)) ++taken;
    const std::string said = more ? "" : more.error().message();
    require(more.ok() || said.find("line ") != std::string::npos);
  }
  require(taken == expected);
}

}  // namespace

void fuzz_sums(Bytes input) {
  if (input.empty()) return;
  const SumForm form = (input[0] & std::byte{1}) == std::byte{0} ? SumForm::manifest : SumForm::xxhsum;
  const std::string_view text = text_of(input.subspan(1));
  const std::size_t taken = read_lines(text, form);
  read_file(text, form, taken);
}

}  // namespace rdcp::fuzz
