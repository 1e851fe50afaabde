"""Questions to the user, answered on the terminal's thread."""

from __future__ import annotations

import io
import queue
import signal
import sys
import threading
from typing import Callable, Optional

import inturn
from steps import Step

# A step and its token; None if there are no more questions.
Question = Optional[tuple[Step, inturn.Token]]


class Terminal:
    """Asks one question at a time.

    Its thread passes each answer to the step, and asks again if it is not one.  At the end of the
    input, it calls `leave` with the step that is being asked, and ends.
    """

    def __init__(self, leave: Callable[[Step], None]) -> None:
        # Ctrl-C ends the program at once, even while a thread reads the standard input; so does a
        # closed reader of the standard output.
        for number in (signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        for stream in (sys.stdin, sys.stdout):  # any bytes are an answer
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="surrogateescape")
        self._leave = leave
        self._questions: queue.Queue[Question] = queue.Queue()
        self._thread = threading.Thread(target=self._read_answers)
        self._thread.start()

    def ask(self, step: Step, token: inturn.Token) -> None:
        """Asks a step's question and returns.  Any thread may call it."""
        print(f"[{step.label}] {step.question} ", end="", flush=True)
        self._questions.put((step, token))

    def close(self) -> None:
        """Ends the thread; no question may be open."""
        self._questions.put(None)
        self._thread.join()

    def _read_answers(self) -> None:
        echo = not sys.stdin.isatty()  # a terminal shows what is typed
        while (question := self._questions.get()) is not None:
            step, token = question
            line = sys.stdin.readline()
            if not line:
                print("(end of input)")
                self._leave(step)
                # This thread keeps the token until the operation has given in.
                return self._wait_for_close()
            line = line.rstrip("\r\n")
            if echo:
                print(line)
            if not step.answer(token, line):
                self.ask(step, token)

    def _wait_for_close(self) -> None:
        while self._questions.get() is not None:
            pass
