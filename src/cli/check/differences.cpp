#include "cli/check/differences.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/text/json_text.h"

namespace rdcp::cli {

using tree::EntryType;

std::string_view name_of(EntryType type) {
  switch (type) {
    case EntryType::file:
    case EntryType::hard_link:
      return "file";
    case EntryType::directory:
      return "directory";
    case EntryType::symlink:
      return "symlink";
    case EntryType::fifo:
      return "fifo";
    case EntryType::socket:
      return "socket";
    case EntryType::char_device:
    case EntryType::block_device:
      return "device";
  }
  return "entry of an unknown type";
}

void Differences::missing(const std::string& path, EntryType type) {
  add("missing", type == EntryType::directory && !path.empty() ? path + "/" : path, {});
}

void Differences::extra(const std::string& path, EntryType type) {
  add("extra", type == EntryType::directory && !path.empty() ? path + "/" : path, {});
}

void Differences::type(const std::string& path, EntryType wanted, EntryType found) {
  add("type", path, {.wanted = std::string(name_of(wanted)), .found = std::string(name_of(found))});
}

void Differences::size(const std::string& path, std::uint64_t wanted, std::uint64_t found) {
  add("size", path, {.wanted = std::to_string(wanted), .found = std::to_string(found)});
}

void Differences::content(const std::string& path, std::optional<std::uint64_t> offset) {
  add("content", path, {.what = offset ? fmt::format("first at offset {}", *offset) : "", .offset = offset});
}

void Differences::metadata(const std::string& path, std::string_view what, const std::string& wanted,
                           const std::string& found) {
  add("metadata", path, {.what = std::string(what), .wanted = wanted, .found = found});
}

void Differences::add(std::string_view kind, const std::string& path, const Detail& detail) {
  const auto& [what, wanted, found, offset] = detail;
  ++count_;
  const std::string name = path.empty() ? "." : io::printable(path);
  std::string line;
  if (json_) {
    nlohmann::ordered_json object;
    object["difference"] = kind;
    if (!host_.empty()) object["host"] = host_;
    object["path"] = name;
    if (!what.empty() && !offset) object["what"] = what;
    if (offset) object["offset"] = *offset;
    if (!wanted.empty() || !found.empty()) {
      object["source"] = io::printable(wanted);
      object["target"] = io::printable(found);
    }
    line = json_text(object);
  } else {
    line = host_.empty() ? std::string() : host_ + ": ";
    line += fmt::format("{:<8}  {}", kind, name);
    if (!what.empty()) line += ": " + what;
    if (!wanted.empty() || !found.empty()) {
      line += (what.empty() ? ": " : " ") + io::printable(wanted) + ", " + io::printable(found);
    }
    line += '\n';
  }
  if (printed_) printed_ = print_(line);
}

io::Result<void> Differences::finish() {
  return printed_;
}

}  // namespace rdcp::cli
