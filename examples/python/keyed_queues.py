#!/usr/bin/env python3
"""A queue for each of 10,000 users: in order for each user, and no user waits for another.

    keyed_queues.py

What to look at: messages arrive mixed, and each goes to its user's queue.  A few threads handle
them all; messages of one user never overlap, so that what they use needs no lock.  One user cannot
be reached, and their queue is suspended: their messages wait, and all others are handled.  Who is
away may be so for days, which is not being stuck: ``stall=None`` says so.
"""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import inturn
except ModuleNotFoundError:  # it is not installed: use the one of this repository
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/src"))
    import inturn

USERS, MESSAGES, AWAY = 10_000, 10, 42


class User(inturn.FIFOQueue):
    """A user, and the queue of their messages."""

    handled = out_of_order = 0  # only used by the queue's work

    def handle(self, number: int) -> None:
        self.out_of_order += number != self.handled
        self.handled += 1


def wait_for(users: list[User]) -> None:
    """Waits for the users' queues, and prints what they have done."""
    for user in users:
        user.drain()
    handled = sum(user.handled for user in users)
    out_of_order = sum(user.out_of_order for user in users)
    print(f"{handled} messages handled, {out_of_order} of them out of order")


def main() -> None:
    users = [User(stall=None) for _ in range(USERS)]
    away = users[AWAY]
    away.suspend()

    for number in range(MESSAGES):
        for user in users:
            user.post(user.handle, number)
    print(f"{USERS * MESSAGES} messages to {USERS} users")

    wait_for([user for user in users if user is not away])
    print(f"user {AWAY} is away: {away.statistics().pending} messages wait")

    away.resume()
    print(f"user {AWAY} is back")
    wait_for(users)


if __name__ == "__main__":
    main()
