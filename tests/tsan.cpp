// Linked into all that uses rings where ThreadSanitizer is: it does not see that a ring's memory, which
// liburing maps and unmaps by system calls of its own, is another ring's when it is mapped again at the same
// place.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return "race:io_uring_cq_advance\n"
         "race:io_uring_prep_rw\n"
         "race:io_uring_sqe_set_data\n";
}
