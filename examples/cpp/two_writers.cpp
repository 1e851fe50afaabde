/*
 * two_writers.cpp - two threads write to one account, whose saves take a while.
 *
 * SPDX-License-Identifier: MIT
 *
 *     c++ -std=c++17 two_writers.cpp $(pkg-config --cflags --libs inturn)
 *
 * A save begins here and ends on another thread. Without a queue, two saves of
 * one account overlap and the later one is lost; in a FIFO queue, the next save
 * begins when the previous one says that it is over.
 */
#include <inturn.hpp>

#include <iostream>
#include <thread>

namespace {

/* Stands for a disk: it reads at once, and writes later, on another thread. */
class disk {
public:
  int read() const { return balance; }

  void write(int new_balance, inturn::callback<void()> when_written) {
    writes.enqueue(
        [this, new_balance, done = std::move(when_written)]() mutable {
          balance = new_balance;
          done();
        });
  }

private:
  int balance = 0;
  inturn::queue writes;
};

class account {
public:
  /* Any thread may call it; returns at once. */
  void deposit(int amount) {
    saves.enqueue([this, amount](inturn::token token) {
      disk.write(disk.read() + amount,
                 [token = std::move(token)]() mutable { token.finish(); });
    });
  }

  /* Refused by the account itself: the save fails, and the queue continues. */
  void withdraw(int amount, inturn::callback<void(bool)> tell) {
    inturn::operation_options options;
    options.label = "withdraw";
    options.on_end = [tell = std::move(tell)](const inturn::end &end) mutable {
      tell(end.outcome == inturn::outcome::finished);
    };
    saves.enqueue(
        [this, amount](inturn::token token) {
          if (disk.read() < amount)
            throw inturn::failure(1);
          disk.write(disk.read() - amount,
                     [token = std::move(token)]() mutable { token.finish(); });
        },
        std::move(options));
  }

  /* The balance after everything that was enqueued before. */
  std::future<int> balance() {
    return saves.run([this] { return disk.read(); });
  }

private:
  /* The queue is destroyed before the disk that its work uses. */
  ::disk disk;
  inturn::queue saves;
};

} // namespace

int main() {
  account account;
  const auto write = [&account] {
    for (int i = 0; i < 500; i++)
      account.deposit(1);
  };
  std::thread first(write), second(write);
  first.join();
  second.join();
  const int after = account.balance().get();
  std::cout << "after two writers: " << after << '\n';

  for (const int amount : {600, 600})
    account.withdraw(amount, [amount](bool done) {
      std::cout << "withdraw " << amount << ": " << (done ? "done" : "refused")
                << '\n';
    });
  const int at_the_end = account.balance().get();
  std::cout << "at the end: " << at_the_end << '\n';
}
