"""Notes what is beside the shares of an audit: engines that differ between the runs, and checks that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from evalstore.judging import NO_REPLY
from evalstore.model import UnscoredReason
from evalstore.runs import GradedRow
from evalstore.text import make_excerpt

_JUDGED = frozenset({"llm_judge", "fact_match", "composite"})


@dataclass(slots=True)
class RunNotes:
    """What was noted of the compared questions so far; engines are by run (0 for A) and by kind of check.

    On `ungraded` of them a check failed in both runs, or in the one that has it.
    """

    questions: int = 0
    ungraded: int = 0
    engines: dict[tuple[int, str, str], None] = field(default_factory=dict)
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)

    def add_question(self, rows: tuple[GradedRow, GradedRow]) -> None:
        """Note the checks of one question, as both runs recorded them."""
        self.questions += 1
        errors: tuple[dict[str, str], dict[str, str]] = {}, {}
        for side, row in enumerate(rows):
            for check in row.checks:
                if check.score is not None:
                    self.engines[side, check.kind, check.engine] = None
                elif check.unscored is UnscoredReason.ERROR:
                    errors[side][check.id] = check.reason
        self.ungraded += any(errors)
        for id_, reason in (errors[0] | errors[1]).items():
            failed = id_, "either run" if id_ in errors[0] and id_ in errors[1] else "A" if id_ in errors[0] else "B"
            self.failed[failed] += 1
            self.reasons.setdefault(failed, reason)

    def list_notes(self) -> Iterator[str]:
        """Yield the notes."""
        for kind in dict.fromkeys(kind for _, kind, _ in self.engines if kind not in _JUDGED):
            old, new = ({name for at, one, name in self.engines if (at, one) == (side, kind)} for side in (0, 1))
            if old and new and old != new:
                yield f"{kind} was graded by {', '.join(sorted(old))} in A and by {', '.join(sorted(new))} in B"
            elif any(name.endswith("(approximate)") for name in new):
                runs = "both runs" if old else "B"
                yield f"{kind} was graded by {', '.join(sorted(new))} in {runs}, which only comes close"
        for (id_, where), count in self.failed.items():
            reason = self.reasons[id_, where]
            # An audit asks for no reply that neither run had.
            unasked = reason.endswith(NO_REPLY.problem)
            yield (
                f"{make_excerpt(id_, 60)} could not be graded in {where} on {count:,} of {self.questions:,} "
                f"questions: {make_excerpt(reason)}"
                + ("; evalstore score with --judge-url asks, into new runs" if unasked else "")
            )
