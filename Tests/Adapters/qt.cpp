/*
 * qt.cpp - the suite on a Qt event loop, and tests for Qt alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include <inturn/qt.hpp>

#include <QEventLoop>
#include <QTimer>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace {

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__,    \
                   #condition);                                                \
      std::_Exit(1);                                                           \
    }                                                                          \
  } while (0)

/* The application is on the main thread; each thread has an event loop. */
std::unique_ptr<QCoreApplication> application;
thread_local std::unique_ptr<QEventLoop> loop;
std::unique_ptr<QTimer> ticker;

bool on_main_thread() {
  return application != nullptr &&
         application->thread() == QThread::currentThread();
}

void begin() {
  static int argc = 1;
  static char name[] = "qt";
  static char *argv[] = {name, nullptr};
  if (QCoreApplication::instance() == nullptr)
    application = std::make_unique<QCoreApplication>(argc, argv);
  loop = std::make_unique<QEventLoop>();
}

void end() {
  const bool is_main = on_main_thread();
  loop.reset();
  if (is_main)
    application.reset();
}

void run() { loop->exec(); }
void stop() { loop->quit(); }

void set_tick(int milliseconds, void (*tick)()) {
  ticker.reset();
  if (tick == nullptr)
    return;
  ticker = std::make_unique<QTimer>();
  QObject::connect(ticker.get(), &QTimer::timeout, tick);
  ticker->start(milliseconds);
}

/* Like QDialog::exec. */
void nest(int milliseconds) {
  QEventLoop nested;
  QTimer::singleShot(milliseconds, &nested, &QEventLoop::quit);
  nested.exec();
}

/* Qt's own ---------------------------------------------------------------- */

void without_an_application_it_is_unsupported() {
  inturn_executor executor;
  CHECK(inturn_executor_create(nullptr, &executor) == INTURN_OK);
  CHECK(inturn_qt_attach(executor) == INTURN_E_UNSUPPORTED);
  CHECK(inturn_executor_destroy(executor) == INTURN_OK);
}

void note_thread(void *context, inturn_token token) {
  *static_cast<QThread **>(context) = QThread::currentThread();
  CHECK(inturn_token_finish(token) == INTURN_OK);
  QThread::currentThread()->quit();
}

void a_thread_of_qts_runs_work_and_gives_the_executor_back() {
  begin();
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  CHECK(inturn_executor_create(nullptr, &options.executor) == INTURN_OK);
  inturn_queue queue;
  CHECK(inturn_queue_create(INTURN_QUEUE_FIFO, &options, &queue) == INTURN_OK);
  QThread *called_on = nullptr;
  CHECK(inturn_queue_enqueue(queue, note_thread, &called_on, nullptr,
                             nullptr) == INTURN_OK);
  QThread thread;
  QObject on_thread;
  on_thread.moveToThread(&thread);
  QObject::connect(&thread, &QThread::started, &on_thread, [&] {
    CHECK(inturn_qt_attach(options.executor) == INTURN_OK);
  });
  thread.start();
  CHECK(thread.wait(30000));
  CHECK(called_on == &thread);
  CHECK(inturn_queue_destroy(queue) == INTURN_OK);
  CHECK(inturn_executor_destroy(options.executor) == INTURN_OK);
  end();
}

} // namespace

const host the_host = {
    "qt", begin,    end, inturn_qt_attach, inturn_qt_detach, run,
    stop, set_tick, nest};

const named_test own_tests[] = {
    {"a_loop_inside_work_sleeps_and_calls_no_other_work",
     a_loop_inside_work_sleeps_and_calls_no_other_work},
    {"a_loop_inside_work_may_detach", a_loop_inside_work_may_detach},
    {"a_loop_that_ends_gives_the_executor_back",
     a_loop_that_ends_gives_the_executor_back},
    {"without_an_application_it_is_unsupported",
     without_an_application_it_is_unsupported},
    {"a_thread_of_qts_runs_work_and_gives_the_executor_back",
     a_thread_of_qts_runs_work_and_gives_the_executor_back},
    {nullptr, nullptr}};
