/*
 * user_names.cpp - a program that has names of its own for what the header
 * calls so, too. It is compiled, no more.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inturn.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

void check(inturn_status status, const char *what);
bool succeeded(inturn_status status, inturn_status expected, const char *what);
void end_await(inturn_await begun);
void abandon(inturn_token token);
template <class... Arguments> void call_with(Arguments &...arguments);
template <class Function> bool is_nothing(const Function &function);

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

#include <inturn.hpp>

struct function {
  int operator()() { return 7; }
};

int run(inturn::queue_ref queue);
int run(inturn::queue_ref queue) {
  queue.post(function());
  return queue.run(function()).get();
}

#if defined(__cpp_impl_coroutine)
struct coroutine {
  inturn::task<int> operator()(inturn::token_ref) { co_return 7; }
};

int run_coroutine(inturn::queue_ref queue);
int run_coroutine(inturn::queue_ref queue) {
  queue.post(coroutine());
  return queue.run(coroutine()).get();
}
#endif
