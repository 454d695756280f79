#include "tree/session/target_session.h"

#include <cerrno>

namespace rdcp::tree {
namespace {

// Returns true for errors that all later files would meet, too.
bool concerns_everything(const io::Error& error) {
  return error.kind == io::ErrorKind::protocol || error.code == ENOSPC || error.code == EDQUOT ||
         error.code == EROFS || error.code == EPIPE;
}

}  // namespace

void TargetSession::fail(const io::Error& error) {
  reporter_.fatal(error);
  refusing_ = true;
}

void TargetSession::report(const io::Error& error) {
  if (concerns_everything(error)) {
    fail(error);
  } else {
    reporter_.problem(error);
  }
}

}  // namespace rdcp::tree
