"""Event loops that call the work of an executor on their own thread.

One module for each kind of loop: `asyncio`, `trio`, `tk`, `qt` (PySide6) and `glib` (PyGObject, and
so GTK)::

    import inturn
    from inturn.loops import tk

    root = tkinter.Tk()
    tk.attach(root)  # from now on root.mainloop() runs the main executor's work

What you attach is the main executor, which interaction queues use, or an executor of your own. It
can also be Swift's main queue, `dispatch.MainQueue`, so that ``@MainActor`` code works in the
program.

What is true for all of them:

* Work is called in the executor's order, on the loop's thread, by the loop itself: never inside
  ``attach`` or ``detach``.
* In one turn, the loop starts calls for about 2 ms. Then it continues with the rest of the program.
* An idle executor wakes nobody: there are no timers and no polling.
* An executor is attached to one loop at a time. That includes the adapters of C.
* After ``detach`` has returned, the loop makes no further call, and what is waiting keeps waiting.
  Work may call it.
"""

from ._attachment import Attachment, Source

__all__ = ["Attachment", "Source"]
