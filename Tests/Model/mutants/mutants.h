// Called by the rewritten engine: each thing that can be taken away from it has
// a number, and one of them may be taken away.
#ifndef INTURN_MUTANTS_H
#define INTURN_MUTANTS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The number of the mutant under test; and, if asked for, a mark for each
/// mutant that a thread has reached.
extern int32_t inturn_model_mutant;
extern uint8_t *_Nullable inturn_model_reached;
static inline bool inturn_model_is(int32_t number) {
  if (inturn_model_reached)
    inturn_model_reached[number] = 1;
  return inturn_model_mutant == number;
}

/// The running thread pretends to take and to release a lock; the latter
/// returns whether taking it was pretended.
void inturn_model_lock_nothing(const void *_Nonnull lock);
bool inturn_model_unlocks_nothing(const void *_Nonnull lock);

#ifdef __cplusplus
}
#endif

#endif
