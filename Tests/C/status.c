/*
 * status.c - statuses and the version: the first sections of the header.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <limits.h>

typedef struct named_status {
  inturn_status status;
  const char *name;
} named_status;

#define NAMED(status)                                                          \
  { status, #status }

static const named_status statuses[] = {
    NAMED(INTURN_OK),
    NAMED(INTURN_E_INVALID_ARGUMENT),
    NAMED(INTURN_E_NULL_HANDLE),
    NAMED(INTURN_E_STALE),
    NAMED(INTURN_E_WRONG_KIND),
    NAMED(INTURN_E_ALREADY_FINISHED),
    NAMED(INTURN_E_CLOSED),
    NAMED(INTURN_E_FULL),
    NAMED(INTURN_E_NOT_SUSPENDED),
    NAMED(INTURN_E_TIMED_OUT),
    NAMED(INTURN_E_CANCELLED),
    NAMED(INTURN_E_DEADLOCK),
    NAMED(INTURN_E_WRONG_THREAD),
    NAMED(INTURN_E_FORKED),
    NAMED(INTURN_E_NO_MEMORY),
    NAMED(INTURN_E_UNSUPPORTED),
    NAMED(INTURN_E_BUSY),
};
static const int status_count = sizeof statuses / sizeof *statuses;

static const int unknown[] = {1,   2,     16,      1000,   -17,
                              -18, -1000, INT_MAX, INT_MIN};
static const int unknown_count = sizeof unknown / sizeof *unknown;

static void each_status_has_the_name_of_its_constant(void) {
  for (int i = 0; i < status_count; i++)
    CHECK_TEXT(inturn_status_name(statuses[i].status), statuses[i].name);
}

static void statuses_count_down_from_zero_without_a_gap(void) {
  for (int i = 0; i < status_count; i++)
    CHECK_INT(statuses[i].status, -i);
}

static void each_status_has_a_message_of_its_own(void) {
  for (int i = 0; i < status_count; i++) {
    const char *message = inturn_status_message(statuses[i].status);
    CHECK(message != NULL && message[0] != '\0');
    CHECK(strchr(message, '\n') == NULL);
    for (int j = 0; j < i; j++)
      CHECK(strcmp(message, inturn_status_message(statuses[j].status)) != 0);
  }
}

static void a_number_that_is_no_status_is_called_unknown(void) {
  for (int i = 0; i < unknown_count; i++)
    CHECK_TEXT(inturn_status_name((inturn_status)unknown[i]),
               "INTURN_E_UNKNOWN");
}

static void a_number_that_is_no_status_has_a_message_too(void) {
  for (int i = 0; i < unknown_count; i++) {
    const char *message = inturn_status_message((inturn_status)unknown[i]);
    CHECK(message != NULL && message[0] != '\0');
  }
}

static void names_and_messages_are_static(void) {
  for (int i = 0; i < status_count; i++) {
    inturn_status status = statuses[i].status;
    CHECK(inturn_status_name(status) == inturn_status_name(status));
    CHECK(inturn_status_message(status) == inturn_status_message(status));
  }
}

static void ask_for_names(int index) {
  (void)index;
  for (long i = scaled(100000); i > 0; i--)
    CHECK_TEXT(inturn_status_name(INTURN_E_STALE), "INTURN_E_STALE");
}

static void names_are_given_to_any_thread(void) {
  in_parallel(4, ask_for_names);
}

static void the_library_has_the_major_version_of_the_header(void) {
  CHECK_INT(inturn_version() / 1000000, INTURN_VERSION_MAJOR);
}

static void the_library_is_not_older_than_the_header(void) {
  CHECK(inturn_version() >= INTURN_VERSION);
}

PROGRAM(status, TEST(each_status_has_the_name_of_its_constant),
        TEST(statuses_count_down_from_zero_without_a_gap),
        TEST(each_status_has_a_message_of_its_own),
        TEST(a_number_that_is_no_status_is_called_unknown),
        TEST(a_number_that_is_no_status_has_a_message_too),
        TEST(names_and_messages_are_static),
        TEST(names_are_given_to_any_thread),
        TEST(the_library_has_the_major_version_of_the_header),
        TEST(the_library_is_not_older_than_the_header))
