/* Coroutines in turn: each has the queue until its turn ends. */
#include <inturn.hpp>

#include <chrono>
#include <coroutine>
#include <iostream>
#include <thread>

/* Stands for a request: it continues later, on another thread. */
struct request {
  std::chrono::milliseconds takes;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) const {
    std::thread([waiting, takes = takes] {
      std::this_thread::sleep_for(takes);
      waiting.resume();
    }).detach();
  }
  void await_resume() const noexcept {}
};

static inturn::task<int> upload(int photo) {
  co_await request{std::chrono::milliseconds(30 / photo)};
  std::cout << "photo " << photo << '\n';
  co_return photo;
}

int main() {
  inturn::queue uploads{inturn::fifo};
  for (int photo = 1; photo <= 3; photo++)
    uploads.enqueue([photo] { return upload(photo); });
  uploads.drain();
}
