/* Part of fault.c. Where peers have to wait for their limits, the clock is quick: all that is read from the
 * monotonic clock is multiplied, and what is waited for is divided. */
#pragma once

#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

static int haste(void) {
  return role != kNobody && page->order.haste > 1 ? page->order.haste : 1;
}

static int64_t nanoseconds(const struct timespec* time) {
  return time->tv_sec * 1000000000LL + time->tv_nsec;
}

static struct timespec from_nanoseconds(int64_t time) {
  return (struct timespec){.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
}

static _Bool is_monotonic(clockid_t clock) {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  int status = NEXT(clock_gettime)(clock, now);
  if (status == 0 && haste() > 1 && is_monotonic(clock)) *now = from_nanoseconds(nanoseconds(now) * haste());
  return status;
}

int pthread_cond_clockwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex,
                           clockid_t clock, const struct timespec* restrict until) {
  const struct timespec real = from_nanoseconds(nanoseconds(until) / (is_monotonic(clock) ? haste() : 1));
  return NEXT(pthread_cond_clockwait)(condition, mutex, clock, &real);
}

int timerfd_settime(int fd, int flags, const struct itimerspec* to, struct itimerspec* old) {
  const struct itimerspec real = {from_nanoseconds(nanoseconds(&to->it_interval) / haste()),
                                  from_nanoseconds(nanoseconds(&to->it_value) / haste())};
  return NEXT(timerfd_settime)(fd, flags, &real, old);
}

/* How long a peer has been silent is measured by the kernel. */
int getsockopt(int fd, int level, int name, void* restrict value, socklen_t* restrict size) {
  if (fails("getsockopt", fd, NULL)) return -1;
  const int status = NEXT(getsockopt)(fd, level, name, value, size);
  if (status == 0 && level == IPPROTO_TCP && name == TCP_INFO && *size >= sizeof(struct tcp_info)) {
    ((struct tcp_info*)value)->tcpi_last_ack_recv *= (unsigned)haste();
  }
  return status;
}

int poll(struct pollfd* on, nfds_t count, int timeout) {
  if (fails("poll", -1, NULL)) return -1;
  return NEXT(poll)(on, count, timeout > 0 ? (timeout + haste() - 1) / haste() : timeout);
}

int ppoll(struct pollfd* on, nfds_t count, const struct timespec* timeout, const sigset_t* signals) {
  if (fails("ppoll", -1, NULL)) return -1;
  if (timeout == NULL) return NEXT(ppoll)(on, count, NULL, signals);
  const struct timespec real = from_nanoseconds(nanoseconds(timeout) / haste());
  return NEXT(ppoll)(on, count, &real, signals);
}

int io_uring_submit_and_wait_timeout(struct io_uring* ring, struct io_uring_cqe** first, unsigned count,
                                     struct __kernel_timespec* timeout, sigset_t* signals) {
  if (fails("uring_submit", -1, NULL)) return -errno;
  if (timeout == NULL || haste() == 1) {
    return NEXT(io_uring_submit_and_wait_timeout)(ring, first, count, timeout, signals);
  }
  const int64_t time = (timeout->tv_sec * 1000000000LL + timeout->tv_nsec) / haste();
  struct __kernel_timespec real = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
  return NEXT(io_uring_submit_and_wait_timeout)(ring, first, count, &real, signals);
}
