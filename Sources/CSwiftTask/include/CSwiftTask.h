// Entries of the Swift runtime library's binary interface that say what the
// current task is and has bound. The standard library calls them, too, but
// gives no way to do so without the cost of retaining the task.
#ifndef CSWIFT_TASK_H
#define CSWIFT_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSWIFT_TASK_CALL __attribute__((swiftcall))

/// The current task; null outside of tasks.
CSWIFT_TASK_CALL void *_Nullable swift_task_getCurrent(void);

/// The priority of a task that is running.
CSWIFT_TASK_CALL size_t swift_task_currentPriority(void *_Nonnull task);

/// Whether a task is cancelled.
CSWIFT_TASK_CALL bool swift_task_isCancelled(void *_Nonnull task);

/// Where the current task, or the thread outside of tasks, has its binding of
/// a task-local value; null when there is none.
CSWIFT_TASK_CALL void *_Nullable swift_task_localValueGet(
    const void *_Nonnull key);

/// What the runtime gives to debuggers, and need not have: the version of its
/// layouts, and how long the part is that all tasks have.
extern const uint32_t _swift_concurrency_debug_internal_layout_version
    __attribute__((weak));
extern const size_t _swift_concurrency_debug_asyncTaskSize
    __attribute__((weak));

/// Whether a task looks as it does in Swift 6.3 on 64-bit Linux, of which the
/// tests know it.
static inline bool cswift_task_is_known(void) {
#if defined(__linux__) && defined(__LP64__)
  return &_swift_concurrency_debug_internal_layout_version != NULL &&
         &_swift_concurrency_debug_asyncTaskSize != NULL &&
         _swift_concurrency_debug_internal_layout_version == 1 &&
         _swift_concurrency_debug_asyncTaskSize == 208;
#else
  return false;
#endif
}

/// Where such a task has its last binding of a task-local value; null for none.
static inline const void *_Nullable cswift_task_last_binding(
    const void *_Nonnull task) {
  return *(const void *const *)((const char *)task + 136);
}

static inline const void *_Nullable cswift_task_current(void) {
  return swift_task_getCurrent();
}

static inline size_t cswift_task_priority(const void *_Nonnull task) {
  return swift_task_currentPriority((void *)task);
}

static inline bool cswift_task_is_cancelled(const void *_Nonnull task) {
  return swift_task_isCancelled((void *)task);
}

static inline void *_Nullable cswift_task_binding(const void *_Nonnull key) {
  return swift_task_localValueGet(key);
}

#endif
