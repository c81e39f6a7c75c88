"""Builds recorded numbers of an output that may change a rubric's score, from its limits."""

from __future__ import annotations

from collections.abc import Iterator

from evalstore.diff.change import Change
from evalstore.diff.kinds import KINDS
from evalstore.model.measures import NO_MEASURES, Measures


def build_measures(change: Change) -> Iterator[Measures]:
    """Yield numbers to try, one of them at a limit or beyond it; none if the check has no limits.

    Each record has every number that the check limits before or after the edit.
    """
    limits: dict[str, list[Measures]] = {}
    for check in change.edited_checks:
        for found in KINDS[check.kind].sample_measures(check.params):
            (name,) = found.recorded
            limits.setdefault(name, []).append(found)
    plain = NO_MEASURES
    for samples in limits.values():
        plain = plain._replace(**samples[0].recorded)
    for samples in limits.values():
        yield from (plain._replace(**sample.recorded) for sample in samples)
