/* What is preloaded to do harm: how often it still may, and a line in a log for each time that it did. */
#pragma once

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "outside.h"

static atomic_long turns_taken;

/* times: the variable that says how often (-1: always; without it: never). */
static inline _Bool take_turn(const char* times) {
  const char* text = getenv(times);
  long most = text != NULL ? atol(text) : 0;
  if (most < 0) return 1;
  if (atomic_fetch_add(&turns_taken, 1) < most) return 1;
  atomic_fetch_sub(&turns_taken, 1);
  return 0;
}

struct log_line {
  const char* path;
  const char* line;
};

static inline void append_line(void* with) {
  const struct log_line* to = with;
  int fd = to->path != NULL ? open(to->path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (fd < 0 || write(fd, to->line, strlen(to->line)) != (ssize_t)strlen(to->line)) abort();
  close(fd);
}

/* log: the variable that names the file, which has to be there. */
static inline void write_log(const char* log, const char* line) {
  struct log_line to = {getenv(log), line};
  do_outside(append_line, &to);
}
