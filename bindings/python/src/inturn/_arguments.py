"""What arguments may be, and the errors that say so."""

from __future__ import annotations

from operator import index
from typing import Any, Callable, TypeVar

T = TypeVar("T")

NAME = "a string without null characters"
TIME = "a time in seconds, 0 or more"
MAX_NS = 2**63 - 1


def checked(owner: object, name: str, value: Any, what: str, convert: Callable[[Any], T]) -> T:
    """Converts an argument with a function; if that raises, the error says what is wrong.

    :raises TypeError: the argument is of another type.
    :raises ValueError: it is out of range.
    """
    try:
        return convert(value)
    except TypeError:
        error: type[Exception] = TypeError
    except (ValueError, ArithmeticError):  # the latter by Decimal("NaN"), for one
        error = ValueError
    raise error(f"{name} of {owner!r} must be {what}, not {value!r}")


def whole(least: int, beyond: int) -> Callable[[Any], int]:
    """Takes integers in a range."""

    def take(value: Any) -> int:
        number = index(value)
        if not least <= number < beyond:
            raise ValueError
        return number

    return take


def one_of(*kinds: type) -> Callable[[Any], Any]:
    """Takes objects of these classes."""

    def take(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise TypeError
        return value

    return take


def handle_of(kind: type) -> Callable[[Any], Any]:
    """Takes objects with a handle of this type, and returns the handle."""

    def take(value: Any) -> Any:
        return one_of(kind)(getattr(value, "_handle", None))

    return take


def function(value: Any) -> Any:
    """Takes callables."""
    if not callable(value):
        raise TypeError
    return value


def number(value: Any) -> float:
    """Takes numbers."""
    return 0.0 + value  # type: ignore[no-any-return]


def text(value: Any) -> bytes:
    """Takes strings, and returns the library's form."""
    if not isinstance(value, str):
        raise TypeError
    encoded = value.encode()
    if b"\0" in encoded:
        raise ValueError
    return encoded


def nanoseconds(seconds: Any) -> int:
    """Takes times, and returns nanoseconds; a time that is too long is cut."""
    if not seconds >= 0:  # also refuses NaN
        raise ValueError
    return int(seconds * 1e9) if seconds < 9e9 else MAX_NS


def name_of(owner: object, name: str, value: Any) -> bytes:
    """A name in the library's form."""
    return checked(owner, name, value, NAME, text)


def label_of(owner: object, label: str | None) -> bytes | None:
    """A label in the library's form."""
    return None if label is None else name_of(owner, "label", label)


def limit_of(owner: object, seconds: float | None, name: str = "timeout") -> int:
    """The nanoseconds of a limit; -1 for none."""
    return -1 if seconds is None else checked(owner, name, seconds, f"{TIME}, or None", nanoseconds)
