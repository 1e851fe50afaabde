// include/inturn.h with the nullability that Swift checks the exports against.
#ifndef CINTURN_H
#define CINTURN_H

#define INTURN_NONNULL _Nonnull
#define INTURN_NULLABLE _Nullable
#include "../../../include/inturn.h"

#endif
