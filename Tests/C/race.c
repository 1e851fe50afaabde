/*
 * race.c - see race.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "race.h"

#include <sched.h>

static const race *current;
static int player_count;
static long round_count;
static atomic_long round_begun;
static atomic_int players_done;

static void referee(void) {
  for (long round = 1; round <= round_count; round++) {
    current->prepare();
    atomic_store(&players_done, 0);
    atomic_store(&round_begun, round);
    while (atomic_load(&players_done) < player_count)
      sched_yield();
    current->judge();
  }
}

static void take_part(int index) {
  if (index == player_count) {
    referee();
    return;
  }
  for (long round = 1; round <= round_count; round++) {
    while (atomic_load(&round_begun) < round)
      sched_yield();
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
  while (player_count < MOST_PLAYERS && race->players[player_count] != NULL)
    player_count++;
  in_parallel(player_count + 1, take_part);
}
