// What a stream makes of a device that fails, and of one that only says something.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "net/rails/rdma_facts.h"
#include "tests/verbs/fabric.h"
#include "tests/verbs/one_copy.h"

namespace rdcp::made_up {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class Faults : public DevicesTest {
 protected:
  void SetUp() override {
    set({with_address(make_device(Model::connectx7, "mlx5_0"), "rail0", "10.77.0.1")});
  }
  static net::RdmaPort port() { return net::own_rdma_ports().usable.at(0); }
  // Runs a copy in whose middle this happens. Returns the error with which it ends.
  std::string error_of(Fault fault, bool ends = true) {
    copy_.emplace(port());
    fault.at_request = kInTheMiddle;
    conduct({.faults = {fault}});
    copy_->start(kChunks);
    EXPECT_TRUE(copy_->until([&] { return copy_->source().finished() && copy_->target().finished(); }));
    EXPECT_EQ(copy_->target().wrong, 0u);
    EXPECT_EQ(copy_->chunks_received() == kChunks, !ends);
    return copy_->error();
  }
  // Runs a copy until it ends by this event, behind which the peer is silent.
  void end_silently_after(Fault::Kind event) {
    copy_.emplace(port());
    conduct({.faults = {{.kind = event, .at_request = 40}, {.kind = Fault::Kind::silent, .at_request = 41}}});
    copy_->start(kChunks);
    EXPECT_TRUE(copy_->until([&] { return copy_->source().finished() && copy_->target().finished(); }));
  }

  static constexpr std::uint64_t kInTheMiddle = 60;
  static constexpr std::size_t kChunks = 100;
  std::optional<OneCopy> copy_;
};

TEST_F(Faults, ARequestThatFailsEndsTheStreamWithItsCause) {
  const std::pair<ibv_wc_status, const char*> statuses[] = {
      {IBV_WC_RETRY_EXC_ERR, "does not answer any more"},
      {IBV_WC_RNR_RETRY_EXC_ERR, "does not take data"},
      {IBV_WC_REM_ACCESS_ERR, "refused access to its memory"},
      {IBV_WC_LOC_PROT_ERR, "refused access to our own memory"},
      {IBV_WC_GENERAL_ERR, "this host's RDMA device failed"}};
  for (const auto& [status, words] : statuses) {
    EXPECT_THAT(error_of({.kind = Fault::Kind::completion, .status = status}), HasSubstr(words));
  }
}

TEST_F(Faults, APeerThatAcknowledgesNothingIsGivenUp) {
  EXPECT_THAT(error_of({.kind = Fault::Kind::silent}), HasSubstr("does not answer any more"));
}

// It must not ask again and again what the device cannot tell.
TEST_F(Faults, AQueueThatCannotBePolledEndsTheStream) {
  EXPECT_THAT(error_of({.kind = Fault::Kind::poll}),
              HasSubstr("poll a completion queue of RDMA device mlx5_0: the device failed"));
  EXPECT_LT(fabric().counts().polls, 100 * kChunks);
}

TEST_F(Faults, AQueueThatCannotBePolledEndsTheHandshake) {
  conduct({.faults = {{.kind = Fault::Kind::poll, .at_request = 1}}});
  net::RdmaJob job;
  job.patience.refused = milliseconds(0);
  std::vector<net::RdmaPort> ports{port()};
  auto listener = net::RdmaListener::open(ports);
  ASSERT_TRUE(listener);
  auto accepted = std::async(std::launch::async, [&] { return listener->accept_all(job.call(false)); });
  const auto connected = net::connect_rails({{ports[0], ports[0]}}, job.call(true));
  job.stop = true;
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().message(), HasSubstr("this host's RDMA device failed"));
  EXPECT_FALSE(accepted.get());
}

// As in a bond that takes its other link: the queue pair goes on.
TEST_F(Faults, AnAddressThatMovesIsNoError) {
  EXPECT_EQ(error_of({.kind = Fault::Kind::addr_change}, false), "");
}

TEST_F(Faults, APortThatComesBackIsNoError) {
  copy_.emplace(port());
  conduct({.faults = {{.kind = Fault::Kind::port_down, .at_request = 40},
                      {.kind = Fault::Kind::port_up, .at_request = 50}}});
  copy_->run(kChunks);
  EXPECT_EQ(copy_->error(), "");
}

TEST_F(Faults, APortThatWentDownIsTheCauseOfWhatFailsAfterIt) {
  end_silently_after(Fault::Kind::port_down);
  EXPECT_THAT(copy_->error(), HasSubstr("RDMA device mlx5_0: port 1 went down"));
}

TEST_F(Faults, ADeviceThatFailsEndsTheStream) {
  end_silently_after(Fault::Kind::fatal);
  EXPECT_THAT(copy_->error(), HasSubstr("RDMA device mlx5_0: failed or was removed"));
}

TEST_F(Faults, MemoryThatCannotBeRegisteredSaysWhichLimitToRaise) {
  conduct({.lockable_bytes = 100'000});  // the frames, but not three slots of 64 KiB
  OneCopy copy(port());
  EXPECT_THAT(copy.error(), HasSubstr("RDMA device mlx5_0: not enough memory may be locked (ulimit -l)"));
}

TEST_F(Faults, ASlowLinkOnlyTakesLonger) {
  copy_.emplace(port());
  conduct({.latency = std::chrono::microseconds(300)});
  copy_->run(30);
  EXPECT_EQ(copy_->error(), "");
}

TEST_F(Faults, PayloadsAreRegisteredWithRelaxedOrderingOnBothSides) {
  OneCopy copy(port());
  std::vector<unsigned> relaxed = fabric().registrations();
  std::erase_if(relaxed, [](unsigned access) { return (access & IBV_ACCESS_RELAXED_ORDERING) == 0; });
  const unsigned both = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;
  EXPECT_THAT(relaxed, testing::UnorderedElementsAre(both, both | IBV_ACCESS_REMOTE_WRITE));
  copy.run(1);
}

TEST_F(Faults, MemoryIsKeptForForksBeforeAnythingIsRegistered) {
  static_cast<void>(net::rdma_facts());
  EXPECT_TRUE(fabric().fork_safe());
}

}  // namespace
}  // namespace rdcp::made_up
