"""A reference that begins to float (rule 52): major, minor where the lock holds what moves no score, else what it imports."""

from __future__ import annotations

from typing import Any

import pytest

from evalstore.diff import ComparisonSettings, compare
from evalstore.store import ArtifactStore
from tests.release.shop import Shop, judge, mixed

RANGE = "judge/accuracy@^1"


def findings(stocked: Shop, new: str, *, locked: bool) -> list[tuple[str, str, str]]:
    """Compare the released rubric with one that refers to the judge in another way."""

    def ask(store: ArtifactStore) -> Any:
        stocked.write("rubrics/other.yaml", mixed("other").replace("judge/accuracy@1.0.0", new))
        settings = ComparisonSettings(locked=frozenset(store.lock.refs if locked else ()))
        return compare(
            store.read_artifact("rubric/other@1.0.0"),
            store.read_artifact("rubric/other@worktree"),
            load=store.read_artifact,
            settings=settings,
        )

    return [(one.rule, str(one.level), str(one.certainty)) for one in stocked.ask(ask).findings]


@pytest.fixture
def held(stocked: Shop) -> Shop:
    """Lock the range at 1.0.0, and release two more versions: one that moves scores, and one that does not."""
    stocked.write("rubrics/other.yaml", mixed("other").replace("judge/accuracy@1.0.0", RANGE))
    stocked.lock()
    stocked.release("judge/accuracy", "1.1.0", judge("1.1.0") + "title: Accuracy\n")
    stocked.release("judge/accuracy", "1.2.0", judge("1.2.0", ask="Right then?"))
    return stocked


def test_a_range_that_nothing_holds_is_major(held: Shop) -> None:
    assert findings(held, RANGE, locked=False) == [("ref-unpinned", "major", "assumed")]
    assert findings(held, "judge/accuracy@~1.0", locked=True) == [("ref-unpinned", "major", "assumed")]


def test_a_range_that_is_held_at_the_same_content_is_minor(held: Shop) -> None:
    assert findings(held, RANGE, locked=True) == [("ref-unpinned", "minor", "proved")]


def test_a_range_that_is_held_at_what_moves_a_score_imports_it(held: Shop) -> None:
    held.lock(update=True)
    assert findings(held, RANGE, locked=True) == [("judge-ref-changed", "major", "assumed")]


def test_a_range_that_is_held_at_what_moves_no_score_is_minor_and_no_patch(held: Shop) -> None:
    held.write("rubrics/other.yaml", mixed("other").replace("judge/accuracy@1.0.0", "judge/accuracy@~1.1"))
    held.lock()
    assert findings(held, "judge/accuracy@~1.1", locked=True) == [("ref-unpinned", "minor", "proved")]
