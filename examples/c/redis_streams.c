/*
 * redis_streams.c - past one machine: consumers of Redis Streams share the
 * load, keep the order of each key, and lose nothing when one of them dies.
 *
 *     redis_streams PORT NAME      (until it is terminated: kill, Ctrl-C)
 *
 * What to look at: the messages with the same key go through that key's queue,
 * one after another, and those with other keys at the same time. A message is
 * acknowledged when its operation's token is finished: what a dead consumer has
 * not finished is handled by another. redis_partitions.h shares the streams.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "check.h"
#include "redis_partitions.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

enum { KEYS = 1000, HANDLERS = 32 };
static struct {
  char key[32];
  inturn_queue queue;
} keys[KEYS];
static int key_count;

static redisContext *connection; /* only used by the work of this queue: */
static inturn_queue redis;
static inturn_queue_options keyed = INTURN_QUEUE_OPTIONS_INIT;
static int acknowledged;
static const char *name;
static volatile sig_atomic_t is_terminated;

static void terminate(int signal) { is_terminated = signal; }

static inturn_queue queue_of(const char *key) {
  for (int index = 0; index < key_count; index++)
    if (strcmp(keys[index].key, key) == 0)
      return keys[index].queue;
  REQUIRE(key_count < KEYS);
  strcpy(keys[key_count].key, key);
  CHECK(inturn_queue_create(INTURN_QUEUE_FIFO, &keyed, &keys[key_count].queue));
  return keys[key_count++].queue;
}

static void command(const char *format, ...) {
  va_list words;
  va_start(words, format);
  redisReply *reply = redisvCommand(connection, format, words);
  va_end(words);
  require_(reply != NULL, format, connection->errstr);
  require_(reply->type != REDIS_REPLY_ERROR, format, reply->str);
  freeReplyObject(reply);
}

static void acknowledge(void *context, inturn_token token) {
  message *self = context;
  command("XACK %s workers %s", self->stream, self->id);
  partition_did_acknowledge(self);
  acknowledged++;
  CHECK(inturn_token_finish(token));
}

static void on_end(void *context, const inturn_end *end) {
  REQUIRE(end->outcome == INTURN_FINISHED);
  CHECK(inturn_queue_enqueue(redis, acknowledge, context, free, NULL));
}

/* What handling a message finally does: here, add a line to a list. */
static void record(void *context, inturn_token token) {
  message *self = context;
  command("RPUSH handled %s/%s/%s/%s/%s", self->stream, self->id, self->key,
          self->number, name);
  CHECK(inturn_token_finish(self->token));
  CHECK(inturn_token_finish(token));
}

/* The work, on a handler's thread; it is over when the list has the line. */
static void handle(void *context, inturn_token token) {
  message *self = context;
  self->token = token;
  nanosleep(&(struct timespec){0, self->milliseconds * 1000000L}, NULL);
  CHECK(inturn_queue_enqueue(redis, record, self, NULL, NULL));
}

static void receive(message *received) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.on_end = on_end;
  options.end_context = received;
  CHECK(inturn_queue_enqueue_with(queue_of(received->key), &options, handle,
                                  received, NULL, NULL));
}

int main(int argc, char **argv) {
  require_(argc == 3, "usage", "redis_streams PORT NAME");
  name = argv[2];
  signal(SIGTERM, terminate);
  signal(SIGINT, terminate);
  connection = redisConnect("127.0.0.1", atoi(argv[1]));
  require_(connection && !connection->err, "redis", "cannot be reached");
  inturn_executor_options handlers = INTURN_EXECUTOR_OPTIONS_INIT;
  handlers.workers = HANDLERS;
  CHECK(inturn_executor_create(&handlers, &keyed.executor));
  CHECK(inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &redis));
  partitions_open(atoi(argv[1]), name);
  while (!is_terminated)
    partitions_read(receive);
  for (int index = 0; index < key_count; index++)
    CHECK(inturn_queue_drain(keys[index].queue, -1));
  CHECK(inturn_queue_drain(redis, -1));
  partitions_close();
  redisFree(connection);
  printf("%d messages acknowledged, of %d keys\n", acknowledged, key_count);
}
