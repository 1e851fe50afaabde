/*
 * database_writer.c - many producers, one writer: a queue in front of SQLite.
 *
 *     database_writer [FILE]     (a temporary database without one)
 *
 * What to look at: the connection is opened without a lock of its own, as the
 * queue never runs two writes at once. The queue has a capacity: a producer
 * that is faster than the database gets INTURN_E_FULL, and waits until there is
 * room, so that memory does not fill up with rows.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

enum { PRODUCERS = 8, ROWS = 1000, CAPACITY = 64 };

static sqlite3 *database;
static sqlite3_stmt *insert;
static inturn_queue writer;
static uint64_t most_pending; /* only used by the queue's work */
static atomic_int waits;

static void sql(const char *text) {
  char *error = NULL;
  sqlite3_exec(database, text, NULL, NULL, &error);
  require_(error == NULL, text, error);
}

static int number_of(const char *query) {
  sqlite3_stmt *statement;
  REQUIRE(sqlite3_prepare_v2(database, query, -1, &statement, NULL) ==
          SQLITE_OK);
  REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
  int number = sqlite3_column_int(statement, 0);
  REQUIRE(sqlite3_finalize(statement) == SQLITE_OK);
  return number;
}

typedef struct row {
  int producer, number;
} row;

static void write_row(void *context, inturn_token token) {
  row *self = context;
  inturn_queue_statistics counts = {0};
  CHECK(inturn_queue_get_statistics(writer, &counts));
  if (counts.pending > most_pending)
    most_pending = counts.pending;
  REQUIRE(sqlite3_bind_int(insert, 1, self->producer) == SQLITE_OK);
  REQUIRE(sqlite3_bind_int(insert, 2, self->number) == SQLITE_OK);
  REQUIRE(sqlite3_step(insert) == SQLITE_DONE);
  REQUIRE(sqlite3_reset(insert) == SQLITE_OK);
  CHECK(inturn_token_finish(token));
}

/* A refused row is destroyed, so each try has a row of its own. */
static inturn_status try_to_enqueue(int producer, int number) {
  row *made = malloc(sizeof *made);
  REQUIRE(made != NULL);
  *made = (row){producer, number};
  return inturn_queue_enqueue(writer, write_row, made, free, NULL);
}

static void *produce(void *context) {
  int producer = (int)(intptr_t)context;
  for (int number = 0; number < ROWS; number++) {
    inturn_status status;
    while ((status = try_to_enqueue(producer, number)) == INTURN_E_FULL) {
      waits++;
      CHECK(inturn_queue_drain(writer, -1));
    }
    CHECK(status);
  }
  return NULL;
}

int main(int argc, char **argv) {
  REQUIRE(sqlite3_open_v2(argc > 1 ? argv[1] : "", &database,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                              SQLITE_OPEN_NOMUTEX,
                          NULL) == SQLITE_OK);
  sql("DROP TABLE IF EXISTS log; BEGIN;"
      "CREATE TABLE log (producer INTEGER, number INTEGER)");
  REQUIRE(sqlite3_prepare_v2(database, "INSERT INTO log VALUES (?, ?)", -1,
                             &insert, NULL) == SQLITE_OK);
  inturn_queue_options options = {.capacity = CAPACITY};
  CHECK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &writer));

  pthread_t threads[PRODUCERS];
  for (intptr_t index = 0; index < PRODUCERS; index++)
    REQUIRE(pthread_create(&threads[index], NULL, produce, (void *)index) == 0);
  for (int index = 0; index < PRODUCERS; index++)
    REQUIRE(pthread_join(threads[index], NULL) == 0);
  CHECK(inturn_queue_drain(writer, -1));
  CHECK(inturn_queue_destroy(writer));
  REQUIRE(sqlite3_finalize(insert) == SQLITE_OK);
  sql("COMMIT");

  printf("%d rows written\n", number_of("SELECT count(*) FROM log"));
  printf("%d out of their producer's order\n",
         number_of("SELECT count(*) FROM (SELECT number - lag(number, 1, -1)"
                   " OVER (PARTITION BY producer ORDER BY rowid) AS step"
                   " FROM log) WHERE step <> 1"));
  printf("producers had to wait: %s\n", waits > 0 ? "yes" : "no");
  printf("rows in memory never exceeded the capacity: %s\n",
         most_pending <= CAPACITY ? "yes" : "no");
  REQUIRE(sqlite3_close(database) == SQLITE_OK);
}
