// Makes frames as a source that lies would send them: each well formed and with right digests, so that the
// target looks behind them, but with names, numbers and contents as the fuzzer chooses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/digest.h"
#include "net/stream/frame.h"
#include "tests/fuzz/fuzz.h"
#include "tree/meta/entry.h"
#include "tree/pages/compare.h"

namespace rdcp::fuzz {

inline constexpr std::uint32_t kSlotBytes = 64 << 10;

// What lies in the target's tree before the run, and what frames name above all.
inline constexpr std::string_view kBigName = "big", kPartName = "part";
inline constexpr std::size_t kBigBytes = 40'000;
inline constexpr std::uint64_t kPartBytes = 16 << 20;
std::string big_content();
io::Digest part_token();  // identifies the source of the part that an earlier run has left

struct Sent {
  net::Frame frame;
  std::vector<std::byte> payload;
  std::size_t stream = 0;
  bool waits = false;  // for the answer, before the next frame goes
};

// True if decode() lets such a frame through.
bool is_well_formed(const net::Frame& frame);

// What a job has agreed on, of which most frames keep to: the first that does not ends the run.
struct Agreement {
  std::size_t streams = 1;
  bool syncs = false, deletes = false, probes = false, asks = false;
  bool one_at_a_time =
      false;  // only one file is open: with --inplace a second one of the same inode waits for 3 s
  std::string landing;
};

class FrameMaker {
 public:
  // outside: a path that symlinks may lead to.
  FrameMaker(Choices& choices, Agreement agreed, std::string outside)
      : choices_(choices), agreed_(std::move(agreed)), outside_(std::move(outside)) {}

  Sent next();
  // True if a name of rdcp's own, or one with this text in it, was in a frame.
  bool has_sent(std::string_view text) const { return all_.find(text) != std::string::npos; }

 private:
  bool now_and_then() { return choices_.number<std::uint8_t>() > 0xf7; }
  bool seldom() { return choices_.number<std::uint8_t>() == 0xff; }
  std::string name();
  std::string path();
  tree::Entry entry();
  tree::Entry file_entry(const std::string& path);
  void add_acl(tree::Entry& entry);
  std::vector<std::byte> content(std::size_t bytes);
  std::vector<std::byte> archive_of(std::vector<tree::Entry> entries);
  void damage(std::vector<std::byte>& payload, bool archive);

  using Make = void (FrameMaker::*)(Sent&);
  Make chosen_maker(std::uint8_t chosen);
  void make_archive(Sent& sent);
  void make_open(Sent& sent);
  void make_data(Sent& sent);
  void make_commit(Sent& sent);
  void make_compare(Sent& sent);
  void make_names(Sent& sent);
  void make_probe(Sent& sent);
  void make_ask(Sent& sent);
  void make_lost(Sent& sent);
  void make_raw(Sent& sent);
  std::uint64_t any_offset();
  std::uint64_t open_file();
  std::uint8_t perhaps_again();

  struct Opened {
    std::string path;
    std::uint64_t size = 0;
    io::FileDigest digest;  // of what was sent
    std::uint64_t sent = 0;
  };

  Choices& choices_;
  const Agreement agreed_;
  const std::string outside_;
  std::map<std::uint64_t, Opened> files_;  // those that are open, unless the target refused one
  std::uint64_t next_file_ = 0;
  std::uint64_t turn_ = 0;
  bool lost_ = false;  // a stream was said to be lost, so frames may come again
  std::string all_;
};

}  // namespace rdcp::fuzz
