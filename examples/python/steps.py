"""What the onboarding example asks, and what answers do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import inturn

# Takes a line; returns whether it was an answer, which has ended the interaction.
Answer = Callable[[inturn.Token, str], bool]


class Refused(Exception):
    """The user does not let the interaction succeed."""


@dataclass(frozen=True)
class Step:
    """One interaction."""

    label: str
    question: str
    answer: Answer
    was_granted: bool = False  # nothing has to be asked
    asks_service: bool = False  # nothing has to be asked if the service is up


def answer_permission(token: inturn.Token, line: str) -> bool:
    if line in ("y", "yes"):
        token.finish()
    elif line in ("n", "no"):
        token.fail(Refused("denied"))
    else:
        return False
    return True


class SignIn:
    """One operation keeps the queue through all tries."""

    def __init__(self) -> None:
        self.tries_left = 3

    def answer(self, token: inturn.Token, line: str) -> bool:
        self.tries_left -= 1
        if line == "inturn":
            token.finish()
        elif self.tries_left == 0:
            token.fail(Refused("too many tries"))
        else:
            print(f"[sign-in] That is not it; {self.tries_left} left.")
            return False
        return True


def answer_notice(token: inturn.Token, _line: str) -> bool:
    token.finish()
    return True


STEPS = (
    Step("location", "May the app use your location? [y/n]", answer_permission),
    Step("camera", "May the app use the camera? [y/n]", answer_permission, was_granted=True),
    Step("sign-in", 'Your password (here it is "inturn"):', SignIn().answer),
    Step(
        "service notice",
        "Some things will not work today. [Return]",
        answer_notice,
        asks_service=True,
    ),
)


def describe(end: inturn.End) -> str:
    """``failed (denied)``, for example."""
    detail = end.result or end.exception
    if end.outcome is inturn.Outcome.CANCELLED and not end.started:
        detail = "never started"
    outcome = end.outcome.name.lower().replace("_", " ")
    return f"{outcome} ({detail})" if detail is not None else outcome
