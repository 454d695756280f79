#include "cli/text/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/text/human.h"
#include "cli/text/output.h"
#include "io/result.h"

namespace rdcp::cli {
namespace {

constexpr std::size_t kColumnsUnknown = 80;

// Returns how many cells the first character of this text takes, and sets `bytes` to its length. 0: it
// combines with the one before it.
std::size_t first_cells(std::string_view text, std::size_t& bytes) {
  utf8proc_int32_t character = 0;
  const auto* const begin = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const auto length = utf8proc_iterate(begin, static_cast<utf8proc_ssize_t>(text.size()), &character);
  bytes = length > 0 ? static_cast<std::size_t>(length) : 1;
  return length > 0 ? static_cast<std::size_t>(utf8proc_charwidth(character)) : 1;
}

// Returns the byte position after what fits into so many cells, with all that combines with its end.
std::size_t position_after(std::string_view text, std::size_t cells) {
  std::size_t position = 0;
  for (std::size_t bytes = 0; position < text.size(); position += bytes) {
    const std::size_t wanted = first_cells(text.substr(position), bytes);
    if (wanted > cells) break;
    cells -= wanted;
  }
  return position;
}

// Returns the end of the text that fits into so many cells.
std::string_view end_within(std::string_view text, std::size_t cells) {
  std::size_t all = cells_of(text);
  while (all > cells) {
    std::size_t bytes = 0;
    all -= first_cells(text, bytes);
    text.remove_prefix(bytes);
  }
  // A mark goes with the character that it would combine with.
  for (std::size_t bytes = 0; !text.empty() && first_cells(text, bytes) == 0;) text.remove_prefix(bytes);
  return text;
}

std::string percentage(const ProgressState& state) {
  if (!state.walk_finished || state.bytes_total == 0) return "--%";
  const auto done = static_cast<double>(std::min(state.bytes_done, state.bytes_total));
  return fmt::format("{}%", static_cast<int>(100 * done / static_cast<double>(state.bytes_total)));
}

std::string bytes_part(const ProgressState& state, const char* plus) {
  const Unit unit = unit_for(static_cast<double>(state.bytes_total));
  const int decimals = unit.bytes > 1 ? 1 : 0;
  return fmt::format("{:.{}f}/{:.{}f}{} {}", static_cast<double>(state.bytes_done) / unit.bytes, decimals,
                     static_cast<double>(state.bytes_total) / unit.bytes, decimals, plus, unit.name);
}

std::string hosts_part(const HostCounts& hosts) {
  if (hosts.all == 0) return {};
  std::string part = fmt::format("  {} host{}", hosts.going(), hosts.going() == 1 ? "" : "s");
  if (hosts.done > 0) part += fmt::format(", {} done", hosts.done);
  if (hosts.failed > 0) part += fmt::format(", {} failed", hosts.failed);
  return part;
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

std::size_t cells_of(std::string_view text) {
  std::size_t cells = 0;
  for (std::size_t bytes = 0; !text.empty(); text.remove_prefix(bytes)) cells += first_cells(text, bytes);
  return cells;
}

std::string shorten_middle(const std::string& text, std::size_t cells) {
  constexpr std::string_view kGap = "...";
  if (cells_of(text) <= cells) return text;
  if (cells <= kGap.size()) return text.substr(0, position_after(text, cells));
  const std::size_t kept = cells - kGap.size();
  const std::size_t head = kept / 3;
  const std::size_t tail = kept - head;
  return text.substr(0, position_after(text, head)) + std::string(kGap) + std::string(end_within(text, tail));
}

std::string progress_line(const ProgressState& state, double bytes_per_second, std::size_t columns) {
  constexpr std::size_t kPathCellsMin = 8;  // a shorter path would say nothing
  const char* plus = state.walk_finished ? "" : "+";
  const std::string hosts = hosts_part(state.hosts);
  const std::string done = percentage(state) + hosts;
  const std::string bytes = "  " + bytes_part(state, plus);
  const std::string files =
      fmt::format("  {}/{}{} files", format_count(state.files_done), format_count(state.files_total), plus);
  const std::string rate = "  " + format_rate(bytes_per_second);
  const std::string eta = "  ETA " + time_left(state, bytes_per_second);
  std::string line = done + bytes + files + rate + eta;
  if (line.size() > columns) line = done + bytes + rate + eta;
  if (line.size() > columns) line = done + rate + eta;
  if (line.size() > columns) line = done + eta;
  if (line.size() > columns) line = percentage(state) + eta;
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
  const std::size_t columns = columns_of(fd_) - 1;
  std::vector<std::string> lines{progress_line(state, rate_.bytes_per_second(), columns)};
  for (const std::string& row : table(columns)) lines.push_back(shorten_middle(io::printable(row), columns));
  if (!draw_lines(fd_, lines, drawn_)) return;
  drawn_ = lines.size();
  ever_drawn_ = true;
}

// A terminal that has no room for the lines would scroll, and then they would not be erased.
std::vector<std::string> Progress::table(std::size_t columns) const {
  winsize size{};
  if (!rows_ || ::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_row <= kTableRows + 1) return {};
  const bool wide = columns + 1 >= kTableColumns;
  return wide || always_table_ ? rows_(kTableRows) : std::vector<std::string>();
}

void Progress::clear() {
  if (const std::size_t drawn = std::exchange(drawn_, 0); drawn > 0) draw_lines(fd_, {""}, drawn);
}

}  // namespace rdcp::cli
