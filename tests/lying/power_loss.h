// What a loss of power may leave of a disk.
#pragma once

#include <cstdint>
#include <random>

#include "tests/lying/disk.h"

namespace rdcp::lying {

// How what was not made durable comes through. A seed draws one of these and all details.
enum class Survival : std::uint8_t {
  nothing,     // what was not flushed is gone
  names_only,  // names, sizes and attributes are there, and no data: a rename before the data that it names
  data_only,   // the opposite
  ordered,     // names, sizes and attributes up to some moment, as a journal keeps them; any part of the data
  unordered,   // any part of everything; only changes of the same name keep their order
};

// Finds a state that the promises of POSIX and nothing more allow: what was flushed is there; blocks, sizes,
// attributes and names that were changed since are there or not, each for itself. Only a rename comes through
// as a whole or not at all, unless a flush of one of two directories has parted its ends.
class PowerLoss {
 public:
  explicit PowerLoss(std::uint64_t seed);
  PowerLoss(std::uint64_t seed, Survival survival) : chance_(seed), survival_(survival) {}

  Survival survival() const { return survival_; }
  // All of the result is durable.
  Disk after(const Disk& before);

 private:
  bool coin(double likely) { return std::bernoulli_distribution(likely)(chance_); }
  std::uint64_t below(std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(chance_);
  }
  bool keeps_data() const { return survival_ != Survival::nothing && survival_ != Survival::names_only; }
  void choose_moment(const Disk& before);
  Content content_of(const Inode& inode);
  void keep_attributes(const Inode& inode, State& state);
  std::map<Inumber, Names> names_of(const Disk& before);

  std::mt19937_64 chance_;
  Survival survival_ = Survival::nothing;
  std::uint64_t until_ = 0;  // the moment, if `ordered`
};

}  // namespace rdcp::lying
