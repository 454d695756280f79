// What a peer's names, words and numbers become before a user, a shell or a program reads them: nothing
// drives a terminal, nothing is more than one line or one word, and names can be recovered.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/inspect/doctor_report.h"
#include "cli/launch/shell_quote.h"
#include "cli/text/change_line.h"
#include "cli/text/json_report.h"
#include "cli/text/json_text.h"
#include "cli/text/progress.h"
#include "cli/text/report.h"
#include "cli/text/split_words.h"
#include "tests/fuzz/targets.h"

namespace rdcp::fuzz {
namespace {

bool is_safe_text(std::string_view text, std::string_view also = "") {
  while (!text.empty()) {
    const std::size_t length = io::utf8_length(text);
    if (length == 0) return false;
    const std::string_view character = text.substr(0, length);
    if (io::is_unsafe(character) && also.find(character) == also.npos) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Undoes printable().
std::string recovered(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const bool escape = text.front() == '\\';
    const char kind = escape ? text.at(1) : '\0';
    if (!escape) bytes += text.front();
    if (kind == '\\') bytes += '\\';
    if (kind == 'n') bytes += '\n';
    if (kind == 't') bytes += '\t';
    if (kind == 'x') bytes += static_cast<char>(std::stoi(std::string(text.substr(2, 2)), nullptr, 16));
    text.remove_prefix(!escape ? 1 : kind == 'x' ? 4 : 2);
  }
  return bytes;
}

void check_escapes(std::string_view bytes) {
  const std::string printable = io::printable(bytes), visible = io::visible(bytes);
  require(is_safe_text(printable) && recovered(printable) == bytes);
  require(is_safe_text(visible) && io::visible(visible) == visible);
  const std::string lines = io::visible_lines(bytes);
  require(is_safe_text(lines, "\n\t") && std::ranges::count(lines, '\n') == std::ranges::count(bytes, '\n'));
}

// As a POSIX shell splits it.
std::string unquoted(std::string_view text) {
  std::string word;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') {
      quoted = !quoted;
    } else if (!quoted && text[i] == '\\') {
      word += text.at(++i);
    } else {
      require(quoted ||
              std::string_view(" \t\n|&;<>()$`\"*?[#~=%!{}").find(text[i]) == std::string_view::npos);
      word += text[i];
    }
  }
  require(!quoted);
  return word;
}

void check_quotes(std::string_view bytes) {
  const std::string word(bytes.substr(0, bytes.find('\0')));
  const std::string quoted = cli::shell_quote(word);
  require(!quoted.empty() && unquoted(quoted) == word);
  const auto words = cli::split_words("--rsh", word);
  require(!words.ok() || (!words->empty() && !words->front().empty()));
}

// One line of JSON, unless it may have more.
nlohmann::json check_json(const std::string& text, std::string_view also = "") {
  require(!text.empty() && text.back() == '\n' && is_safe_text(text.substr(0, text.size() - 1), also));
  const auto read = nlohmann::json::parse(text, nullptr, false);
  require(!read.is_discarded());
  return read;
}

void check_change(const tree::Change& change, bool sends) {
  const std::string line = cli::change_line(change, sends);
  require(line.back() == '\n' && is_safe_text(std::string_view(line).substr(0, line.size() - 1)));
  check_json(cli::json_text(cli::change_json(change, sends)));
}

void check_progress(Choices& choices, std::string_view path) {
  const cli::ProgressState state{.bytes_done = choices.number<std::uint64_t>(),
                                 .bytes_total = choices.number<std::uint64_t>(),
                                 .files_done = choices.number<std::uint64_t>(),
                                 .files_total = choices.number<std::uint64_t>(),
                                 .walk_finished = choices.flag(),
                                 .path = std::string(path)};
  const double speed = static_cast<double>(choices.number<std::uint64_t>()) / (1 << choices.below(16));
  const std::size_t columns = choices.number<std::uint8_t>();
  const std::string line = cli::progress_line(state, speed, columns);
  require(is_safe_text(line));
  require(cli::cells_of(line) <= columns);
  check_json(cli::JsonReport(cli::JsonForm::events).progress(state));
}

void check_summary(Choices& choices, std::string_view path, const io::Words& words) {
  cli::Summary summary;
  summary.files = choices.number<std::uint64_t>();
  summary.directories = choices.number<std::uint64_t>();
  summary.others = choices.number<std::uint64_t>();
  summary.bytes = choices.number<std::uint64_t>();
  summary.seconds = choices.number<std::uint32_t>() / 1000.0;
  summary.streams = choices.number<std::uint8_t>();
  summary.ways = {words, words};
  summary.compress = choices.flag();
  summary.payload_bytes = choices.number<std::uint64_t>();
  summary.packed_bytes = choices.number<std::uint64_t>();
  summary.kept_bytes = choices.number<std::uint64_t>();
  summary.losses.push_back({"owner or group", choices.number<std::uint64_t>(), std::string(path), words});
  summary.warnings = summary.notes = {words};
  require(is_safe_text(cli::summary_lines(summary), "\n") && is_safe_text(cli::warning_lines(summary), "\n"));
  check_json(cli::json_text(cli::summary_json(summary)));
  require(is_safe_text(cli::summary_line(summary), "\n"));
  cli::JsonReport events(cli::JsonForm::events);
  check_json(events.start({std::string(path)}, {std::string(path), std::string(path)}));
  check_json(events.problem({.host = std::string(words), .path = std::string(path), .text = words}));
  check_json(events.finished(summary));
  check_json(events.end(choices.number<std::uint8_t>()));
}

void check_report(std::string_view host, const io::Words& words) {
  const std::vector<cli::HostReport> reports{
      {std::string(host), {{tree::Level::problem, words, words, words}}}};
  require(is_safe_text(cli::report_text(reports), "\n"));
  const auto json = check_json(cli::report_json(reports, {}), "\n");
  require(json["hosts"].size() == 1 && json["problems"] == 1);
}

}  // namespace

void fuzz_text(Bytes input) {
  Choices choices(input);
  const std::string_view path = choices.piece();
  const io::Words words(io::visible(choices.piece()));
  check_escapes(text_of(input));
  check_quotes(text_of(input));
  check_change({.code = words, .path = std::string(path), .target = std::string(choices.piece())},
               choices.flag());
  require(check_json(cli::json_text(nlohmann::ordered_json{{"path", std::string(path)}})).contains("path"));
  check_progress(choices, path);
  check_summary(choices, path, words);
  check_report(path, words);
}

}  // namespace rdcp::fuzz
