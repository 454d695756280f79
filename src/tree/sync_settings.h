// What --sync and its options ask of both sides.
#pragma once

#include <cstdint>
#include <tuple>

#include "io/range.h"

namespace rdcp::tree {

inline constexpr std::uint32_t kModifyWindowMax = 1'000'000'000;

struct SyncSettings {
  bool enabled = false;       // what is equal is left alone
  bool mirror = false;        // SRC means what is in it, and what is no directory gives way to one
  bool dry_run = false;       // compare and tell, change nothing
  bool itemize = false;       // tell what changes, a line each
  bool size_only = false;     // equal size is enough
  bool checksum = false;      // the content decides, not the time
  bool ignore_times = false;  // equal size and time are not enough: send again
  bool update = false;        // leave files alone that are newer at the target
  bool existing = false;      // make nothing that is not there yet
  bool ignore_existing = false;
  io::Within<std::uint32_t, 0, kModifyWindowMax> modify_window_s;  // times that differ by no more are equal
  bool delete_extra = false;                                       // remove what the source does not have
  bool force = false;
  std::uint64_t max_delete = ~std::uint64_t{0};
  auto fields() {
    return std::tie(enabled, mirror, dry_run, itemize, size_only, checksum, ignore_times, update, existing,
                    ignore_existing, modify_window_s, delete_extra, force, max_delete);
  }

  bool tells() const { return itemize || dry_run; }
  // A directory may go where the source has something else.
  bool replaces_directories() const { return delete_extra || force; }
};

// What the target says of an item that the source has (net::Verdicts).
enum class Verdict : std::uint8_t {
  equal = 0,      // nothing to do
  metadata = 1,   // the same thing, with other metadata
  different = 2,  // missing, of another type or of other content
  // Stays as it is: by an option, or it cannot be replaced, which has been told. No name to be linked to.
  refused = 3,
};

}  // namespace rdcp::tree
