// Entries of the Swift runtime library's binary interface that say what the
// current task is and has bound. The standard library calls them, too, but
// gives no way to do so without the cost of retaining the task.
#ifndef CSWIFT_TASK_H
#define CSWIFT_TASK_H

#include <stdbool.h>
#include <stddef.h>

#define CSWIFT_TASK_CALL __attribute__((swiftcall))

/// The current task; null outside of tasks.
CSWIFT_TASK_CALL void *_Nullable swift_task_getCurrent(void);

/// The priority of a task that is running.
CSWIFT_TASK_CALL size_t swift_task_currentPriority(void *_Nonnull task);

/// Whether a task is cancelled.
CSWIFT_TASK_CALL bool swift_task_isCancelled(void *_Nonnull task);

/// What kind of task it is.
CSWIFT_TASK_CALL size_t swift_task_getJobFlags(void *_Nonnull task);

/// Where the current task, or the thread outside of tasks, has its binding of
/// a task-local value; null when there is none.
CSWIFT_TASK_CALL void *_Nullable swift_task_localValueGet(
    const void *_Nonnull key);

/// How long the part is that all tasks have. It is there for debuggers, and
/// need not be.
extern const size_t _swift_concurrency_debug_asyncTaskSize
    __attribute__((weak));

static inline const void *_Nullable cswift_task_current(void) {
  return swift_task_getCurrent();
}

static inline size_t cswift_task_priority(const void *_Nonnull task) {
  return swift_task_currentPriority((void *)task);
}

static inline bool cswift_task_is_cancelled(const void *_Nonnull task) {
  return swift_task_isCancelled((void *)task);
}

/// Whether a task is a child of another one, as the standard library asks it.
static inline bool cswift_task_is_child(const void *_Nonnull task) {
  return (swift_task_getJobFlags((void *)task) >> 24 & 1) != 0;
}

/// What a child task has behind the part that all tasks have: its parent, as
/// far as is known. Null where that cannot be told.
static inline const void *_Nullable cswift_task_behind(
    const void *_Nonnull task) {
  if (&_swift_concurrency_debug_asyncTaskSize == NULL)
    return NULL;
  return *(const void *const *)((const char *)task +
                                _swift_concurrency_debug_asyncTaskSize);
}

static inline void *_Nullable cswift_task_binding(const void *_Nonnull key) {
  return swift_task_localValueGet(key);
}

#endif
