"""Shared by all tests."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

# Seconds; more than the limit in pyproject.toml, after which a signal fails a test.
BEYOND_THE_LIMIT = 150


@pytest.fixture(autouse=True)
def _end_when_a_call_never_returns(request: pytest.FixtureRequest) -> Iterator[None]:
    """In a call that never returns, Python handles no signals: prints the stacks, and exits."""
    shown = request.config.stash[fault_handler_stderr_fd_key]
    faulthandler.dump_traceback_later(BEYOND_THE_LIMIT, exit=True, file=shown)
    yield
    faulthandler.cancel_dump_traceback_later()
