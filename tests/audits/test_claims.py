"""What an audit claims of outputs: never more than so few questions can show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.audits.conftest import Repo, factor

RUBRIC = """id: clean
version: 1.0.0
checks:
  - {id: ban, kind: must_not_contain, values: [foo]}
  - {id: bar, kind: must_not_contain, values: [bar]}
scoring: {combine: weighted_avg}
"""
HEAD = "id: small\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/clean@1.0.0}\nquestions:\n"


# E15: how many questions, what each of the first loses, and what must be said.
@pytest.mark.parametrize(
    ("size", "worse", "text", "interval", "p", "claim"),
    [
        (2, 2, "foo", (-100, 100), 0.25, "not resolvable (MDE 454.5)"),
        (3, 3, "foo", (-100, 79.70), 0.125, "not resolvable (MDE 136.7)"),
        (13, 3, "foo bar", (-47.72, 7.72), 0.125, "not resolvable (MDE 38.8)"),
        # The test of signs alone would call it so; an interval that holds 0 does not.
        (20, 6, "foo", (-27.72, 0.44), 0.015625, "not resolvable (MDE 19.9)"),
        (20, 8, "foo", (-32.86, -3.50), 0.00390625, "significant"),
    ],
)
def test_few_questions_are_never_significant(  # a row of a table
    size: int,
    worse: int,
    text: str,
    interval: tuple[float, float],
    p: float,
    claim: str,
    repo: Repo,
    answers: Callable[..., Path],
) -> None:
    repo.release("rubrics/clean", RUBRIC)
    repo.release("datasets/small", HEAD + "".join(f"  - {{id: q{number}, input: a}}\n" for number in range(size)))
    ids = [f"q{number}" for number in range(size)]
    a = answers("a", **dict.fromkeys(ids, "ok"))
    b = answers("b", **{id_: text if number < worse else "ok" for number, id_ in enumerate(ids)})
    found = repo.audit(*(repo.score("dataset/small@1.0.0", path, path.stem) for path in (a, b)))
    outputs = factor(found, "outputs")
    assert outputs.ci
    assert [100 * end for end in outputs.ci] == pytest.approx(interval, abs=0.005)
    assert (outputs.p, outputs.claim) == (p, claim)
    assert ("worse outputs took" in found.sentence) is (claim == "significant")


def test_verdicts_that_a_ruler_turns_are_no_chance(
    repo: Repo, answers: Callable[..., Path], cli: Callable[..., Any]
) -> None:
    repo.release("rubrics/clean", RUBRIC)
    repo.release("rubrics/clean", RUBRIC.replace("1.0.0", "2.0.0").replace("[bar]", "[bar, baz]"))
    questions = "".join(f"  - {{id: q{number:02}, input: a}}\n" for number in range(14))
    for version in ("1.0.0", "2.0.0"):
        repo.release("datasets/small", (HEAD + questions).replace("1.0.0", version))
    ids = [f"q{number:02}" for number in range(14)]
    a = answers("a", **dict(zip(ids, ["baz"] * 10 + ["ok", "ok", "foo", "ok"], strict=True)))
    b = answers("b", **dict(zip(ids, ["baz"] * 10 + ["foo", "foo", "ok", "ok"], strict=True)))
    runs = [repo.score(f"dataset/small@{n}.0.0", path, path.stem) for n, path in ((1, a), (2, b))]
    flips = repo.audit(*runs).flips
    assert (len(flips.pass_to_fail), len(flips.fail_to_pass)) == (12, 1)
    # Two worse and one better: of eight throws of three coins two are more uneven, and six as uneven.
    assert flips.mid_p == (2 + 6 / 2) / 8
    told = " ".join(cli("audit", runs[0].path, runs[1].path, "-v", cwd=repo.root).out.split())
    assert "10 by rubric, 3 by outputs (McNemar mid-p 0.625, without what the rubrics changed)" in told


@pytest.mark.parametrize("is_cut", [True, False])
def test_an_interval_ends_where_a_stricter_rubric_is_proved_to_end(
    repo: Repo,
    answers: Callable[..., Path],
    is_cut: bool,  # noqa: FBT001
) -> None:
    """It bans one more phrase, or one instead of another."""
    repo.release("rubrics/clean", RUBRIC)
    words = "[bar, baz]" if is_cut else "[baz]"
    repo.release("rubrics/clean", RUBRIC.replace("1.0.0", "2.0.0").replace("[bar]", words))
    questions = "".join(f"  - {{id: q{number}, input: a}}\n" for number in range(6))
    for version in ("1.0.0", "2.0.0"):
        repo.release("datasets/small", (HEAD + questions).replace("1.0.0", version))
    outputs = answers("a", **{f"q{number}": "baz" if number < 2 else "ok" for number in range(6)})
    found = repo.audit(*(repo.score(f"dataset/small@{version}.0.0", outputs) for version in (1, 2)))
    least, most = factor(found, "rubric").ci or (0.0, 0.0)
    assert factor(found, "rubric").share < 0
    assert least < factor(found, "rubric").share
    assert (most == 0, most > 0) == (is_cut, not is_cut)
