/* Harm that comes from outside, done by what is preloaded: a thread that was there before rdcp entered its
 * sandbox does it, so that the sandbox does not stand in its way. Each process has one, a forked one too. */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t outside_turn = PTHREAD_MUTEX_INITIALIZER;  /* one caller after the other */
static pthread_mutex_t outside_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static pthread_cond_t outside_moved = PTHREAD_COND_INITIALIZER;
static void (*outside_work)(void*);
static void* outside_with;

static void* serve_outside(void* nothing) {
  pthread_mutex_lock(&outside_mutex);
  for (;;) {
    while (outside_work == NULL) pthread_cond_wait(&outside_moved, &outside_mutex);
    outside_work(outside_with);
    outside_work = NULL;
    pthread_cond_broadcast(&outside_moved);
  }
  return nothing;
}

/* In a forked process no other thread can hold these. */
static void start_outside(void) {
  pthread_t thread;
  pthread_mutex_init(&outside_turn, NULL);
  pthread_mutex_init(&outside_mutex, NULL);
  pthread_cond_init(&outside_moved, NULL);
  if (pthread_create(&thread, NULL, serve_outside, NULL) != 0) abort();
  pthread_detach(thread);
}

__attribute__((constructor)) static void be_outside(void) {
  start_outside();
  pthread_atfork(NULL, NULL, start_outside);
}

/* Has work(with) done outside, and returns when it is. errno stays as it was. */
static inline void do_outside(void (*work)(void*), void* with) {
  const int before = errno;
  pthread_mutex_lock(&outside_turn);
  pthread_mutex_lock(&outside_mutex);
  outside_work = work;
  outside_with = with;
  pthread_cond_broadcast(&outside_moved);
  while (outside_work != NULL) pthread_cond_wait(&outside_moved, &outside_mutex);
  pthread_mutex_unlock(&outside_mutex);
  pthread_mutex_unlock(&outside_turn);
  errno = before;
}
