/* Preloaded into every process of a point of the fault campaign: counts the calls that each of them makes,
 * and does harm at the one that it was told of. Both stand in a page that all processes of the point share,
 * RDCP_CAMPAIGN_PAGE (page.py has its layout, too), so nothing is opened or written later, whatever walls the
 * process builds around itself. RDCP_CAMPAIGN_ROLE: "source" or "target" for an agent behind the remote
 * shell, "near" for what the user started. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { kRoles = 4, kCalls = 96, kNameBytes = 24 };
enum Role { kNear, kSource, kTarget, kLocalAgent, kNobody };
enum Action { kNothing, kError, kShort, kSignal, kCut, kStall, kFlip, kSlow };

/* Known by their places: page.py reads the names from the page. */
static const char kNames[kCalls][kNameBytes] = {
    "any",           "fstat",        "fstatat",         "read",
    "pread",         "pwrite",       "ftruncate",       "unlinkat",
    "mkdirat",       "linkat",       "renameat",        "renameat2",
    "fchmod",        "fchownat",     "futimens",        "utimensat",
    "fsetxattr",     "flistxattr",   "fsync",           "fdatasync",
    "flock",         "fallocate",    "close",           "openat",
    "readdir",       "getdents64",   "openat2",         "write",
    "open",          "syncfs",       "symlinkat",       "mknodat",
    "statx",         "ficlonerange", "copy_file_range", "thread",
    "pipe2",         "eventfd",      "socket",          "epoll_create1",
    "signalfd",      "mmap",         "sendmsg",         "recvmsg",
    "send",          "accept4",      "connect",         "bind",
    "listen",        "setsockopt",   "socketpair",      "poll",
    "ppoll",         "fork",         "completion",      "uring_init",
    "uring_buffers", "uring_files",  "uring_submit",    "fgetxattr",
    "fchmodat",      "lseek",        "readlinkat",      "fstatfs",
    "getrandom",     "fremovexattr", "pwritev2",        "sync_file_range",
    "stat",          "epoll_ctl",    "getsockopt",      "chmod",
    "llistxattr",    "getxattr",     "setxattr",        "removexattr",
    "timerfd",       "payload",
};
static const size_t kPayloadMin = 16384; /* frames and handshakes are smaller */

struct Page {
  struct {
    char call[kNameBytes];
    int32_t role, action;
    int64_t nth, times; /* nth 0: the next calls from when the order stands there, so many of all processes */
    int32_t error, haste; /* so many times faster does the clock go that limits are measured by */
  } order;
  atomic_uint fired, fired_pid, crash_signal, crash_role; /* at 56 */
  char names[kCalls][kNameBytes];
  atomic_ulong counts[kRoles][kCalls];
};

static struct Page* page;
static int role = kNobody;
static _Thread_local _Bool cut_short;
static _Thread_local _Bool flip_next;

static void note_crash(int number) {
  page->crash_signal = (unsigned)number;
  page->crash_role = (unsigned)role;
  raise(number); /* the handler is gone by now (SA_RESETHAND) */
}

static void forget_in_child(void) {
  role = kNobody;
} /* between fork and exec it is neither of them */

/* An agent that its coordinator has forked begins with it. */
pid_t setsid(void) {
  if (page != NULL) role = kLocalAgent;
  return ((pid_t(*)(void))dlsym(RTLD_NEXT, "setsid"))();
}

static int role_of_this(void) {
  static char words[4096];
  const char* given = getenv("RDCP_CAMPAIGN_ROLE");
  const char* name = program_invocation_short_name; /* "exe": rdpipe has begun itself, by /proc/self/exe */
  if (given == NULL || (strncmp(name, "rd", 2) != 0 && strcmp(name, "exe") != 0)) return kNobody;
  if (strcmp(given, "source") == 0) return kSource;
  if (strcmp(given, "target") == 0) return kTarget;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const long got = fd < 0 ? 0 : syscall(SYS_read, fd, words, sizeof words - 1);
  if (fd >= 0) syscall(SYS_close, fd);
  for (long at = 0; at < got; at += (long)strlen(words + at) + 1) {
    if (strncmp(words + at, "--agent", 7) == 0) return kLocalAgent;
  }
  return kNear;
}

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("RDCP_CAMPAIGN_PAGE");
  const int as = path == NULL ? kNobody : role_of_this();
  if (as == kNobody) return;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  void* shared = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) _exit(99);
  syscall(SYS_close, fd);
  page = shared;
  memcpy(page->names, kNames, sizeof kNames);
  pthread_atfork(NULL, NULL, forget_in_child);
  struct sigaction noted = {.sa_handler = note_crash, .sa_flags = SA_RESETHAND | SA_NODEFER};
  static const int deadly[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP};
  for (size_t i = 0; i < sizeof deadly / sizeof *deadly; ++i) sigaction(deadly[i], &noted, NULL);
  role = as;
}

