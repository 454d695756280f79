// What the file system that lies does otherwise than an honest one.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace rdcp::lying {

struct Lies {
  // Each an errno; 0: it works.
  int flock = 0;
  int xattrs = 0;
  int tmpfile = 0;
  // Once this many bytes have been written, further ones are taken and thrown away, and close(2) or fsync(2)
  // tells it once, as on NFS.
  int close_error = 0;
  std::uint64_t close_bytes = 0;
  // On a handle that has had this many calls, each `stale_every`th call says ESTALE. 0: none does.
  std::uint64_t stale_every = 0;
  std::uint64_t stale_after = 0;
  bool folds_case = false;
  bool two_seconds = false;  // times are rounded down

  // Takes one word: flock=ERRNO, xattrs=ERRNO, tmpfile=ERRNO, close=ERRNO:BYTES, stale=EVERY:AFTER, fold,
  // two-seconds, or honest, which forgets all of them. ERRNO is its name. Returns false for any other word.
  bool take(std::string_view word);
};

timespec rounded(const Lies& lies, timespec time);
// Names are the same if this is. ASCII only.
std::string folded(const Lies& lies, std::string_view name);

}  // namespace rdcp::lying
