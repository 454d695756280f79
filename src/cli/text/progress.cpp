#include "cli/text/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cli/text/human.h"
#include "cli/text/output.h"
#include "io/result.h"

namespace rdcp::cli {
namespace {

constexpr std::size_t kColumnsUnknown = 80;

bool begins_code_point(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

std::size_t cells_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_code_point));
}

// Returns the byte position after the first `cells` code points.
std::size_t position_after(std::string_view text, std::size_t cells) {
  std::size_t position = 0;
  for (; position < text.size(); ++position) {
    if (begins_code_point(text[position]) && cells-- == 0) break;
  }
  return position;
}

std::string bytes_part(const ProgressState& state, const char* plus) {
  const Unit unit = unit_for(static_cast<double>(state.bytes_total));
  const int decimals = unit.bytes > 1 ? 1 : 0;
  return fmt::format("{:.{}f}/{:.{}f}{} {}", static_cast<double>(state.bytes_done) / unit.bytes, decimals,
                     static_cast<double>(state.bytes_total) / unit.bytes, decimals, plus, unit.name);
}

std::string time_left(const ProgressState& state, double bytes_per_second) {
  if (!state.walk_finished || bytes_per_second <= 0) return "--:--";
  const std::uint64_t left = state.bytes_total - std::min(state.bytes_done, state.bytes_total);
  return format_clock(static_cast<double>(left) / bytes_per_second);
}

std::size_t columns_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kColumnsUnknown;
  return size.ws_col;
}

// True if the terminal belongs to another process group now, as it does when a shell runs us in the
// background. If fd is not our terminal, there is nobody to disturb.
bool in_background(int fd) {
  const pid_t foreground = ::tcgetpgrp(fd);
  return foreground > 0 && foreground != ::getpgrp();
}

}  // namespace

std::string shorten_middle(const std::string& text, std::size_t cells) {
  constexpr std::string_view kGap = "...";
  const std::size_t length = cells_of(text);
  if (length <= cells) return text;
  if (cells <= kGap.size()) return text.substr(0, position_after(text, cells));
  const std::size_t kept = cells - kGap.size();
  const std::size_t head = kept / 3;
  const std::size_t tail = kept - head;
  return text.substr(0, position_after(text, head)) + std::string(kGap) +
         text.substr(position_after(text, length - tail));
}

std::string progress_line(const ProgressState& state, double bytes_per_second, std::size_t columns) {
  constexpr std::size_t kPathCellsMin = 8;  // a shorter path would say nothing
  const char* plus = state.walk_finished ? "" : "+";
  std::string line = fmt::format("{}  {}/{}{} files  {}  ETA {}", bytes_part(state, plus),
                                 format_count(state.files_done), format_count(state.files_total), plus,
                                 format_rate(bytes_per_second), time_left(state, bytes_per_second));
  if (line.size() > columns) return line.substr(0, columns);
  const std::size_t left = columns - line.size();
  if (!state.path.empty() && left >= kPathCellsMin + 2)
    line += "  " + shorten_middle(io::printable(state.path), left - 2);
  return line;
}

void RateMeter::add(ProgressClock::time_point now, std::uint64_t bytes_done) {
  samples_.push_back({now, bytes_done});
  // The oldest sample stays until the next one is old enough, so that the samples span the whole window.
  while (samples_.size() > 2 && samples_[1].time + kWindow <= now) samples_.pop_front();
}

double RateMeter::bytes_per_second() const {
  if (samples_.size() < 2) return 0;
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  const double seconds = std::chrono::duration<double>(last.time - first.time).count();
  if (seconds <= 0 || last.bytes_done < first.bytes_done) return 0;
  return static_cast<double>(last.bytes_done - first.bytes_done) / seconds;
}

bool progress_wanted(bool forced, bool quiet, int fd) {
  if (forced) return true;
  const char* terminal = std::getenv("TERM");
  const bool can_redraw = terminal != nullptr && std::string_view(terminal) != "dumb";
  return !quiet && can_redraw && ::isatty(fd) == 1;
}

void Progress::update(const ProgressState& state, ProgressClock::time_point now) {
  if (!enabled_ || now < next_draw_) return;
  next_draw_ = now + kInterval;
  rate_.add(now, state.bytes_done);
  if (in_background(fd_)) return;
  // The last column stays free: a cursor beyond it wraps on some terminals.
  const std::string line = progress_line(state, rate_.bytes_per_second(), columns_of(fd_) - 1);
  drawn_ |= draw_line(fd_, line);
}

void Progress::clear() {
  if (!drawn_) return;
  drawn_ = false;
  draw_line(fd_, "");
}

}  // namespace rdcp::cli
