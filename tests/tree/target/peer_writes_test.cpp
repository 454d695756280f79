// A source that changes what lies in a slot after it has come, as RDMA lets it: what is parsed is a copy.
#include "tests/tree/target/hostile_fixture.h"

namespace rdcp::tree {
namespace {

using net::FrameKind;

// A target's end that gets its chunks from here, and whose slots its peer can write to. Behind each chunk, as
// soon as its receiver waits for anything, the slot is filled with something else.
class WritableSlots : public net::Stream {
 public:
  WritableSlots(io::Ring& ring, io::Arena& arena, std::vector<Sent> frames)
      : Stream(ring, Side::target, {.target_slots = kSlots, .slot_bytes = kChunk}, "by hand"),
        arena_(arena),
        frames_(std::move(frames)),
        answered_(ring) {}
  void start() override {
    grant_all();
    pump_ = pump();
    pump_.start();
  }
  bool idle() const override { return pump_.done(); }
  std::string description() const override { return "by hand"; }
  bool peer_can_write() const override { return true; }

 private:
  void post_send(SendAwaiter&) override {}
  void post_credit(const net::Frame& credit) override {
    if (credit.status == net::AckStatus::granted) return;
    ++answers_;
    answered_.wake_all();
  }
  void close_connection() override { answered_.wake_all(); }

  io::Task pump() {
    for (std::size_t i = 0; i < frames_.size() && !shut_down(); ++i) {
      const Sent& sent = frames_[i];
      const std::span<std::byte> slot = arena_.slot(0);
      if (!accept(sent.frame)) break;
      std::ranges::copy(sent.payload, slot.begin());
      deliver(sent.frame);
      co_await net::Yield(ring());
      std::ranges::fill(slot, std::byte{0x5a});
      while (answers_ <= i && !shut_down()) co_await answered_.wait();
    }
    if (!shut_down()) deliver(net::Frame());
  }

  io::Arena& arena_;
  const std::vector<Sent> frames_;
  io::WaitList answered_;
  std::size_t answers_ = 0;
  io::Task pump_;
};

TEST(PeerWrites, AnArchiveIsUnpackedAsItsDigestSays) {
  const ScratchDirectory scratch;
  Heard heard;
  TargetJob job;
  job.settings.chunk_bytes = kChunk;
  job.settings.verify = true;  // so the archive is needed until its files were read back
  job.path = scratch.path();
  Target target(job, heard.reporter);
  target.open();
  Begin begin;
  begin.landings = {""};
  ASSERT_TRUE(target.begin(begin).ok());
  constexpr std::uint8_t kFiles = 60;
  const auto archive_of = [](const std::string& prefix) {
    return frame_of(FrameKind::archive, raw_archive(
                                            [&](archive* writer) {
                                              for (int i = 0; i < kFiles; ++i) {
                                                const std::string name = prefix + std::to_string(i);
                                                add_file(writer, name.c_str(), name.c_str());
                                              }
                                            },
                                            kFiles));
  };
  const std::vector<Sent> frames{archive_of("a"), archive_of("b")};
  target.copy({[&](io::Ring& ring, io::Arena& arena) {
                return std::make_unique<WritableSlots>(ring, arena, frames);
              }},
              {.target_slots = kSlots, .slot_bytes = kChunk});
  EXPECT_TRUE(target.result().complete) << heard.text();
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(names_in(scratch.path()).size(), 2u * kFiles);
  for (const char* prefix : {"a", "b"}) {
    for (int i = 0; i < kFiles; ++i) {
      const std::string name = prefix + std::to_string(i);
      EXPECT_EQ(content_of(scratch / name), name);
    }
  }
}

}  // namespace
}  // namespace rdcp::tree
