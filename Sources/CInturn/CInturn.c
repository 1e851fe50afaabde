// The sizes that the ABI fixes. As a source file that includes the header, this
// also makes the package manager rebuild Swift when the header changes.
#include "CInturn.h"

_Static_assert(sizeof(inturn_queue) == 8, "handles are 64 bits");
_Static_assert(sizeof(inturn_operation) == 8, "handles are 64 bits");
_Static_assert(sizeof(inturn_token) == 8, "handles are 64 bits");
_Static_assert(sizeof(inturn_owner) == 8, "handles are 64 bits");
_Static_assert(sizeof(inturn_batch) == 8, "handles are 64 bits");
_Static_assert(sizeof(inturn_executor) == 8, "handles are 64 bits");
_Static_assert(sizeof(inturn_clock) == 8, "handles are 64 bits");
_Static_assert(sizeof(inturn_value) == 8, "handles are 64 bits");
_Static_assert(sizeof(inturn_observation) == 8, "handles are 64 bits");
_Static_assert(sizeof(inturn_status) == 4, "enums are 32 bits");
_Static_assert(sizeof(inturn_outcome) == 4, "enums are 32 bits");
_Static_assert(sizeof(inturn_end) == 64, "grows with a version");
_Static_assert(sizeof(inturn_executor_options) == 48, "grows with a version");
_Static_assert(sizeof(inturn_taken) == 16, "fixed: callers own it");
_Static_assert(sizeof(inturn_queue_options) == 104, "grows with a version");
_Static_assert(sizeof(inturn_operation_options) == 152, "grows with a version");
_Static_assert(sizeof(inturn_retry) == 56, "grows with a version");
_Static_assert(sizeof(inturn_event) == 48, "grows with a version");
_Static_assert(sizeof(inturn_batch_options) == 64, "grows with a version");
_Static_assert(sizeof(inturn_batch_end) == 48, "grows with a version");
_Static_assert(sizeof(inturn_datum) == 64, "fixed: callers own it");
_Static_assert(sizeof(inturn_change) == 144, "grows with a version");
_Static_assert(sizeof(inturn_value_options) == 32, "grows with a version");
_Static_assert(sizeof(inturn_observe_options) == 24, "grows with a version");
_Static_assert(sizeof(inturn_queue_statistics) == 72, "grows with a version");
_Static_assert(sizeof(inturn_library_statistics) == 56, "grows with a version");
_Static_assert(sizeof(inturn_operation_info) == 80, "grows with a version");
_Static_assert(sizeof(inturn_report) == 104, "grows with a version");
_Static_assert(sizeof(inturn_stall_link) == 72, "grows with a version");
_Static_assert(sizeof(inturn_entry) == 240, "grows with a version");
_Static_assert(sizeof(inturn_site) == 24, "fixed: callers own it");
_Static_assert(offsetof(inturn_site, number) == 20, "as Sites.swift says");
