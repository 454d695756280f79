#include "cli/copy/copy_console.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "cli/agents/user_output.h"
#include "cli/text/change_line.h"
#include "cli/text/exit_status.h"
#include "cli/text/json_report.h"
#include "cli/text/output.h"

namespace rdcp::cli {

CopyConsole::CopyConsole(const CopyView& view, const SessionLoop& loop)
    : view_(view), loop_(loop), progress_(progress_wanted(view.progress, view.quiet, STDERR_FILENO)) {}

void CopyConsole::fail(const io::Error& error) {
  raise(exit_status(error.kind));
  print(error_line(error, view_.program));
  if (view_.json) print_lines(view_.json->problem(json_problem(error)));
  if (view_.tell) view_.tell(error.kind, error.message());
}

void CopyConsole::report(const AgentSession& session, const tree::Problem& problem) {
  const std::string text = session.problem_prefix() + problem.text;
  print(view_.program + ": " + text + "\n");
  if (view_.json) print_lines(view_.json->problem(json_problem(problem, session.host_elsewhere())));
  if (view_.tell) view_.tell(problem.kind, text);
  raise(exit_status(problem.kind));
}

void CopyConsole::report_signal(int signal) {
  interrupted_ = true;
  print(view_.program + ": " + cause_of_end(signal) +
        "; files under their final names are complete, the rest was not copied; run the same command again "
        "to go on\n");
  status_ = kExitSignalBase + signal;
}

void CopyConsole::tell(const std::string& line) {
  if (view_.remark) return view_.remark(line);
  if (!view_.quiet) print(view_.program + ": " + line);
  if (view_.json) print_lines(view_.json->warning(line));
}

void CopyConsole::print_changes(const tree::Changes& changes, const std::string& host) {
  if (view_.tell) return;
  std::string lines;
  for (const tree::Change& change : changes.list) {
    if (view_.json) {
      lines += view_.json->change(change, view_.sends, host);
    } else {
      lines += (host.empty() ? host : host + ": ") + change_line(change, view_.sends);
    }
  }
  if (!view_.json) write_to_log(lines);
  print_lines(lines);
}

void CopyConsole::print_summary(Summary summary, bool dry_run) {
  summary.is_complete = status_ == kExitOk;
  if (view_.quiet) {
    write_to_log(warning_lines(summary));
  } else {
    print(warning_lines(summary));
  }
  if (view_.verbose) {
    print(summary_lines(summary));
  } else if (progress_.ever_drawn()) {
    print(summary_line(summary));
  } else {
    write_to_log(summary_line(summary));
  }
  if (view_.json && !dry_run) print_lines(view_.json->finished(summary));
}

void CopyConsole::show_progress(const tree::Progress& progress, std::size_t failed) {
  const ProgressState state{.bytes_done = progress.bytes_done,
                            .bytes_total = progress.bytes_total,
                            .files_done = progress.files_done,
                            .files_total = progress.files_total,
                            .walk_finished = progress.total_known,
                            .path = progress.path,
                            .hosts = {view_.hosts.all, view_.hosts.done, view_.hosts.failed + failed}};
  progress_.update(state);
  if (view_.json) print_lines(view_.json->progress(state));
}

void CopyConsole::show_table(const Progress::Rows& rows) {
  const auto all_rows = [this, rows](std::size_t most) {
    std::vector<std::string> lines = view_.lost_hosts;
    if (lines.size() > most / 2)
      lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most / 2));
    const std::vector<std::string> further = rows(most - lines.size());
    lines.insert(lines.end(), further.begin(), further.end());
    return lines;
  };
  progress_.show_table(all_rows, view_.verbose);
}

void CopyConsole::raise(int status) {
  status_ = std::max(status_, status);
}

void CopyConsole::print(const std::string& text) {
  if (text.empty() || view_.tell) return;
  progress_.clear();
  print_error(text, loop_.sessions(), interrupted_);
}

void CopyConsole::print_lines(std::string_view lines) {
  if (lines.empty() || out_failed_) return;
  progress_.clear();
  const auto printed = print_out(lines, loop_.sessions());
  if (printed) return;
  out_failed_ = true;
  fail(printed.error());
}

}  // namespace rdcp::cli
