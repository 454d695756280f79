// Keeps account of the frames that go through a chain of targets, by what identifies a frame on every hop.
#pragma once

#include <map>
#include <mutex>
#include <span>

#include "net/crypto/set_hash.h"
#include "tests/fuzz/fuzz.h"
#include "tree/streams/frame_ledger.h"

namespace rdcp::fuzz {

// What a source sends, and what of it is passed on to one next target. Thread-safe after the last send().
class ChainAccount {
 public:
  explicit ChainAccount(std::size_t tries) : tries_(tries) {}

  void send(const net::Frame& frame, Bytes payload) { ++sent_[tree::identity_of(frame, payload)]; }
  // Nothing is passed on but what was sent, as it was sent, and no more often than a chunk is tried.
  void pass_on(const net::Frame& frame, Bytes payload) {
    const net::Sha256 identity = tree::identity_of(frame, payload);
    const std::lock_guard lock(mutex_);
    const auto known = sent_.find(identity);
    require(known != sent_.end() && ++passed_[identity] <= known->second * tries_);
    require(payload.empty() || io::digest_of(payload) == frame.digest);
    passed_sum_.add(identity);
  }
  // What the next target gets, where the hop may have changed it.
  void deliver(const net::Frame& frame, Bytes payload) {
    const net::Sha256 identity = tree::identity_of(frame, payload);
    const std::lock_guard lock(mutex_);
    delivered_sum_.add(identity);
  }

  // After the run.
  const net::SetHash& passed() const { return passed_sum_; }
  const net::SetHash& delivered() const { return delivered_sum_; }

 private:
  const std::size_t tries_;
  std::mutex mutex_;
  std::map<net::Sha256, std::size_t> sent_, passed_;
  net::SetHash passed_sum_, delivered_sum_;
};

}  // namespace rdcp::fuzz
