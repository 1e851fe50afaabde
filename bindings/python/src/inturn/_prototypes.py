"""The C interface as ctypes sees it, under the header's names and in its order.

These tables are the only place that states it.  In them, types are named without their prefix; a
star makes a pointer.  Each of the header's types is a name of this module, with its prefix, and is
made when it is first used.
"""

from __future__ import annotations

import ctypes as t
from typing import Any, Callable

# The version of the header that this follows: major, minor, patch.
HEADER_VERSION = (0, 1, 0)

# Functions with this result raise if it is not zero; see `_library`.
inturn_status = t.c_int

# Types by their names in the tables: those that are not the header's own, and those made so far.
_types: dict[str, Any] = {
    "bool": t.c_bool,
    "double": t.c_double,
    "i32": t.c_int32,
    "i64": t.c_int64,
    "int": t.c_int,
    "own": t.c_uint32,  # the size of a struct that the caller makes
    "pointer": t.c_void_p,
    "size": t.c_size_t,
    "status": inturn_status,
    "string": t.c_char_p,
    "u32": t.c_uint32,
    "u64": t.c_uint64,
    "void": None,
}


HANDLES = (
    *("queue", "operation", "token", "await", "owner", "batch"),
    *("executor", "clock", "value", "observation"),
)

# Functions that the library calls.
CALLBACKS = {
    "work_fn": "pointer token",
    "cancel_fn": "pointer token",
    "preempt_fn": "pointer token",
    "destroy_fn": "pointer",
    "wake_fn": "pointer",
    "end_fn": "pointer *end",
    "condition_fn": "pointer -> int",
    "retry_fn": "pointer i32 u32 -> bool",
    "event_fn": "pointer *event",
    "batch_end_fn": "pointer *batch_end",
    "change_fn": "pointer *change",
    "predicate_fn": "pointer *datum -> bool",
    "report_fn": "pointer *report",
    "visit_fn": "pointer *entry -> bool",
}

_STRUCTS = {
    "site": "file:string function:string line:u32 number:u32",
    "end": (
        "size:u32 outcome:int cause:int code:int attempts:u32 result:pointer label:string "
        "enqueued_ns:i64 started_ns:i64 ended_ns:i64"
    ),
    "event": (
        "size:u32 kind:int outcome:int cause:int code:int operation:u64 label:string at_ns:i64"
    ),
    "executor_options": (
        "size:own workers:u32 max_workers:u32 host_threads:u32 label:string wake:wake_fn "
        "wake_context:pointer wake_destroy:destroy_fn"
    ),
    "taken": "context:pointer token:token",
    "rate": "max_starts:u32 burst:u32 interval_ns:i64",
    "queue_options": (
        "size:own max_concurrent:u32 label:string executor:executor capacity:u64 clock:clock "
        "settle_ns:i64 gap_ns:i64 rate:rate on_event:event_fn event_context:pointer "
        "event_destroy:destroy_fn stall_ns:i64"
    ),
    "retry": (
        "size:own max_attempts:u32 delay_ns:i64 factor:double max_delay_ns:i64 jitter:double "
        "only_failures:bool decide:retry_fn"
    ),
    "operation_options": (
        "size:own priority:int label:string urgent:bool barrier:bool join:bool after_policy:int "
        "after:*operation after_count:size exclusive:*string exclusive_count:size key:string "
        "owner:owner condition:condition_fn retry:*retry max_wait_ns:i64 max_run_ns:i64 "
        "max_run_policy:int cancel_grace_ns:i64 stall_ns:i64 on_end:end_fn end_context:pointer "
        "end_destroy:destroy_fn"
    ),
    "batch_item": "work:work_fn context:pointer destroy:destroy_fn",
    "batch_edge": "place:size after:size",
    "batch_end": (
        "size:u32 code:int batch:batch outcome:int count:size finished:size decided_by:size"
    ),
    "batch_options": (
        "size:own policy:int enough:size operation:*operation_options on_end:batch_end_fn "
        "end_context:pointer end_destroy:destroy_fn edges:*batch_edge edge_count:size"
    ),
    "datum": (
        "type:int boolean:bool integer:i64 real:double bytes:pointer length:size pointer:pointer "
        "owner:pointer total:i64"
    ),
    "value_options": "size:own reserved:u32 label:string retain:destroy_fn release:destroy_fn",
    "change": "size:u32 kind:int number:u64 before:datum after:datum",
    "observe_options": "size:own initial:bool prior:bool latest:bool executor:executor queue:queue",
    "queue_statistics": (
        "size:own suspends:u32 pending:u64 running:u64 finished:u64 failed:u64 cancelled:u64 "
        "timed_out:u64 abandoned:u64 next_start_ns:i64"
    ),
    "operation_info": (
        "size:u32 state:int cancelled:bool label:char[55] enqueued_ns:i64 started_ns:i64"
    ),
    "library_statistics": (
        "size:own workers:u32 queues:u64 operations:u64 executors:u64 clocks:u64 values:u64 "
        "observations:u64"
    ),
    "stall_link": (
        "size:u32 cause:int queue_label:string operation_label:string is_operation:bool "
        "file:string function:string line:u32 token:token thread:u64"
    ),
    "report": (
        "size:u32 kind:int message:string queue_label:string operation_label:string stalled_ns:i64 "
        "waiting:u64 chain:*stall_link chain_count:size file:string function:string line:u32 "
        "steps:string token_copy:string"
    ),
    "entry": (
        "size:u32 kind:int flags:u32 state:int cause:int queue_kind:int priority:i32 attempts:u32 "
        "suspends:u32 line:u32 file:string id:u64 queue:u64 operation:u64 other:u64 batch:u64 "
        "owner:u64 executor:u64 clock:u64 token:u64 count:u64 pending:u64 running:u64 ended:u64 "
        "enqueued_ns:i64 started_ns:i64 at_ns:i64 label:char[64]"
    ),
}

