"""Reads gradings of skill-creator (`grading.json` of one run, `benchmark.json` of many) as an aggregate with samples.

They hold what its grader said of each statement, with its evidence, and no output: such a run can
be shown and counted, and has nothing to grade again. A statement is a check by its own words. Runs
of several configurations are told apart by their names behind the id of the eval (`1/with_skill`),
and each configuration has a mean of its own, beside the first of `BASELINES` that there is or else
the first in the file; runs of one eval in one configuration are samples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import write_row
from evalstore.errors import LoadError, Place
from evalstore.model import UnscoredReason, Verdict
from evalstore.runs.imports.entry import read_id
from evalstore.runs.record_fields import get_mapping
from evalstore.text import LONG_EXCERPT, make_excerpt

NO_OUTPUT = "a grading of skill-creator has no output: score the answers themselves"
_STATEMENTS = "expectations"
_TOOL = "skill-creator"
_UNREAD = "its grader gave no verdict"
_EVAL = re.compile(r"eval-(.+)")
_BASELINES = (
    "without_skill",
    "old_skill",
)  # what the others are held against, the first that there is
_CONFIGURATIONS = frozenset({"with_skill", *_BASELINES})


class _Grading(NamedTuple):
    """What the grader said of one run: the eval, its configuration, and a result for each statement."""

    eval: str
    configuration: str
    statements: Sequence[Mapping[str, Any]]

    @property
    def scores(self) -> list[int]:
        """1 or 0 for each statement with a verdict."""
        return [
            int(item["passed"]) for item in self.statements if isinstance(item.get("passed"), bool)
        ]

    @property
    def score(self) -> Fraction | None:
        """The share of the statements that hold, as skill-creator has it."""
        return Fraction(sum(self.scores), len(self.scores)) if self.scores else None


def is_grading(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is the grading of one run, or of many."""
    return {_STATEMENTS, "summary"} <= names or {"runs", "run_summary"} <= names


