/*
 * A program as a user writes it: it knows inturn.hpp and nothing else of the
 * repository. Three operations end in turn, each finished by another thread.
 */
#include <inturn.hpp>

#include <cstdio>
#include <thread>

int main() {
  if (inturn_version() != INTURN_VERSION) {
    std::fprintf(stderr, "the library has another version than the header\n");
    return 1;
  }
  inturn::queue queue;
  for (const char *name : {"first", "second", "third"})
    queue.enqueue([name](inturn::token token) {
      std::thread([name, token = std::move(token)]() mutable {
        std::printf("%s\n", name);
        token.finish();
      }).detach();
    });
  queue.drain();
}
