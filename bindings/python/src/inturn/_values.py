"""Observed values: any object, and every change of it in order."""

from __future__ import annotations

from ctypes import byref, c_bool
from functools import partial
from typing import Any, Callable, TypeVar

from . import _prototypes as c
from ._arguments import label_of
from ._callbacks import register
from ._errors import Error
from ._interrupts import let_call
from ._library import keeping, lib, trampoline
from ._observed import Observed, interrupts
from ._prototypes import inturn_datum

T = TypeVar("T")

# Objects that the library holds, by keys from 1 on, until it releases them.  An entry is added
# before the library gets its key.
_objects: dict[int, Any] = {}
_forget_object = trampoline(c.inturn_destroy_fn, lambda key: _objects.pop(key, None))


def _object_of(datum: c.inturn_datum) -> Any:
    return _objects[datum.pointer] if datum.pointer else None


class Value(Observed[T]):
    """An object that any thread may read and replace, and whose observers receive every change in
    order.

    All observers receive the same changes in the same order.  The old object of each change is the
    new one of the change before.  None is missing, and none comes twice.  Each set is a change,
    even to the same object.  Objects are passed on as they are, so do not modify them.

    A change calls the observers that have no executor and no queue before it returns.  There are
    two exceptions: another thread is calling them with an earlier change, or the change is made
    inside an observer.  Then they are called afterwards.  An exception in an observer is reported
    as unraisable, and the observation continues.  ``value.value += 1`` is two calls; `update` is
    one.

    ``with`` destroys the value.
    """

    def __init__(self, value: T, *, label: str | None = None) -> None:
        """``value`` is the first object; ``label`` is its name in reports."""
        name = label_of(self, label)
        self.label = label
        self._handle = c.inturn_value()
        options = c.inturn_value_options(label=name, release=_forget_object)
        create = partial(lib.inturn_value_create, byref(options))
        self._give(value, create, byref(self._handle))

    def _read(self, datum: c.inturn_datum) -> T:
        return _object_of(datum)  # type: ignore[no-any-return]

    @property
    def value(self) -> T:
        """The current object.  Setting it is a change."""
        return self.get()

    @value.setter
    def value(self, new: T) -> None:
        self.set(new)

    def set(self, new: T) -> None:
        """Changes the value.

        :raises StaleError: the value is destroyed.
        """
        self._give(new, partial(keeping.inturn_value_set, self._handle))

    def exchange(self, new: T) -> T:
        """Changes the value, and returns the old object.

        :raises StaleError: the value is destroyed.
        """
        before = inturn_datum()
        self._give(new, partial(keeping.inturn_value_exchange, self._handle), byref(before))
        try:
            return _object_of(before)  # type: ignore[no-any-return]
        finally:
            keeping.inturn_datum_release(byref(before))

    def compare_exchange(self, expected: T, new: T) -> bool:
        """Changes the value if its object is, or equals, ``expected``.  Returns whether it did.

        :raises StaleError: the value is destroyed.
        """
        while True:
            datum = self._get()
            try:
                item = _object_of(datum)
                if item is not expected and item != expected:
                    return False
                if self._replace(datum, new):
                    return True
            finally:
                keeping.inturn_datum_release(byref(datum))

    def update(self, function: Callable[[T], T]) -> T:
        """Changes the value to what the function returns for its object, and returns that.

        The function receives the object and returns another one.  It is called again if the value
        was changed in between.

        :raises StaleError: the value is destroyed.
        """
        while True:
            datum = self._get()
            try:
                new = function(_object_of(datum))
                if self._replace(datum, new):
                    return new
            finally:
                keeping.inturn_datum_release(byref(datum))

    def _give(self, item: Any, call: Callable[..., object], *more: Any) -> None:
        """Passes an object to the library; takes it back if the call fails."""
        key = register(item, _objects)
        datum = inturn_datum(type=c.INTURN_DATUM_POINTER, pointer=key)
        try:
            with interrupts:
                let_call(call, byref(datum), *more)
        except Error:
            del _objects[key]
            raise

    def _replace(self, datum: c.inturn_datum, new: T) -> bool:
        """Changes the value if it still holds this datum."""
        exchanged = c_bool()
        key = register(new, _objects)
        desired = inturn_datum(type=c.INTURN_DATUM_POINTER, pointer=key)
        try:
            with interrupts:
                data = byref(datum), byref(desired)
                exchange = keeping.inturn_value_compare_exchange
                let_call(exchange, self._handle, *data, byref(exchanged), None)
        finally:
            if not exchanged:
                del _objects[key]
        return exchanged.value
