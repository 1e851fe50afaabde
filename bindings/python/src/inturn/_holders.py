"""Who holds a token, and where the code stands that is to end an operation: for reports.

The search runs while the program does, often on a thread of the library, so it calls no code of the
program: it compares by identity, asks for types by `type`, and reads attributes by the descriptors
of built-in types. When it is over, it keeps nothing alive. It reads no local variables of the
program's frames before Python 3.13, which would keep a copy of them in the frame.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections import OrderedDict, defaultdict, deque
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from . import _callbacks
from ._awaits import STARTS
from ._futures import Attempts, Future
from ._operations import Operation
from ._tokens import Handler, Segment, Token

if TYPE_CHECKING:
    from collections.abc import Iterator

    Places = list[tuple[CodeType, int]]  # in the code, innermost first

# Limits of a search, which has so many at each step, and this time of a processor.
_STEPS, _OBJECTS, _SECONDS = 6, 50, 0.1
_NAMED = 3  # how many holders are named
_IDENTITY = (1 << 60) - 1  # what the handles of an operation have in common

_IS_FUNCTION = 0x1  # of a code's flags; others have variables where the program wants them

_CONTAINERS = (list, set, frozenset, deque, OrderedDict, defaultdict, partial)
_THROUGH = (Operation, Handler, Segment, Future, Attempts)
_SUSPENDED = ((CoroutineType, "cr"), (GeneratorType, "gi"), (AsyncGeneratorType, "ag"))

_mro: Any = vars(type)["__mro__"].__get__
_members: Any = vars(type)["__dict__"].__get__
_name: Any = vars(type)["__qualname__"].__get__
_module: Any = vars(type)["__module__"].__get__
_variables: Any = vars(ModuleType)["__dict__"].__get__


def holders(token: int) -> tuple[str, ...]:
    """The task or the thread that is to end an operation, or else what refers to its token;
    nothing where that is not known."""
    try:
        names = _tasks(token) or _threads(token) or _references(token)
    except Exception:  # the report is made without them
        return ()
    if len(names) > _NAMED:
        names[_NAMED - 1 :] = [f"{names[_NAMED - 1]}, and {len(names) - _NAMED} more"]
    return tuple(names)


def _is(bits: int | None, token: int) -> bool:
    return bits is not None and bits != 0 and (bits ^ token) & _IDENTITY == 0


def _is_any(kind: type, kinds: tuple[type, ...]) -> bool:
    return any(kind is each for each in kinds)  # not by `in`, as a metaclass may compare


# What is said ---------------------------------------------------------------------------------

_OWN = holders.__code__.co_filename.rpartition("_holders")[0]
_LIBRARY = threading.Thread.run.__code__.co_filename.rpartition("threading")[0]


def _text(value: Any) -> str:
    return str.__str__(value) if issubclass(type(value), str) else "?"


def _is_own(code: CodeType) -> bool:
    return code.co_filename.startswith(_OWN)


def _is_installed(code: CodeType) -> bool:
    return code.co_filename.startswith((_LIBRARY, "<frozen")) or "-packages/" in code.co_filename


def _at(code: CodeType, line: int) -> str:
    return f"{_text(code.co_name)} ({_text(code.co_filename)}:{line})"


def _stands(who: str, places: Places) -> str:
    places = [place for place in places if not _is_own(place[0])]
    if not places:
        return who
    nearest = next((place for place in places if not _is_installed(place[0])), places[0])
    called = "" if nearest is places[0] else f", called from {_at(*nearest)}"
    return f"{who} at {_at(*places[0])}{called}"


def _attributes(one: object) -> Iterator[tuple[str, object]]:
    for kind in _mro(type(one)):
        for name, member in list(_members(kind).items()):
            if type(member) is MemberDescriptorType:
                try:
                    yield _text(name), member.__get__(one)
                except AttributeError:  # it has no value
                    continue
            elif type(member) is GetSetDescriptorType and _text(name) == "__dict__":
                values: Any = member.__get__(one)
                yield from [(_text(key), value) for key, value in list(dict.items(values))]


# Who is to end the operation ------------------------------------------------------------------


def _threads(token: int) -> list[str]:
    """The threads on which the work was called and has not returned."""

    def begins(frame: FrameType, called: CodeType | None) -> bool:
        if frame.f_globals is not vars(_callbacks) or frame.f_code.co_name not in STARTS:
            return False
        # While it calls the work, its variables are two numbers and perhaps the work.
        is_in_work = called is not None and called is not _callbacks._fail.__code__
        return is_in_work and _is(frame.f_locals["token"], token)

    active: dict[int, object] = vars(threading).get("_active", {})
    return [_stands(_thread(active.get(ident)), places) for ident, places in _stacks(begins)]


def _stacks(begins: Callable[[FrameType, CodeType | None], bool]) -> list[tuple[int, Places]]:
    """The threads that are in a call that begins so, and where they are in it; it is told each
    frame, and what that calls."""
    found = []
    frame: FrameType | None = None
    frames = sys._current_frames()
    try:
        for ident in frames:
            places: Places = []
            frame = frames[ident]
            while frame is not None:
                called = places[-1][0] if places else None
                places.append((frame.f_code, frame.f_lineno))
                if begins(frame, called):
                    found.append((ident, places))
                    break
                frame = frame.f_back
    finally:  # this frame is one of them, and must not refer to itself
        frames.clear()
        frame = None
    return found


def _thread(thread: object) -> str:
    return f'thread "{_text(dict(_attributes(thread)).get("_name"))}"'


def _tasks(token: int) -> list[str]:
    """The task that has the turn."""
    turns: list[Any] = []
    if part := sys.modules.get("inturn._asyncio_home"):
        turns += [turn for home in part.homes() for turn in list(home.turns.values())]
        turns += [turn for entered in list(part.inside.values()) for turn in list(entered)]
    if part := sys.modules.get("inturn._trio"):
        turns += [turn for entered in list(part._turns.values()) for turn in list(entered)]
    for turn in turns:
        task = turn._task
        if task is None:
            task = getattr(turn, "_runner", None)  # of an actor queue
        if task is not None and _is(getattr(turn._token, "_bits", turn._token), token):
            return [_task(task, getattr(turn, "_coroutine", None))]
    return []


def _of_asyncio(name: str) -> Any:
    """A type of asyncio's; that of nothing if the program has not imported it."""
    return getattr(sys.modules.get("asyncio"), name, type(None))


