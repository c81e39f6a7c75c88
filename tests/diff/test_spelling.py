"""A comparison reads values and never how they are written: comments, layout, order of keys, spellings of numbers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from evalstore.diff import DiffFinding, compare
from evalstore.documents import compute_digest, read_yaml
from evalstore.model import Artifact, Kind
from tests.diff.fuzz.draw import draw, randomness
from tests.diff.fuzz.pair import Value
from tests.diff.fuzz.spelling import spelled
from tests.rows import thin

SEED, PAIRS, PARTS = 20261121, 100, 4


def rewritten(random: Random, value: Value) -> Artifact:
    """Return an artifact from a file that says the value in some way, by the real reader."""
    document = read_yaml(spelled(random, value).encode(), "file.yaml")
    kind = Kind.JUDGE if "template" in value else Kind.DATASET if "questions" in value else Kind.RUBRIC
    return Artifact(kind, str(value["id"]), str(value["version"]), document)


def facts(finding: DiffFinding) -> tuple[Any, ...]:
    directions = (finding.direction, finding.verdict_direction, finding.certainty, finding.max_shift)
    children = tuple(sorted(map(facts, finding.children), key=str))
    return finding.rule, finding.level, directions, finding.fingerprint, finding.witness, children


@pytest.mark.heavy
@pytest.mark.parametrize("part", thin(range(PARTS), 2))
def test_how_a_value_is_written_decides_nothing(part: int, samples: Callable[[int], int]) -> None:
    for index in range(part * PAIRS, part * PAIRS + samples(PAIRS)):
        random = randomness(SEED, index)
        pair = draw(random)
        (old, other), new = (rewritten(random, pair.old) for _ in range(2)), rewritten(random, pair.new)
        assert compute_digest(old.value) == compute_digest(pair.old)
        assert compare(old, other, load=pair.load).findings == ()
        said, known = (compare(*sides, load=pair.load) for sides in ((old, new), (pair.old, pair.new)))
        assert said.required_bump is known.required_bump
        assert sorted(map(facts, said.findings), key=str) == sorted(map(facts, known.findings), key=str)


def test_the_writer_has_many_ways() -> None:
    value = {"id": "r", "version": "1.0.0", "checks": [{"kind": "regex", "pattern": "a"}], "threshold": 1}
    texts = {spelled(randomness(SEED, index), value) for index in range(50)}
    assert len(texts) > 40
    assert any("#" in text for text in texts)
    assert any("1e0" in text.lower() for text in texts)
