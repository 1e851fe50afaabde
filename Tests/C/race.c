/*
 * race.c - see race.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "race.h"

#include <sched.h>
#include <time.h>

/* On a busy machine, each round may take milliseconds. A race ends before its
   threads have been waited for too long, and all races of a program before that
   has run for too long; but each race has some rounds. */
enum {
  MOST_SECONDS = LIMIT_SECONDS - 5,
  MOST_SECONDS_OF_ALL = 200,
  FEWEST_ROUNDS = 100
};

static const race *current;
static int player_count;
static long round_count;
static atomic_long round_begun;
static atomic_int players_done;
static atomic_bool is_over;

static time_t seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

static void referee(void) {
  static time_t first_began;
  const time_t began = seconds();
  long round = 0;
  if (first_began == 0)
    first_began = began;
  time_t limit = began + MOST_SECONDS;
  if (limit > first_began + MOST_SECONDS_OF_ALL)
    limit = first_began + MOST_SECONDS_OF_ALL;
  while (round < round_count && (round < FEWEST_ROUNDS || seconds() < limit)) {
    round++;
    current->prepare();
    atomic_store(&players_done, 0);
    atomic_store(&round_begun, round);
    while (atomic_load(&players_done) < player_count)
      sched_yield();
    current->judge();
  }
  atomic_store(&is_over, true);
  if (round < round_count)
    printf("    %ld of %ld rounds in %ld s\n", round, round_count,
           (long)(seconds() - began));
}

static void take_part(int index) {
  if (index == player_count) {
    referee();
    return;
  }
  for (long round = 1;; round++) {
    while (atomic_load(&round_begun) < round) {
      if (atomic_load(&is_over))
        return;
      sched_yield();
    }
    current->players[index]();
    atomic_fetch_add(&players_done, 1);
  }
}

void run_race(const race *race) { run_short_race(race, 100000); }

void run_short_race(const race *race, long rounds) {
  current = race;
  round_count = scaled(rounds);
  player_count = 0;
  atomic_store(&round_begun, 0);
  atomic_store(&is_over, false);
  while (player_count < MOST_PLAYERS && race->players[player_count] != NULL)
    player_count++;
  in_parallel(player_count + 1, take_part);
}
