"""One run of every odd value that a row may hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.model import CheckResult, Output, UnscoredReason, Verdict
from evalstore.model.measures import Measures
from evalstore.runs import CheckSummary, GradedRow, MissingOutput, Run, UsedArtifact, read_outputs, write_run

PINNED = UsedArtifact("rubric/tone@1.0.0", "1.0.0", "0" * 64, "1" * 64, "2" * 40, "rubric/tone@1.0.0")
CHECKS = (
    CheckResult("a", "regex", Fraction(1, 3), Verdict.FAIL, "no \x00 match", None, "regex 1"),
    CheckResult("b", "llm_judge", None, Verdict.UNSCORED, "", UnscoredReason.MISSING),
    CheckResult("d", "llm_judge", Fraction(2, 3), Verdict.PASS, "said so", None, "pine-2-0613", "ab" * 32),
    CheckResult("c", "llm_judge", None, Verdict.UNSCORED, "no\nendpoint", UnscoredReason.ERROR),
)
SLOW = Measures(Decimal("1e3"), Decimal("0.00000000000000000001"), output_tokens=Decimal(3))
ROWS = (
    GradedRow("plain", "Q?", ("a", "b"), Output("A."), Fraction(1), Verdict.PASS, PINNED.ref, PINNED.digest, CHECKS),
    GradedRow("none", "", (), Output(""), None, Verdict.UNSCORED, "", "", (), "the question names no rubric"),
    GradedRow(
        "\u2028 \x85 \x00", "\ufeff", ("\n",), Output("\r\u2029🦊"), Fraction(2, 3), Verdict.FAIL, "", "", group="g"
    ),
    GradedRow(
        "tools",
        "Use them.",
        (),
        Output("Done.", ({"name": "f", "args": {"n": Decimal("1.50"), "deep": {"x": [None, True]}, "s": "t"}},)),
        Fraction(10**30, 3 * 10**30 + 1),
        Verdict.FAIL,
        PINNED.ref,
        PINNED.digest,
        reason="required and failed: a",
    ),
    GradedRow("no tools", "Do not.", (), Output("Done.", ()), Fraction(0), Verdict.FAIL, "", ""),
    GradedRow("slow", "Go.", (), Output("Done.", measures=SLOW), Fraction(0), Verdict.FAIL, "", ""),
    GradedRow(
        "chat",
        "Use it.",
        (),
        Output("", ({"function": {"name": "f", "arguments": '{"n": 1}'}},)),
        None,
        Verdict.UNSCORED,
        "",
        "",
    ),
)
RUN = Run(
    path=Path(),
    samples=Path(),
    id="small/org_m/1.000000",
    name="small",
    at="1.000000",
    model="org/m",
    dataset=UsedArtifact("dataset/small@worktree", "", "3" * 64, "4" * 64),
    rubrics=(PINNED,),
    outputs_sha256="5" * 64,
    score=Fraction(2, 3),
    pass_rate=Fraction(1, 3),
    scored=4,
    unscored=2,
    checks={"a": CheckSummary(Fraction(1, 3), 1, 1, 0), "tone/b": CheckSummary(None, 0, 0, 2, errors=1)},
    harness={"evalstore": "0.1.0", "engines": "php 8, regex 1", "judge_model": '{"id":"m"}', "": "\u2028"},
    without_output=3,
    without_question=1,
    notes=("3 questions have no output", "a \u2028 note"),
)


def find_unread(path: Path) -> MissingOutput:
    """Return what says why the last row of a file cannot be read."""
    *_, found = read_outputs(path)
    assert isinstance(found, MissingOutput)
    return found


@pytest.fixture
def rows() -> tuple[GradedRow, ...]:
    return ROWS


@pytest.fixture
def run() -> Run:
    """A run before it is written."""
    return RUN


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Run]:
    """Write a run with rows into `tmp_path/runs`."""

    def write(run: Run = RUN, rows: tuple[GradedRow, ...] = ROWS) -> Run:
        with write_run(tmp_path / "runs", "small") as draft:
            for row in rows:
                draft.write_row(row, run)
            return draft.publish(run)

    return write


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    """Write lines, bytes as they are or values as JSON, into a file and return its path."""

    def write(*rows: Any, end: bytes = b"\n") -> Path:
        path = tmp_path / "outputs.jsonl"
        path.write_bytes(b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows) + end)
        return path

    return write
