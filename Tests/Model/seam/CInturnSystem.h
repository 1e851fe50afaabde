// The engine's system header for builds of the model: the same functions,
// implemented by the scheduler, and what Atomic.swift needs.
#ifndef INTURN_MODEL_SYSTEM_H
#define INTURN_MODEL_SYSTEM_H

// Spinning goes through the scheduler, too.
#define inturn_system_pause inturn_model_real_pause
#include "../../../Sources/CInturnSystem/include/CInturnSystem.h"
#undef inturn_system_pause
#include "../mutants/mutants.h"

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

/// Performs one access, after a point of the scheduler. Stores the previous
/// value in `result`.
void inturn_model_atomic(inturn_model_access access, void *_Nonnull address,
                         uint32_t size, const void *_Nullable operand,
                         void *_Nonnull result, int32_t order);

/// The same for a compare-exchange; `expected` receives the previous value.
bool inturn_model_compare_exchange(void *_Nonnull address, uint32_t size,
                                   void *_Nonnull expected,
                                   const void *_Nonnull desired,
                                   int32_t success, int32_t failure);

/// Whether a weak compare-exchange fails spuriously.
bool inturn_model_fails_weakly(void);

/// Sleeps in virtual time.
void inturn_model_sleep(int64_t nanoseconds);

#ifdef __cplusplus
}
#endif

#endif
