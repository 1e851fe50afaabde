"""Turns what the programs print into ratios and verdicts."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from cases import INTURN, SUBJECTS, Case, Target

# The values for each metric and peer, one per round.
Values = dict[tuple[str, str], list[float]]


@dataclass(frozen=True)
class Row:
    """A subject's own figure, if `peer` is None, or its ratio to a peer's.

    `values` has one value per round: ratios, or the figures themselves. `figure` is the median of
    the row's figure: the peer's, or the subject's own.
    """

    case: str
    target: Target
    figure: float
    values: list[float]

    @property
    def median(self) -> float:
        """The value that the limits apply to."""
        return statistics.median(self.values)

    @property
    def missed(self) -> bool:
        """Whether a required limit is missed."""
        return self.target.must is not None and self.median > self.target.must

    @property
    def verdict(self) -> str:
        """Whether the limits are kept, if there are any."""
        limits = (("must", self.target.must), ("aim", self.target.aim))
        return ", ".join(
            f"{name} {'reached' if self.median <= limit else 'MISSED'}"
            for name, limit in limits
            if limit is not None
        )


def ratio(value: float, base: float) -> float:
    """The ratio, where zero to zero is 1."""
    if base == 0:
        return 1.0 if value == 0 else float("inf")
    return value / base


def compare(case: Case, target: Target, values: Values) -> Row:
    """Compares round by round: both figures of a ratio are from the same round."""
    own = values[target.metric, target.subject]
    if target.peer is None:
        return Row(case.name, target, statistics.median(own), own)
    others = values[target.metric, target.peer]
    ratios = [ratio(*pair) for pair in zip(own, others, strict=True)]
    return Row(case.name, target, statistics.median(others), ratios)


def make_rows(case: Case, values: Values) -> Iterator[Row]:
    """For each metric: Inturn's own figures, then its ratio to each peer."""
    limits = {(t.metric, t.peer, t.subject): t for t in case.targets}
    for metric in dict.fromkeys(metric for metric, _ in values):
        for name in case.peers:
            if name in SUBJECTS:
                own = Target(metric, subject=name)
                yield compare(case, limits.pop((metric, None, name), own), values)
                continue
            # Each peer is compared with the first subject, and with others that have a limit.
            for subject in SUBJECTS:
                key = (metric, name, subject)
                if key in limits or subject == INTURN:
                    target = limits.pop(key, Target(metric, name, subject=subject))
                    yield compare(case, target, values)
    if limits:
        raise ValueError(f"{case.name}: nothing was measured for {list(limits)}")
