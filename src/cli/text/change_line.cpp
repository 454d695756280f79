#include "cli/text/change_line.h"

#include <nlohmann/json.hpp>

#include "io/result.h"

namespace rdcp::cli {

namespace {

std::string code_of(const tree::Change& change, bool sends) {
  std::string code = io::visible(change.code);
  if (sends && code.starts_with('>')) code[0] = '<';
  return code;
}

}  // namespace

std::string change_line(const tree::Change& change, bool sends) {
  std::string line = code_of(change, sends) + " " + io::printable(change.path);
  if (!change.target.empty()) {
    line += (change.code.starts_with('h') ? " => " : " -> ") + io::printable(change.target);
  }
  return line + "\n";
}

nlohmann::ordered_json change_json(const tree::Change& change, bool sends) {
  using nlohmann::ordered_json;
  ordered_json json = {{"change", code_of(change, sends)}, {"path", change.path}};
  if (!change.target.empty()) json["target"] = change.target;
  return json;
}

}  // namespace rdcp::cli
