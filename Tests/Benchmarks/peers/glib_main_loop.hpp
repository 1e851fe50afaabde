/* GLib's GMainLoop on a thread of its own, with g_main_context_invoke: each
   operation is an idle source of its own. All operations have the same
   priority, and run in the order of their calls. */
#pragma once

#include "../bench.hpp"

#include <glib.h>
#include <thread>

namespace peers::glib_main_loop {

class Queue {
public:
  explicit Queue(const bench::Shape &) {}
  ~Queue() {
    /* From the loop itself, as a quit before it runs would be lost. */
    g_main_context_invoke(context, quit, loop);
    thread.join();
    g_main_loop_unref(loop);
    g_main_context_unref(context);
  }

  template <bench::Work work> void enqueue(void *argument) {
    g_main_context_invoke(context, call<work>, argument);
  }
  void drain() { bench::drain_by_gate(*this); }

private:
  template <bench::Work work> static gboolean call(void *argument) {
    work(argument);
    return G_SOURCE_REMOVE;
  }
  static gboolean quit(void *loop) {
    g_main_loop_quit(static_cast<GMainLoop *>(loop));
    return G_SOURCE_REMOVE;
  }
  GMainContext *context = g_main_context_new();
  GMainLoop *loop = g_main_loop_new(context, FALSE);
  std::thread thread{[this] { g_main_loop_run(loop); }};
};

} // namespace peers::glib_main_loop
