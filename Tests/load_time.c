/*
 * load_time.c - how long it takes to load libinturn and make a first queue.
 *
 *   load_time LIBRARY
 *
 * Prints the median of 31 processes, in microseconds. Each is a fork of this
 * one, which does not load the library: it stays where it is once loaded.
 *
 * SPDX-License-Identifier: MIT
 */
#include "inturn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 31 };

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Does it and ends the process, with 0 if the time was written. */
static void load(const char *path, int result) {
  __typeof__(inturn_queue_create) *create;
  inturn_queue queue;
  double begin = now_us(), took;
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL)
    fprintf(stderr, "%s\n", dlerror());
  void *symbol = library ? dlsym(library, "inturn_queue_create") : NULL;
  memcpy(&create, &symbol, sizeof create);
  if (symbol == NULL || create(INTURN_QUEUE_FIFO, NULL, &queue) != INTURN_OK)
    _exit(1);
  took = now_us() - begin;
  _exit(write(result, &took, sizeof took) != sizeof took);
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

int main(int argc, char **argv) {
  double took[ROUNDS];
  int ends[2];
  if (argc != 2 || pipe(ends) != 0)
    return 2;
  for (int i = 0; i < ROUNDS; i++) {
    int status;
    pid_t child = fork();
    if (child == 0)
      load(argv[1], ends[1]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 ||
        read(ends[0], &took[i], sizeof took[i]) != sizeof took[i])
      return 1;
  }
  qsort(took, ROUNDS, sizeof *took, compare);
  printf("%.0f\n", took[ROUNDS / 2]);
}
