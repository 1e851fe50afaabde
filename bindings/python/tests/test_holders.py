"""Reports of what is stuck name what refers to the token."""

from __future__ import annotations

import functools
import gc
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Generator
from typing import Any, Callable

import pytest

import holding
import inturn
from holding import Upload, at, attribute, begun, closure, hold, holders
from inturn._library import quick
from support import LIMIT, finish, run_python


class Slotted:
    __slots__ = ("token",)


def load(token: inturn.Token) -> Generator[None, None, None]:
    yield
    token.finish()


async def upload(token: inturn.Token) -> None:
    token.finish()


def drop(token: inturn.Token) -> Generator[None, None, None]:
    yield
    del token
    yield


def finish_both(one: inturn.Token, other: inturn.Token) -> None:
    one.finish()
    other.finish()


VARIABLE = 'variable "token"' if sys.version_info >= (3, 13) else "a variable"

HELD: dict[str, tuple[Callable[[inturn.Token], Any], str]] = {
    "a variable": (
        lambda token: holding.held.update(token=token),
        'a dict in variable "held" of module holding',
    ),
    "dicts": (
        lambda token: holding.held.update(photos={"a": {"b": token}}),
        'a dict in a dict in a dict in variable "held" of module holding',
    ),
    "a list": (
        lambda token: holding.held.update(a=[token]),
        'a list in a dict in variable "held" of module holding',
    ),
    "a partial function": (
        lambda token: holding.held.update(a=functools.partial(print, token)),
        'a partial in a dict in variable "held" of module holding',
    ),
    "a method": (
        lambda token: holding.held.update(a=token.finish),
        'a bound method in a dict in variable "held" of module holding',
    ),
    "an attribute": (
        lambda token: attribute(Upload(), token),
        'attribute "token" of a holding.Upload',
    ),
    "an attribute's list": (
        lambda token: attribute(Upload(), [token]),
        'a list in attribute "token" of a holding.Upload',
    ),
    "a slot": (
        lambda token: attribute(Slotted(), token),
        f'attribute "token" of a {__name__}.Slotted',
    ),
    "a class": (
        lambda token: attribute(type("Local", (), {}), token),
        f'attribute "token" of class {__name__}.Local',
    ),
    "a closure": (closure, "closure done " + at(closure, 1).partition(" ")[2]),
    "a timer": (
        lambda token: attribute(threading.Timer(LIMIT, print, [token]), None),
        'a list in the arguments of thread "Thread-',
    ),
    "a thread": (
        lambda token: threading.Thread(target=print, args=(token,), name="Worker-1"),
        'the arguments of thread "Worker-1"',
    ),
    "a generator": (lambda token: begun(load(token)), f"{VARIABLE} of {at(load, 1)}"),
    "a coroutine that nobody awaits": (
        lambda token: attribute(Upload(), upload(token)),
        f"{VARIABLE} of coroutine {at(upload, 0)}, which was never awaited",
    ),
}


@pytest.mark.filterwarnings("ignore:coroutine 'upload' was never awaited")
@pytest.mark.parametrize("name", HELD)
def test_what_holds_the_token_is_named(name: str) -> None:
    tokens: list[weakref.ref[inturn.Token]] = []
    keep, expected = HELD[name]

    def keep_both(token: inturn.Token) -> Any:
        tokens.append(weakref.ref(token))
        return keep(token)

    with inturn.FIFOQueue("uploads") as queue:
        operation, kept = hold(queue, keep_both)
        said = holders(operation)
        assert any(each.startswith(expected) for each in said), said
        # Before 3.11, the collector sees variables of functions that run.
        if sys.version_info >= (3, 11):
            assert len(said) == 1
        token = tokens[0]()
        assert token is not None
        token.finish()
        assert inturn.why(operation) is None
    holding.held.clear()
    del kept


def test_the_work_of_an_operation_is_no_name_of_its_own() -> None:
    with inturn.FIFOQueue("uploads") as queue, inturn.FIFOQueue("next") as later:
        later.suspend()
        upload = Upload()
        operation, upload.token = hold(
            queue, lambda token: later.enqueue(functools.partial(finish_both, token))
        )
        assert 'a partial in attribute "token" of a holding.Upload' in holders(operation)
        later.resume()
        later.drain(LIMIT)


def test_three_are_named_and_the_rest_is_counted() -> None:
    with inturn.FIFOQueue("uploads") as queue:
        kinds = [type(f"Kind{number}", (Upload,), {}) for number in range(5)]
        operation, kept = hold(queue, lambda token: [attribute(kind(), token) for kind in kinds])
        said = holders(operation)
        assert len(said) == 3
        assert said[2].endswith(", and 2 more")
        kept.pop().token.finish()


