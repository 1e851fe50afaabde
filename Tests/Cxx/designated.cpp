/*
 * designated.cpp - options by the names of some of their members, with C++20
 * and without a warning. It is compiled, no more.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inturn.hpp>

void use(inturn::observed_ref<bool> value);
void use(inturn::observed_ref<bool> value) {
  inturn::executor own({.workers = 2});
  inturn::queue queue(inturn::concurrent,
                      {.executor = own, .rate = inturn::rate{.max_starts = 1}});
  queue.post([] {}, {.priority = 3});
  queue.post([] {}, {.retry = inturn::retry{.max_attempts = 3}});
  std::vector<inturn::work> works;
  (void)queue.enqueue_batch(
      std::move(works),
      {.policy = inturn::batch_policy::collect, .operation = {.label = "a"}});
  (void)value.observe([](const inturn::change<bool> &) {}, {.initial = true});
}
