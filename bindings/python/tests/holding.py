"""What holds a token in the tests of reports that name it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Callable

import inturn
from support import until

held: dict[str, Any] = {}


class Upload:
    token: Any = None


def attribute(owner: Any, token: Any) -> Any:
    owner.token = token
    return owner


def closure(token: inturn.Token) -> Callable[[], None]:
    def done() -> None:
        token.finish()

    return done


def begun(generator: Generator[None, None, None]) -> Generator[None, None, None]:
    next(generator)
    return generator


def at(function: Any, line: int) -> str:
    """A place, so many lines below the function's first."""
    code = function.__code__
    return f"{code.co_name} ({code.co_filename}:{code.co_firstlineno + line})"


def holders(operation: Any) -> tuple[str, ...]:
    report = inturn.why(operation)
    assert report is not None
    return report.holders


def hold(queue: inturn.Queue, keep: Callable[[inturn.Token], Any]) -> tuple[inturn.Operation, Any]:
    """Enqueues work that passes its token to a function, and returns what that returns."""
    kept: list[Any] = []
    operation = queue.options(label="photo").enqueue(lambda token: kept.append(keep(token)))

    def has_returned() -> bool:
        report = inturn.why(operation)
        return report is not None and report.chain[-1].cause is inturn.StallCause.TOKEN

    until("the work's return", has_returned)
    return operation, kept.pop()
