"""The keyword arguments of queues and of `Queue.options`: for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._clocks import ManualClock, Rate
    from ._ends import OnEnd
    from ._events import OnEvent
    from ._executors import Executor
    from ._futures import Future
    from ._operations import Operation
    from ._owners import Owner
    from ._policies import AfterPolicy, Condition, Retry


class QueueOptions(TypedDict, total=False):
    """The keyword arguments of every `Queue`, besides its executor."""

    capacity: int
    rate: Rate | None
    clock: ManualClock | None
    on_event: OnEvent | None
    events: bool
    stall: float | None


class PooledOptions(QueueOptions, total=False):
    """The further keyword arguments of queues that run on Python's threads."""

    executor: Executor | None
    daemon: bool
    thread: bool


class OperationOptions(TypedDict, total=False):
    """The options that `Queue.options` takes and explains."""

    label: str | None
    on_end: OnEnd | None
    priority: int
    after: Iterable[Operation | Future[Any]]
    after_policy: AfterPolicy | bool
    barrier: bool
    urgent: bool
    exclusive: Iterable[str]
    condition: Condition | None
    retry: Retry | None
    key: str | None
    join: bool
    owner: Owner | None
    max_wait: float
    max_run: float
    free_at_max_run: bool
    stall: float
    cancel_grace: float
