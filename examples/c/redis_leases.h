/*
 * redis_leases.h - which partitions of redis_streams.c are this consumer's.
 *
 * A partition is one consumer's at a time: the one that has its lease, as
 * ../redis_streams.lua decides.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REDIS_LEASES_H
#define REDIS_LEASES_H

#include <hiredis/hiredis.h>
#include <stdbool.h>

enum { PARTITIONS = 6, WORDS = 32 };

/* The keys that the leases are stored under. */
extern const char *const lease_keys[PARTITIONS];

/* A command as its words. */
typedef struct command {
  const char *words[WORDS];
  int count;
} command;

/* What a consumer may do with a partition. LEASE_ENDS: nothing more is read, it
   is given back when it is idle. LEASE_TAKEN: it is read, and has been somebody
   else's, or nobody's, just before. */
typedef enum lease { LEASE_NONE, LEASE_ENDS, LEASE_READ, LEASE_TAKEN } lease;

void command_add(command *to, const char *word);

/* Sends a command; ends the program when it fails. The caller frees the
   reply. */
redisReply *command_call(redisContext *connection, const command *made);

/* Renews, takes and gives back leases. `is_idle` says of which partitions
   everything is acknowledged: a lease of another one must not be lost, and when
   it is, the program ends, before it does harm. */
void leases_hold(redisContext *connection, const char *name,
                 const bool is_idle[PARTITIONS], lease out_leases[PARTITIONS]);

/* Gives all leases back. */
void leases_leave(redisContext *connection, const char *name);

#endif
