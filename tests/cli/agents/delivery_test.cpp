#include "cli/agents/delivery.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "tests/tree/scratch_directory.h"

namespace rdcp::cli {
namespace {

// A file that is longer than a pipe holds.
class DeliveryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);  // as the programs do
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader_.reset(ends[0]);
    writer_.reset(ends[1]);
    std::ofstream(scratch_ / "file") << content_;
  }
  std::unique_ptr<Delivery> start() {
    auto delivery = Delivery::start(io::Fd(::open((scratch_ / "file").c_str(), O_RDONLY | O_CLOEXEC)),
                                    std::move(writer_));
    EXPECT_TRUE(delivery.ok());
    return std::move(*delivery);
  }
  std::string read_to_the_end() {
    std::string all;
    char bytes[4096];
    for (ssize_t got = 0; (got = ::read(reader_.get(), bytes, sizeof bytes)) > 0;)
      all.append(bytes, static_cast<std::size_t>(got));
    return all;
  }

  tree::ScratchDirectory scratch_;
  io::Fd reader_, writer_;
  const std::string content_ = std::string(3'000'000, 'x') + "end";
};

// The delivery itself holds the pipe open no longer than it writes: this ends while it lives.
TEST_F(DeliveryTest, AllArrivesAndThenTheEnd) {
  const auto delivery = start();
  EXPECT_EQ(read_to_the_end(), content_);
}

TEST_F(DeliveryTest, EachPieceThatIsTakenCounts) {
  const auto delivery = start();
  const auto before = Delivery::Clock::now();  // the pipe cannot hold all, so some is taken after this
  read_to_the_end();
  EXPECT_GE(delivery->taken(), before);
}

TEST_F(DeliveryTest, ItEndsWithItsReader) {
  const auto delivery = start();
  reader_.reset();  // the destructor waits for the thread
}

}  // namespace
}  // namespace rdcp::cli