def translate_gradings(record: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the gradings as an aggregate of Every Eval Ever that has its samples; `LoadError` for another shape."""
    gradings = list(_list_gradings(record, path))
    several = len({grading.configuration for grading in gradings}) > 1
    by_question: dict[str, list[_Grading]] = {}
    series = _summarize_series(gradings) if several else []
    for grading in gradings:
        id_ = f"{grading.eval}/{grading.configuration}" if several else grading.eval
        by_question.setdefault(id_, []).append(grading)
    metadata = get_mapping(record, "metadata")
    name = read_id(metadata.get("skill_name")) or _TOOL
    result = {
        "evaluation_name": name,
        "score_details": {"score": None, "details": _summarize(by_question, series)},
        "metric_config": {},
    }
    return {
        "evaluation_id": name,
        "retrieved_timestamp": read_id(metadata.get("timestamp")) or "",
        "model_info": {"id": read_id(metadata.get("executor_model")) or "unknown"},
        "evaluation_results": [result],
        "detailed_evaluation_results_per_samples": [
            _make_row(id_, number, grading)
            for id_, samples in by_question.items()
            for number, grading in enumerate(samples)
        ],
    }


def _list_gradings(record: Mapping[str, Any], path: Path) -> Iterator[_Grading]:
    place = Place(str(path))
    if "runs" not in record:
        yield _Grading(_find_eval(path), "", _read_statements(record, place))
        return
    runs = record["runs"]
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise LoadError("its `runs` are not a list of runs", place=place)
    for number, run in enumerate(runs, 1):
        id_ = read_id(run.get("eval_id")) or read_id(run.get("eval_name"))
        if id_ is None:
            raise LoadError(
                f"its run {number} has no `eval_id`, so its eval is unknown", place=place
            )
        yield _Grading(id_, read_id(run.get("configuration")) or "", _read_statements(run, place))


def _read_statements(holder: Mapping[str, Any], place: Place) -> list[Mapping[str, Any]]:
    statements = holder.get(_STATEMENTS) or []
    if not isinstance(statements, list) or not all(isinstance(item, dict) for item in statements):
        raise LoadError(
            f"its `{_STATEMENTS}` are not a list of statements with a verdict", place=place
        )
    return statements


def _find_eval(path: Path) -> str:
    """Return the eval that a grading is of, by the folders in which skill-creator puts it: eval-1/with_skill/run-1."""
    folders = path.absolute().parts[:-1]
    named = next((found[1] for part in reversed(folders) if (found := _EVAL.fullmatch(part))), "")
    above = (before for before, part in pairwise(folders) if part in _CONFIGURATIONS)
    return named or next(above, "") or path.stem


def _make_row(id_: str, sample: int, grading: _Grading) -> dict[str, Any]:
    verdict = _find_verdict(grading.score)
    return {
        "sample_id": id_,
        "input": {"raw": "", "reference": []},
        "output": None,
        "metadata": {
            "evalstore_sample": str(sample),
            "evalstore_score": str(grading.score) if grading.score is not None else "",
            "evalstore_verdict": verdict.value,
            "evalstore_checks": write_row(list(_list_checks(grading))),
            "evalstore_reason": "" if grading.scores else _UNREAD,
        },
    }


def _find_verdict(score: Fraction | None) -> Verdict:
    return Verdict.UNSCORED if score is None else Verdict.PASS if score == 1 else Verdict.FAIL


def _list_checks(grading: _Grading) -> Iterator[dict[str, Any]]:
    for id_, item in zip(_name_statements(grading), grading.statements, strict=True):
        passed = item.get("passed")
        score = Fraction(passed) if isinstance(passed, bool) else None
        evidence = item.get("evidence")
        yield {
            "id": id_,
            "kind": "llm_judge",
            "score": "" if score is None else str(score),
            "verdict": _find_verdict(score).value,
            "reason": _UNREAD if score is None else evidence if isinstance(evidence, str) else "",
            "unscored": "" if score is not None else UnscoredReason.ERROR.value,
            "engine": _TOOL,
        }


def _name_statements(grading: _Grading) -> Iterator[str]:
    """Yield the words of each statement, as one line; those that are there already with a number."""
    seen: Counter[str] = Counter()
    for item in grading.statements:
        words = make_excerpt(
            str(item.get("text") or item.get("name") or "a statement"), LONG_EXCERPT
        )
        seen[words] += 1
        yield words if seen[words] == 1 else f"{words} ({seen[words]})"


def _summarize_series(gradings: Sequence[_Grading]) -> list[dict[str, str]]:
    """Return a mean for each configuration over its evals, and its difference from the one that it is held against."""
    scores: dict[str, dict[str, list[Fraction | None]]] = {}
    for grading in gradings:
        scores.setdefault(grading.configuration, {}).setdefault(grading.eval, []).append(
            grading.score
        )
    means = {
        name: {
            eval_: mean
            for eval_, samples in evals.items()
            if (mean := _average(samples)) is not None
        }
        for name, evals in scores.items()
    }
    base = next((name for name in _BASELINES if name in means), next(iter(means)))
    return [
        _describe_series(name, means[name], {} if name == base else means[base]) for name in means
    ]


def _describe_series(
    name: str, means: Mapping[str, Fraction], base: Mapping[str, Fraction]
) -> dict[str, str]:
    score = _average([*means.values()])
    changes = [mean - base[eval_] for eval_, mean in means.items() if eval_ in base]
    difference = _average(changes)
    return {
        "name": name,
        "score": "" if score is None else str(score),
        "questions": str(len(means)),
        "difference": "" if difference is None else str(difference),
        "common": str(len(changes)),
    }


def _summarize(
    by_question: Mapping[str, Sequence[_Grading]], series: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    """Return what evalstore notes of a run: the mean over the questions, each by its samples, and every check.

    Several configurations have their means instead.
    """
    means = [_average([grading.score for grading in samples]) for samples in by_question.values()]
    checks: dict[str, list[tuple[str, Fraction | None]]] = {}
    for question, samples in by_question.items():
        for grading in samples:
            for check in _list_checks(grading):
                score = Fraction(check["score"]) if check["score"] else None
                checks.setdefault(check["id"], []).append((question, score))
    mean = None if series else _average(means)
    return {
        "evalstore_series": write_row(list(series)),
        "evalstore_score": "" if mean is None else str(mean),
        "evalstore_scored": str(sum(one is not None for one in means)),
        "evalstore_unscored": str(sum(one is None for one in means)),
        "evalstore_outputs": str(sum(map(len, by_question.values()))),
        "evalstore_checks": write_row(
            {id_: _summarize_check(found) for id_, found in checks.items()}
        ),
    }


def _summarize_check(results: Sequence[tuple[str, Fraction | None]]) -> dict[str, Any]:
    scores = [score for _, score in results if score is not None]
    mean = _average(scores)
    return {
        "mean": "" if mean is None else str(mean),
        "scored": len(scores),
        "fail": scores.count(Fraction(0)),
        "unscored": len(results) - len(scores),
        "errors": len(results) - len(scores),
        "error_ids": [question for question, score in results if score is None],
    }


def _average(scores: Sequence[Fraction | None]) -> Fraction | None:
    known = [score for score in scores if score is not None]
    return sum(known, Fraction(0)) / len(known) if known else None
