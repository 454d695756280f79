#include "cli/launch/program_answer.h"

#include <poll.h>

#include <array>
#include <utility>

#include "cli/launch/launch.h"
#include "io/retry.h"
#include "io/write_all.h"

namespace rdcp::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Returns all that comes until the end, or nothing if that does not come in time.
std::optional<std::string> read_to_the_end(int from, milliseconds limit, std::size_t bytes_max) {
  std::string all;
  const auto until = steady_clock::now() + limit;
  for (std::array<char, 4096> piece; all.size() < bytes_max;) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
    pollfd entry{from, POLLIN, 0};
    if (left <= 0 || io::retry_eintr([&] { return ::poll(&entry, 1, static_cast<int>(left)); }) <= 0)
      return std::nullopt;
    const long got = io::read_some(from, piece.data(), piece.size());
    if (got < 0) return std::nullopt;
    if (got == 0) return all;
    all.append(piece.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

}  // namespace

io::Result<std::optional<ProgramAnswer>> answer_of(const std::vector<std::string>& command,
                                                   int standard_error, milliseconds limit,
                                                   std::size_t bytes_max) {
  auto asked = launch_agent(command, standard_error);
  if (!asked) return std::move(asked).error();
  asked->to.reset();
  auto text = read_to_the_end(asked->from.get(), limit, bytes_max);
  const auto status = text ? wait_agent(asked->pid, limit) : std::nullopt;
  if (!status) end_agent(asked->pid);
  if (!status) return std::optional<ProgramAnswer>();
  return std::optional(ProgramAnswer{std::move(*text), *status});
}

}  // namespace rdcp::cli
