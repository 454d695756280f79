#include "cli/runs/retries.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/copy/coordinator.h"
#include "cli/text/exit_status.h"
#include "cli/text/json_report.h"
#include "cli/text/output.h"
#include "io/retry.h"

namespace rdcp::cli {
namespace {

using std::chrono::seconds;

constexpr seconds kLongestPause{32};

// True if the next run finds what this one has left.
bool can_go_on(const CopyRequest& request) {
  return !request.standard_input && !request.standard_output && request.settings.resume &&
         !request.settings.sync.dry_run;
}

// The signal stays where it is, for the next copy to take.
void wait_or_signal(int signal_fd, std::chrono::milliseconds pause) {
  pollfd signals{signal_fd, POLLIN, 0};
  io::wait_for_events({&signals, 1}, static_cast<int>(pause.count()));
}

}  // namespace

bool RetryPauses::wait() {
  if (retry_ == retries_ || !can_go_on(request_)) return false;
  ++retry_;
  if (request_.view.json != nullptr)
    (void)write_to_stdout(request_.view.json->retry(pause_));  // the last line reports it
  write_to_stderr(fmt::format("rdcp: goes on in {} s (try {} of {})\n", pause_.count(), retry_, retries_));
  wait_or_signal(signal_fd_, pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
  return true;
}

int copy_with_retries(CopyRequest request, int signal_fd, unsigned retries) {
  RetryPauses pauses(request, signal_fd, retries);
  for (bool begun = false;;) {
    Coordinator coordinator(request, signal_fd);
    const int status = coordinator.run();
    begun = begun || coordinator.begun();
    const bool lost = status == kExitConnection || status == kExitUnreachable;
    if (const auto slower = coordinator.better_through_ssh(); slower && lost) {
      request.ssh_data = Options::SshData::always;
      if (request.view.json != nullptr) (void)write_to_stdout(request.view.json->retry(seconds(0)));
      write_to_stderr("rdcp: " + *slower);
      continue;
    }
    if (!begun || !lost || !can_go_on(request) || coordinator.was_the_only_try()) return status;
    if (!pauses.wait()) {
      write_to_stderr("rdcp: run the same command again to go on\n");
      return status;
    }
  }
}

}  // namespace rdcp::cli
