/*
 * redis_leases.c - see redis_leases.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "redis_leases.h"

#include "check.h"

/* How long the others have to wait for a dead consumer's partitions. */
#define LEASE_MILLISECONDS "3000"

const char *const lease_keys[PARTITIONS] = {"lease:0", "lease:1", "lease:2",
                                            "lease:3", "lease:4", "lease:5"};
static const char *const numbers[PARTITIONS] = {"0", "1", "2", "3", "4", "5"};

void command_add(command *to, const char *word) {
  REQUIRE(to->count < WORDS);
  to->words[to->count++] = word;
}

redisReply *command_call(redisContext *connection, const command *made) {
  redisReply *reply = redisCommandArgv(connection, made->count,
                                       (const char **)made->words, NULL);
  require_(reply != NULL, made->words[0], connection->errstr);
  require_(reply->type != REDIS_REPLY_ERROR, made->words[0], reply->str);
  return reply;
}

static command function(const char *called, const char *name) {
  command made = {{"FCALL", called, "7", "consumers"}, 4};
  for (int index = 0; index < PARTITIONS; index++)
    command_add(&made, lease_keys[index]);
  command_add(&made, name);
  return made;
}

void leases_hold(redisContext *connection, const char *name,
                 const bool is_idle[PARTITIONS], lease out_leases[PARTITIONS]) {
  command hold = function("inturn_hold", name);
  command_add(&hold, LEASE_MILLISECONDS);
  for (int index = 0; index < PARTITIONS; index++) {
    out_leases[index] = LEASE_NONE;
    if (is_idle[index])
      command_add(&hold, numbers[index]);
  }
  redisReply *held = command_call(connection, &hold);
  const size_t share = (size_t)held->element[0]->integer;
  const redisReply *kept = held->element[1], *taken = held->element[2];
  for (size_t place = 0; place < kept->elements; place++)
    out_leases[kept->element[place]->integer] =
        place < share ? LEASE_READ : LEASE_ENDS;
  for (size_t place = 0; place < taken->elements; place++)
    out_leases[taken->element[place]->integer] = LEASE_TAKEN;
  freeReplyObject(held);
  for (int index = 0; index < PARTITIONS; index++)
    require_(is_idle[index] || out_leases[index] == LEASE_READ ||
                 out_leases[index] == LEASE_ENDS,
             name, "has lost a lease");
}

void leases_leave(redisContext *connection, const char *name) {
  const command leave = function("inturn_leave", name);
  freeReplyObject(command_call(connection, &leave));
}
