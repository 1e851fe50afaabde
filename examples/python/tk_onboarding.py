#!/usr/bin/env python3
"""A first-run screen in Tk: dialogs, one at a time.

    tk_onboarding.py [--fast] [--service-up]     (no pauses; nothing to notice)

The same four interactions as in onboarding.py, in real windows.  Each is an operation of one
interaction queue on the main executor, which is attached to Tk's own loop.  Its work opens a
modal dialog and returns; the answer finishes the token, and the next dialog opens after that.

* While the first-run window is not on screen, nothing is asked: after the first answer the
  program shows something else, until the user comes back.
* When the user has begun to sign in, a thread enqueues an urgent notice.  It does not wait for the
  open dialog: that gives way, and is presented again after the notice, as it was.
* Escape cancels the open dialog, Control-E hides the first-run window.  Closing that, or
  Control-Q, cancels all.
* The window lists what waits, what is shown and how each has ended.  What happens is on the
  standard output, too.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
import tkinter as tk
from dataclasses import dataclass
from pathlib import Path
from tkinter import ttk
from typing import Callable

try:
    import inturn
except ModuleNotFoundError:  # it is not installed: use the one of this repository
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/src"))
    import inturn
import inturn.loops.tk
from tk_look import BACK, Bar, StepList, focus_then, make_style, place


class Refused(Exception):
    """The user does not let the interaction succeed."""


@dataclass
class Step:
    """One interaction."""

    label: str
    heading: str
    text: str
    accept: str
    decline: str | None = None
    granted: bool = False  # nothing has to be asked


LOCATION = Step(
    "location",
    "Use your location?",
    "The app shows what is near you. Your location stays on this computer.",
    "Allow",
    "Not now",
)
CAMERA = Step("camera", "Use the camera?", "The app scans codes with it.", "Allow", "Not now", True)
SIGN_IN = Step("sign-in", "Sign in", "Your password (here it is “inturn”).", "Sign in", "Cancel")
URGENT = Step("urgent notice", "Battery low", "Plug the computer in: five minutes are left.", "OK")
NOTICE = Step(
    "service notice", "The service is down", "Some things will not work today.", "Continue"
)
STEPS = (LOCATION, CAMERA, SIGN_IN, NOTICE)


@dataclass
class Draft:
    """What is left of the sign-in while its dialog gives way."""

    typed: str = ""
    tries_left: int = 3
    hint: str = ""


def say(what: str) -> None:
    """Prints one line for each event."""
    print(what, flush=True)


class Dialog:
    """A modal dialog.

    `typing` is called when something is typed; `answer` once, with what ends the interaction.
    """

    def __init__(
        self,
        root: tk.Tk,
        step: Step,
        draft: Draft,
        typing: Callable[[], None],
        answer: Callable[[Exception | None], None],
    ) -> None:
        self.step = step
        self.answer = answer
        self.draft = draft
        self.entry: ttk.Entry | None = None
        self.window = window = tk.Toplevel(root, background=BACK)
        window.withdraw()
        window.title(step.heading)
        window.transient(root)
        if window.tk.call("tk", "windowingsystem") == "x11":
            window.attributes("-type", "dialog")
        box = ttk.Frame(window, padding=24)
        box.pack(fill="both", expand=True)
        ttk.Label(box, text=step.heading, style="Heading.TLabel").pack(anchor="w")
        ttk.Label(box, text=step.text, wraplength=340).pack(anchor="w", pady=(10, 0))
        if step is SIGN_IN:
            self.entry = ttk.Entry(box, show="•", width=34)
            self.entry.insert(0, draft.typed)
            self.entry.icursor("end")
            self.entry.bind("<Key>", lambda event: typing() if event.char > " " else None)
            self.entry.pack(fill="x", pady=(12, 0))
            self.hint = ttk.Label(box, style="Hint.TLabel", text=draft.hint)
            self.hint.pack(anchor="w", pady=(6, 0))
        buttons = ttk.Frame(box)
        buttons.pack(fill="x", pady=(20, 0))
        # Both are as wide as the wider one.
        width = max(len(step.accept), len(step.decline or "")) + 2
        if step.decline is not None:
            decline = ttk.Button(buttons, text=step.decline, width=width, command=self.decline)
            decline.pack(side="left", expand=True, fill="x", padx=(0, 12))
            decline.bind("<Return>", self.on_key(self.decline))
        accept = ttk.Button(
            buttons, text=step.accept, width=width, style="Default.TButton", command=self.accept
        )
        accept.pack(side="left", expand=True, fill="x")
        window.bind("<Return>", self.on_key(self.accept))
        window.bind("<KP_Enter>", self.on_key(self.accept))
        window.bind("<Escape>", self.on_key(self.cancel))
        window.protocol("WM_DELETE_WINDOW", self.cancel)
        place(window, root)
        # Modal once it is on screen: before that, Tk refuses.
        window.bind("<Visibility>", lambda _: window.grab_set())
        window.deiconify()
        focus_then(self.entry or accept, lambda: say(f"presented {step.label}"))

    @staticmethod
    def on_key(action: Callable[[], None]) -> Callable[[object], str]:
        def call(_event: object) -> str:
            action()
            return "break"

        return call

    def close(self) -> None:
        if self.entry is not None:
            self.draft.typed = self.entry.get()
        say(f"closed {self.step.label}")
        self.window.grab_release()
        self.window.destroy()

    def accept(self) -> None:
        if self.entry is not None and self.entry.get() != "inturn":
            self.draft.tries_left -= 1
            if self.draft.tries_left > 0:
                say(f"refused {self.step.label}")
                self.draft.hint = f"That is not it; {self.draft.tries_left} left."
                self.hint.configure(text=self.draft.hint)
                self.entry.delete(0, "end")
                self.entry.focus_set()
                return
            self.close()
            self.answer(Refused("too many tries"))
            return
        self.close()
        self.answer(None)

    def decline(self) -> None:
        if self.entry is not None:
            self.cancel()
            return
        self.close()
        self.answer(Refused("denied"))

    def cancel(self) -> None:
        self.close()
        self.answer(inturn.CancelledError("by the user"))


class Onboarding:
    """The first-run screen and its queue."""

    def __init__(self, fast: bool, service_up: bool) -> None:
        self.network_delay = 0.0 if fast else 0.4
        self.service_up = service_up
        self.enqueued: list[Step] = []  # by several threads
        self.ended = 0
        self.leaving = False
        self.dialog: Dialog | None = None
        self.draft = Draft()
        self.battery: threading.Thread | None = None
        self.service: threading.Thread | None = None
        settle, gap = (0.0, 0.0) if fast else (0.5, 0.25)
        self.queue = inturn.InteractionQueue("onboarding", settle=settle, gap=gap, stall=None)
        # Work that other threads want done on the main thread.
        self.main = inturn.FIFOQueue("main thread", executor=inturn.Executor.main())
        self.root = tk.Tk()
        self.images = make_style(self.root)
        self.make_screen()
        self.make_elsewhere()

    def run(self) -> None:
        with inturn.loops.tk.attach(self.root):
            for step in STEPS:
                self.enqueue(step)
            self.root.mainloop()  # until the window is closed
            for thread in (self.battery, self.service):
                if thread is not None:
                    thread.join()
            self.root.withdraw()
            self.root.update()
            inturn.Executor.main().drain()  # the last ends
            self.queue.destroy()
            self.main.destroy()
        self.root.destroy()

    # The windows -------------------------------------------------------------------------

    def make_screen(self) -> None:
        self.root.title("First run")
        self.root.configure(background=BACK)
        box = ttk.Frame(self.root, padding=32)
        box.pack(fill="both", expand=True)
        ttk.Label(box, text="Welcome", style="Title.TLabel").pack(anchor="w")
        ttk.Label(box, text="A few questions first, one at a time.").pack(anchor="w", pady=(10, 20))
        self.list = StepList(box)
        self.list.frame.pack(fill="both", expand=True)
        for step in STEPS:
            self.list.set(step.label, "waiting", "waiting")
        self.bar = Bar(box)
        self.bar.frame.pack(fill="x", pady=20)
        self.status = ttk.Label(box, text=f"0 of {len(STEPS)} done", style="Dim.TLabel")
        self.status.pack(side="left")
        self.close_button = ttk.Button(box, text="Close", command=self.leave, state="disabled")
        self.close_button.pack(side="right")
        self.root.protocol("WM_DELETE_WINDOW", self.leave)
        self.root.bind("<Map>", self.on_map)
        self.root.bind("<Unmap>", self.on_unmap)
        self.root.bind_all("<Control-q>", lambda _: self.leave())
        self.root.bind_all("<Control-e>", lambda _: self.leave_screen())
        place(self.root)

    def make_elsewhere(self) -> None:
        self.elsewhere = tk.Toplevel(self.root, background=BACK)
        self.elsewhere.withdraw()
        self.elsewhere.title("Elsewhere")
        box = ttk.Frame(self.elsewhere, padding=32)
        box.pack(fill="both", expand=True)
        ttk.Label(box, text="Elsewhere", style="Title.TLabel").pack(anchor="w")
        ttk.Label(
            box,
            text="The first-run screen is hidden. Nothing is asked until you go back to it.",
            wraplength=340,
        ).pack(anchor="w", pady=12)
        self.back_button = ttk.Button(
            box, text="Back", style="Default.TButton", command=self.come_back
        )
        self.back_button.pack(anchor="e")
        self.elsewhere.bind("<Return>", lambda _: self.come_back())
        self.elsewhere.protocol("WM_DELETE_WINDOW", self.leave)
        place(self.elsewhere)

    def on_map(self, event: tk.Event[tk.Misc]) -> None:
        if event.widget is self.root:
            say("view appeared")
            self.queue.view_did_appear()

    def on_unmap(self, event: tk.Event[tk.Misc]) -> None:
        if event.widget is self.root:
            self.queue.view_will_disappear()
            say("view disappeared")

    def leave_screen(self) -> None:
        self.queue.view_will_disappear()  # at once; the window goes a moment later
        self.elsewhere.deiconify()
        if self.dialog is None:
            focus_then(self.back_button, lambda: say("shown elsewhere"))
        else:  # it stays, in front; Tk hides what belongs to a hidden window
            self.dialog.window.transient(self.elsewhere)
            self.dialog.window.lift()
            say("shown elsewhere")
        self.root.withdraw()

    def come_back(self) -> None:
        self.root.deiconify()
        if self.dialog is not None:
            self.dialog.window.transient(self.root)
        self.elsewhere.withdraw()

    def leave(self) -> None:
        """The user leaves: what is open is asked to end, and the rest never starts."""
        self.leaving = True
        self.queue.view_will_disappear()
        self.queue.cancel_all()
        self.root.quit()

    # The interactions ----------------------------------------------------------------------

    def enqueue(self, step: Step) -> None:
        self.enqueued.append(step)
        begin = self.begin_notice if step is NOTICE else self.begin
        self.queue.options(label=step.label, on_end=self.on_end, urgent=step is URGENT).enqueue(
            lambda token: begin(step, token)
        )

    def begin(self, step: Step, token: inturn.Token) -> None:
        """Called again, with another token, when its dialog has given way."""
        if step.granted:
            token.finish("already granted")
            return
        token.on_cancel(self.give_in)
        token.on_preempt(self.give_way)
        self.present(step, token)

    def present(self, step: Step, token: inturn.Token) -> None:
        def answer(error: Exception | None) -> None:
            self.dialog = None
            if error is None:
                token.finish()
            elif isinstance(error, inturn.CancelledError):
                token.cancel()
            else:
                token.fail(error)

        self.list.set(step.label, "shown", "on screen")
        self.dialog = Dialog(self.root, step, self.draft, self.on_typing, answer)

    def take_down(self) -> None:
        if self.dialog is not None:
            self.dialog.close()
            self.dialog = None

    def give_in(self, token: inturn.Token) -> None:
        """Asked to end while it is open."""
        self.take_down()
        token.cancel()

    def give_way(self, token: inturn.Token) -> None:
        """Asked to make room for an urgent one."""
        if self.dialog is not None:
            self.list.set(self.dialog.step.label, "waiting", "has given way")
        self.take_down()
        token.yield_()

    def begin_notice(self, step: Step, token: inturn.Token) -> None:
        token.on_cancel(self.give_in)
        say("asking the service")
        self.service = threading.Thread(target=self.ask_service, args=(step, token), name="service")
        self.service.start()

    def on_end(self, end: inturn.End) -> None:
        """Called on the main thread, before the next interaction begins."""
        detail = end.result or end.exception
        if end.outcome is inturn.Outcome.CANCELLED and not end.started:
            detail = "never started"
        outcome = end.outcome.name.lower().replace("_", " ")
        if detail is not None:
            outcome += f" ({detail})"
        if end.attempts > 1:
            outcome += f", presented {end.attempts} times"
        say(f"ended {end.label}: {outcome}")
        finished = end.outcome is inturn.Outcome.FINISHED
        self.list.set(str(end.label), "good" if finished else "bad", outcome)
        self.ended += 1
        self.status.configure(text=f"{self.ended} of {len(self.enqueued)} done")
        self.bar.set(self.ended / len(self.enqueued))
        if self.leaving:
            return
        if self.ended == 1:
            self.leave_screen()
        elif self.ended == len(self.enqueued):
            self.status.configure(text="That was all. Welcome!")
            self.close_button.configure(state="normal")
            self.close_button.bind("<Return>", lambda _: self.leave())
            self.root.focus_force()
            self.close_button.focus_set()
            say("done")

    def on_typing(self) -> None:
        """The battery gets low at the worst moment."""
        if self.battery is None:
            self.battery = threading.Thread(target=self.watch_battery, name="battery")
            self.battery.start()

    # On threads of their own ---------------------------------------------------------------

    def watch_battery(self) -> None:
        """The open dialog gives way; if there is none, the notice is the next."""
        time.sleep(self.network_delay)
        say("battery low")
        self.enqueue(URGENT)

    def ask_service(self, step: Step, token: inturn.Token) -> None:
        """The notice ends here, or opens its dialog."""
        time.sleep(self.network_delay)
        if self.service_up:
            token.finish("skipped")
            return

        def present(on_main: inturn.Token) -> None:
            if not self.leaving:
                self.present(step, token)
            on_main.finish()

        self.main.enqueue(present)


def main() -> None:
    parser = argparse.ArgumentParser(description="Onboarding in windows: dialogs, in turn.")
    parser.add_argument("--fast", action="store_true", help="leave out the pauses")
    parser.add_argument("--service-up", action="store_true", help="nothing to notice")
    arguments = parser.parse_args()
    try:
        onboarding = Onboarding(arguments.fast, arguments.service_up)
    except tk.TclError as error:
        raise SystemExit(f"tk_onboarding: {error}") from None
    onboarding.run()


if __name__ == "__main__":
    main()
