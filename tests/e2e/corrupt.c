/* Preloaded into a source agent: flips one bit in the payloads that it sends, as bad memory or a bad link
 * would. RDCP_CORRUPT_TIMES: how often (-1: always). RDCP_CORRUPT_LOG: a line is appended to this file each
 * time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "turns.h"

static const size_t kPayloadMin = 16384; /* frames and handshakes are smaller and stay as they are */
static const size_t kFlipAt = 1000;

ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  ssize_t (*next)(int, const struct msghdr*, int) =
      (ssize_t(*)(int, const struct msghdr*, int))dlsym(RTLD_NEXT, "sendmsg");
  size_t before = 0;
  for (size_t i = 0; i < message->msg_iovlen; before += message->msg_iov[i++].iov_len) {
    struct iovec* part = &message->msg_iov[i];
    if (part->iov_len < kPayloadMin || !take_turn("RDCP_CORRUPT_TIMES")) continue;
    /* Only for the time of the call: what is sent again later has the right bytes. */
    unsigned char* victim = (unsigned char*)part->iov_base + kFlipAt;
    *victim ^= 1;
    ssize_t sent = next(fd, message, flags);
    *victim ^= 1;
    if (sent > (ssize_t)(before + kFlipAt)) {
      write_log("RDCP_CORRUPT_LOG", "flipped\n");
    } else {
      atomic_fetch_sub(&turns_taken, 1); /* the socket was full: the wrong byte has not gone out */
    }
    return sent;
  }
  return next(fd, message, flags);
}
