/*
 * inturn.hpp - inturn.h for C++: handles that own, tokens that cannot be lost
 * unseen, lambdas, exceptions, durations. Header-only; C++17 and later, with
 * exceptions, with or without RTTI.
 *
 * SPDX-License-Identifier: MIT
 *
 * The manual in inturn.h says what queues, operations and tokens are, and what
 * is guaranteed of them; all of it holds here. This says what C++ adds.
 *
 * 1. A first program
 * ------------------
 *     inturn::queue uploads;                       // FIFO
 *     uploads.enqueue([&](inturn::token token) {
 *       start_upload(first, [token = std::move(token)]() mutable {
 *         token.finish();                          // from any thread, later
 *       });
 *     });
 *     uploads.post([&] { write_log(); });          // over when it returns
 *     auto size = uploads.run([&] { return measure(); });
 *     uploads.drain();
 *     std::cout << size.get();                     // a std::future
 *
 * 2. Work
 * -------
 * Work that takes a token starts an operation, which lasts until the token is
 * finished; work that takes nothing is the whole operation. Any callable will
 * do, also one that can only be moved, and it is destroyed exactly once. What
 * work throws does not cross into C: the operation ends as failed, with the
 * code of an inturn::failure, else 1, and on_end gets the exception, or the
 * future of run; else it is reported, with the place of the work, as is what
 * token::resume runs. All other callbacks (on_end, events, observers, cancel
 * handlers, reports, wakes) have nobody to throw to: an exception there is
 * std::terminate. A condition that throws gives up; a predicate's exception
 * arrives at its wait.
 *
 * With C++20, work may be a coroutine, and a coroutine may wait for its turn
 * and for the end of an operation: coroutine.hpp. With C++17 none of that is
 * there.
 *
 * 3. Tokens
 * ---------
 * inturn::token is move-only. When it is destroyed unfinished, the operation
 * ends as abandoned, the report handler is told the file and the line of the
 * work, and the queue goes on. A token that is lost because the work throws is
 * no such loss: the operation fails. token_ref names a token and owns nothing:
 * for cancel handlers, or to share the end of an operation among several.
 *
 * 4. Ownership
 * ------------
 * For each noun there are two types. inturn::queue owns its object, is moved
 * and not copied, and destroys the object when it goes; inturn::queue_ref is
 * the handle, copied freely, and refused (error(stale)) when the object is
 * gone. A queue that goes lets its work end first, where the library's own
 * threads do that, unless an exception leaves the scope: queue.hpp has the
 * whole rule, and queue_options::when_destroyed the choice. All functions are
 * the ref's, and every owner is its ref, too. raw() is the handle for inturn.h
 * and for the adapters of include/inturn; adopt() and release() take an object
 * over from C and leave it to C. Objects are declared in the order: clock,
 * executor, queue, as one that is in use is not destroyed: that is
 * std::terminate, and so is a destructor round a ring of waits.
 *
 * 5. Errors
 * ---------
 * A refused call throws inturn::error, a std::system_error whose code is an
 * inturn::errc; nothing has changed, and what the call was given is destroyed.
 * What a caller has to expect is not an exception: try_post gives a
 * std::error_code; wait_for and drain_for give false or nothing when the time
 * is over; the ends of a token, cancel and close give whether it was this call.
 * Only std::bad_alloc comes from elsewhere.
 *
 * 6. Threads, deadlock
 * --------------------
 * As in inturn.h: any function from any thread. One object of an owner type is
 * like any C++ object: two threads do not move, reset or destroy it at the same
 * time as others use it. A copied ref is free of that.
 */
#ifndef INTURN_HPP
#define INTURN_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "inturn.hpp needs C++17 or later (-std=c++17)"
#elif !defined(__cpp_exceptions)
#error                                                                         \
    "inturn.hpp needs exceptions; without them (-fno-exceptions) use inturn.h"
#endif

#include <inturn/cxx/coroutine.hpp>
#include <inturn/cxx/diagnosis.hpp>
#include <inturn/cxx/error.hpp>
#include <inturn/cxx/executor.hpp>
#include <inturn/cxx/handle.hpp>
#include <inturn/cxx/operation.hpp>
#include <inturn/cxx/queue.hpp>
#include <inturn/cxx/token.hpp>
#include <inturn/cxx/value.hpp>

#endif /* INTURN_HPP */
