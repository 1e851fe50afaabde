// The engine's system header when it is built for the model: the same
// functions, carried out by the scheduler, and what Atomic.swift needs.
#ifndef INTURN_MODEL_SYSTEM_H
#define INTURN_MODEL_SYSTEM_H

// Spinning goes through the scheduler, too.
#define inturn_system_pause inturn_model_real_pause
#include "../../../Sources/CInturnSystem/include/CInturnSystem.h"
#undef inturn_system_pause

#ifdef __cplusplus
extern "C" {
#endif

void inturn_system_pause(void);

typedef enum inturn_model_access {
  INTURN_MODEL_LOAD,
  INTURN_MODEL_STORE,
  INTURN_MODEL_EXCHANGE,
  INTURN_MODEL_ADD,
  INTURN_MODEL_SUBTRACT,
  INTURN_MODEL_OR,
  INTURN_MODEL_AND
} inturn_model_access;

/// One access, after the scheduler's point. Stores what was there in `result`.
void inturn_model_atomic(inturn_model_access access, void *_Nonnull address,
                         uint32_t size, const void *_Nullable operand,
                         void *_Nonnull result, int32_t order);

/// The same for a compare-exchange; `expected` gets what was there.
bool inturn_model_compare_exchange(void *_Nonnull address, uint32_t size,
                                   void *_Nonnull expected,
                                   const void *_Nonnull desired,
                                   int32_t success, int32_t failure);

/// Whether a weak compare-exchange is to fail for no reason.
bool inturn_model_fails_weakly(void);

/// Sleeps in virtual time.
void inturn_model_sleep(int64_t nanoseconds);

/// Mutants: what can be taken away from the engine has a number, and one of
/// them may be taken away. `reached` notes which ones a schedule comes by.
extern int32_t inturn_model_mutant;
extern uint8_t *_Nullable inturn_model_reached;
static inline bool inturn_model_is(int32_t number) {
  if (inturn_model_reached)
    inturn_model_reached[number] = 1;
  return inturn_model_mutant == number;
}

/// The running thread pretends to take a lock, and to give it back: the latter
/// says whether it was pretended.
void inturn_model_lock_nothing(const void *_Nonnull lock);
bool inturn_model_unlocks_nothing(const void *_Nonnull lock);

#ifdef __cplusplus
}
#endif

#endif