INTURN_QUEUE_FIFO, INTURN_QUEUE_ACTOR = 1, 2
INTURN_QUEUE_INTERACTION, INTURN_QUEUE_CONCURRENT = 3, 4
INTURN_DATUM_NONE, INTURN_DATUM_INTEGER, INTURN_DATUM_DOUBLE, INTURN_DATUM_BOOLEAN = range(4)
INTURN_DATUM_STRING, INTURN_DATUM_BYTES, INTURN_DATUM_POINTER, INTURN_DATUM_PROGRESS = range(4, 8)

# What is called with which types; a status is returned where nothing is said.
FUNCTIONS = {
    "inturn_version": "-> u32",
    "inturn_status_name": "int -> string",
    "inturn_status_message": "int -> string",
    "inturn_executor_create": "*executor_options *executor",
    "inturn_executor_main": "*executor",
    "inturn_executor_pool": "*executor",
    "inturn_executor_set_wake": "executor wake_fn pointer destroy_fn",
    "inturn_executor_fd": "executor *int",
    "inturn_executor_attach": "executor string pointer",
    "inturn_executor_get_attached": "executor string *pointer",
    "inturn_executor_detach": "executor string",
    "inturn_executor_drain": "executor u32 *u32",
    "inturn_executor_take": "executor work_fn token *taken",
    "inturn_executor_enqueue_and_take": (
        "*site executor queue work_fn pointer destroy_fn *operation *taken"
    ),
    "inturn_executor_wait": "executor i64 *u32",
    "inturn_executor_run": "executor",
    "inturn_executor_stop": "executor",
    "inturn_executor_destroy": "executor",
    "inturn_queue_create": "int *queue_options *queue",
    "inturn_queue_set_executor": "queue executor",
    "inturn_queue_enqueue": "queue work_fn pointer destroy_fn *operation",
    "inturn_queue_enqueue_at": "*site queue work_fn pointer destroy_fn *operation",
    "inturn_queue_enqueue_with": "queue *operation_options work_fn pointer destroy_fn *operation",
    "inturn_queue_enqueue_with_at": (
        "*site queue *operation_options work_fn pointer destroy_fn *operation"
    ),
    "inturn_queue_set_max_concurrent": "queue u32",
    "inturn_queue_set_rate": "queue *rate",
    "inturn_queue_suspend": "queue",
    "inturn_queue_suspend_at": "*site queue",
    "inturn_queue_resume": "queue",
    "inturn_queue_suspend_for": "queue string",
    "inturn_queue_suspend_for_at": "*site queue string",
    "inturn_queue_resume_for": "queue string",
    "inturn_queue_view_did_appear": "queue",
    "inturn_queue_view_will_disappear": "queue",
    "inturn_queue_resolve_key": "queue string *u64",
    "inturn_queue_cancel_key": "queue string *u64",
    "inturn_queue_cancel_all": "queue",
    "inturn_queue_cancel_pending": "queue",
    "inturn_queue_close": "queue",
    "inturn_queue_drain": "queue i64",
    "inturn_queue_destroy": "queue",
    "inturn_operation_get_state": "operation *int",
    "inturn_operation_cancel": "operation",
    "inturn_operation_wait": "operation i64 *end",
    "inturn_operation_get_progress": "operation *i64 *i64",
    "inturn_operation_release": "operation",
    "inturn_token_finish": "token",
    "inturn_token_finish_with": "token pointer destroy_fn",
    "inturn_token_fail": "token int",
    "inturn_token_cancel": "token",
    "inturn_token_abandon": "token",
    "inturn_token_abandon_at": "token string",
    "inturn_token_is_cancelled": "token *bool",
    "inturn_token_on_cancel": "token work_fn pointer destroy_fn",
    "inturn_token_set_progress": "token i64 i64",
    "inturn_token_on_preempt": "token work_fn pointer destroy_fn",
    "inturn_token_yield": "token",
    "inturn_token_resume": "token work_fn pointer destroy_fn",
    "inturn_owner_create": "u64 *owner",
    "inturn_owner_get_count": "owner *u64",
    "inturn_owner_destroy": "owner",
    "inturn_queue_enqueue_batch": "queue *batch_options *batch_item u64 *batch",
    "inturn_queue_enqueue_batch_at": "*site queue *batch_options *batch_item u64 *batch",
    "inturn_batch_cancel": "batch",
    "inturn_batch_get_progress": "batch *u64 *u64",
    "inturn_batch_get_end": "batch u64 *end",
    "inturn_batch_wait": "batch i64 *batch_end",
    "inturn_batch_release": "batch",
    "inturn_value_create": "*value_options *datum *value",
    "inturn_value_get": "value *datum",
    "inturn_value_get_integer": "value *i64",
    "inturn_value_get_double": "value *double",
    "inturn_value_get_boolean": "value *bool",
    "inturn_datum_release": "*datum",
    "inturn_value_set": "value *datum",
    "inturn_value_set_integer": "value i64",
    "inturn_value_set_double": "value double",
    "inturn_value_set_boolean": "value bool",
    "inturn_value_exchange": "value *datum *datum",
    "inturn_value_compare_exchange": "value *datum *datum *bool *datum",
    "inturn_value_add": "value i64 *i64",
    "inturn_value_add_double": "value double *double",
    "inturn_value_observe": "value *observe_options change_fn pointer destroy_fn *observation",
    "inturn_observation_cancel": "observation i64",
    "inturn_value_wait": "value predicate_fn pointer i64 *datum",
    "inturn_value_drain": "value i64",
    "inturn_value_destroy": "value",
    "inturn_queue_create_value": "queue int *value",
    "inturn_operation_create_value": "operation int *value",
    "inturn_batch_create_value": "batch *value",
    "inturn_clock_create_manual": "*clock",
    "inturn_clock_now": "clock *i64",
    "inturn_clock_advance": "clock i64",
    "inturn_clock_destroy": "clock",
    "inturn_queue_get_statistics": "queue *queue_statistics",
    "inturn_queue_list": "queue *operation_info u64 *u64",
    "inturn_queue_drain_or_list": "queue i64 *operation_info u64 *u64",
    "inturn_library_get_statistics": "*library_statistics",
    "inturn_report_send": "*report",
    "inturn_report_set_handler": "report_fn pointer destroy_fn",
    "inturn_report_set_stall_limit": "i64",
    "inturn_report_set_awaited": "u64",
    "inturn_report_wait_at": "*site",
    "inturn_await_begin": "u64 *token u64 *await",
    "inturn_await_end": "await",
    "inturn_snapshot": "visit_fn pointer",
    "inturn_dump": "int int",
    "inturn_why": "operation report_fn pointer",
    "inturn_trace_start": "size",
    "inturn_trace_stop": "",
    "inturn_trace_write": "int",
}


