#include "cli/options/command_line.h"

#include <algorithm>
#include <string_view>

namespace rdcp::cli {
namespace {

io::Error refuse_word(std::string_view option, std::string_view why) {
  return io::plain_error(io::ErrorKind::usage, option, "", why);
}

}  // namespace

CommandLine::CommandLine() {
  app_.set_help_flag();  // none of CLI11's own: --help is a flag like others
  app_.allow_extras();   // operands and unknown options; operands() tells them apart
}

void CommandLine::flag(const char* names, std::function<void()> set) {
  flags_.emplace_back(app_.add_flag(names), std::move(set));
}

void CommandLine::value(const char* names, Take take) {
  CLI::Option* option = app_.add_option(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  values_.push_back({option, true, std::move(take)});
}

void CommandLine::optional_value(const std::string& name, const std::string& alone, Take take) {
  CLI::Option* option =
      app_.add_flag(name + "{" + alone + "}")->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  values_.push_back({option, true, std::move(take), true});
}

void CommandLine::values(const char* names, Take take) {
  CLI::Option* option = app_.add_option(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  values_.push_back({option, false, std::move(take)});
}

bool CommandLine::takes_value(const std::string& name) const {
  return std::ranges::any_of(
      values_, [&](const Value& value) { return !value.attached_only && value.option->check_name(name); });
}

// Refuses a flag with a value, and an empty value. CLI11 would take "--via= SRC" as "--via SRC", and
// understands words such as "--recursive=no".
io::Result<void> CommandLine::check_attached_values(int argc, const char* const* argv) const {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    const std::size_t sign = word.find('=');
    if (!word.starts_with("--") || sign == word.npos) continue;
    const std::string name(word.substr(0, sign));
    const auto is_named = [&](const auto& flag) { return flag.first->check_name(name); };
    if (std::any_of(flags_.begin(), flags_.end(), is_named)) return refuse_word(name, "takes no value");
    if (sign + 1 == word.size()) return refuse_word(name, "needs a value");
  }
  return {};
}

io::Result<void> CommandLine::parse(int argc, const char* const* argv) {
  if (auto checked = check_attached_values(argc, argv); !checked) return checked;
  try {
    if (argc > 0) app_.parse(argc, argv);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view text = error.what();  // "--port: 1 required ... missing"
    return refuse_word(text.substr(0, text.find(':')), "needs a value");
  } catch (const CLI::Error& error) {
    return refuse_word("options", error.what());
  }
  for (const auto& [option, set] : flags_) {
    if (option->count() > 0) set();
  }
  for (const Value& value : values_) {
    if (!value.last_only || value.option->count() == 0) continue;
    if (auto taken = take_word(value, value.option->results().back()); !taken) return taken;
  }
  for (const CLI::Option* given : app_.parse_order()) {  // an option is here once for each of its words
    const auto value = std::ranges::find(values_, given, &Value::option);
    if (value == values_.end() || value->last_only) continue;
    if (auto taken = take_word(*value, given->results().at(value->taken++)); !taken) return taken;
  }
  return {};
}

io::Result<void> CommandLine::take_word(const Value& value, const std::string& word) {
  return word.empty() ? refuse_word(value.option->get_name(), "needs a value") : value.take(word);
}

io::Result<std::vector<std::string>> CommandLine::operands() const {
  std::vector<std::string> operands;
  bool options_ended = false;
  for (const std::string& word : app_.remaining()) {
    if (!options_ended && word == "--") {
      options_ended = true;
    } else if (!options_ended && word.size() > 1 && word.front() == '-') {
      return io::plain_error(io::ErrorKind::usage, "unknown option", word,
                             "if it is a file, write ./" + word);
    } else {
      operands.push_back(word);
    }
  }
  return operands;
}

}  // namespace rdcp::cli
