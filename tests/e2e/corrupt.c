/* Preloaded into a source agent: flips one bit in the payloads that it sends, as bad memory or a bad link
 * would. RDCP_CORRUPT_TIMES: how often (-1: always). RDCP_CORRUPT_LOG: a line is appended to this file each
 * time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static const size_t kPayloadMin = 16384; /* frames and handshakes are smaller and stay as they are */
static const size_t kFlipAt = 1000;

static atomic_long turns_taken;

static _Bool take_turn(void) {
  const char* times = getenv("RDCP_CORRUPT_TIMES");
  long most = times != NULL ? atol(times) : 0;
  if (most < 0) return 1;
  if (atomic_fetch_add(&turns_taken, 1) < most) return 1;
  atomic_fetch_sub(&turns_taken, 1);
  return 0;
}

static void write_log(void) {
  const char* log = getenv("RDCP_CORRUPT_LOG");
  int fd = log != NULL ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (fd < 0 || write(fd, "flipped\n", 8) != 8) abort();
  close(fd);
}

ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  ssize_t (*next)(int, const struct msghdr*, int) =
      (ssize_t(*)(int, const struct msghdr*, int))dlsym(RTLD_NEXT, "sendmsg");
  size_t before = 0;
  for (size_t i = 0; i < message->msg_iovlen; before += message->msg_iov[i++].iov_len) {
    struct iovec* part = &message->msg_iov[i];
    if (part->iov_len < kPayloadMin || !take_turn()) continue;
    /* Only for the time of the call: what is sent again later has the right bytes. */
    unsigned char* victim = (unsigned char*)part->iov_base + kFlipAt;
    *victim ^= 1;
    ssize_t sent = next(fd, message, flags);
    *victim ^= 1;
    if (sent > (ssize_t)(before + kFlipAt)) {
      write_log();
    } else {
      atomic_fetch_sub(&turns_taken, 1); /* the socket was full: the wrong byte has not gone out */
    }
    return sent;
  }
  return next(fd, message, flags);
}
