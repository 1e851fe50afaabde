/*
 * redis_leases.h - which partitions of redis_streams.c belong to this consumer.
 *
 * A partition belongs to one consumer at a time: the one that holds its lease,
 * as ../redis_streams.lua decides.
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

/* What a consumer may do with a partition. LEASE_ENDS: read no more, and give
   it back when it is idle. LEASE_TAKEN: read it; it has belonged to another
   consumer, or to none, until now. */
typedef enum lease { LEASE_NONE, LEASE_ENDS, LEASE_READ, LEASE_TAKEN } lease;

void command_add(command *to, const char *word);

/* Sends a command; exits if it fails. The caller frees the reply. */
redisReply *command_call(redisContext *connection, const command *made);

/* Renews, takes and gives back leases. `is_idle` says which partitions have
   nothing left to acknowledge. The lease of any other partition must not be
   lost: if it is, the program exits before it does harm. */
void leases_hold(redisContext *connection, const char *name,
                 const bool is_idle[PARTITIONS], lease out_leases[PARTITIONS]);

/* Gives all leases back. */
void leases_leave(redisContext *connection, const char *name);

#endif