class _Sized(t.Structure):
    """A struct that begins with its size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=t.sizeof(self), **fields)


def type_of(name: str) -> Any:
    """The type of this name in the tables; if two threads make it, both take the first one's."""
    if name not in _types:
        _types.setdefault(name, _made(name))
    return _types[name]


def _made(name: str) -> Any:
    if name[0] == "*":
        return t.POINTER(type_of(name[1:]))
    if name.startswith("char["):
        return t.c_char * int(name[5:-1])
    if name in CALLBACKS:
        result, arguments = _signature(CALLBACKS[name], "void", type_of)
        return t.CFUNCTYPE(result, *arguments)
    fields = [field.split(":") for field in _STRUCTS.get(name, "bits:u64").split()]
    base = _Sized if fields[0][1] == "own" else t.Structure
    members = {"_fields_": [(field, type_of(kind)) for field, kind in fields]}
    return type(f"inturn_{name}", (base,), members)


def _signature(text: str, usual: str, kind_of: Callable[[str], Any]) -> tuple[Any, list[Any]]:
    arguments, _, result = text.partition("-> ")
    return kind_of(result or usual), [kind_of(each) for each in arguments.split()]


def prototype(function: str, kind_of: Callable[[str], Any] = type_of) -> tuple[Any, list[Any]]:
    """The types of a function's result and of its arguments."""
    return _signature(FUNCTIONS[function], "status", kind_of)


def __getattr__(name: str) -> Any:
    short = name.removeprefix("inturn_")
    if short == name or not (short in HANDLES or short in CALLBACKS or short in _STRUCTS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, type_of(short))
