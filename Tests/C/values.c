/*
 * values.c - what a value holds: data of each type, read and changed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>

static inturn_value create(inturn_datum initial) {
  inturn_value value;
  CHECK_OK(inturn_value_create(NULL, &initial, &value));
  return value;
}

static int64_t integer_of(inturn_value value) {
  int64_t number;
  CHECK_OK(inturn_value_get_integer(value, &number));
  return number;
}

/* Checks that a value has these bytes, of this type. */
static void check_bytes(inturn_value value, inturn_datum_type type,
                        const void *bytes, size_t length) {
  inturn_datum datum;
  CHECK_OK(inturn_value_get(value, &datum));
  CHECK_INT(datum.type, type);
  CHECK_INT(datum.length, length);
  CHECK(length == 0 || memcmp(datum.bytes, bytes, length) == 0);
  CHECK_INT(((const char *)datum.bytes)[length], 0);
  CHECK_OK(inturn_datum_release(&datum));
  CHECK_INT(datum.type, INTURN_DATUM_NONE);
  CHECK_OK(inturn_datum_release(&datum));
}

static void an_integer_is_what_was_set(void) {
  static const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN};
  inturn_datum initial = INTURN_INTEGER(7), datum;
  inturn_value value = create(initial);
  CHECK_INT(integer_of(value), 7);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    CHECK_OK(inturn_value_set_integer(value, numbers[i]));
    CHECK_INT(integer_of(value), numbers[i]);
  }
  initial.integer = 8;
  CHECK_OK(inturn_value_set(value, &initial));
  CHECK_OK(inturn_value_get(value, &datum));
  CHECK_INT(datum.type, INTURN_DATUM_INTEGER);
  CHECK_INT(datum.integer, 8);
  CHECK(datum.owner == NULL && datum.bytes == NULL && datum.pointer == NULL);
  CHECK_OK(inturn_value_destroy(value));
}

static void a_double_is_what_was_set(void) {
  static const double numbers[] = {0.0, -0.0, 1.5, INFINITY, NAN};
  inturn_datum initial = INTURN_DOUBLE(0.25), datum;
  inturn_value value = create(initial);
  double number;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    CHECK_OK(inturn_value_set_double(value, numbers[i]));
    CHECK_OK(inturn_value_get_double(value, &number));
    CHECK(memcmp(&number, &numbers[i], sizeof number) == 0);
  }
  CHECK_OK(inturn_value_set(value, &initial));
  CHECK_OK(inturn_value_get(value, &datum));
  CHECK_INT(datum.type, INTURN_DATUM_DOUBLE);
  CHECK(datum.real == 0.25);
  CHECK_OK(inturn_value_destroy(value));
}

static void a_boolean_is_what_was_set(void) {
  inturn_datum initial = INTURN_BOOLEAN(true), datum;
  inturn_value value = create(initial);
  bool truth = false;
  CHECK_OK(inturn_value_get_boolean(value, &truth));
  CHECK(truth);
  CHECK_OK(inturn_value_set_boolean(value, false));
  CHECK_OK(inturn_value_get_boolean(value, &truth));
  CHECK(!truth);
  CHECK_OK(inturn_value_get(value, &datum));
  CHECK_INT(datum.type, INTURN_DATUM_BOOLEAN);
  CHECK(!datum.boolean);
  CHECK_OK(inturn_value_destroy(value));
}

static void strings_and_bytes_are_copied(void) {
  char text[] = "gr\xc3\xbc\xc3\x9f";
  unsigned char raw[] = {0xff, 0, 0x80, 0xfe};
  inturn_datum string = INTURN_STRING(text, strlen(text));
  inturn_datum bytes = INTURN_BYTES(raw, sizeof raw);
  inturn_value first = create(string), second = create(bytes);
  text[0] = 'x';
  raw[0] = 0;
  check_bytes(first, INTURN_DATUM_STRING, "gr\xc3\xbc\xc3\x9f", 6);
  check_bytes(second, INTURN_DATUM_BYTES, "\xff\0\x80\xfe", 4);
  CHECK_OK(inturn_value_set(first, &string));
  CHECK_OK(inturn_value_set(second, &bytes));
  check_bytes(first, INTURN_DATUM_STRING, text, 6);
  check_bytes(second, INTURN_DATUM_BYTES, raw, 4);
  CHECK_OK(inturn_value_destroy(first));
  CHECK_OK(inturn_value_destroy(second));
}

