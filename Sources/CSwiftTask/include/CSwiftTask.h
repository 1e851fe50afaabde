// What the Swift runtime library knows of task-local values: where one is
// bound, by a function that the standard library calls as well, and what else a
// task has bound.
#ifndef CSWIFT_TASK_H
#define CSWIFT_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSWIFT_TASK_CALL __attribute__((swiftcall))

/// Where the current task, or the thread outside of tasks, has its binding of a
/// task-local value; null for none.
CSWIFT_TASK_CALL void *_Nullable swift_task_localValueGet(
    const void *_Nonnull key);

/// What the runtime provides for debuggers, and may lack: the version of its
/// layouts, and the size of the part that all tasks have.
extern const uint32_t _swift_concurrency_debug_internal_layout_version
    __attribute__((weak));
extern const size_t _swift_concurrency_debug_asyncTaskSize
    __attribute__((weak));

/// Whether a task's layout is that of Swift 6.3 on 64-bit Linux, which the
/// tests verify.
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

/// Where such a task has its last binding of a task-local value; zero for none.
static inline uintptr_t cswift_task_last_binding(uintptr_t task) {
  return *(const uintptr_t *)(task + 136);
}

static inline void *_Nullable cswift_task_binding(const void *_Nonnull key) {
  return swift_task_localValueGet(key);
}

#endif
