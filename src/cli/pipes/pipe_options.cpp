#include "cli/pipes/pipe_options.h"

#include <unistd.h>

#include <climits>
#include <deque>

#include "cli/options/command_line.h"
#include "cli/options/help_text.h"
#include "cli/options/shared_options.h"
#include "cli/text/size.h"
#include "io/named_place.h"

namespace rdcp::cli {
namespace {

using io::Result;
using std::string;

constexpr std::uint64_t kWaitMax = 86'400;

void add_key_options(CommandLine& line, KeySource& key) {
  line.value("--key-file", keep(key.file));
  line.value("--key-fd",
             [&](const string& word) { return assign(key.fd, parse_count("--key-fd", word, 0, INT_MAX)); });
}

// Takes the next operand; its name is for the error.
Result<string> take_word(std::deque<string>& words, const char* name) {
  if (words.empty()) return refuse("command line", string(name) + " is missing");
  string word = std::move(words.front());
  words.pop_front();
  if (word.empty()) return refuse(name, "is empty");
  return word;
}

Result<void> take_port(std::deque<string>& words, std::uint64_t least, std::uint16_t& port) {
  const auto word = take_word(words, "PORT");
  if (!word) return word.error();
  return assign(port, parse_count("PORT", *word, least, 65535));
}

// Takes KEY, unless it comes from elsewhere. If it comes from a descriptor, "-" may stand in its place.
Result<void> take_key(std::deque<string>& words, KeySource& key) {
  if (!key.file.empty() && key.fd >= 0) return refuse("--key-fd", "cannot be used with --key-file");
  if (!key.file.empty()) return {};
  if (key.fd >= 0) {
    if (!words.empty() && words.front() == "-") words.pop_front();
    return {};
  }
  auto taken = assign(key.word, take_word(words, "KEY"));
  if (taken && key.word == "-")
    return refuse("KEY", "given as - is read from a descriptor; name it with --key-fd");
  return taken;
}

// Takes FILE, if there is one. "-" means the same as no FILE, and so does the name of the descriptor
// `stream`, which is what the program reads or writes without one.
Result<void> take_file(std::deque<string>& words, int stream, string& file) {
  if (words.empty()) return {};
  if (auto taken = assign(file, take_word(words, "FILE")); !taken) return taken;
  const auto own = io::own_descriptor(file);
  if (own && *own != stream && *own <= STDERR_FILENO)
    return refuse("FILE", "names a standard stream that goes the other way");
  if (file == "-" || own == stream) file.clear();
  // The error does not show the word, because it may be a KEY.
  if (!words.empty()) return refuse("command line", "there is one argument too many");
  return {};
}

Result<void> take_send_operands(std::deque<string> words, PipeOptions& options) {
  if (auto taken = assign(options.host, take_word(words, "HOST")); !taken) return taken;
  if (auto taken = take_port(words, 1, options.port); !taken) return taken;
  if (auto taken = take_key(words, options.key); !taken) return taken;
  return take_file(words, STDIN_FILENO, options.file);
}

Result<void> take_receive_operands(std::deque<string> words, PipeOptions& options) {
  if (auto taken = take_port(words, 0, options.port); !taken) return taken;
  if (auto taken = take_key(words, options.key); !taken) return taken;
  return take_file(words, STDOUT_FILENO, options.file);
}

using TakeOperands = Result<void> (*)(std::deque<string> words, PipeOptions& options);

Result<void> read_command_line(CommandLine& line, int argc, const char* const* argv, PipeOptions& options,
                               TakeOperands take_operands) {
  if (auto parsed = line.parse(argc, argv); !parsed) return parsed;
  if (auto checked = check_tell_options(options.copy); !checked) return checked;
  const auto words = line.operands();
  if (!words) return words.error();
  return take_operands({words->begin(), words->end()}, options);
}

}  // namespace

ParsedPipe parse_send_options(int argc, const char* const* argv) {
  ParsedPipe parsed;
  PipeOptions& options = parsed.options;
  options.copy.program = "rdsend";
  CommandLine line;
  HelpFlags asked;
  add_help_options(line, asked);
  add_tell_options(line, options.copy);
  add_progress_option(line, options.copy);
  add_key_options(line, options.key);
  line.value("--wait", [&](const string& word) {
    const auto seconds = parse_count("--wait", word, 0, kWaitMax);
    if (seconds) options.wait = std::chrono::seconds(*seconds);
    return seconds ? Result<void>() : Result<void>(seconds.error());
  });
  add_encrypt_options(line, options.copy);
  add_compress_option(line, options.copy);
  add_volume_options(line, options.copy);
  add_path_options(line, options.copy);
  parsed.take(asked, read_command_line(line, argc, argv, options, take_send_operands), "rdsend",
              kSendHelpText);
  return parsed;
}

ParsedPipe parse_receive_options(int argc, const char* const* argv) {
  ParsedPipe parsed;
  PipeOptions& options = parsed.options;
  options.copy.program = "rdrecv";
  CommandLine line;
  HelpFlags asked;
  add_help_options(line, asked);
  add_tell_options(line, options.copy);
  add_key_options(line, options.key);
  add_encrypt_options(line, options.copy);
  add_path_options(line, options.copy);
  parsed.take(asked, read_command_line(line, argc, argv, options, take_receive_operands), "rdrecv",
              kReceiveHelpText);
  return parsed;
}

}  // namespace rdcp::cli