def _task(task: Any, inner: Any = None) -> str:
    """A task, and the place of it or of a coroutine that it runs by itself."""
    places: Places = []
    kind = _of_asyncio("Task")
    is_trios = not issubclass(type(task), kind)
    outer = task.coro if is_trios else kind.get_coro(task)
    name = task.name if is_trios else kind.get_name(task)
    inner = outer if inner is None else inner
    while (begin := _prefix(inner)) and (frame := getattr(inner, f"{begin}_frame")) is not None:
        places.insert(0, (frame.f_code, frame.f_lineno))
        inner = getattr(inner, "gi_yieldfrom" if begin == "gi" else f"{begin}_await")
        if _text(_name(type(inner))) == "coroutine_wrapper":  # of `__await__`
            inner = next(iter(gc.get_referents(inner)), None)
    if _prefix(outer) == "cr" and outer.cr_running:
        places = next((its for _, its in _stacks(lambda at, _: at is outer.cr_frame)), places)
    stands = _stands(f'task "{_text(name)}"', places)
    return stands if is_trios or _is_run(task) else f"{stands}, of a loop that does not run"


def _is_run(task: Any) -> bool:
    """Whether somebody runs the task's loop, as far as that is known."""
    loop = _of_asyncio("Task").get_loop(task)
    uvloop: Any = getattr(sys.modules.get("uvloop.loop"), "Loop", type(None))
    for kind in (_of_asyncio("BaseEventLoop"), uvloop):
        if issubclass(type(loop), kind):
            return bool(kind.is_running(loop))
    return True


def _prefix(one: object) -> str:
    """That of the attributes of what can be suspended."""
    return next((prefix for kind, prefix in _SUSPENDED if type(one) is kind), "")


# What refers to the token ---------------------------------------------------------------------


class _Way(NamedTuple):
    """How to say by what way an object has the token."""

    before: str = ""  # what it has
    itself: str = ""
    key: str = ""  # of what it has, if it is a dictionary


def _references(token: int) -> list[str]:
    for each in gc.get_referrers(Token):  # its instances, and little else
        if type(each) is Token and _is(getattr(each, "_bits", 0), token) and each._unused:
            names = _search(each, time.thread_time() + _SECONDS)
            return names if each._unused else []
    return []


