// Finds options and operands in argv. What they mean is decided elsewhere (options.cpp).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "io/result.h"

namespace rdcp::cli {

// CLI11 finds the options and their words. The words stay raw, because CLI11's conversions give "{}", "[a,b]"
// and an empty "--x=" meanings of their own, and its error messages name types instead of what is wanted.
class CommandLine {
 public:
  using Take = std::function<io::Result<void>(const std::string& word)>;

  CommandLine();

  // Adds an option without a value. names: "-r,--recursive", the long one last.
  void flag(const char* names, std::function<void()> set);
  // Adds an option with a value. If it is given more than once, the last value counts.
  void value(const char* names, Take take);
  // Adds an option whose value may be left out; the option alone then means `alone`. A value must be attached
  // by an equals sign ("--compress=3").
  void optional_value(const std::string& name, const std::string& alone, Take take);
  // Adds an option that may be repeated; every value counts. The values of several such options are taken in
  // their common order on the command line.
  void values(const char* names, Take take);

  // True if the option of this name ("-e", "--rsh") takes the next word as its value.
  bool takes_value(const std::string& name) const;

  // Sets the flags, then takes the values: first those of options that count once, in the order in which the
  // options were added, then the others, in the order of the command line. Errors (usage): a value that is
  // missing, empty or not expected, and what `take` returned.
  io::Result<void> parse(int argc, const char* const* argv);
  // Returns, after parse(), the words that are neither an option nor its value. Error (usage): an unknown
  // option.
  io::Result<std::vector<std::string>> operands() const;

 private:
  struct Value {
    CLI::Option* option;
    bool last_only;
    Take take;
    bool attached_only = false;  // optional_value()
    std::size_t taken = 0;
  };
  static io::Result<void> take_word(const Value& value, const std::string& word);
  io::Result<void> check_attached_values(int argc, const char* const* argv) const;

  CLI::App app_;
  std::vector<std::pair<CLI::Option*, std::function<void()>>> flags_;
  std::vector<Value> values_;
};

}  // namespace rdcp::cli
