#!/usr/bin/env python3
"""Takes a new user through four interactions, one at a time.

What to look at: each is an operation of one interaction queue.  The work shows it, on the main
thread, and returns; its token is finished elsewhere: by the terminal's thread (terminal.py,
steps.py) or by a thread that has asked a service.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

try:
    import inturn
except ModuleNotFoundError:  # it is not installed: use the one of this repository
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/src"))
    import inturn

from picture import Picture
from steps import STEPS, Step, describe
from terminal import Terminal


class Onboarding:
    """The interactions' queue, and what happens on other threads."""

    def __init__(self, fast: bool, service_up: bool) -> None:
        settle, gap, self.network_delay = (0.0, 0.0, 0.0) if fast else (0.5, 0.25, 0.4)
        self.service_up = service_up
        self.terminal = Terminal(self.leave)
        self.picture = Picture()
        self.interactions = inturn.InteractionQueue(
            "onboarding", settle=settle, gap=gap, on_event=self.picture.on_event, stall=None
        )
        self.background = inturn.FIFOQueue("background")
        self.summary: list[str] = []

    def run(self) -> None:
        print("Welcome. Four interactions, one at a time; Ctrl-D leaves.\n")
        with self.interactions, self.background:
            for step in STEPS:
                self.background.post(self.enqueue, step)
            self.interactions.view_did_appear()
            inturn.run_main()  # until the last one has ended
            self.terminal.close()
        print("\nHow they ended, in order:", *self.summary, sep="\n  ")
        self.picture.close()

    # On the main thread ------------------------------------------------------------------

    def begin(self, step: Step, token: inturn.Token) -> None:
        """The work of each interaction."""
        token.on_cancel(self.give_in)
        if step.was_granted:
            print(f"[{step.label}] You have allowed this before.")
            token.finish("already granted")
        elif step.asks_service:
            print(f"[{step.label}] Asking the service how it is ... ", end="", flush=True)
            self.background.post(self.ask_service, step, token)
        else:
            self.terminal.ask(step, token)

    def give_in(self, token: inturn.Token) -> None:
        """Asked to end: the interaction does, and those that wait end with it."""
        token.cancel()
        self.interactions.cancel_all()

    def on_end(self, end: inturn.End) -> None:
        """Called before the next interaction begins."""
        print(f"[{end.label}] {describe(end)}")
        self.summary.append(f"{end.label:<16}{describe(end)}")
        if len(self.summary) == len(STEPS):
            inturn.stop_main()

    # On other threads --------------------------------------------------------------------

    def enqueue(self, step: Step) -> None:
        """Any thread may enqueue."""
        shown = self.interactions.options(label=step.label, key=step.label, on_end=self.on_end)
        shown.enqueue(lambda token: self.begin(step, token))

    def ask_service(self, step: Step, token: inturn.Token) -> None:
        """Runs on a thread, as the main one must not wait for a network."""
        time.sleep(self.network_delay)
        print(f"it is {'up' if self.service_up else 'down'}.")
        if self.service_up:
            token.finish("skipped")
        else:
            self.terminal.ask(step, token)

    def leave(self, step: Step) -> None:
        """The user has left: nothing more is shown, and the open interaction must end."""
        self.background.drain()  # all are enqueued
        self.interactions.view_will_disappear()
        self.interactions.close()
        self.interactions.cancel(step.label)


def main() -> None:
    parser = argparse.ArgumentParser(description="Onboarding: four interactions, in turn.")
    parser.add_argument("--fast", action="store_true", help="leave out the pauses")
    parser.add_argument("--service-up", action="store_true", help="nothing to notice")
    arguments = parser.parse_args()
    Onboarding(arguments.fast, arguments.service_up).run()


if __name__ == "__main__":
    main()
