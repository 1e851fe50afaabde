"""The C interface as ctypes sees it, under the header's names and in its order.

``PROTOTYPES`` is the only place where the result and the arguments of a function are written.
"""

from __future__ import annotations

import ctypes as t
from typing import Any

# The header that this was written from: major, minor, patch.
HEADER_VERSION = (0, 1, 0)

# Functions with this result raise when it is not zero; see `_library`.
inturn_status = t.c_int

_enum, _bool, _string, _pointer, _size = t.c_int, t.c_bool, t.c_char_p, t.c_void_p, t.c_size_t
_i32, _i64, _u32, _u64 = t.c_int32, t.c_int64, t.c_uint32, t.c_uint64


class _Sized(t.Structure):
    """A struct that begins with its size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=t.sizeof(self), **fields)


class inturn_queue(t.Structure):
    _fields_ = (("bits", _u64),)


class inturn_operation(t.Structure):
    _fields_ = (("bits", _u64),)


class inturn_token(t.Structure):
    _fields_ = (("bits", _u64),)


class inturn_owner(t.Structure):
    _fields_ = (("bits", _u64),)


class inturn_batch(t.Structure):
    _fields_ = (("bits", _u64),)


class inturn_executor(t.Structure):
    _fields_ = (("bits", _u64),)


class inturn_clock(t.Structure):
    _fields_ = (("bits", _u64),)


class inturn_value(t.Structure):
    _fields_ = (("bits", _u64),)


class inturn_observation(t.Structure):
    _fields_ = (("bits", _u64),)


class inturn_end(t.Structure):
    _fields_ = (
        ("size", _u32),
        ("outcome", _enum),
        ("cause", _enum),
        ("code", _i32),
        ("attempts", _u32),
        ("result", _pointer),
        ("label", _string),
        ("enqueued_ns", _i64),
        ("started_ns", _i64),
        ("ended_ns", _i64),
    )


inturn_work_fn = t.CFUNCTYPE(None, _pointer, inturn_token)
inturn_destroy_fn = t.CFUNCTYPE(None, _pointer)
inturn_end_fn = t.CFUNCTYPE(None, _pointer, t.POINTER(inturn_end))
inturn_cancel_fn = t.CFUNCTYPE(None, _pointer, inturn_token)
inturn_preempt_fn = t.CFUNCTYPE(None, _pointer, inturn_token)
inturn_wake_fn = t.CFUNCTYPE(None, _pointer)
inturn_condition_fn = t.CFUNCTYPE(_enum, _pointer)
inturn_retry_fn = t.CFUNCTYPE(_bool, _pointer, _i32, _u32)


class inturn_event(t.Structure):
    _fields_ = (
        ("size", _u32),
        ("kind", _enum),
        ("outcome", _enum),
        ("cause", _enum),
        ("code", _i32),
        ("operation", _u64),
        ("label", _string),
        ("at_ns", _i64),
    )


inturn_event_fn = t.CFUNCTYPE(None, _pointer, t.POINTER(inturn_event))


class inturn_executor_options(_Sized):
    _fields_ = (
        ("size", _u32),
        ("workers", _u32),
        ("max_workers", _u32),
        ("host_threads", _u32),
        ("label", _string),
        ("wake", inturn_wake_fn),
        ("wake_context", _pointer),
        ("wake_destroy", inturn_destroy_fn),
    )


class inturn_taken(t.Structure):
    _fields_ = (("context", _pointer), ("token", inturn_token))


INTURN_QUEUE_FIFO = 1
INTURN_QUEUE_ACTOR = 2
INTURN_QUEUE_INTERACTION = 3
INTURN_QUEUE_CONCURRENT = 4


class inturn_rate(t.Structure):
    _fields_ = (("max_starts", _u32), ("burst", _u32), ("interval_ns", _i64))


class inturn_queue_options(_Sized):
    _fields_ = (
        ("size", _u32),
        ("max_concurrent", _u32),
        ("label", _string),
        ("executor", inturn_executor),
        ("capacity", _u64),
        ("clock", inturn_clock),
        ("settle_ns", _i64),
        ("gap_ns", _i64),
        ("rate", inturn_rate),
        ("on_event", inturn_event_fn),
        ("event_context", _pointer),
        ("event_destroy", inturn_destroy_fn),
    )


class inturn_retry(_Sized):
    _fields_ = (
        ("size", _u32),
        ("max_attempts", _u32),
        ("delay_ns", _i64),
        ("factor", t.c_double),
        ("max_delay_ns", _i64),
        ("jitter", t.c_double),
        ("only_failures", _bool),
        ("decide", inturn_retry_fn),
    )


class inturn_operation_options(_Sized):
    _fields_ = (
        ("size", _u32),
        ("priority", _i32),
        ("label", _string),
        ("urgent", _bool),
        ("barrier", _bool),
        ("join", _bool),
        ("after_policy", _enum),
        ("after", t.POINTER(inturn_operation)),
        ("after_count", _size),
        ("exclusive", t.POINTER(_string)),
        ("exclusive_count", _size),
        ("key", _string),
        ("owner", inturn_owner),
        ("condition", inturn_condition_fn),
        ("retry", t.POINTER(inturn_retry)),
        ("max_wait_ns", _i64),
        ("max_run_ns", _i64),
        ("max_run_policy", _enum),
        ("cancel_grace_ns", _i64),
        ("stall_ns", _i64),
        ("on_end", inturn_end_fn),
        ("end_context", _pointer),
        ("end_destroy", inturn_destroy_fn),
    )


class inturn_batch_item(t.Structure):
    _fields_ = (
        ("work", inturn_work_fn),
        ("context", _pointer),
        ("destroy", inturn_destroy_fn),
    )


class inturn_batch_edge(t.Structure):
    _fields_ = (
        ("place", _size),
        ("after", _size),
    )


class inturn_batch_end(t.Structure):
    _fields_ = (
        ("size", _u32),
        ("code", _i32),
        ("batch", inturn_batch),
        ("outcome", _enum),
        ("count", _size),
        ("finished", _size),
        ("decided_by", _size),
    )


inturn_batch_end_fn = t.CFUNCTYPE(None, _pointer, t.POINTER(inturn_batch_end))


class inturn_batch_options(_Sized):
    _fields_ = (
        ("size", _u32),
        ("policy", _enum),
        ("enough", _size),
        ("operation", t.POINTER(inturn_operation_options)),
        ("on_end", inturn_batch_end_fn),
        ("end_context", _pointer),
        ("end_destroy", inturn_destroy_fn),
        ("edges", t.POINTER(inturn_batch_edge)),
        ("edge_count", _size),
    )


INTURN_DATUM_NONE = 0
INTURN_DATUM_INTEGER = 1
INTURN_DATUM_DOUBLE = 2
INTURN_DATUM_BOOLEAN = 3
INTURN_DATUM_STRING = 4
INTURN_DATUM_BYTES = 5
INTURN_DATUM_POINTER = 6
INTURN_DATUM_PROGRESS = 7


class inturn_datum(t.Structure):
    _fields_ = (
        ("type", _enum),
        ("boolean", _bool),
        ("integer", _i64),
        ("real", t.c_double),
        ("bytes", _pointer),
        ("length", _size),
        ("pointer", _pointer),
        ("owner", _pointer),
        ("total", _i64),
    )


class inturn_value_options(_Sized):
    _fields_ = (
        ("size", _u32),
        ("reserved", _u32),
        ("label", _string),
        ("retain", inturn_destroy_fn),
        ("release", inturn_destroy_fn),
    )


class inturn_change(t.Structure):
    _fields_ = (
        ("size", _u32),
        ("kind", _enum),
        ("number", _u64),
        ("before", inturn_datum),
        ("after", inturn_datum),
    )


class inturn_observe_options(_Sized):
    _fields_ = (
        ("size", _u32),
        ("initial", _bool),
        ("prior", _bool),
        ("latest", _bool),
        ("executor", inturn_executor),
        ("queue", inturn_queue),
    )


inturn_change_fn = t.CFUNCTYPE(None, _pointer, t.POINTER(inturn_change))
inturn_predicate_fn = t.CFUNCTYPE(_bool, _pointer, t.POINTER(inturn_datum))


class inturn_queue_statistics(_Sized):
    _fields_ = (
        ("size", _u32),
        ("suspends", _u32),
        ("pending", _u64),
        ("running", _u64),
        ("finished", _u64),
        ("failed", _u64),
        ("cancelled", _u64),
        ("timed_out", _u64),
        ("abandoned", _u64),
        ("next_start_ns", _i64),
    )


class inturn_operation_info(t.Structure):
    _fields_ = (
        ("size", _u32),
        ("state", _enum),
        ("cancelled", _bool),
        ("label", t.c_char * 55),
        ("enqueued_ns", _i64),
        ("started_ns", _i64),
    )


class inturn_library_statistics(_Sized):
    _fields_ = (
        ("size", _u32),
        ("workers", _u32),
        ("queues", _u64),
        ("operations", _u64),
        ("executors", _u64),
        ("clocks", _u64),
        ("values", _u64),
        ("observations", _u64),
    )


class inturn_report(t.Structure):
    _fields_ = (
        ("size", _u32),
        ("kind", _enum),
        ("message", _string),
        ("queue_label", _string),
        ("operation_label", _string),
    )


inturn_report_fn = t.CFUNCTYPE(None, _pointer, t.POINTER(inturn_report))

HANDLES = (
    inturn_queue,
    inturn_operation,
    inturn_token,
    inturn_owner,
    inturn_batch,
    inturn_executor,
    inturn_clock,
    inturn_value,
    inturn_observation,
)
CALLBACKS = (
    inturn_work_fn,
    inturn_destroy_fn,
    inturn_end_fn,
    inturn_cancel_fn,
    inturn_preempt_fn,
    inturn_condition_fn,
    inturn_retry_fn,
    inturn_event_fn,
    inturn_batch_end_fn,
    inturn_change_fn,
    inturn_predicate_fn,
    inturn_wake_fn,
    inturn_report_fn,
)

_S, _P = inturn_status, t.POINTER
_queue, _operation, _token = inturn_queue, inturn_operation, inturn_token
_executor, _clock = inturn_executor, inturn_clock
_owner, _batch = inturn_owner, inturn_batch
_value, _observation, _datum = inturn_value, inturn_observation, t.POINTER(inturn_datum)
_work = [inturn_work_fn, _pointer, inturn_destroy_fn]  # function, context, destroy

PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "inturn_version": (_u32, []),
    "inturn_status_name": (_string, [_S]),
    "inturn_status_message": (_string, [_S]),
    "inturn_executor_create": (_S, [_P(inturn_executor_options), _P(_executor)]),
    "inturn_executor_main": (_S, [_P(_executor)]),
    "inturn_executor_pool": (_S, [_P(_executor)]),
    "inturn_executor_set_wake": (_S, [_executor, inturn_wake_fn, _pointer, inturn_destroy_fn]),
    "inturn_executor_fd": (_S, [_executor, _P(t.c_int)]),
    "inturn_executor_attach": (_S, [_executor, _string, _pointer]),
    "inturn_executor_get_attached": (_S, [_executor, _string, _P(_pointer)]),
    "inturn_executor_detach": (_S, [_executor, _string]),
    "inturn_executor_drain": (_S, [_executor, _u32, _P(_u32)]),
    "inturn_executor_take": (_S, [_executor, inturn_work_fn, _token, _P(inturn_taken)]),
    "inturn_executor_wait": (_S, [_executor, _i64, _P(_u32)]),
    "inturn_executor_run": (_S, [_executor]),
    "inturn_executor_stop": (_S, [_executor]),
    "inturn_executor_destroy": (_S, [_executor]),
    "inturn_queue_create": (_S, [_enum, _P(inturn_queue_options), _P(_queue)]),
    "inturn_queue_set_executor": (_S, [_queue, _executor]),
    "inturn_queue_enqueue": (_S, [_queue, *_work, _P(_operation)]),
    "inturn_queue_enqueue_with": (
        _S,
        [_queue, _P(inturn_operation_options), *_work, _P(_operation)],
    ),
    "inturn_queue_set_max_concurrent": (_S, [_queue, _u32]),
    "inturn_queue_set_rate": (_S, [_queue, _P(inturn_rate)]),
    "inturn_queue_suspend": (_S, [_queue]),
    "inturn_queue_resume": (_S, [_queue]),
    "inturn_queue_suspend_for": (_S, [_queue, _string]),
    "inturn_queue_resume_for": (_S, [_queue, _string]),
    "inturn_queue_view_did_appear": (_S, [_queue]),
    "inturn_queue_view_will_disappear": (_S, [_queue]),
    "inturn_queue_resolve_key": (_S, [_queue, _string, _P(_u64)]),
    "inturn_queue_cancel_key": (_S, [_queue, _string, _P(_u64)]),
    "inturn_queue_cancel_all": (_S, [_queue]),
    "inturn_queue_close": (_S, [_queue]),
    "inturn_queue_drain": (_S, [_queue, _i64]),
    "inturn_queue_destroy": (_S, [_queue]),
    "inturn_operation_get_state": (_S, [_operation, _P(_enum)]),
    "inturn_operation_cancel": (_S, [_operation]),
    "inturn_operation_wait": (_S, [_operation, _i64, _P(inturn_end)]),
    "inturn_operation_get_progress": (_S, [_operation, _P(_i64), _P(_i64)]),
    "inturn_operation_release": (_S, [_operation]),
    "inturn_token_finish": (_S, [_token]),
    "inturn_token_finish_with": (_S, [_token, _pointer, inturn_destroy_fn]),
    "inturn_token_fail": (_S, [_token, _i32]),
    "inturn_token_cancel": (_S, [_token]),
    "inturn_token_abandon": (_S, [_token]),
    "inturn_token_abandon_at": (_S, [_token, _string]),
    "inturn_token_is_cancelled": (_S, [_token, _P(_bool)]),
    "inturn_token_on_cancel": (_S, [_token, inturn_cancel_fn, _pointer, inturn_destroy_fn]),
    "inturn_token_set_progress": (_S, [_token, _i64, _i64]),
    "inturn_token_on_preempt": (_S, [_token, inturn_preempt_fn, _pointer, inturn_destroy_fn]),
    "inturn_token_yield": (_S, [_token]),
    "inturn_token_resume": (_S, [_token, *_work]),
    "inturn_owner_create": (_S, [_u64, _P(_owner)]),
    "inturn_owner_get_count": (_S, [_owner, _P(_u64)]),
    "inturn_owner_destroy": (_S, [_owner]),
    "inturn_queue_enqueue_batch": (
        _S,
        [_queue, _P(inturn_batch_options), _P(inturn_batch_item), _size, _P(_batch)],
    ),
    "inturn_batch_cancel": (_S, [_batch]),
    "inturn_batch_get_progress": (_S, [_batch, _P(_size), _P(_size)]),
    "inturn_batch_get_end": (_S, [_batch, _size, _P(inturn_end)]),
    "inturn_batch_wait": (_S, [_batch, _i64, _P(inturn_batch_end)]),
    "inturn_batch_release": (_S, [_batch]),
    "inturn_value_create": (_S, [_P(inturn_value_options), _datum, _P(_value)]),
    "inturn_value_get": (_S, [_value, _datum]),
    "inturn_value_get_integer": (_S, [_value, _P(_i64)]),
    "inturn_value_get_double": (_S, [_value, _P(t.c_double)]),
    "inturn_value_get_boolean": (_S, [_value, _P(_bool)]),
    "inturn_datum_release": (_S, [_datum]),
    "inturn_value_set": (_S, [_value, _datum]),
    "inturn_value_set_integer": (_S, [_value, _i64]),
    "inturn_value_set_double": (_S, [_value, t.c_double]),
    "inturn_value_set_boolean": (_S, [_value, _bool]),
    "inturn_value_exchange": (_S, [_value, _datum, _datum]),
    "inturn_value_compare_exchange": (_S, [_value, _datum, _datum, _P(_bool), _datum]),
    "inturn_value_add": (_S, [_value, _i64, _P(_i64)]),
    "inturn_value_add_double": (_S, [_value, t.c_double, _P(t.c_double)]),
    "inturn_value_observe": (
        _S,
        [
            _value,
            _P(inturn_observe_options),
            inturn_change_fn,
            _pointer,
            inturn_destroy_fn,
            _P(_observation),
        ],
    ),
    "inturn_observation_cancel": (_S, [_observation, _i64]),
    "inturn_value_wait": (_S, [_value, inturn_predicate_fn, _pointer, _i64, _datum]),
    "inturn_value_drain": (_S, [_value, _i64]),
    "inturn_value_destroy": (_S, [_value]),
    "inturn_queue_create_value": (_S, [_queue, _enum, _P(_value)]),
    "inturn_operation_create_value": (_S, [_operation, _enum, _P(_value)]),
    "inturn_batch_create_value": (_S, [_batch, _P(_value)]),
    "inturn_clock_create_manual": (_S, [_P(_clock)]),
    "inturn_clock_now": (_S, [_clock, _P(_i64)]),
    "inturn_clock_advance": (_S, [_clock, _i64]),
    "inturn_clock_destroy": (_S, [_clock]),
    "inturn_queue_get_statistics": (_S, [_queue, _P(inturn_queue_statistics)]),
    "inturn_queue_list": (_S, [_queue, _P(inturn_operation_info), _size, _P(_size)]),
    "inturn_queue_drain_or_list": (
        _S,
        [_queue, _i64, _P(inturn_operation_info), _size, _P(_size)],
    ),
    "inturn_library_get_statistics": (_S, [_P(inturn_library_statistics)]),
    "inturn_report_send": (_S, [_P(inturn_report)]),
    "inturn_report_set_handler": (_S, [inturn_report_fn, _pointer, inturn_destroy_fn]),
}
