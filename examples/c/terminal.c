/*
 * terminal.c - reads a line for each question, on a thread of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "terminal.h"

#include "check.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_t reader;
static void (*leave_app)(const step *asked);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const step *asked; /* waits for the reader; NULL if none does */
static inturn_token asked_token;
static bool is_closed;

/* Takes the next question; NULL if there are no more. */
static const step *take(inturn_token *out_token) {
  pthread_mutex_lock(&lock);
  while (!asked && !is_closed)
    pthread_cond_wait(&changed, &lock);
  const step *taken = asked;
  *out_token = asked_token;
  asked = NULL;
  pthread_mutex_unlock(&lock);
  return taken;
}

static void *read_answers(void *unused) {
  bool echo = !isatty(STDIN_FILENO); /* a terminal shows what is typed */
  char *line = NULL;
  size_t room = 0;
  const step *open;
  inturn_token token;
  while ((open = take(&token)) != NULL) {
    if (getline(&line, &room, stdin) < 0) {
      printf("(end of input)\n");
      leave_app(open);
      break;
    }
    line[strcspn(line, "\r\n")] = '\0';
    if (echo)
      printf("%s\n", line);
    if (!open->answer(token, line))
      terminal_ask(open, token);
  }
  free(line);
  return unused;
}

void terminal_open(void (*leave)(const step *asked)) {
  leave_app = leave;
  setvbuf(stdout, NULL, _IONBF, 0); /* questions end without a line end */
  REQUIRE(pthread_create(&reader, NULL, read_answers, NULL) == 0);
}

void terminal_ask(const step *asking, inturn_token token) {
  printf("[%s] %s ", asking->label, asking->question);
  pthread_mutex_lock(&lock);
  asked = asking;
  asked_token = token;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

void terminal_close(void) {
  pthread_mutex_lock(&lock);
  is_closed = true;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  REQUIRE(pthread_join(reader, NULL) == 0);
}
