/*
 * race.h - several threads that make calls at the same moment, many times.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RACE_H
#define RACE_H

#include "harness.h"

enum { MOST_PLAYERS = 4 };

/* `prepare` sets up a round, then the players play it, each on its own thread,
   and then `judge` checks the result. */
typedef struct race {
  void (*prepare)(void);
  void (*players[MOST_PLAYERS])(void);
  void (*judge)(void);
} race;

/* Runs scaled(100000) rounds. If that would take longer than a thread is waited
   for, or than all races of a program may, it runs fewer and says so. */
void run_race(const race *race);

/* The same with scaled(rounds), for a race that is run on several stages. */
void run_short_race(const race *race, long rounds);

#endif
