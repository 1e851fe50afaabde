/*
 * load.c - the library loaded, used and closed at run time. This program is not
 * linked with it: INTURN_LIBRARY in the environment is its path.
 *
 * SPDX-License-Identifier: MIT
 */
/* It calls pointers that have the functions' names. */
#define INTURN_NO_SITES

#include "harness.h"

#include <dlfcn.h>
#include <stdlib.h>

/* The functions that this program looks up. */
#define FUNCTIONS(X)                                                           \
  X(inturn_version)                                                            \
  X(inturn_queue_create)                                                       \
  X(inturn_queue_enqueue)                                                      \
  X(inturn_queue_drain)                                                        \
  X(inturn_queue_destroy)                                                      \
  X(inturn_token_finish)                                                       \
  X(inturn_executor_main)                                                      \
  X(inturn_executor_drain)

typedef struct library {
  void *handle;
#define DECLARE(function) __typeof__(function) *function;
  FUNCTIONS(DECLARE)
} library;

static void find(void *handle, const char *name, void *function) {
  void *symbol = dlsym(handle, name);
  if (symbol == NULL)
    FAIL("%s: %s", name, dlerror());
  memcpy(function, &symbol, sizeof symbol);
}

static library library_open(void) {
  const char *path = getenv("INTURN_LIBRARY");
  library library;
  if (path == NULL)
    FAIL("INTURN_LIBRARY is not set");
  library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library.handle == NULL)
    FAIL("%s", dlerror());
#define FIND(function) find(library.handle, #function, &library.function);
  FUNCTIONS(FIND)
  return library;
}

static void library_close(const library *library) {
  CHECK_INT(dlclose(library->handle), 0);
}

/* An operation's context: the library that called it, and a count. */
typedef struct call {
  library *library;
  gate called;
} call;

static void work(void *context, inturn_token token) {
  call *call = context;
  CHECK_INT(call->library->inturn_token_finish(token), INTURN_OK);
  gate_pass(&call->called);
}

static void use(library *library) {
  call call = {library, GATE_INIT};
  inturn_queue queue;
  CHECK_INT(library->inturn_version() / 1000000, INTURN_VERSION_MAJOR);
  CHECK_INT(library->inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue),
            INTURN_OK);
  for (int i = 0; i < 100; i++)
    CHECK_INT(library->inturn_queue_enqueue(queue, work, &call, NULL, NULL),
              INTURN_OK);
  CHECK_INT(library->inturn_queue_drain(queue, LIMIT_NS), INTURN_OK);
  CHECK_INT(gate_count(&call.called), 100);
  CHECK_INT(library->inturn_queue_destroy(queue), INTURN_OK);
}

static void open_and_use(void *context) {
  library *library = context;
  *library = library_open();
  use(library);
}

/* Has to be the first test, so that it loads the library for the first time. */
static void a_library_loaded_by_another_thread_knows_the_main_thread(void) {
  library library;
  inturn_executor executor;
  on_another_thread(open_and_use, &library);
  use(&library);
  CHECK_INT(library.inturn_executor_main(&executor), INTURN_OK);
  CHECK_INT(library.inturn_executor_drain(executor, 0, NULL), INTURN_OK);
  library_close(&library);
}

static void it_is_loaded_used_and_closed_twenty_times(void) {
  for (int round = 0; round < 20; round++) {
    library library = library_open();
    use(&library);
    library_close(&library);
  }
}

static void it_stays_in_place_when_it_is_closed(void) {
  library library = library_open();
  library_close(&library);
  use(&library);
}

static void its_work_goes_on_when_it_is_closed(void) {
  library library = library_open();
  call call = {&library, GATE_INIT};
  inturn_queue queue;
  CHECK_INT(library.inturn_queue_create(INTURN_QUEUE_FIFO, NULL, &queue),
            INTURN_OK);
  for (int i = 0; i < 1000; i++)
    CHECK_INT(library.inturn_queue_enqueue(queue, work, &call, NULL, NULL),
              INTURN_OK);
  library_close(&library);
  GATE_WAIT(&call.called, 1000);
  CHECK_INT(library.inturn_queue_drain(queue, LIMIT_NS), INTURN_OK);
  CHECK_INT(library.inturn_queue_destroy(queue), INTURN_OK);
}

int main(int argc, char **argv) {
  static const test tests[] = {
      TEST(a_library_loaded_by_another_thread_knows_the_main_thread),
      TEST(it_is_loaded_used_and_closed_twenty_times),
      TEST(it_stays_in_place_when_it_is_closed),
      TEST(its_work_goes_on_when_it_is_closed),
  };
  const program all = {"load", tests, sizeof tests / sizeof *tests, NULL, NULL};
  return run_tests(&all, argc, argv);
}
