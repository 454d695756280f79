// no_uring COMMAND [ARGUMENT]...: runs a command for which io_uring_setup(2) fails with EPERM, as it does
// under the seccomp profiles of container runtimes.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  // The call has the same number on every architecture (425), so the filter need not look at
  // seccomp_data.arch.
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (argc < 2) {
    fprintf(stderr, "usage: no_uring COMMAND [ARGUMENT]...\n");
    return 2;
  }
  // Without it an unprivileged process may not install a filter (seccomp(2)).
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("no_uring: seccomp");
    return 125;
  }
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 127;
}
