// The meaning of rdcp's exit status. Documented in rdcp(1) and stable.
#pragma once

#include "io/result.h"

namespace rdcp::cli {

inline constexpr int kExitOk = 0;     // every byte and every promised piece of metadata is on the target
inline constexpr int kExitFiles = 1;  // some files could not be read or written; each was named
inline constexpr int kExitUsage = 2;  // what was asked for makes no sense
inline constexpr int kExitUnreachable = 3;   // a host could not be reached, or has no rdcp or too old a one
inline constexpr int kExitConnection = 4;    // the data connection failed
inline constexpr int kExitDigest = 5;        // a digest did not match after retries
inline constexpr int kExitSignalBase = 128;  // plus the signal's number: 130 for SIGINT, 143 for SIGTERM

// Returns the exit status of a run that ended with an error of this kind. `signal` is the signal that this
// process got, or 0; an interrupted run without a signal was ended by the other side.
constexpr int exit_status(io::ErrorKind kind, int signal = 0) {
  switch (kind) {
    case io::ErrorKind::file:
    case io::ErrorKind::reader_gone:
      return kExitFiles;
    case io::ErrorKind::usage:
      return kExitUsage;
    case io::ErrorKind::unreachable:
      return kExitUnreachable;
    case io::ErrorKind::connection:
    case io::ErrorKind::protocol:
      return kExitConnection;
    case io::ErrorKind::digest:
      return kExitDigest;
    case io::ErrorKind::interrupted:
      break;
  }
  return signal != 0 ? kExitSignalBase + signal : kExitConnection;
}

}  // namespace rdcp::cli
