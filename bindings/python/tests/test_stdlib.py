"""CPython's own tests of executors, with queues as the executors, and of its lock.

They come from the installed interpreter or from Debian (libpython3-testsuite), and are not copied.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import sys
import unittest
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import inturn
from inturn._kinds import _Pooled
from support import until

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"


def cpython(name: str) -> Any:
    """A module of CPython's tests."""
    file = Path(f"/usr/lib/{VERSION}/test", *name.split(".")).with_suffix(".py")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their own warnings
        try:
            return importlib.import_module(f"test.{name}")
        except ImportError:
            if not file.is_file():
                return None
        spec = importlib.util.spec_from_file_location(f"cpython_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module


FUTURES = cpython("test_concurrent_futures")
if hasattr(FUTURES, "__path__"):  # a package, from Python 3.13 on

    class FUTURES:  # type: ignore[no-redef]
        BaseTestCase = cpython("test_concurrent_futures.util").BaseTestCase
        ExecutorMixin = cpython("test_concurrent_futures.util").ExecutorMixin
        WaitTests = cpython("test_concurrent_futures.test_wait").WaitTests
        AsCompletedTests = cpython("test_concurrent_futures.test_as_completed").AsCompletedTests
        ExecutorTest = cpython("test_concurrent_futures.executor").ExecutorTest
        ExecutorShutdownTest = cpython("test_concurrent_futures.test_shutdown").ExecutorShutdownTest


LOCKS = cpython("test_asyncio.test_locks")

# Tests that do not apply, and why.
NOT_FOR_QUEUES = {
    "test_max_workers_negative": "it asks for the words of ThreadPoolExecutor's error",
    "test_interpreter_shutdown": "its program makes an executor of concurrent.futures",
    "test_submit_after_interpreter_shutdown": "the same",
    "test_hang_gh83386": "the same",
    "test_hang_gh94440": "the same, for processes",
    "test_map_buffersize_validation": "it asks for the words of CPython's errors",
}
NOT_FOR_ONE_AT_A_TIME = {
    "test_first_completed": "two functions run at a time",
    "test_first_completed_some_already_completed": "the same",
    "test_first_exception": "the same",
    "test_first_exception_some_already_complete": "the same",
}


class Begun(_Pooled):
    """What CPython's test of `cancel_futures` expects: one of its functions has begun."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            until("a function to begin", lambda: any(self.statistics()[2:4]))
        super().shutdown(wait, cancel_futures=cancel_futures)


class Concurrent(Begun, inturn.OperationQueue):
    """A queue with the constructor of an executor, for functions that sleep for seconds."""

    def __init__(self, max_workers: int) -> None:
        super().__init__(max_concurrent=max_workers, stall=None)


class InOrder(Begun, inturn.FIFOQueue):
    """The same, one at a time."""

    def __init__(self, max_workers: int) -> None:
        super().__init__(stall=None)


def with_queue(
    mixin: str, kind: type[inturn.Queue], other: dict[str, str]
) -> type[unittest.TestCase]:
    """A class of CPython's tests for a kind of queue."""
    if FUTURES is None:
        reason = f"CPython's tests are not installed: apt-get install lib{VERSION}-testsuite"
        missing = {"test_executor": lambda self: self.skipTest(reason)}
        return type(f"{mixin}_{kind.__name__}", (unittest.TestCase,), missing)
    left_out = {
        name: unittest.skip(why)(lambda _self: None)
        for name, why in {**NOT_FOR_QUEUES, **other}.items()
        if hasattr(getattr(FUTURES, mixin), name)
    }
    # The pool's threads outlive a queue, so no test waits until there are as few as before.
    uncounted = {"setUp": lambda _self: None, "tearDown": lambda _self: None}
    base = type("BaseTestCase", (FUTURES.BaseTestCase,), uncounted)
    bases = (getattr(FUTURES, mixin), FUTURES.ExecutorMixin, base)
    return type(f"{mixin}_{kind.__name__}", bases, {"executor_type": kind, **left_out})


for _mixin in ("WaitTests", "AsCompletedTests", "ExecutorTest", "ExecutorShutdownTest"):
    for _kind, _other in ((Concurrent, {}), (InOrder, NOT_FOR_ONE_AT_A_TIME)):
        _made = with_queue(_mixin, _kind, _other)
        globals()[f"Test{_made.__name__}"] = _made
del _made


class QueueAsLock:
    """A queue with the interface of asyncio's lock, which the tests look into."""

    def __init__(self, **loop: object) -> None:
        if loop:  # in Python 3.9, whose tests also expect this
            warnings.warn("loop", DeprecationWarning, stacklevel=2)
        self._queue = inturn.FIFOQueue()

    async def acquire(self) -> bool:
        await self._queue.__aenter__()
        return True

    def release(self) -> None:
        from inturn._asyncio import leave

        leave(self._queue, None)

    def locked(self) -> bool:
        return self._queue.statistics().running > 0

    @property
    def _waiters(self) -> range:  # as many as are waiting
        return range(self._queue.statistics().pending)

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.release()


class QueueAsSemaphore(QueueAsLock):
    """The same for several at a time."""

    def __init__(self, value: int = 1) -> None:
        self._queue = inturn.OperationQueue(max_concurrent=value)  # type: ignore[assignment]

    def locked(self) -> bool:
        return self._queue.statistics().running == self._queue._places


# The other tests look further into the lock, or are about its constructor. Most of the semaphore's
# let it grow: they release more often than they have acquired, which a queue refuses.
LOCK_TESTS = (
    "test_lock_by_with_statement",
    "test_acquire",
    "test_acquire_cancel",
    "test_cancel_release_race",
    "test_release_not_acquired",
    "test_release_no_waiters",
    "test_context_manager",
)
SEMAPHORE_TESTS = ("test_release_no_waiters",)


@pytest.mark.parametrize("name", LOCK_TESTS)
def test_a_queue_passes_the_locks_test(name: str) -> None:
    run_with("LockTests", name, "Lock", QueueAsLock)


@pytest.mark.parametrize("name", SEMAPHORE_TESTS)
def test_a_queue_passes_the_semaphores_test(name: str) -> None:
    run_with("SemaphoreTests", name, "Semaphore", QueueAsSemaphore)


def run_with(case: str, name: str, what: str, replacement: type[QueueAsLock]) -> None:
    if LOCKS is None:
        pytest.skip("CPython's tests are not installed")
    with mock.patch.object(asyncio, what, replacement):
        result = unittest.TestResult()
        getattr(LOCKS, case)(name).run(result)
    assert result.testsRun == 1
    assert not [*result.errors, *result.failures], "".join(
        text for _, text in [*result.errors, *result.failures]
    )
