// An agent whose coordinator has proven a key and is otherwise a stranger (rdrecv), over its control channel:
// whatever messages come in whatever order, nothing is made or changed but the one file, the agent says
// nothing but what belongs to the one stream, and it ends when its coordinator goes. The input chooses
// messages and what is changed in their bytes.
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <thread>

#include "io/write_all.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/sessions/tree_state.h"
#include "tests/fuzz/targets.h"
#include "tree/agent/agent.h"
#include "tree/messages/check_job.h"
#include "tree/messages/clean_job.h"
#include "tree/messages/finding.h"
#include "tree/messages/measure_job.h"
#include "tree/messages/paths_named.h"
#include "tree/messages/segment_job.h"
#include "tree/protocol/control.h"

namespace rdcp::fuzz {
namespace {

using namespace rdcp::tree;

constexpr std::size_t kMessagesMax = 8;

struct Order {
  MessageType type{};
  std::string body;
};

template <class Message>
Order order_of(Message message) {
  return {Message::kType, encode_fields(message)};
}

TargetJob job_of() {
  TargetJob job;
  job.path = "/nobody/asked/for/this";
  job.settings.chunk_bytes = 64 << 10;
  job.streams.connect = Connect::listen;
  job.streams.transport = Transport::tcp;
  job.tree = true;
  return job;
}

Begin begin_of() {
  Begin begin;
  begin.chunk_bytes = 64 << 10;
  begin.landings = {"../outside"};
  return begin;
}

Order chosen_order(Choices& choices) {
  switch (choices.below(16)) {
    case 0:
    case 1:
    case 2:
      return order_of(job_of());
    case 3:
    case 4:
      return order_of(begin_of());
    case 5:
      return order_of(StreamLost{choices.number<std::uint16_t>()});
    case 6:
      return order_of(SourceJob());
    case 7:
      return order_of(MeasureJob());
    case 8:
      return order_of(CleanJob{.path = "/", .remove = false});
    case 9:
      return order_of(ListJob());
    case 10:
      return order_of(SegmentJob());
    case 11:
      return order_of(PathsNamed{.paths = std::string("a\0", 2)});
    case 12:
      return order_of(Ping());
    case 13:
      return order_of(Examine());
    case 14:
      return order_of(Abort());
    default:
      return {static_cast<MessageType>(choices.number<std::uint8_t>()), std::string(choices.piece())};
  }
}

std::string bytes_of_order(Choices& choices) {
  Order order = chosen_order(choices);
  for (std::size_t i = choices.below(4); i > 0 && !order.body.empty(); --i) {
    order.body[choices.number<std::uint16_t>() % order.body.size()] =
        static_cast<char>(choices.number<std::uint8_t>());
  }
  Encoder header;
  header.put(order.type);
  header.put(static_cast<std::uint32_t>(order.body.size()));
  return header.take() + order.body;
}

class AgentPlace {
 public:
  AgentPlace() {
    ::signal(SIGPIPE, SIG_IGN);  // as the programs do
    require(::mkdirat(scratch_.fd(), "beside", 0755) == 0);
    scratch_.write("beside/file", "sings");
    before_ = state_of(scratch_.fd());
    before_.erase("");  // the file comes and goes
  }
  std::string file() const { return scratch_ / "FILE"; }
  void check_and_clear() const {
    TreeState after = state_of(scratch_.fd());
    after.erase("");
    after.erase("FILE");
    require(after == before_);
    (void)::unlinkat(scratch_.fd(), "FILE", 0);
  }

 private:
  Scratch scratch_;
  TreeState before_;
};

// Nothing of this host is told.
void hear_all(int socket) {
  using enum MessageType;
  constexpr std::array kSaid = {hello, pong, target_ready, problem, progress, done, stream_lost};

  ControlChannel channel(io::Fd(::fcntl(socket, F_DUPFD_CLOEXEC, 0)), io::Fd(), "agent");
  for (auto message = channel.receive(); message; message = channel.receive()) {
    if (*message) require(std::ranges::find(kSaid, (*message)->type) != kSaid.end());
  }
}

}  // namespace

void fuzz_agent(Bytes input) {
  static const AgentPlace place;
  Choices choices(input);
  int ends[2];
  const int descriptor = next_descriptor();
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  io::Fd here(ends[0]);
  AgentConfig config;
  config.only.emplace();
  config.only->path = place.file();
  config.streams.key.emplace();
  AgentEnd end;
  std::string orders(kGreeting);
  for (std::size_t i = 0; i < kMessagesMax && choices.more(); ++i) orders += bytes_of_order(choices);
  std::thread agent([&, there = ends[1]] {
    end = run_agent(io::Fd(there), io::Fd(::fcntl(there, F_DUPFD_CLOEXEC, 0)), config);
  });
  (void)!io::write_all(here.get(), orders);  // it fails where the agent has ended at the first ones
  require(::shutdown(here.get(), SHUT_WR) == 0 || errno == ENOTCONN);
  hear_all(here.get());
  agent.join();
  require(end.complete);
  here.reset();
  require(next_descriptor() == descriptor);
  place.check_and_clear();
}

}  // namespace rdcp::fuzz
