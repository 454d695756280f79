// The settings of --sync and its options, as both sides need them.
#pragma once

#include <cstdint>
#include <tuple>

#include "io/range.h"

namespace rdcp::tree {

inline constexpr std::uint32_t kModifyWindowMax = 1'000'000'000;

struct SyncSettings {
  bool enabled = false;       // compare first, and leave alone what is equal
  bool mirror = false;        // SRC stands for its contents, and a directory replaces what is not one
  bool dry_run = false;       // compare and report, but change nothing
  bool itemize = false;       // report each change in a line
  bool size_only = false;     // files of equal size are equal
  bool checksum = false;      // the content decides, not the time
  bool ignore_times = false;  // send files of equal size and time again, too
  bool update = false;        // leave files alone that are newer at the target
  bool existing = false;      // create nothing that is missing
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
  // A directory may be removed where the source has something else.
  bool replaces_directories() const { return delete_extra || force; }
};

// The target's verdict on an item that the source has (net::Verdicts).
enum class Verdict : std::uint8_t {
  equal = 0,      // nothing to do
  metadata = 1,   // the same thing, with other metadata
  different = 2,  // missing, of another type or of other content
  // It stays as it is because of an option, or because it cannot be replaced, which has been reported.
  // Nothing may be linked to its name.
  refused = 3,
};

}  // namespace rdcp::tree
