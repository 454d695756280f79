#include "cli/agents/user_output.h"

#include "cli/text/output.h"
#include "cli/text/process.h"

namespace rdcp::cli {
namespace {

// Waits for the reader of one text.
class WaitForReader {
 public:
  explicit WaitForReader(const std::vector<AgentSession*>& sessions) : sessions_(sessions) {}
  WaitForReader(const WaitForReader&) = delete;
  WaitForReader& operator=(const WaitForReader&) = delete;
  // Agents that were not read from during the wait do not count as silent.
  ~WaitForReader() {
    for (AgentSession* session : sessions_) {
      if (waited_) session->excuse_silence();
    }
  }

  io::WriteWait how(bool hurried) {
    return {.before = [this] { tell_agents(); },
            .give_up = [hurried] { return hurried || end_is_asked_for() != 0; }};
  }

 private:
  void tell_agents() {
    waited_ = true;
    for (AgentSession* session : sessions_) {
      if (!session->gone()) session->tell(tree::Suspend());
    }
  }

  const std::vector<AgentSession*>& sessions_;
  bool waited_ = false;
};

}  // namespace

io::Result<void> print_out(std::string_view text, const std::vector<AgentSession*>& sessions) {
  WaitForReader wait(sessions);
  return write_to_stdout(text, wait.how(false));
}

void print_error(std::string_view text, const std::vector<AgentSession*>& sessions, bool hurried) {
  WaitForReader wait(sessions);
  write_to_stderr(text, wait.how(hurried));
}

}  // namespace rdcp::cli
