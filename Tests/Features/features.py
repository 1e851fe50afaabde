"""As features.c, in Python."""

from __future__ import annotations

from typing import Any, Callable

import inturn
import pytest
from inturn import Token

KINDS: dict[str, Callable[..., inturn.Queue]] = {
    "fifo": inturn.FIFOQueue,
    "actor": inturn.ActorQueue,
    "interaction": inturn.InteractionQueue,
    "concurrent": inturn.OperationQueue,
}

REFUSALS = (inturn.UnsupportedError, inturn.WrongKindError)


class Trial:
    """A queue, what has been called on it, and the last token and end."""

    def __init__(self, kind: str = "fifo", **options: Any) -> None:
        self.executor = inturn.Executor()
        self.clock = inturn.ManualClock()
        if kind == "interaction":
            options |= {"settle": 0, "gap": 0}
        if kind == "concurrent":
            options |= {"max_concurrent": 2}
        self.queue: Any = KINDS[kind](executor=self.executor, clock=self.clock, **options)
        if isinstance(self.queue, inturn.InteractionQueue):
            self.queue.view_did_appear()
        self.called = ""
        self.held: Token | None = None
        self.end: inturn.End | None = None

    def drain(self) -> None:
        self.executor.drain()

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.drain()

    def say(self, name: str) -> Callable[[Token], None]:
        def work(token: Token) -> None:
            self.called += name
            token.finish()

        return work

    def hold(self, name: str) -> Callable[[Token], None]:
        def work(token: Token) -> None:
            self.called += name
            self.held = token

        return work

    def fail(self, token: Token) -> None:
        self.called += "!"
        token.fail(ValueError())

    def keep_end(self, end: inturn.End) -> None:
        self.end = end

    def put(self, work: Callable[[Token], None], **options: Any) -> inturn.Operation:
        operation: inturn.Operation = self.queue.options(**options).enqueue(work)
        return operation

    def put_held(self, **options: Any) -> Token:
        self.put(self.hold("a"), **options)
        self.drain()
        assert self.held
        return self.held

    def finish(self) -> None:
        assert self.held
        self.held.finish()
        self.drain()

    def was(self, cause: inturn.Cause) -> bool:
        return self.end is not None and self.end.cause == cause

    def close(self) -> None:
        self.queue.destroy()
        self.held = None
        self.drain()


def result(it: Trial) -> None:
    future = it.queue.submit(lambda: 7)
    it.drain()
    assert future.result(0) == 7


def comes_first(it: Trial, **options: Any) -> None:
    it.queue.suspend()
    it.put(it.say("a"))
    it.put(it.say("b"), **options)
    it.queue.resume()
    it.drain()
    assert it.called == "ba"


def priority(it: Trial) -> None:
    comes_first(it, priority=1)


def urgent(it: Trial) -> None:
    comes_first(it, urgent=True)


def preempt(it: Trial) -> None:
    it.put_held().on_preempt(lambda token: token.yield_())
    it.put(it.say("b"), urgent=True)
    it.drain()
    assert it.called == "aba"


def barrier(it: Trial) -> None:
    it.put_held()
    it.put(it.say("b"), barrier=True)
    it.drain()
    assert it.called == "a"
    it.finish()
    assert it.called == "ab"


def waits_for(it: Trial, other: Trial, **options: Any) -> None:
    it.put(it.say("b"), **options)
    it.drain()
    assert it.called == ""
    other.finish()
    it.drain()
    assert it.called == "b"
    other.close()


def after(it: Trial) -> None:
    other = Trial()
    first = other.put(other.hold("a"))
    other.drain()
    waits_for(it, other, after=[first])


def exclusive(it: Trial) -> None:
    other = Trial()
    other.put_held(exclusive=["the printer"])
    waits_for(it, other, exclusive=["the printer"])


def condition(it: Trial) -> None:
    it.put(it.say("a"), condition=lambda: False, on_end=it.keep_end)
    it.drain()
    assert it.called == ""
    assert it.was(inturn.Cause.SKIPPED)


def retry(it: Trial) -> None:
    it.put(it.fail, retry=inturn.Retry(3, delay=5), on_end=it.keep_end)
    it.drain()
    it.advance(5)
    it.advance(5)
    assert it.called == "!!!"
    assert it.end
    assert it.end.attempts == 3


def key(it: Trial) -> None:
    it.queue.suspend()
    it.put(it.say("a"), key="key")
    assert it.queue.cancel("key") == 1


def join(it: Trial) -> None:
    it.put_held(key="key")
    it.put(it.say("b"), key="key", join=True, on_end=it.keep_end)
    it.drain()
    it.finish()
    assert it.called == "a"
    assert it.was(inturn.Cause.JOINED)


def owner(it: Trial) -> None:
    window = inturn.Owner()
    it.queue.suspend()
    it.put(it.say("a"), owner=window, on_end=it.keep_end)
    window.close()
    it.drain()
    assert it.was(inturn.Cause.OWNER)


def max_wait(it: Trial) -> None:
    it.queue.suspend()
    it.put(it.say("a"), max_wait=5, on_end=it.keep_end)
    it.advance(5)
    assert it.was(inturn.Cause.MAX_WAIT)


def max_run(it: Trial) -> None:
    it.put_held(max_run=5, on_end=it.keep_end)
    it.advance(4)
    assert it.end is None
    it.advance(1)
    assert it.was(inturn.Cause.MAX_RUN)