static void a_string_may_hold_zero_bytes_and_be_empty(void) {
  inturn_datum string = INTURN_STRING("a\0b", 3);
  inturn_datum empty = INTURN_STRING(NULL, 0), none = INTURN_BYTES("x", 0);
  inturn_value value = create(string), bytes = create(none);
  check_bytes(value, INTURN_DATUM_STRING, "a\0b", 3);
  CHECK_OK(inturn_value_set(value, &empty));
  check_bytes(value, INTURN_DATUM_STRING, "", 0);
  check_bytes(bytes, INTURN_DATUM_BYTES, "", 0);
  CHECK_OK(inturn_value_destroy(value));
  CHECK_OK(inturn_value_destroy(bytes));
}

static void a_hundred_megabytes_are_fine(void) {
  size_t length = (size_t)scaled(100 * 1000 * 1000);
  char *large = malloc(length);
  CHECK(large != NULL);
  memset(large, 'x', length);
  inturn_datum datum = INTURN_STRING(large, length), before;
  inturn_value value = create(datum);
  bool exchanged = false;
  check_bytes(value, INTURN_DATUM_STRING, large, length);
  CHECK_OK(inturn_value_exchange(value, &datum, &before));
  CHECK_INT(before.length, length);
  CHECK_OK(
      inturn_value_compare_exchange(value, &before, &datum, &exchanged, NULL));
  CHECK(exchanged);
  CHECK_OK(inturn_datum_release(&before));
  CHECK_OK(inturn_value_destroy(value));
  free(large);
}

static void a_datum_stays_when_the_value_changes_and_goes(void) {
  inturn_datum string = INTURN_STRING("first", 5), kept;
  inturn_value value = create(string);
  CHECK_OK(inturn_value_get(value, &kept));
  string.bytes = "other";
  CHECK_OK(inturn_value_set(value, &string));
  CHECK_OK(inturn_value_destroy(value));
  CHECK_TEXT(kept.bytes, "first");
  CHECK_OK(inturn_datum_release(&kept));
}

/* Pointers. The object counts its references. */
typedef struct object {
  atomic_int references;
} object;

static void retain_object(void *context) {
  atomic_fetch_add(&((object *)context)->references, 1);
}

static void release_object(void *context) {
  CHECK(atomic_fetch_sub(&((object *)context)->references, 1) > 0);
}

static inturn_value create_pointer(object *initial, bool retains) {
  inturn_value_options options = INTURN_VALUE_OPTIONS_INIT;
  inturn_datum datum = INTURN_POINTER(initial);
  inturn_value value;
  options.retain = retains ? retain_object : NULL;
  options.release = release_object;
  CHECK_OK(inturn_value_create(&options, &datum, &value));
  return value;
}

static void a_pointer_is_retained_and_released(void) {
  object first = {1}, second = {1};
  inturn_value value = create_pointer(&first, true);
  inturn_datum datum = INTURN_POINTER(&second), before;
  CHECK_INT(first.references, 2);
  CHECK_OK(inturn_value_exchange(value, &datum, &before));
  CHECK(before.pointer == &first);
  CHECK_INT(first.references, 2);
  CHECK_OK(inturn_datum_release(&before));
  CHECK_INT(first.references, 1);
  CHECK_INT(second.references, 2);
  CHECK_OK(inturn_value_destroy(value));
  CHECK_INT(second.references, 1);
}

static void a_pointer_without_retain_is_taken_over(void) {
  object first = {1}, second = {1};
  inturn_value value = create_pointer(&first, false);
  inturn_datum datum = INTURN_POINTER(&second);
  CHECK_OK(inturn_value_set(value, &datum));
  CHECK_INT(first.references, 0);
  CHECK_INT(second.references, 1);
  CHECK_OK(inturn_value_destroy(value));
  CHECK_INT(second.references, 0);
}

