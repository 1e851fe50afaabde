"""What the adapters to event loops promise, in each of the loops."""

from __future__ import annotations

import importlib
import resource
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import inturn
from inturn.loops import Attachment
from loops import HOSTS
from support import Gate, each, finish, join


@pytest.fixture(params=list(HOSTS))
def host(request: pytest.FixtureRequest) -> Iterator[Any]:
    made = HOSTS[request.param]()
    yield made
    made.close()


@pytest.fixture(params=["tk", "glib", "qt"])
def nesting_host(request: pytest.FixtureRequest) -> Iterator[Any]:
    made = HOSTS[request.param]()
    yield made
    made.close()


@pytest.fixture
def executor() -> Iterator[inturn.Executor]:
    with inturn.Executor("loop") as made:
        yield made


@pytest.fixture
def queue(executor: inturn.Executor) -> Iterator[inturn.FIFOQueue]:
    made = inturn.FIFOQueue(executor=executor)
    yield made
    made.destroy()


def run_until_here(host: Any, queue: inturn.Queue) -> None:
    """Runs the loop until the queue has reached the end of what is in it now."""
    queue.enqueue(each(lambda _: host.stop(), finish))
    host.run()


def run_for(host: Any, seconds: float) -> None:
    host.set_tick(seconds, host.stop)
    host.run()
    host.set_tick(0, None)


def on_another_thread(body: Any) -> Any:
    results: list[Any] = []

    def call() -> None:
        try:
            results.append(body())
        except inturn.Error as error:
            results.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    join(thread)
    return results[0]


def test_work_of_another_thread_is_called_in_order_on_the_loops(
    host: Any, executor: inturn.Executor, queue: inturn.FIFOQueue
) -> None:
    called: list[int] = []

    def work(number: int, token: inturn.Token) -> None:
        assert threading.current_thread() is threading.main_thread()
        called.append(number)
        token.finish()

    def produce() -> None:
        for number in range(1000):
            queue.enqueue(partial(work, number))
        queue.enqueue(each(lambda _: host.stop(), finish))

    with host.attach(executor):
        thread = threading.Thread(target=produce)
        thread.start()
        host.run()
        join(thread)
    assert called == list(range(1000))


def test_interactions_come_one_at_a_time_on_the_main_executor(host: Any) -> None:
    trace: list[str] = []
    threads: list[threading.Thread] = []

    def show(name: str, token: inturn.Token) -> None:
        trace.append(f"show {name}")
        threads.append(threading.Thread(target=token.finish))
        threads[-1].start()

    with inturn.InteractionQueue(settle=0.001, gap=0.001) as dialogs, host.attach():
        for name in "abc":
            dialogs.options(on_end=lambda _: trace.append("end")).enqueue(partial(show, name))
        dialogs.enqueue(each(lambda _: host.stop(), finish))
        dialogs.view_did_appear()
        host.run()
    join(*threads)
    assert trace == ["show a", "end", "show b", "end", "show c", "end"]


def test_work_that_waited_before_the_attach_is_called_by_the_loop(
    host: Any, executor: inturn.Executor, queue: inturn.FIFOQueue
) -> None:
    called: list[str] = []
    queue.enqueue(each(lambda _: called.append("work"), finish))
    with host.attach(executor):
        assert called == []
        run_until_here(host, queue)
    assert called == ["work"]


def test_a_busy_queue_and_the_loop_let_each_other_live(
    host: Any, executor: inturn.Executor, queue: inturn.FIFOQueue
) -> None:
    calls = 0
    calls_at_ticks: list[int] = []

    def work(token: inturn.Token) -> None:
        nonlocal calls
        calls += 1
        end = time.monotonic() + 0.0001
        while time.monotonic() < end:
            pass
        if len(calls_at_ticks) < 20:
            queue.enqueue(work)
        token.finish()

    def tick() -> None:
        calls_at_ticks.append(calls)
        if len(calls_at_ticks) == 20:
            host.stop()

    for _ in range(100):
        queue.enqueue(work)
    with host.attach(executor):
        host.set_tick(0.005, tick)
        start = time.monotonic()
        host.run()
        took = time.monotonic() - start
        host.set_tick(0, None)
    assert took < 5
    assert len(set(calls_at_ticks)) >= 10


