// A process forks while its other threads are anywhere.
#include "../checker/checker.hpp"

#include <sys/wait.h>
#include <unistd.h>

using namespace model;

SCENARIO(fork_meets_enqueue) {
  Queue queue(INTURN_QUEUE_FIFO);
  together({[&] {
              queue.add("a", finishes);
              queue.add("b", finishes, {.onEnd = true});
            },
            [&] { forkAndUse(queue); }});
}

SCENARIO(fork_meets_a_deadline_and_a_destruction) {
  Queue queue(INTURN_QUEUE_FIFO);
  Queue other(INTURN_QUEUE_CONCURRENT);
  other
      .add("x", finishes,
           {.onEnd = true, .set = [](auto &o) { o.max_run_ns = 1000; }})
      .mayBeCutOff = true;
  together({[&] { other.destroy(); }, [&] { forkAndUse(queue); }});
}

// Two threads use the library for the first time in a child.
SCENARIO(two_first_uses_in_a_child) {
  Queue queue(INTURN_QUEUE_FIFO);
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    auto use = [] {
      Queue own(INTURN_QUEUE_FIFO);
      own.add("x", finishes,
              {.onEnd = true, .set = [](auto &o) { o.max_run_ns = 1000000; }});
      own.drain();
    };
    together({use, use});
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (status != 0)
    _exit(1);
}