def _search(token: Token, limit: float) -> list[str]:
    """Goes from the token to what refers to it, and so on, until that has a name."""
    names: list[str] = []
    things: list[object] = [token]
    ways, seen, modules = [_Way()], {id(token)}, {}
    for name, module in list(sys.modules.items()):
        if issubclass(type(module), ModuleType):
            modules[id(_variables(module))] = _text(name)
    for _ in range(_STEPS):
        further: list[object] = []
        further_ways: list[_Way] = []
        places = {id(thing): place for place, thing in enumerate(things)}
        for one in gc.get_referrers(*things):
            if one is things or id(one) in seen:
                continue
            if time.thread_time() > limit:
                return names
            seen.add(id(one))
            has = gc.get_referents(one) if len(things) > 1 else things
            place = next((places[id(thing)] for thing in has if id(thing) in places), None)
            said = None
            if place is not None:
                said = _said(one, things[place], ways[place], modules, limit)
            if isinstance(said, str):
                names += [] if said in names else [said]
            elif said is not None and len(further) < _OBJECTS:
                further.append(one)
                further_ways.append(said)
        things, ways = further, further_ways
        if not things:
            break
    return names


def _said(
    one: Any, thing: Any, way: _Way, modules: dict[int, str], limit: float
) -> str | _Way | None:
    """The name of what has a thing; or the way, if it has none; or None if it does not matter."""
    kind, has = type(one), way.before + way.itself
    if kind is FrameType or _prefix(one):
        return _said_of_frame(one, thing, has, limit)
    if kind is dict:
        key = next((_text(key) for key, value in list(one.items()) if value is thing), "")
        module = modules.get(id(one))
        if module is None:
            return _Way(has, "a dict in ", key)
        is_own = module.partition(".")[0] == "inturn"
        return None if is_own else f'{has}variable "{key}" of module {module}'
    if kind is MethodType or _is_any(kind, _CONTAINERS):
        return _Way(has, "a bound method in " if kind is MethodType else f"a {kind.__name__} in ")
    if kind is FunctionType:
        code = one.__code__
        is_closure = thing is one.__closure__ and not _is_own(code)
        return f"{has}closure {_at(code, code.co_firstlineno)}" if is_closure else None
    if issubclass(kind, type):
        return f'{way.before}attribute "{way.key}" of class {_kind(one)}' if way.key else None
    if issubclass(kind, _of_asyncio("Task")):
        return has + _task(one)
    if issubclass(kind, _of_asyncio("TimerHandle")):
        return f"{has}a timer of an event loop"
    if _text(_module(kind)).partition(".")[0] == "inturn":
        return _Way(has) if _is_any(kind, _THROUGH) else None
    return _said_of_attribute(one, thing, way)


def _said_of_frame(one: Any, thing: object, has: str, limit: float) -> str | _Way | None:
    prefix = _prefix(one)
    frame = getattr(one, f"{prefix}_frame") if prefix else one
    if frame is None or _is_own(frame.f_code):
        return _Way(has) if prefix else None  # other frames lead to those they called
    if task := _task_of(one, limit):
        return has + task
    name = None
    is_unawaited = prefix == "cr" and getcoroutinestate(one) == CORO_CREATED
    if sys.version_info >= (3, 13) and frame.f_code.co_flags & _IS_FUNCTION:
        name = next((name for name, value in frame.f_locals.items() if value is thing), None)
    variable = f'variable "{name}"' if name else "a variable"
    coroutine = "coroutine " if is_unawaited else ""
    never = ", which was never awaited" if is_unawaited else ""
    return f"{has}{variable} of {coroutine}{_at(frame.f_code, frame.f_lineno)}{never}"


def _task_of(one: object, limit: float) -> str:
    """The task that runs a coroutine, perhaps by way of others."""
    things = [one]
    for _ in range(_STEPS):
        others = gc.get_referrers(*things) if things and time.thread_time() < limit else []
        for other in others:
            if issubclass(type(other), _of_asyncio("Task")):
                return _task(other)
        things = [other for other in others if _prefix(other) or type(other) is FrameType]
    return ""


def _said_of_attribute(one: object, thing: object, way: _Way) -> str | _Way:
    has, attributes = way.before + way.itself, list(_attributes(one))
    name = next((name for name, value in attributes if value is thing), "")
    if not name:
        if not any(way.key == name for name, _ in attributes):
            return _Way(has)  # nothing to name
        name, has = way.key, way.before  # it is the dictionary of all attributes
    owner = _kind(type(one))
    owner = f"an {owner}" if owner[:1] in "aeiou" else f"a {owner}"
    if issubclass(type(one), threading.Thread):
        owner = _thread(one)
        if name.strip("_") in ("args", "kwargs"):
            return f"{has}the arguments of {owner}"
    return f'{has}attribute "{name}" of {owner}'


def _kind(kind: type) -> str:
    module = _text(_module(kind))
    return _text(_name(kind)) if module == "builtins" else f"{module}.{_text(_name(kind))}"