def sleeps_within(host: Any, seconds: float) -> int:
    """How often threads of this process go to sleep meanwhile."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    run_for(host, seconds)
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before


def test_an_idle_executor_wakes_nobody(
    host: Any, executor: inturn.Executor, queue: inturn.FIFOQueue
) -> None:
    with host.attach(executor):
        run_until_here(host, queue)
        run_for(host, 0.5)  # a new window is drawn
        # Others may wake the loop now and then, as a display does; an executor that polls wakes it
        # all the time.
        sleeps = min(sleeps_within(host, 2) for _ in range(3))
    assert sleeps <= 10


def test_a_loop_inside_work_sleeps_and_calls_no_other_work(
    nesting_host: Any, executor: inturn.Executor, queue: inturn.FIFOQueue
) -> None:
    trace: list[str] = []
    other = inturn.FIFOQueue(executor=executor)

    def open_dialog(token: inturn.Token) -> None:
        start = time.thread_time()
        nesting_host.nest(0.15)
        assert time.thread_time() - start < 0.075
        trace.append("closed")
        token.finish()

    queue.enqueue(open_dialog)
    other.enqueue(each(lambda _: trace.append("other"), finish))
    with nesting_host.attach(executor):
        run_until_here(nesting_host, other)
    other.destroy()
    assert trace == ["closed", "other"]


def test_a_second_attach_raises_and_the_first_goes_on(
    host: Any, executor: inturn.Executor, queue: inturn.FIFOQueue
) -> None:
    with host.attach(executor):
        with pytest.raises(inturn.BusyError):
            host.attach(executor)
        run_until_here(host, queue)


def test_another_thread_may_not_detach_or_drain(host: Any, executor: inturn.Executor) -> None:
    with host.attach(executor) as attachment:
        assert isinstance(on_another_thread(attachment.detach), inturn.WrongThreadError)
        assert isinstance(on_another_thread(executor.drain), inturn.WrongThreadError)
        assert attachment.attached
    assert not attachment.attached


def test_the_main_executor_is_attached_on_the_main_thread_only(host: Any) -> None:
    assert isinstance(on_another_thread(host.attach), inturn.WrongThreadError)
    host.attach().detach()


def test_an_attached_executor_is_not_closed(host: Any) -> None:
    executor = inturn.Executor()
    with host.attach(executor), pytest.raises(inturn.BusyError):
        executor.close()
    executor.close()
    with pytest.raises(inturn.StaleError):
        host.attach(executor)


def test_after_a_detach_nothing_more_is_called(
    host: Any, executor: inturn.Executor, queue: inturn.FIFOQueue
) -> None:
    called: list[str] = []
    attachment = host.attach(executor)
    queue.enqueue(each(lambda _: called.append("work"), finish))
    attachment.detach()
    attachment.detach()  # a second one does nothing
    run_for(host, 0.05)
    assert called == []
    with host.attach(executor):
        run_until_here(host, queue)
    assert called == ["work"]


def test_work_may_detach_and_is_the_last_to_be_called(
    host: Any, executor: inturn.Executor, queue: inturn.FIFOQueue
) -> None:
    called: list[str] = []
    attachment: Attachment = host.attach(executor)
    queue.enqueue(each(lambda _: attachment.detach(), finish))
    queue.enqueue(each(lambda _: called.append("after"), finish))
    run_for(host, 0.05)
    assert called == []
    with host.attach(executor):
        run_until_here(host, queue)
    assert called == ["after"]


def test_an_attachment_says_what_it_is(host: Any, executor: inturn.Executor) -> None:
    with host.attach(executor) as attachment:
        assert host.name in repr(attachment)
        assert repr(attachment).endswith("attached>")
    assert repr(attachment).endswith("detached>")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("kind", ["asyncio", "tk"])
def test_an_interrupt_in_work_leaves_the_loop(kind: str, stop: type[BaseException]) -> None:
    host = HOSTS[kind]()

    def work(token: inturn.Token) -> None:
        raise stop

    with inturn.InteractionQueue(settle=0, gap=0) as dialogs, host.attach():
        operation = dialogs.enqueue(work)
        dialogs.view_did_appear()
        with pytest.raises(stop):
            host.run()
        # The loop continues when it is run again.
        dialogs.enqueue(each(lambda _: host.stop(), finish))
        host.run()
        assert isinstance(operation.wait(0).exception, stop)
    host.close()


def test_tk_may_end_before_the_detach() -> None:
    host = HOSTS["tk"]()
    with inturn.Executor() as executor, inturn.FIFOQueue(executor=executor) as queue:
        attachment = host.attach(executor)
        queue.enqueue(finish)
        host.close()
        attachment.detach()
        executor.drain()


def test_asyncio_attaches_to_the_loop_that_runs() -> None:
    import asyncio

    async def program() -> None:
        ended = asyncio.Event()
        executor = inturn.Executor()
        with inturn.loops.asyncio.attach(executor) as attachment:
            assert attachment.loop is asyncio.get_running_loop()
            queue = inturn.FIFOQueue(executor=executor)
            queue.enqueue(each(lambda _: ended.set(), finish))
            await asyncio.wait_for(ended.wait(), 30)
        queue.destroy()
        executor.close()

    asyncio.run(program())
    with pytest.raises(RuntimeError):
        inturn.loops.asyncio.attach()


def test_asyncio_refuses_a_loop_of_another_thread() -> None:
    import asyncio

    host = HOSTS["asyncio"]()
    running = Gate("the other thread's loop runs")
    thread = threading.Thread(target=host.run)
    host.loop.call_soon(running.open)
    thread.start()
    running.wait()
    with inturn.Executor() as executor:
        with pytest.raises(inturn.WrongThreadError):
            host.attach(executor)

        async def attach_elsewhere() -> None:
            with pytest.raises(inturn.WrongThreadError):
                host.attach(executor)

        asyncio.run(attach_elsewhere())
    host.loop.call_soon_threadsafe(host.stop)
    join(thread)
    host.close()


def test_a_loop_on_another_thread_than_that_which_attached_calls_nothing_and_says_so(
    executor: inturn.Executor, queue: inturn.FIFOQueue
) -> None:
    host = HOSTS["asyncio"]()
    said: list[Any] = []

    def note(_loop: object, what: dict[str, Any]) -> None:
        said.append(what["exception"])
        host.loop.call_later(0.05, host.stop)  # the error is reported once

    attachment = host.attach(executor)
    host.loop.set_exception_handler(note)
    queue.enqueue(lambda token: pytest.fail("it was called"))
    thread = threading.Thread(target=host.run)
    thread.start()
    join(thread)
    assert [type(error) for error in said] == [inturn.WrongThreadError]
    attachment.detach()
    host.close()
    queue.destroy()


def test_a_glib_context_on_another_thread_calls_nothing_and_says_so_once(
    executor: inturn.Executor, queue: inturn.FIFOQueue, capfd: pytest.CaptureFixture[str]
) -> None:
    host = HOSTS["glib"]()
    attachment = host.attach(executor)
    queue.enqueue(lambda token: pytest.fail("it was called"))
    for _ in range(3):
        on_another_thread(lambda: host.context.iteration(False))
    assert capfd.readouterr().err.count("attach on the loop's thread") == 1
    attachment.detach()
    queue.destroy()


def test_a_glib_context_that_another_thread_runs_is_refused() -> None:
    host = HOSTS["glib"]()
    assert host.context.acquire()
    with inturn.Executor() as executor:
        refusal = on_another_thread(lambda: host.attach(executor))
        assert isinstance(refusal, inturn.WrongThreadError)
    host.context.release()


def test_an_executor_is_attached_to_one_kind_of_loop_at_a_time(executor: inturn.Executor) -> None:
    hosts = [made() for made in HOSTS.values()]
    for host in hosts:
        with host.attach(executor):
            for other in hosts:
                with pytest.raises(inturn.BusyError):
                    other.attach(executor)
    for host in hosts:
        host.close()


def test_trio_serves_interactions_in_a_nursery_and_gives_the_executor_back() -> None:
    trio = importlib.import_module("trio")
    asked: list[str] = []

    async def ask(question: str) -> str:
        asked.append(question)
        await trio.lowlevel.checkpoint()
        return question.upper()

    async def program() -> Any:
        queue = inturn.InteractionQueue(settle=0, gap=0)
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                attachment = inturn.loops.trio.attach(nursery)
                queue.view_did_appear()
                queue.enqueue(each(lambda _: nursery.cancel_scope.cancel(), finish))
                assert await queue.run(ask, "b") == "B"
        assert not attachment.attached
        queue.destroy()
        return nursery

    nursery = trio.run(program)
    with inturn.Executor() as executor, pytest.raises(inturn.WrongThreadError):
        inturn.loops.trio.attach(nursery, executor)


def test_interactions_are_modal_dialogs_of_qts() -> None:
    host = HOSTS["qt"]()
    widgets = importlib.import_module("PySide6.QtWidgets")
    answers: list[bool] = []
    shown: list[int] = []

    def ask(token: inturn.Token) -> None:
        dialog = widgets.QDialog()

        def accept() -> None:
            shown.append(sum(window.isVisible() for window in host.application.topLevelWidgets()))
            dialog.accept()

        host.core.QTimer.singleShot(0, accept)
        answers.append(bool(dialog.exec()))
        dialog.deleteLater()
        token.finish()

    with host.attach():
        queue = inturn.InteractionQueue(settle=0, gap=0)
        queue.view_did_appear()
        for _ in range(3):
            queue.enqueue(ask)
        run_until_here(host, queue)
        queue.destroy()
    assert answers == [True] * 3
    assert shown == [1] * 3  # never two at once


def test_qt_attaches_to_a_thread_with_a_loop_only() -> None:
    host = HOSTS["qt"]()
    with inturn.Executor() as executor:
        refused = on_another_thread(lambda: host.attach(executor))
        assert isinstance(refused, inturn.UnsupportedError)
        host.attach(executor).detach()
