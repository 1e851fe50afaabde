"""Event loops that call an executor's work, on their own thread.

One module for each kind of loop: `asyncio`, `trio`, `tk`, `qt` (PySide6) and `glib` (PyGObject, and
so GTK)::

    import inturn
    from inturn.loops import tk

    root = tkinter.Tk()
    tk.attach(root)  # from now on root.mainloop() runs the main executor's work

What is attached is the main executor, which interaction queues use, or one of the program's own;
or Swift's main queue, `dispatch.MainQueue`, so that ``@MainActor`` code works in the program.

What holds for all of them:

* Work is called in the executor's order, on the loop's thread, from the loop itself: never inside
  ``attach`` or ``detach``.
* One turn of the loop makes calls for about 2 ms, plus the call that it is in; then the loop sees
  to the rest of the program.
* An idle executor wakes nobody: there are no timers and no polls.
* An executor is attached to one loop at a time, also among the adapters of C.
* When ``detach`` has returned, the loop makes no further call; what waits stays.  Work may detach.
"""

from ._attachment import Attachment, Source

__all__ = ["Attachment", "Source"]
