/* Preloaded into an agent: RDMA devices register no memory that could be a stream's slots, as where other processes of a
 * container have locked what may be locked. Queues, which are smaller, are registered. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_mr;
struct ibv_pd;

static const size_t kSlotsMin = 128 << 10;

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access) {
  struct ibv_mr *(*next)(struct ibv_pd *, void *, size_t, int) = dlvsym(RTLD_NEXT, "ibv_reg_mr", "IBVERBS_1.1");
  if (length < kSlotsMin) return next(pd, address, length, access);
  errno = ENOMEM;
  return NULL;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t at, unsigned access) {
  struct ibv_mr *(*next)(struct ibv_pd *, void *, size_t, uint64_t, unsigned) = dlsym(RTLD_NEXT, "ibv_reg_mr_iova2");
  if (length < kSlotsMin) return next(pd, address, length, at, access);
  errno = ENOMEM;
  return NULL;
}