/* True as often as was ordered, in all processes together; always where that is less than 0. */
static _Bool take_one(void) {
  int64_t left = page->order.times;
  while (left > 0 && !__atomic_compare_exchange_n(&page->order.times, &left, left - 1, 0, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED)) {
  }
  return left != 0;
}

/* True once for each call that is to be harmed. */
static _Bool is_its_turn(const char* call, uint64_t number_of_all, uint64_t number) {
  if (page->order.role != role || page->order.action == kNothing) return 0;
  uint64_t at = number;
  if (strcmp(page->order.call, "any") == 0) {
    at = number_of_all;
  } else if (strcmp(page->order.call, call) != 0) {
    return 0;
  }
  const uint64_t first = (uint64_t)page->order.nth;
  if (first == 0) return take_one();
  return at >= first && (page->order.times < 0 || at < first + (uint64_t)page->order.times);
}

static void send_signal(int number) {
  page->fired_pid = (unsigned)getpid();
  page->fired = 1;
  kill(getpid(), number);
}

static void stall(int fd) {
  struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  struct sock_fprog program = {1, &drop};
  ((int (*)(int, int, int, const void*, socklen_t))dlsym(RTLD_NEXT, "setsockopt"))(
      fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/* True, with errno: the call is to fail. Other kinds of harm are done here, or by the caller. */
static _Bool fails(const char* call, int fd, const char* name) {
  (void)name;
  if (role == kNobody) return 0;
  int index = 0;
  while (index < kCalls - 1 && strcmp(kNames[index], call) != 0) ++index;
  const uint64_t all = atomic_fetch_add(&page->counts[role][0], 1) + 1;
  const uint64_t number = atomic_fetch_add(&page->counts[role][index], 1) + 1;
  if (!is_its_turn(call, all, number)) return 0;
  const int before = errno;
  switch (page->order.action) {
    case kError:
      page->fired = 1;
      errno = page->order.error;
      return 1;
    case kSignal:
      send_signal(page->order.error);
      break;
    case kShort:
      cut_short = 1;
      break;
    case kCut:
      page->fired = 1;
      shutdown(fd, SHUT_RDWR);
      break;
    case kStall:
      page->fired = 1;
      stall(fd);
      break;
    case kFlip:
      flip_next = 1;
      break;
    case kSlow:
      page->fired = 1;
      nanosleep(&(struct timespec){0, page->order.error * 1000000L}, NULL);
      break;
    default:
      break;
  }
  errno = before;
  return 0;
}

/* Direct I/O wants whole sectors. */
static size_t shortened(size_t count) {
  return count > 4096 ? (count / 2 + 4095) / 4096 * 4096 : (count + 1) / 2;
}

static size_t bytes_let_through(size_t count) {
  if (!cut_short || count < 2) return count;
  cut_short = 0;
  page->fired = 1;
  return shortened(count);
}

#include "wrapped_calls.h"

FAILING(ssize_t, pwritev2, "pwritev2", fd, NULL,
        (int fd, const struct iovec* from, int count, off_t at, int flags), (fd, from, count, at, flags))
FAILING(int, stat, "stat", -1, path, (const char* restrict path, struct stat* restrict to), (path, to))
FAILING(int, syncfs, "syncfs", fd, NULL, (int fd), (fd))
FAILING(int, symlinkat, "symlinkat", fd, path, (const char* target, int fd, const char* path),
        (target, fd, path))
FAILING(int, mknodat, "mknodat", fd, path, (int fd, const char* path, mode_t mode, dev_t device),
        (fd, path, mode, device))
FAILING(int, statx, "statx", fd, path,
        (int fd, const char* restrict path, int flags, unsigned mask, struct statx* restrict to),
        (fd, path, flags, mask, to))
FAILING(int, fchmodat, "fchmodat", fd, path, (int fd, const char* path, mode_t mode, int flags),
        (fd, path, mode, flags))
FAILING(ssize_t, readlinkat, "readlinkat", fd, path,
        (int fd, const char* restrict path, char* restrict to, size_t size), (fd, path, to, size))
FAILING(ssize_t, fgetxattr, "fgetxattr", fd, NULL, (int fd, const char* name, void* value, size_t size),
        (fd, name, value, size))
FAILING(int, fremovexattr, "fremovexattr", fd, NULL, (int fd, const char* name), (fd, name))
FAILING(off_t, lseek, "lseek", fd, NULL, (int fd, off_t at, int from), (fd, at, from))
FAILING(ssize_t, copy_file_range, "copy_file_range", from, NULL,
        (int from, off64_t* from_at, int to, off64_t* to_at, size_t count, unsigned flags),
        (from, from_at, to, to_at, bytes_let_through(count), flags))
FAILING(int, pipe2, "pipe2", -1, NULL, (int ends[2], int flags), (ends, flags))
FAILING(int, eventfd, "eventfd", -1, NULL, (unsigned count, int flags), (count, flags))
FAILING(int, epoll_create1, "epoll_create1", -1, NULL, (int flags), (flags))
FAILING(int, signalfd, "signalfd", -1, NULL, (int fd, const sigset_t* signals, int flags),
        (fd, signals, flags))
FAILING(int, socket, "socket", -1, NULL, (int family, int type, int protocol), (family, type, protocol))
FAILING(int, socketpair, "socketpair", -1, NULL, (int family, int type, int protocol, int ends[2]),
        (family, type, protocol, ends))
FAILING(int, connect, "connect", fd, NULL, (int fd, const struct sockaddr* to, socklen_t size),
        (fd, to, size))
FAILING(int, bind, "bind", fd, NULL, (int fd, const struct sockaddr* to, socklen_t size), (fd, to, size))
FAILING(int, listen, "listen", fd, NULL, (int fd, int backlog), (fd, backlog))
FAILING(int, accept4, "accept4", fd, NULL,
        (int fd, struct sockaddr* restrict from, socklen_t* restrict size, int flags),
        (fd, from, size, flags))
FAILING(int, setsockopt, "setsockopt", fd, NULL,
        (int fd, int level, int name, const void* value, socklen_t size), (fd, level, name, value, size))
FAILING(pid_t, fork, "fork", -1, NULL, (void), ())
/* The child of a real one would count in its parent's memory, and could stop it. */
pid_t vfork(void) {
  return fork();
}
FAILING(ssize_t, getrandom, "getrandom", -1, NULL, (void* to, size_t count, unsigned flags),
        (to, count, flags))
FAILING(int, chmod, "chmod", -1, path, (const char* path, mode_t mode), (path, mode))
FAILING(ssize_t, listxattr, "llistxattr", -1, path, (const char* path, char* names, size_t size),
        (path, names, size))
FAILING(ssize_t, llistxattr, "llistxattr", -1, path, (const char* path, char* names, size_t size),
        (path, names, size))
FAILING(ssize_t, getxattr, "getxattr", -1, path,
        (const char* path, const char* name, void* value, size_t size), (path, name, value, size))
FAILING(int, setxattr, "setxattr", -1, path,
        (const char* path, const char* name, const void* value, size_t size, int flags),
        (path, name, value, size, flags))
FAILING(int, removexattr, "removexattr", -1, path, (const char* path, const char* name), (path, name))
FAILING(int, timerfd_create, "timerfd", -1, NULL, (int clock, int flags), (clock, flags))
FAILING(int, sync_file_range, "sync_file_range", fd, NULL,
        (int fd, off64_t at, off64_t count, unsigned flags), (fd, at, count, flags))

/* Whatever happens, stderr is there: what is said on it is judged. */
ssize_t write(int fd, const void* from, size_t count) {
  if (fd == STDERR_FILENO) return NEXT(write)(fd, from, count);
  if (fails("write", fd, NULL)) return -1;
  return NEXT(write)(fd, from, bytes_let_through(count));
}

/* What a payload or a frame is sent by. */
static size_t victim_in(const struct msghdr* message, size_t least) {
  size_t most = least, found = message->msg_iovlen;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    if (message->msg_iov[i].iov_len <= most) continue;
    most = message->msg_iov[i].iov_len;
    found = i;
  }
  return found;
}

/* Sends the message with a byte flipped in a copy: other threads read the same memory meanwhile, such as the one that writes to
 * the disk what it passes on. */
static ssize_t send_flipped(int fd, const struct msghdr* message, int flags) {
  const size_t at = victim_in(message, 0);
  if (at == message->msg_iovlen) return NEXT(sendmsg)(fd, message, flags);
  struct iovec parts[at + 1];
  memcpy(parts, message->msg_iov, sizeof parts);
  unsigned char* copy = malloc(parts[at].iov_len);
  if (copy == NULL) return NEXT(sendmsg)(fd, message, flags);
  memcpy(copy, parts[at].iov_base, parts[at].iov_len);
  copy[(size_t)page->order.error % parts[at].iov_len] ^= 4;
  parts[at].iov_base = copy;
  struct msghdr flipped = *message;
  flipped.msg_iov = parts;
  flipped.msg_iovlen = at + 1;
  ssize_t sent = NEXT(sendmsg)(fd, &flipped, flags);
  free(copy);
  if (sent > 0) page->fired = 1;
  return sent;
}

ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  if (fails("sendmsg", fd, NULL)) return -1;
  if (role != kNobody && victim_in(message, kPayloadMin) != message->msg_iovlen && fails("payload", fd, NULL)) return -1;
  const _Bool flips = flip_next;
  flip_next = 0;
  return flips ? send_flipped(fd, message, flags) : NEXT(sendmsg)(fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  if (fails("recvmsg", fd, NULL)) return -1;
  flip_next = 0;
  return NEXT(recvmsg)(fd, message, flags);
}

ssize_t send(int fd, const void* from, size_t count, int flags) {
  if (fails("send", fd, NULL)) return -1;
  if (!flip_next || count == 0) return NEXT(send)(fd, from, count, flags);
  flip_next = 0;
  unsigned char* victim = (unsigned char*)from + (size_t)page->order.error % count;
  *victim ^= 4;
  ssize_t sent = NEXT(send)(fd, from, count, flags);
  *victim ^= 4;
  if (sent > 0) page->fired = 1;
  return sent;
}

void* mmap(void* at, size_t count, int protection, int flags, int fd, off_t offset) {
  if (fails("mmap", fd, NULL)) return MAP_FAILED;
  return NEXT(mmap)(at, count, protection, flags, fd, offset);
}

static int opened_by_path(const char* path, int flags, mode_t mode) {
  if (fails("open", -1, path)) return -1;
  return ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return opened_by_path(path, flags, mode);
}

/* What _FORTIFY_SOURCE makes of it where there is no mode. */
int __open_2(const char* path, int flags) {
  return opened_by_path(path, flags, 0);
}

int ioctl(int fd, unsigned long request, ...) {
  va_list more;
  va_start(more, request);
  void* argument = va_arg(more, void*);
  va_end(more);
  if (request == FICLONERANGE && fails("ficlonerange", fd, NULL)) return -1;
  return ((int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl"))(fd, request, argument);
}

/* It returns its error. */
int pthread_create(pthread_t* restrict thread, const pthread_attr_t* restrict attributes, void* (*run)(void*),
                   void* restrict argument) {
  if (fails("thread", -1, NULL)) return errno;
  return NEXT(pthread_create)(thread, attributes, run, argument);
}

/* Those of liburing return the negative of theirs. */
#define FAILING_URING(name, known_as, parameters, arguments) \
  int name parameters {                                      \
    if (fails(known_as, -1, NULL)) return -errno;            \
    return NEXT(name) arguments;                             \
  }

FAILING_URING(io_uring_queue_init, "uring_init", (unsigned entries, struct io_uring* ring, unsigned flags),
              (entries, ring, flags))
FAILING_URING(io_uring_register_buffers, "uring_buffers",
              (struct io_uring * ring, const struct iovec* pieces, unsigned count), (ring, pieces, count))
FAILING_URING(io_uring_register_files, "uring_files",
              (struct io_uring * ring, const int* files, unsigned count), (ring, files, count))
FAILING_URING(io_uring_register_files_update, "uring_files",
              (struct io_uring * ring, unsigned at, const int* files, unsigned count),
              (ring, at, files, count))
FAILING_URING(io_uring_submit, "uring_submit", (struct io_uring * ring), (ring))
#include "haste.h"

/* The kernel's results that say how many bytes were moved; those of polls and of cancelled operations are
 * small. */
unsigned io_uring_peek_batch_cqe(struct io_uring* ring, struct io_uring_cqe** completions, unsigned count) {
  const unsigned found = NEXT(io_uring_peek_batch_cqe)(ring, completions, count);
  for (unsigned i = 0; i < found; ++i) {
    const int moved = completions[i]->res;
    if (moved < 4096) continue;
    if (fails("completion", -1, NULL)) completions[i]->res = -errno;
    if (cut_short) completions[i]->res = (int)bytes_let_through((size_t)moved);
  }
  return found;
}
