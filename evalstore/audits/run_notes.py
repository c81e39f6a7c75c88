"""Notes what is beside the shares of an audit: engines that differ between the runs, and checks that neither graded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from evalstore.audits.stored_run import StoredRun
from evalstore.model import UnscoredReason
from evalstore.text import make_excerpt

_JUDGED = frozenset({"llm_judge", "fact_match", "composite"})


def list_run_notes(a: StoredRun, b: StoredRun, ids: Sequence[str]) -> Iterator[str]:
    """Yield notes about the engines of checks, and about checks that could not be graded in either run."""
    engines: dict[str, tuple[Counter[str], Counter[str]]] = {}
    failed: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    for id_ in ids:
        for side, stored in enumerate((a, b)):
            for check in stored.rows[id_].checks:
                if check.kind not in _JUDGED and check.score is not None:
                    engines.setdefault(check.kind, (Counter(), Counter()))[side][check.engine] += 1
                if side and check.unscored is UnscoredReason.ERROR:
                    failed[check.id] += 1
                    reasons.setdefault(check.id, check.reason)
    for kind, (old, new) in engines.items():
        if old and new and old.keys() != new.keys():
            yield f"{kind} was graded by {', '.join(sorted(old))} in A and by {', '.join(sorted(new))} in B"
        elif any(name.endswith("(approximate)") for name in new):
            yield f"{kind} was graded by {', '.join(sorted(new))} in both runs, which only comes close"
    for id_, count in failed.items():
        yield (
            f"{make_excerpt(id_, 60)} could not be graded in either run on {count:,} of {len(ids):,} questions: "
            f"{make_excerpt(reasons[id_])}"
        )