def test_tokens_that_look_alike_are_told_apart() -> None:
    with inturn.OperationQueue("uploads", max_concurrent=2) as queue:
        owners = [type(f"Kind{number}", (Upload,), {})() for number in range(2)]
        operations = [hold(queue, functools.partial(attribute, owner))[0] for owner in owners]
        for number, operation in enumerate(operations):
            named = [each for each in holders(operation) if ".Kind" in each]
            assert named == [f'attribute "token" of a {__name__}.Kind{number}']
        for owner in owners:
            owner.token.finish()


def test_nothing_is_said_of_a_token_that_was_handed_over() -> None:
    with inturn.FIFOQueue("uploads") as queue:
        operation, upload = hold(queue, lambda token: attribute(Upload(), token))
        token = upload.token.hand_over()
        assert holders(operation) == ()
        assert quick.token_finish(token) == 0


def test_nothing_is_said_of_work_that_was_not_called() -> None:
    with inturn.FIFOQueue("uploads") as queue:
        queue.suspend()
        waits = queue.enqueue(finish)
        assert holders(waits) == ()
        queue.resume()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_nothing_is_said_of_what_the_parent_of_a_forked_process_holds() -> None:
    program = """
import inturn, os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork in a process with threads
def work():
    if child := os.fork():
        return os.waitpid(child, 0)[1]
    operation = inturn.FIFOQueue().enqueue(kept.append)
    while (report := inturn.why(operation)).chain[-1].cause is not inturn.StallCause.TOKEN:
        pass
    print(*report.holders, flush=True)
    os._exit(0)
kept = []
assert inturn.FIFOQueue().submit(work).result(30) == 0
"""
    ended = run_python(program)
    said = 'a list in variable "kept" of module __main__\n'
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, said, "")


# What the search does not do -------------------------------------------------------------------

called: list[str] = []


def _spy(name: str) -> Any:
    def method(*arguments: Any) -> Any:
        called.append(name)
        raise ZeroDivisionError(name)

    return method


class HostileKind(type):
    """A metaclass whose classes record each question that they are asked."""

    __eq__ = __repr__ = __subclasscheck__ = _spy("of the metaclass")
    __name__ = property(_spy("a name"))

    def __hash__(cls) -> int:
        called.append("the metaclass's hash")
        return type.__hash__(cls)

    def __getattribute__(cls, name: str) -> Any:
        called.append(f"attribute {name} of the class")
        return type.__getattribute__(cls, name)


def hostile(base: type, token: Any) -> Any:
    names = ("repr", "str", "eq", "getattr", "getattribute", "len", "iter", "bool", "format")
    members: dict[str, Any] = {f"__{name}__": _spy(name) for name in names}
    members["__class__"] = property(_spy("class"))
    members["__hash__"] = lambda self: called.append("hash") or id(self)  # type: ignore[func-returns-value]
    new: Any = base.__new__
    made = new(HostileKind("Hostile", (base,), members))
    object.__setattr__(made, "token", token)
    return made


@pytest.mark.parametrize("base", [object, dict, list, threading.Thread])
def test_no_code_of_the_program_is_called(base: type) -> None:
    with inturn.FIFOQueue("uploads") as queue:

        def keep(token: inturn.Token) -> Any:
            made, beside, upload = hostile(base, token), hostile(base, None), Upload()
            vars(upload).update(before=beside, token=token)
            return [{made: made}, upload, {0: beside, beside: 0, 1: token}]

        operation, kept = hold(queue, keep)
        called.clear()
        said = holders(operation)
        assert called == []
        owner = 'thread "?"' if base is threading.Thread else f"a {__name__}.Hostile"
        assert {
            f'attribute "token" of {owner}',
            'attribute "token" of a holding.Upload',
        } <= set(said)
        kept[1].token.finish()


def test_nothing_lives_longer() -> None:
    with inturn.FIFOQueue("uploads") as queue:
        gc.collect()
        gc.disable()
        try:
            operation, kept = hold(
                queue,
                lambda token: [
                    attribute(Upload(), [{"a": token}, closure(token)]),
                    begun(drop(token)),
                ],
            )
            assert len(holders(operation)) >= 3
            upload, lost = weakref.ref(kept[0]), weakref.ref(kept[0].token[0]["a"])
            del kept[0]
            assert (upload() is None, lost() is None) == (True, False)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                next(kept[0])
            assert lost() is None
            assert ["was lost" in str(each.message) for each in caught] == [True]
            assert operation.wait(LIMIT).outcome is inturn.Outcome.ABANDONED
        finally:
            gc.enable()
