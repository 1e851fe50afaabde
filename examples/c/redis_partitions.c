/*
 * redis_partitions.c - see redis_partitions.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L

#include "redis_partitions.h"
#include "check.h"
#include "redis_leases.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { AT_ONCE = 32 };

static struct partition {
  char stream[16];
  lease lease;
  char next[32];        /* read after this id; ">": what nobody has read */
  atomic_int in_flight; /* read but not acknowledged */
} partitions[PARTITIONS];

static redisContext *connection;
static const char *name;

void partitions_open(int port, const char *own_name) {
  name = own_name;
  connection = redisConnect("127.0.0.1", port);
  require_(connection && !connection->err, "redis", "cannot be reached");
  for (int index = 0; index < PARTITIONS; index++)
    snprintf(partitions[index].stream, sizeof partitions[index].stream,
             "orders:%d", index);
}

static void hold(void) {
  bool is_idle[PARTITIONS];
  lease leases[PARTITIONS];
  for (int index = 0; index < PARTITIONS; index++)
    is_idle[index] = partitions[index].in_flight == 0;
  leases_hold(connection, name, is_idle, leases);
  for (int index = 0; index < PARTITIONS; index++) {
    if (leases[index] == LEASE_TAKEN)
      strcpy(partitions[index].next, "0"); /* first what the last one left */
    partitions[index].lease = leases[index];
  }
}

static const char *field(const redisReply *fields, const char *wanted) {
  size_t index = 0;
  while (index < fields->elements &&
         strcmp(fields->element[index]->str, wanted))
    index += 2;
  require_(index + 1 < fields->elements, wanted, "is missing in a message");
  return fields->element[index + 1]->str;
}

static message *read_entry(int partition, const redisReply *entry) {
  const redisReply *fields = entry->element[1];
  message *made = calloc(1, sizeof *made);
  REQUIRE(made != NULL);
  made->partition = partition;
  made->stream = partitions[partition].stream;
  snprintf(made->id, sizeof made->id, "%s", entry->element[0]->str);
  snprintf(made->key, sizeof made->key, "%s", field(fields, "key"));
  snprintf(made->number, sizeof made->number, "%s", field(fields, "number"));
  made->milliseconds = atoi(field(fields, "milliseconds"));
  return made;
}

/* Receives a stream's messages, and continues reading after them. */
static void read_stream(const redisReply *stream, void (*receive)(message *)) {
  const int index = atoi(strchr(stream->element[0]->str, ':') + 1);
  struct partition *from = &partitions[index];
  const redisReply *entries = stream->element[1];
  for (size_t place = 0; place < entries->elements; place++) {
    if (strcmp(from->next, ">") != 0)
      strcpy(from->next, entries->element[place]->element[0]->str);
    from->in_flight++;
    receive(read_entry(index, entries->element[place]));
  }
  if (entries->elements == 0)
    strcpy(from->next, ">");
}

void partitions_read(void (*receive)(message *received)) {
  int chosen[PARTITIONS], count = 0;
  hold();
  for (int index = 0; index < PARTITIONS; index++)
    if (partitions[index].lease >= LEASE_READ &&
        partitions[index].in_flight < AT_ONCE)
      chosen[count++] = index;
  static const char *const key_counts[] = {"0", "2", "4", "6", "8", "10", "12"};
  command read = {{"FCALL", "inturn_read", key_counts[count]}, 3};
  for (int index = 0; index < count; index++)
    command_add(&read, lease_keys[chosen[index]]);
  for (int index = 0; index < count; index++)
    command_add(&read, partitions[chosen[index]].stream);
  command_add(&read, name);
  command_add(&read, "workers");
  for (int index = 0; index < count; index++)
    command_add(&read, partitions[chosen[index]].next);
  redisReply *streams = command_call(connection, &read);
  for (size_t index = 0; index < streams->elements; index++)
    read_stream(streams->element[index], receive);
  if (streams->elements == 0)
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  freeReplyObject(streams);
}

void partitions_close(void) {
  leases_leave(connection, name);
  redisFree(connection);
}

void partition_did_acknowledge(const message *acknowledged) {
  partitions[acknowledged->partition].in_flight--;
}
