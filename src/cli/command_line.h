// Options and operands found in argv; what they mean is said elsewhere (options.cpp).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "io/result.h"

namespace rdcp::cli {

// CLI11 finds the options and their words. The words stay raw: its conversions give "{}", "[a,b]" and an
// empty "--x=" meanings of their own, and its error messages name types instead of what is wanted.
class CommandLine {
 public:
  using Take = std::function<io::Result<void>(const std::string& word)>;

  CommandLine();

  // names: "-r,--recursive", the long one last.
  void flag(const char* names, std::function<void()> set);
  // An option with a value; when it is given more than once, the last one counts.
  void value(const char* names, Take take);
  // The same, but the value may be left out, and stands behind a sign only ("--compress=3"); by itself it is
  // `alone`.
  void optional_value(const std::string& name, const std::string& alone, Take take);
  // One that may be repeated; every value counts. Those of several such options come in their common order.
  void values(const char* names, Take take);

  // Sets the flags, then takes the values: those of which the last counts in the order in which the options
  // were added, then the others in that of the command line. Errors (usage): a
  // value that is missing, empty or not expected, and what `take` returned.
  io::Result<void> parse(int argc, const char* const* argv);
  // What is neither an option nor its value, after parse(). Error (usage): an unknown option.
  io::Result<std::vector<std::string>> operands() const;

 private:
  struct Value {
    CLI::Option* option;
    bool last_only;
    Take take;
    std::size_t taken = 0;
  };
  static io::Result<void> take_word(const Value& value, const std::string& word);
  io::Result<void> check_attached_values(int argc, const char* const* argv) const;

  CLI::App app_;
  std::vector<std::pair<CLI::Option*, std::function<void()>>> flags_;
  std::vector<Value> values_;
};

}  // namespace rdcp::cli
