#include "cli/agents/user_output.h"

#include "cli/text/output.h"
#include "cli/text/process.h"

namespace rdcp::cli {
namespace {

// Waits for the reader of one text.
class WaitForReader {
 public:
  explicit WaitForReader(const std::vector<AgentLink*>& links) : links_(links) {}
  WaitForReader(const WaitForReader&) = delete;
  WaitForReader& operator=(const WaitForReader&) = delete;
  // Agents that were not read from during the wait do not count as silent.
  ~WaitForReader() {
    for (AgentLink* link : links_) {
      if (waited_ && link != nullptr) link->heard = std::chrono::steady_clock::now();
    }
  }

  io::WriteWait how(bool hurried) {
    return {.before = [this] { tell_agents(); },
            .give_up = [hurried] { return hurried || end_is_asked_for(); }};
  }

 private:
  void tell_agents() {
    waited_ = true;
    for (AgentLink* link : links_) {
      if (link != nullptr && !link->gone) link->tell(tree::Suspend());
    }
  }

  const std::vector<AgentLink*>& links_;
  bool waited_ = false;
};

}  // namespace

io::Result<void> print_out(std::string_view text, const std::vector<AgentLink*>& links) {
  WaitForReader wait(links);
  return write_to_stdout(text, wait.how(false));
}

void print_error(std::string_view text, const std::vector<AgentLink*>& links, bool hurried) {
  WaitForReader wait(links);
  write_to_stderr(text, wait.how(hurried));
}

}  // namespace rdcp::cli