static void a_pointer_that_is_refused_stays_the_callers(void) {
  for (int retains = 0; retains < 2; retains++) {
    object held = {1}, refused = {1};
    inturn_datum datum = INTURN_POINTER(&refused), number = INTURN_INTEGER(1);
    inturn_datum before;
    inturn_value value = create_pointer(&held, retains);
    inturn_value integer = create(number);
    bool exchanged = true;
    CHECK_STATUS(inturn_value_set(integer, &datum), INTURN_E_WRONG_KIND);
    CHECK_STATUS(inturn_value_exchange(value, &datum, NULL),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_OK(inturn_value_compare_exchange(value, &datum, &datum, &exchanged,
                                           &before));
    CHECK(!exchanged && before.pointer == &held);
    CHECK_OK(inturn_datum_release(&before));
    CHECK_STATUS(inturn_value_create(NULL, &datum, NULL),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_OK(inturn_value_destroy(value));
    CHECK_OK(inturn_value_destroy(integer));
    CHECK_INT(refused.references, 1);
    CHECK_INT(held.references, retains);
  }
}

static void a_pointer_may_be_null_and_have_no_functions(void) {
  inturn_datum none = INTURN_POINTER(NULL), datum;
  inturn_value value = create(none);
  CHECK_OK(inturn_value_get(value, &datum));
  CHECK_INT(datum.type, INTURN_DATUM_POINTER);
  CHECK(datum.pointer == NULL);
  CHECK_OK(inturn_datum_release(&datum));
  CHECK_OK(inturn_value_destroy(value));
}

static void exchanging_if_equal_compares_bits_and_bytes(void) {
  inturn_datum initial[] = {INTURN_INTEGER(1), INTURN_DOUBLE(NAN),
                            INTURN_BOOLEAN(true), INTURN_STRING("one", 3),
                            INTURN_BYTES("\xff", 1)};
  inturn_datum other[] = {INTURN_INTEGER(2), INTURN_DOUBLE(2),
                          INTURN_BOOLEAN(false), INTURN_STRING("two", 3),
                          INTURN_BYTES("\xff\xff", 2)};
  for (size_t i = 0; i < sizeof initial / sizeof *initial; i++) {
    inturn_value value = create(initial[i]);
    inturn_datum before;
    bool exchanged = true;
    CHECK_OK(inturn_value_compare_exchange(value, &other[i], &other[i],
                                           &exchanged, NULL));
    CHECK(!exchanged);
    CHECK_OK(inturn_value_compare_exchange(value, &initial[i], &other[i],
                                           &exchanged, &before));
    CHECK(exchanged);
    CHECK_INT(before.type, initial[i].type);
    CHECK_OK(inturn_datum_release(&before));
    CHECK_OK(inturn_value_compare_exchange(value, &initial[i], &other[i],
                                           &exchanged, NULL));
    CHECK(!exchanged);
    CHECK_OK(inturn_value_destroy(value));
  }
}

static inturn_value counter;

static void count_up(int index) {
  (void)index;
  for (long i = scaled(20000); i > 0; i--)
    CHECK_OK(inturn_value_add(counter, 1, NULL));
}

static void additions_from_several_threads_are_not_lost(void) {
  inturn_datum zero = INTURN_INTEGER(0);
  counter = create(zero);
  in_parallel(4, count_up);
  CHECK_INT(integer_of(counter), 4 * scaled(20000));
  CHECK_OK(inturn_value_destroy(counter));
}

static void a_sum_that_is_too_large_is_refused(void) {
  inturn_datum largest = INTURN_INTEGER(INT64_MAX - 1), real = INTURN_DOUBLE(1);
  inturn_value value = create(largest), doubles = create(real);
  int64_t sum = 77;
  double real_sum;
  CHECK_OK(inturn_value_add(value, 1, &sum));
  CHECK_INT(sum, INT64_MAX);
  CHECK_STATUS(inturn_value_add(value, 1, &sum), INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(sum, INT64_MAX);
  CHECK_INT(integer_of(value), INT64_MAX);
  CHECK_OK(inturn_value_add_double(doubles, 0.5, &real_sum));
  CHECK(real_sum == 1.5);
  CHECK_OK(inturn_value_destroy(value));
  CHECK_OK(inturn_value_destroy(doubles));
}

/* One value of each type, and one datum of each. */
static const inturn_datum of_each_type[] = {
    INTURN_INTEGER(1),        INTURN_DOUBLE(1),        INTURN_BOOLEAN(true),
    INTURN_STRING("text", 4), INTURN_BYTES("\xff", 1), INTURN_POINTER(NULL)};
enum { TYPES = sizeof of_each_type / sizeof *of_each_type };

static void data_of_another_type_are_refused(void) {
  for (int type = 0; type < TYPES; type++) {
    inturn_value value = create(of_each_type[type]);
    inturn_datum_type held = of_each_type[type].type;
    int64_t integer;
    double real;
    bool truth;
    for (int other = 0; other < TYPES; other++) {
      inturn_status expected = other == type ? INTURN_OK : INTURN_E_WRONG_KIND;
      inturn_datum before;
      CHECK_STATUS(inturn_value_set(value, &of_each_type[other]), expected);
      CHECK_STATUS(inturn_value_exchange(value, &of_each_type[other], &before),
                   expected);
      if (expected == INTURN_OK)
        CHECK_OK(inturn_datum_release(&before));
      CHECK_STATUS(inturn_value_compare_exchange(value, &of_each_type[other],
                                                 &of_each_type[type], &truth,
                                                 NULL),
                   expected);
    }
#define EXPECT(type) held == type ? INTURN_OK : INTURN_E_WRONG_KIND
    CHECK_STATUS(inturn_value_get_integer(value, &integer),
                 EXPECT(INTURN_DATUM_INTEGER));
    CHECK_STATUS(inturn_value_get_double(value, &real),
                 EXPECT(INTURN_DATUM_DOUBLE));
    CHECK_STATUS(inturn_value_get_boolean(value, &truth),
                 EXPECT(INTURN_DATUM_BOOLEAN));
    CHECK_STATUS(inturn_value_set_integer(value, 1),
                 EXPECT(INTURN_DATUM_INTEGER));
    CHECK_STATUS(inturn_value_set_double(value, 1),
                 EXPECT(INTURN_DATUM_DOUBLE));
    CHECK_STATUS(inturn_value_set_boolean(value, true),
                 EXPECT(INTURN_DATUM_BOOLEAN));
    CHECK_STATUS(inturn_value_add(value, 1, NULL),
                 EXPECT(INTURN_DATUM_INTEGER));
    CHECK_STATUS(inturn_value_add_double(value, 1, NULL),
                 EXPECT(INTURN_DATUM_DOUBLE));
    CHECK_OK(inturn_value_destroy(value));
  }
}

static void a_string_that_is_not_utf8_is_refused_and_bytes_are_not(void) {
  static const char *const not_utf8[] = {"\xff", "a\x80", "\xc0\x80",
                                         "\xe2\x82", "\xed\xa0\x80"};
  inturn_datum text = INTURN_STRING("text", 4), none = INTURN_BYTES(NULL, 0);
  inturn_value value = create(text), bytes = create(none), out = {77};
  for (size_t i = 0; i < sizeof not_utf8 / sizeof *not_utf8; i++) {
    inturn_datum string = INTURN_STRING(not_utf8[i], strlen(not_utf8[i]));
    CHECK_STATUS(inturn_value_set(value, &string), INTURN_E_INVALID_ARGUMENT);
    CHECK_STATUS(inturn_value_create(NULL, &string, &out),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_INT(out.bits, 77);
    string.type = INTURN_DATUM_BYTES;
    CHECK_OK(inturn_value_set(bytes, &string));
    check_bytes(bytes, INTURN_DATUM_BYTES, not_utf8[i], strlen(not_utf8[i]));
  }
  check_bytes(value, INTURN_DATUM_STRING, "text", 4);
  CHECK_OK(inturn_value_destroy(value));
  CHECK_OK(inturn_value_destroy(bytes));
}

static void a_datum_that_is_none_is_refused(void) {
  inturn_datum zero = INTURN_INTEGER(0), bad = INTURN_INTEGER(0);
  inturn_value value = create(zero), out = {77};
  static const int types[] = {INTURN_DATUM_NONE, 8, 99, -1};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    bad.type = (inturn_datum_type)types[i];
    CHECK_STATUS(inturn_value_set(value, &bad), INTURN_E_INVALID_ARGUMENT);
    CHECK_STATUS(inturn_value_create(NULL, &bad, &out),
                 INTURN_E_INVALID_ARGUMENT);
  }
  inturn_datum no_bytes = INTURN_BYTES(NULL, 1);
  inturn_datum endless = INTURN_BYTES("", SIZE_MAX);
  CHECK_STATUS(inturn_value_create(NULL, &no_bytes, &out),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_STATUS(inturn_value_create(NULL, &endless, &out),
               INTURN_E_INVALID_ARGUMENT);
  endless.length = SIZE_MAX / 2;
  CHECK_STATUS(inturn_value_create(NULL, &endless, &out), INTURN_E_NO_MEMORY);
  CHECK_INT(out.bits, 77);
  CHECK_OK(inturn_value_destroy(value));
}

static void a_parameter_that_is_needed_is_not_null(void) {
  inturn_datum zero = INTURN_INTEGER(0);
  inturn_value value = create(zero), out;
  inturn_datum datum;
  bool exchanged;
  const inturn_status statuses[] = {
      inturn_value_create(NULL, &zero, NULL),
      inturn_value_create(NULL, NULL, &out),
      inturn_value_get(value, NULL),
      inturn_value_get_integer(value, NULL),
      inturn_value_set(value, NULL),
      inturn_value_exchange(value, NULL, &datum),
      inturn_value_exchange(value, &zero, NULL),
      inturn_value_compare_exchange(value, NULL, &zero, &exchanged, NULL),
      inturn_value_compare_exchange(value, &zero, NULL, &exchanged, NULL),
      inturn_value_compare_exchange(value, &zero, &zero, NULL, NULL),
      inturn_value_observe(value, NULL, NULL, NULL, NULL, NULL),
      inturn_value_wait(value, NULL, NULL, 0, NULL),
      inturn_datum_release(NULL),
  };
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
    CHECK_STATUS(statuses[i], INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(integer_of(value), 0);
  CHECK_OK(inturn_value_destroy(value));
}

static void a_struct_of_a_wrong_size_or_content_is_refused(void) {
  static const uint32_t sizes[] = {1, 4, 100000, UINT32_MAX};
  inturn_datum zero = INTURN_INTEGER(0);
  inturn_value value = create(zero), out = {77};
  gate context = GATE_INIT;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    inturn_value_options options = INTURN_VALUE_OPTIONS_INIT;
    inturn_observe_options observe = INTURN_OBSERVE_OPTIONS_INIT;
    options.size = observe.size = sizes[i];
    CHECK_STATUS(inturn_value_create(&options, &zero, &out),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_STATUS(inturn_value_observe(value, &observe, NULL, &context,
                                      count_destroy, NULL),
                 INTURN_E_INVALID_ARGUMENT);
    CHECK_INT(gate_count(&context), i + 1);
  }
  inturn_value_options options = INTURN_VALUE_OPTIONS_INIT;
  options.label = "\xff";
  CHECK_STATUS(inturn_value_create(&options, &zero, &out),
               INTURN_E_INVALID_ARGUMENT);
  options.label = "a label";
  options.reserved = 1;
  CHECK_STATUS(inturn_value_create(&options, &zero, &out),
               INTURN_E_INVALID_ARGUMENT);
  CHECK_INT(out.bits, 77);
  CHECK_OK(inturn_value_destroy(value));
}

PROGRAM(values, TEST(an_integer_is_what_was_set),
        TEST(a_double_is_what_was_set), TEST(a_boolean_is_what_was_set),
        TEST(strings_and_bytes_are_copied),
        TEST(a_string_may_hold_zero_bytes_and_be_empty),
        TEST(a_hundred_megabytes_are_fine),
        TEST(a_datum_stays_when_the_value_changes_and_goes),
        TEST(a_pointer_is_retained_and_released),
        TEST(a_pointer_without_retain_is_taken_over),
        TEST(a_pointer_that_is_refused_stays_the_callers),
        TEST(a_pointer_may_be_null_and_have_no_functions),
        TEST(exchanging_if_equal_compares_bits_and_bytes),
        TEST(additions_from_several_threads_are_not_lost),
        TEST(a_sum_that_is_too_large_is_refused),
        TEST(data_of_another_type_are_refused),
        TEST(a_string_that_is_not_utf8_is_refused_and_bytes_are_not),
        TEST(a_datum_that_is_none_is_refused),
        TEST(a_parameter_that_is_needed_is_not_null),
        TEST(a_struct_of_a_wrong_size_or_content_is_refused))
