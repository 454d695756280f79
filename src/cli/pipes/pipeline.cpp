#include "cli/pipes/pipeline.h"

#include <algorithm>

namespace rdcp::cli {

using tree::SegmentKind;

namespace {

constexpr std::string_view kBlanks = " \t\n";

io::Error refuse_segment(std::string_view word, std::string_view why) {
  return io::plain_error(io::ErrorKind::usage, "segment", word, why);
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Returns the position of the colon that ends the host, or nothing if what stands before the first colon
// cannot be a host. All of the word is a command then: 'tar c /a:b', './a:b'.
std::optional<std::size_t> host_end(std::string_view word) {
  const bool bracketed = word.starts_with('[') || word.substr(0, word.find(':')).find("@[") != word.npos;
  const std::size_t close = bracketed ? word.find("]:") : word.npos;
  const std::size_t colon = bracketed ? (close == word.npos ? close : close + 1) : word.find(':');
  if (colon == word.npos) return std::nullopt;
  const std::string_view host = word.substr(0, colon);
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-@%:[]").find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  return std::ranges::all_of(host, plain) ? std::optional(colon) : std::nullopt;
}

// Removes the operator that the text begins with, and returns the kind of segment that it makes. Other
// operators of shells (">&2", "<(", "<<", "<>", ">|") are left to the shell.
SegmentKind take_operator(std::string_view& text) {
  const auto taken = [&](std::string_view sign) {
    if (!text.starts_with(sign) || text.substr(sign.size()).find_first_of("<>&(|") == 0) return false;
    text.remove_prefix(sign.size());
    return true;
  };
  if (taken(">>")) return SegmentKind::append_file;
  if (taken(">")) return SegmentKind::write_file;
  if (taken("<")) return SegmentKind::read_file;
  return SegmentKind::command;
}

bool writes_file(const PipeSegment& segment) {
  return segment.kind == SegmentKind::write_file || segment.kind == SegmentKind::append_file;
}

}  // namespace

std::string PipeSegment::host_name() const {
  return host ? host->host : "this host";
}

std::string PipeSegment::what() const {
  switch (kind) {
    case SegmentKind::command:
      break;
    case SegmentKind::read_file:
      return "< " + text;
    case SegmentKind::write_file:
      return "> " + text;
    case SegmentKind::append_file:
      return ">> " + text;
  }
  return text;
}

io::Result<PipeSegment> parse_segment(std::string_view word) {
  PipeSegment segment;
  std::string_view text = word;
  if (const auto end = host_end(word)) {
    if (*end > 0) {
      auto host = parse_location(std::string(word.substr(0, *end)) + ":");
      if (!host) return host.error();
      segment.host = std::move(*host);
    }
    text.remove_prefix(*end + 1);
  }
  text = trim(text);
  if (text.empty()) return refuse_segment(word, "has no command");
  segment.kind = take_operator(text);
  segment.text = trim(text);
  if (segment.text.empty()) return refuse_segment(word, "has no file after its operator");
  return segment;
}

std::vector<PipeStage> stages_of(const std::vector<PipeSegment>& segments, bool have_input) {
  std::vector<PipeStage> stages;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool begins = i == 0 || writes_file(segments[i - 1]) || segments[i].kind == SegmentKind::read_file;
    if (begins) stages.push_back({.first = i, .last = i});
    stages.back().last = i;
  }
  if (stages.empty()) return stages;
  stages.front().takes_input = have_input && segments.front().kind != SegmentKind::read_file;
  stages.back().gives_output = !writes_file(segments.back());
  return stages;
}

}  // namespace rdcp::cli