def stall(it: Trial) -> None:
    told: list[inturn.Report] = []
    inturn.set_report_handler(told.append)
    it.put_held(stall=5)
    it.advance(5)
    inturn.set_report_handler(None)
    assert told[0].kind == inturn.ReportKind.STALL


def cancel_grace(it: Trial) -> None:
    it.put_held(cancel_grace=5, on_end=it.keep_end)
    it.queue.cancel_all()
    it.advance(5)
    assert it.was(inturn.Cause.GRACE)


def cancel(it: Trial) -> None:
    operation = it.put(it.hold("a"))
    it.drain()
    assert it.held
    it.held.on_cancel(lambda token: token.cancel())
    operation.cancel()
    it.drain()
    assert operation.wait(0).outcome == inturn.Outcome.CANCELLED


def progress(it: Trial) -> None:
    operation = it.put(it.hold("a"))
    it.drain()
    assert it.held
    it.held.progress(3, 7)
    assert operation.progress == (3, 7)


def segment(it: Trial) -> None:
    it.put_held().resume(it.say("b"))
    it.drain()
    assert it.called == "ab"


def put_batch(it: Trial, edges: list[tuple[int, int]]) -> None:
    batch = it.queue.batch([it.hold("a"), it.say("b")], edges=edges)
    it.drain()
    assert not edges or it.called == "a"
    it.finish()
    assert batch.wait(0).finished == 2


def batch(it: Trial) -> None:
    put_batch(it, [])


def edges(it: Trial) -> None:
    put_batch(it, [(1, 0)])


def suspend(it: Trial, reason: str | None = None) -> None:
    it.queue.suspend(reason)
    it.put(it.say("a"))
    it.drain()
    assert it.called == ""
    it.queue.resume(reason)
    it.drain()
    assert it.called == "a"


def reason(it: Trial) -> None:
    suspend(it, "no network")


def capacity(it: Trial) -> None:
    it.put(it.say("a"))
    with pytest.raises(inturn.FullError):
        it.put(it.say("b"))


def rate(it: Trial) -> None:
    it.queue.rate = inturn.Rate(1, 10)
    it.put(it.say("a"))
    it.put(it.say("b"))
    it.drain()
    assert it.called == "a"
    it.advance(10)
    assert it.called == "ab"


def max_concurrent(it: Trial) -> None:
    if not isinstance(it.queue, inturn.OperationQueue):
        assert not hasattr(it.queue, "max_concurrent")
        raise inturn.UnsupportedError
    it.queue.max_concurrent = 1
    it.put_held()
    it.put(it.say("b"))
    it.drain()
    assert it.called == "a"


def view(it: Trial) -> None:
    if not isinstance(it.queue, inturn.InteractionQueue):
        assert not hasattr(it.queue, "view_did_appear")
        raise inturn.UnsupportedError
    it.queue.view_will_disappear()
    it.put(it.say("a"))
    it.drain()
    assert it.called == ""
    it.queue.view_did_appear()
    it.drain()
    assert it.called == "a"


events: list[inturn.Event] = []


def told_events(it: Trial) -> None:
    it.put(it.say("a"))
    it.drain()
    assert len(events) >= 3  # enqueued, started, ended
    events.clear()


def states(it: Trial) -> None:
    pending = it.queue.states.pending
    it.put(it.say("a"))
    assert pending.value == 1
    it.drain()
    assert pending.value == 0


def listed(it: Trial) -> None:
    it.put(it.say("a"), label="a label")
    assert [info.label for info in it.queue.operations()] == ["a label"]


def drain(it: Trial) -> None:
    it.put(it.say("a"))
    with pytest.raises(inturn.TimedOutError) as refused:
        it.queue.drain(0)
    assert len(refused.value.left) == 1
    it.drain()
    it.queue.drain(0)


def close(it: Trial) -> None:
    it.queue.close()
    with pytest.raises(inturn.ClosedError):
        it.put(it.say("a"))


def deadlock(it: Trial) -> None:
    def wait_for_oneself(token: Token) -> None:
        with pytest.raises(inturn.DeadlockError):
            it.queue.drain()
        it.called += "refused"
        token.finish()

    inturn.set_report_handler(lambda _: None)
    it.put(wait_for_oneself)
    it.drain()
    inturn.set_report_handler(None)
    assert it.called == "refused"


FEATURES: dict[str, Callable[[Trial], None]] = {
    **{
        use.__name__: use
        for use in (
            *(result, priority, urgent, preempt, barrier, after, exclusive, condition, retry, key),
            *(join, owner, max_wait, max_run, stall, cancel_grace, cancel, progress, segment),
            *(batch, edges, suspend, reason, capacity, rate, max_concurrent, view, states, drain),
            *(close, deadlock),
        )
    },
    "events": told_events,
    "list": listed,
    "clock": max_run,
}

OPTIONS: dict[str, dict[str, Any]] = {
    "capacity": {"capacity": 1},
    "events": {"on_event": events.append},
}


def main() -> None:
    for name, use in FEATURES.items():
        for kind in KINDS:
            it = Trial(kind, **OPTIONS.get(name, {}))
            try:
                use(it)
                outcome = "yes"
            except REFUSALS:
                outcome = "no"
            it.close()
            print(name, kind, outcome, sep="\t")


if __name__ == "__main__":
    main()
