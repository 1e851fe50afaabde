/*
 * redis_partitions.h - the streams of redis_streams.c, shared with others.
 *
 * Messages are distributed over several streams, the partitions, by their key.
 * A partition belongs to one consumer at a time: the one that holds its lease,
 * see ../redis_streams.lua. All consumers have the same name in the streams'
 * group, so whoever takes over a partition first reads what the previous one
 * has read but not acknowledged. So each key's messages come in order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REDIS_PARTITIONS_H
#define REDIS_PARTITIONS_H

#include <inturn.h>

typedef struct message {
  int partition;
  const char *stream; /* the partition's */
  char id[32], key[32], number[16];
  int milliseconds;   /* how long handling takes */
  inturn_token token; /* the handler's */
} message;

/* Connects to the server as the consumer with this name. One thread calls this
   and the next two functions. */
void partitions_open(int port, const char *name);

/* Renews the leases, takes or gives back partitions, reads what there is, or
   waits a moment, and passes each message to `receive`, which frees it. A
   consumer that has lost a lease meanwhile exits, before it does harm. */
void partitions_read(void (*receive)(message *received));

/* Gives the leases back. Everything must be acknowledged. */
void partitions_close(void);

/* Records that a message has been acknowledged. Any thread may call it. */
void partition_did_acknowledge(const message *acknowledged);

#endif
