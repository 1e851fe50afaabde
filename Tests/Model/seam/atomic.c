// The accesses of Atomic.swift. Compiled with the same sanitizer as the engine,
// so that it sees each access in the order that was asked for.
#include "CInturnSystem.h"

#include "../scheduler/scheduler.h"

#define CASES(type)                                                            \
  switch (access) {                                                            \
  case INTURN_MODEL_LOAD:                                                      \
    LOAD(type);                                                                \
    break;                                                                     \
  case INTURN_MODEL_STORE:                                                     \
    STORE(type);                                                               \
    break;                                                                     \
  case INTURN_MODEL_EXCHANGE:                                                  \
    UPDATE(type, __atomic_exchange_n);                                         \
    break;                                                                     \
  case INTURN_MODEL_ADD:                                                       \
    UPDATE(type, __atomic_fetch_add);                                          \
    break;                                                                     \
  case INTURN_MODEL_SUBTRACT:                                                  \
    UPDATE(type, __atomic_fetch_sub);                                          \
    break;                                                                     \
  case INTURN_MODEL_OR:                                                        \
    UPDATE(type, __atomic_fetch_or);                                           \
    break;                                                                     \
  case INTURN_MODEL_AND:                                                       \
    UPDATE(type, __atomic_fetch_and);                                          \
    break;                                                                     \
  }

// Sanitizers require a constant order.
#define LOAD(type)                                                             \
  *(type *)result = order == __ATOMIC_RELAXED                                  \
                        ? __atomic_load_n((type *)address, __ATOMIC_RELAXED)   \
                    : order == __ATOMIC_ACQUIRE                                \
                        ? __atomic_load_n((type *)address, __ATOMIC_ACQUIRE)   \
                        : __atomic_load_n((type *)address, __ATOMIC_SEQ_CST)
#define STORE(type)                                                            \
  if (order == __ATOMIC_RELAXED)                                               \
    __atomic_store_n((type *)address, *(const type *)operand,                  \
                     __ATOMIC_RELAXED);                                        \
  else if (order == __ATOMIC_RELEASE)                                          \
    __atomic_store_n((type *)address, *(const type *)operand,                  \
                     __ATOMIC_RELEASE);                                        \
  else                                                                         \
    __atomic_store_n((type *)address, *(const type *)operand, __ATOMIC_SEQ_CST)
#define UPDATE(type, function)                                                 \
  switch (order) {                                                             \
  case __ATOMIC_RELAXED:                                                       \
    UPDATED(type, function, __ATOMIC_RELAXED);                                 \
    break;                                                                     \
  case __ATOMIC_ACQUIRE:                                                       \
    UPDATED(type, function, __ATOMIC_ACQUIRE);                                 \
    break;                                                                     \
  case __ATOMIC_RELEASE:                                                       \
    UPDATED(type, function, __ATOMIC_RELEASE);                                 \
    break;                                                                     \
  case __ATOMIC_ACQ_REL:                                                       \
    UPDATED(type, function, __ATOMIC_ACQ_REL);                                 \
    break;                                                                     \
  default:                                                                     \
    UPDATED(type, function, __ATOMIC_SEQ_CST);                                 \
    break;                                                                     \
  }
#define UPDATED(type, function, order)                                         \
  *(type *)result = function((type *)address, *(const type *)operand, order)

void inturn_model_atomic(inturn_model_access access, void *address,
                         uint32_t size, const void *operand, void *result,
                         int32_t order) {
  // A store has no result of its own: report what it stored.
  if (access == INTURN_MODEL_STORE)
    __builtin_memcpy(result, operand, size);
  model_point(address);
  switch (size) {
  case 1:
    CASES(uint8_t);
    break;
  case 2:
    CASES(uint16_t);
    break;
  case 4:
    CASES(uint32_t);
    break;
  default:
    CASES(uint64_t);
    break;
  }
  if (access != INTURN_MODEL_LOAD)
    model_wrote(address);
}

// A failure's order may be stronger than the success's; these pairs occur.
#define EXCHANGE(type, success, failure)                                       \
  __atomic_compare_exchange_n((type *)address, (type *)expected,               \
                              *(const type *)desired, false, success, failure)
#define PAIRS(type)                                                            \
  (success == __ATOMIC_RELAXED && failure == __ATOMIC_RELAXED                  \
       ? EXCHANGE(type, __ATOMIC_RELAXED, __ATOMIC_RELAXED)                    \
   : success == __ATOMIC_RELEASE && failure == __ATOMIC_RELAXED                \
       ? EXCHANGE(type, __ATOMIC_RELEASE, __ATOMIC_RELAXED)                    \
   : success == __ATOMIC_RELEASE && failure == __ATOMIC_ACQUIRE                \
       ? EXCHANGE(type, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)                    \
   : success == __ATOMIC_ACQUIRE && failure == __ATOMIC_RELAXED                \
       ? EXCHANGE(type, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)                    \
   : success == __ATOMIC_ACQUIRE && failure == __ATOMIC_ACQUIRE                \
       ? EXCHANGE(type, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)                    \
   : success == __ATOMIC_ACQ_REL && failure == __ATOMIC_RELAXED                \
       ? EXCHANGE(type, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)                    \
   : success == __ATOMIC_ACQ_REL && failure == __ATOMIC_ACQUIRE                \
       ? EXCHANGE(type, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)                    \
   : success == __ATOMIC_SEQ_CST                                               \
       ? EXCHANGE(type, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)                    \
       : (__builtin_trap(), false))

bool inturn_model_compare_exchange(void *address, uint32_t size, void *expected,
                                   const void *desired, int32_t success,
                                   int32_t failure) {
  model_point(address);
  bool exchanged;
  switch (size) {
  case 1:
    exchanged = PAIRS(uint8_t);
    break;
  case 2:
    exchanged = PAIRS(uint16_t);
    break;
  case 4:
    exchanged = PAIRS(uint32_t);
    break;
  default:
    exchanged = PAIRS(uint64_t);
    break;
  }
  if (exchanged)
    model_wrote(address);
  return exchanged;
}

#if __has_feature(thread_sanitizer)
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void model_acquire(void *address) { __tsan_acquire(address); }
void model_release(void *address) { __tsan_release(address); }
#else
void model_acquire(void *address) { (void)address; }
void model_release(void *address) { (void)address; }
#endif

// A program's unsynchronised read and write, as the sanitizer sees it.
void model_touch(int *address) { ++*(volatile int *)address; }
