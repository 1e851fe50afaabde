/*
 * redis_partitions.h - the streams of redis_streams.c, shared with others.
 *
 * Messages are spread over some streams, the partitions, by their key. A
 * partition is one consumer's at a time: the one that has its lease, see
 * ../redis_streams.lua. In the streams' group all consumers have one name, so
 * that who takes a partition over reads first what the one before it has read
 * and not acknowledged. So each key's messages come in order, whoever reads.
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
  int milliseconds;   /* how long it takes to handle */
  inturn_token token; /* the handler's */
} message;

/* Connects to the server, as the consumer of this name. This and the
   next two functions are called by one thread. */
void partitions_open(int port, const char *name);

/* Renews the leases, takes or gives back partitions, reads what there is, or
   waits a moment, and gives each message to `receive`, which frees it. A
   consumer that has lost a lease meanwhile ends here, before it does harm. */
void partitions_read(void (*receive)(message *received));

/* Gives the leases back. Everything must be acknowledged. */
void partitions_close(void);

/* Says that a message has been acknowledged. From any thread. */
void partition_did_acknowledge(const message *acknowledged);

#endif
