/* Preloaded into an agent: breaks data connections in the middle of a copy.
 * RDCP_CUT_STREAMS: how many of them. RDCP_CUT_AFTER: after so many calls that carry a payload, for each. Those that
 * come to this number first are cut, since nobody knows how a copy spreads over its streams.
 * RDCP_CUT_SILENTLY: if set, nothing more arrives through it, as if the network were gone; else it is closed.
 * RDCP_CUT_LOG: a line is appended to this file for each.
 * RDCP_DETOUR: a port of this host: rdcp gets there, wherever it wants to connect to.
 * RDCP_DETOUR_LOG: the port that it wanted, a line for each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "turns.h"

enum { kSocketsMax = 64 };
static const size_t kPayloadMin = 16384; /* frames and handshakes are smaller */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  int fd;
  long calls;
} sockets[kSocketsMax];
static int socket_count;
static long cuts;

static long setting(const char *name) {
  const char *value = getenv(name);
  return value != NULL ? atol(value) : 0;
}

static void cut(int fd) {
  struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  struct sock_fprog program = {1, &drop};
  if (getenv("RDCP_CUT_SILENTLY") != NULL) {
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) abort();
  } else {
    shutdown(fd, SHUT_RDWR);
  }
  write_log("RDCP_CUT_LOG", "cut\n");
}

static void count_call(int fd, const struct msghdr *message) {
  size_t longest = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    if (message->msg_iov[i].iov_len > longest) longest = message->msg_iov[i].iov_len;
  }
  if (longest < kPayloadMin) return;
  pthread_mutex_lock(&mutex);
  int i = 0;
  while (i < socket_count && sockets[i].fd != fd) ++i;
  if (i == socket_count && i < kSocketsMax) sockets[socket_count++].fd = fd;
  if (i < socket_count && ++sockets[i].calls == setting("RDCP_CUT_AFTER") && cuts < setting("RDCP_CUT_STREAMS")) {
    ++cuts;
    cut(fd);
    sockets[i].fd = -1; /* the stream that takes its place may get this number, and is counted anew */
  }
  pthread_mutex_unlock(&mutex);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  ssize_t (*next)(int, const struct msghdr *, int) =
      (ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
  count_call(fd, message);
  return next(fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  ssize_t (*next)(int, struct msghdr *, int) = (ssize_t(*)(int, struct msghdr *, int))dlsym(RTLD_NEXT, "recvmsg");
  count_call(fd, message);
  return next(fd, message, flags);
}

/* An IPv4 address in the form that the socket takes. */
static struct sockaddr_in6 detour_of(int family, unsigned short port) {
  struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  struct sockaddr_in plain = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  static const unsigned char mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
  memcpy(&to.sin6_addr, mapped, sizeof mapped);
  if (family == AF_INET) memcpy(&to, &plain, sizeof plain);
  return to;
}

struct call {
  int fd;
  const void *to;
  socklen_t length;
  int result;
  int error;
};

static void connect_outside(void *with) {
  int (*next)(int, const struct sockaddr *, socklen_t) =
      (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
  struct call *call = with;
  call->result = next(call->fd, call->to, call->length);
  call->error = errno;
}

int connect(int fd, const struct sockaddr *address, socklen_t length) {
  int (*next)(int, const struct sockaddr *, socklen_t) =
      (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
  const long detour = setting("RDCP_DETOUR");
  const int inet = address->sa_family == AF_INET || address->sa_family == AF_INET6;
  if (detour == 0 || !inet || strcmp(program_invocation_short_name, "rdcp") != 0) return next(fd, address, length);
  char port[16];
  /* It stands at the same place in both. */
  snprintf(port, sizeof port, "%d\n", ntohs(((const struct sockaddr_in *)address)->sin_port));
  write_log("RDCP_DETOUR_LOG", port);
  const struct sockaddr_in6 there = detour_of(address->sa_family, (unsigned short)detour);
  struct call call = {fd, &there, length, 0, 0};
  do_outside(connect_outside, &call);
  errno = call.error;
  return call.result;
}
