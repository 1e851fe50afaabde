#!/usr/bin/env python3
"""Takes a new user through four interactions, one at a time.

    onboarding.py [--fast] [--service-up]     (no pauses; nothing to notice)

The app asks for the location, for the camera and for a password, and tells that its service
is down.  Each of these is an operation of one interaction queue: none begins before the one
before it is over, whichever threads enqueue and finish them.

    main thread      runs the main executor, which calls the work: it shows an interaction
                     and returns; it never waits for an answer
    reader thread    enqueues the first three, reads answers from the standard input, and
                     finishes the interaction that is open
    service thread   enqueues the notice and asks the service how it is: the notice ends
                     there, or goes on to the reader
"""

from __future__ import annotations

import argparse
import io
import queue as mailbox
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

try:
    import inturn
except ModuleNotFoundError:  # it is not installed: use the one of this repository
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/src"))
    import inturn

LOCATION, CAMERA, SIGN_IN, NOTICE = range(4)


class Refused(Exception):
    """The user does not let the interaction succeed."""


@dataclass
class Step:
    """One interaction."""

    label: str
    question: str
    answer: Callable[[inturn.Token, str], bool]  # whether the interaction is over
    granted: bool = False  # nothing needs to be asked
    asks_service: bool = False


# A step and its token, on their way to another thread; None: there are no more.
Letter = Optional[tuple[Step, inturn.Token]]


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, flush=True)


def answer_permission(token: inturn.Token, line: str) -> bool:
    if line in ("y", "yes"):
        token.finish()
    elif line in ("n", "no"):
        token.fail(Refused("denied"))
    return line in ("y", "yes", "n", "no")


class SignIn:
    """One operation holds the queue over all tries."""

    def __init__(self) -> None:
        self.tries_left = 3

    def answer(self, token: inturn.Token, line: str) -> bool:
        self.tries_left -= 1
        if line == "inturn":
            token.finish()
        elif self.tries_left == 0:
            token.fail(Refused("too many tries"))
        else:
            say(f"[sign-in] That is not it; {self.tries_left} left.")
            return False
        return True


def answer_notice(token: inturn.Token, _line: str) -> bool:
    token.finish()
    return True


STEPS = (
    Step("location", "May the app use your location? [y/n]", answer_permission),
    Step("camera", "May the app use the camera? [y/n]", answer_permission, granted=True),
    Step("sign-in", 'Your password (here it is "inturn"):', SignIn().answer),
    Step(
        "service notice",
        "Some things will not work today. [Return]",
        answer_notice,
        asks_service=True,
    ),
)


class Onboarding:
    """The queue, and what the threads tell each other."""

    def __init__(self, fast: bool, service_up: bool) -> None:
        settle, gap = (0.0, 0.0) if fast else (0.5, 0.25)
        self.queue = inturn.InteractionQueue("onboarding", settle=settle, gap=gap)
        self.network_delay = 0.0 if fast else 0.4
        self.service_up = service_up
        self.questions: mailbox.Queue[Letter] = mailbox.Queue()  # to the reader thread
        self.checks: mailbox.Queue[Letter] = mailbox.Queue()  # to the service thread
        self.operations: dict[str, inturn.Operation] = {}  # by label
        self.enqueued = threading.Condition()  # protects and announces operations
        self.summary: list[str] = []  # touched on the main thread only

    # On the main thread ------------------------------------------------------------------

    def run(self) -> None:
        say("Welcome. Four interactions, one at a time; Ctrl-D leaves.\n")
        threads = [
            threading.Thread(target=self.read_answers),
            threading.Thread(target=self.watch_service),
        ]
        for thread in threads:
            thread.start()
        with self.queue:
            self.queue.view_did_appear()
            inturn.run_main()  # until the last end has stopped it
            self.questions.put(None)
            self.checks.put(None)
            for thread in threads:
                thread.join()
        say("\nHow they ended, in order:")
        for line in self.summary:
            say(f"  {line}")

    def begin(self, step: Step, token: inturn.Token) -> None:
        if step.granted:
            say(f"[{step.label}] You have allowed this before.")
            token.finish("already granted")
            return
        token.on_cancel(self.give_in)
        if step.asks_service:
            say(f"[{step.label}] Asking the service how it is ... ", end="")
            self.checks.put((step, token))
        else:
            self.ask(step, token)

    def give_in(self, token: inturn.Token) -> None:
        """Ends the open interaction, and after it those that wait."""
        token.cancel()
        self.queue.cancel_all()

    def on_end(self, end: inturn.End) -> None:
        """Is called before the next interaction begins."""
        detail = end.result or end.exception
        if end.outcome is inturn.Outcome.CANCELLED and not end.started:
            detail = "never started"
        outcome = end.outcome.name.lower().replace("_", " ")
        if detail is not None:
            outcome += f" ({detail})"
        say(f"[{end.label}] {outcome}")
        self.summary.append(f"{end.label:<16}{outcome}")
        if len(self.summary) == len(STEPS):
            inturn.stop_main()

    # On the two background threads ---------------------------------------------------------

    def ask(self, step: Step, token: inturn.Token) -> None:
        """Shows the question; the reader thread takes it from there."""
        say(f"[{step.label}] {step.question} ", end="")
        self.questions.put((step, token))

    def enqueue(self, index: int) -> None:
        """Adds a step when those before it are in the queue."""
        step = STEPS[index]
        with self.enqueued:
            self.enqueued.wait_for(lambda: len(self.operations) == index)
            self.operations[step.label] = self.queue.enqueue(
                lambda token: self.begin(step, token), label=step.label, on_end=self.on_end
            )
            self.enqueued.notify_all()

    def leave(self, open_step: Step) -> None:
        """The user has gone: nothing more is shown, the open interaction is asked to end, and
        the others with it."""
        with self.enqueued:
            self.enqueued.wait_for(lambda: len(self.operations) == len(STEPS))
        self.queue.view_will_disappear()
        self.queue.close()
        operation = self.operations[open_step.label]
        operation.cancel()
        operation.wait()  # the caller holds the token until then

    def read_answers(self) -> None:
        echo = not sys.stdin.isatty()  # a terminal shows what is typed
        for index in (LOCATION, CAMERA, SIGN_IN):
            self.enqueue(index)
        while (letter := self.questions.get()) is not None:
            step, token = letter
            line = sys.stdin.readline()
            if not line:
                say("(end of input)")
                self.leave(step)
                break
            line = line.rstrip("\r\n")
            if echo:
                say(line)
            if not step.answer(token, line):
                self.ask(step, token)

    def watch_service(self) -> None:
        self.enqueue(NOTICE)
        letter = self.checks.get()
        if letter is None:
            return
        step, token = letter
        time.sleep(self.network_delay)
        say(f"it is {'up' if self.service_up else 'down'}.")
        if self.service_up:
            token.finish("skipped")
        else:
            self.ask(step, token)


def main() -> None:
    parser = argparse.ArgumentParser(description="Onboarding: four interactions, in turn.")
    parser.add_argument("--fast", action="store_true", help="leave out the pauses")
    parser.add_argument("--service-up", action="store_true", help="nothing to notice")
    arguments = parser.parse_args()
    # Ctrl-C ends the program at once, though a thread is reading the standard input; so does
    # a reader of the standard output that has gone.
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    for stream in (sys.stdin, sys.stdout):  # any bytes are an answer
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="surrogateescape")
    Onboarding(arguments.fast, arguments.service_up).run()


if __name__ == "__main__":
    main()
