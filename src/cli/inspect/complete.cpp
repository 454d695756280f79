#include "cli/inspect/complete.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cli/inspect/inquiry.h"
#include "cli/text/exit_status.h"
#include "cli/text/report.h"
#include "tree/messages/find_paths.h"
#include "tree/select/path_pattern.h"

namespace rdcp::cli {

namespace {

// Returns the pattern that stands for what begins with these bytes.
std::string pattern_of(const std::string& begin) {
  std::string pattern;
  for (const char c : begin) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + '*';
}

// A name that would break a shell's line, or drive a terminal, is left out.
std::string lines_of(const tree::FindPaths& asked, const tree::PathsFound& answer) {
  std::set<std::string> names;
  for (const tree::PathFound& found : answer.found) {
    const bool sound = found.word < asked.words.size() &&
                       tree::stands_for(asked.words[found.word], found.path) &&
                       io::visible(found.path) == found.path;
    if (sound) names.insert(found.path);
  }
  std::string lines;
  for (const std::string& name : names) {
    if (!names.contains(name + '/')) lines += name + '\n';
  }
  return lines;
}

// A terminal's user has not asked for a connection, and must not be kept waiting.
RemoteShell quietly(RemoteShell shell) {
  shell.deploy = false;
  if (!runs_ssh(shell)) return shell;
  for (const char* option : {"BatchMode=yes", "ConnectTimeout=5"}) shell.ssh_options.emplace_back(option);
  return shell;
}

io::Result<void> ask(const Options& options, Inquiry& inquiry) {
  const Location& place = *options.complete;
  auto started = AgentSession::start_remote(quietly(options.shell), place);
  if (!started) return started.error();
  AgentSession& agent = inquiry.add(std::move(*started));
  inquiry.on_problem([](const AgentSession&, const tree::Problem&) {});  // nothing there begins so
  std::optional<tree::PathsFound> found;
  agent.on<tree::PathsFound>([&found](tree::PathsFound& answer) { found = std::move(answer); });
  if (auto greeted = inquiry.wait_until([&] { return agent.hello().has_value(); }); !greeted) return greeted;
  if (agent.hello()->protocol < tree::FindPaths::kFirstProtocol) return {};
  const std::string pattern = pattern_of(place.path);
  const tree::FindPaths asked{{pattern, pattern + '/'}};
  agent.tell(asked);
  if (auto answered = inquiry.wait_until([&] { return found.has_value(); }); !answered) return answered;
  return inquiry.print(lines_of(asked, *found));
}

}  // namespace

int run_complete(const Options& options, int signal_fd) {
  Inquiry inquiry(signal_fd, "complete a path on");
  const io::Result<void> asked = ask(options, inquiry);
  inquiry.end(asked.ok());
  if (inquiry.signal() != 0) return kExitSignalBase + inquiry.signal();
  if (asked) return kExitOk;
  inquiry.print_problem(error_line(asked.error()));
  return exit_status(asked.error().kind);
}

}  // namespace rdcp::cli
