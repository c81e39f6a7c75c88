"""Corrects pass rates of judged checks for the errors that their judges' validations show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.checks import find_check_kind
from evalstore.errors import RefusedError
from evalstore.lint.judges import LEAST_ROWS
from evalstore.lint.notes import get_mapping
from evalstore.model import Artifact, Check, ScoreType, Verdict, find_check_pins, read_rubric
from evalstore.model.rubric import JUDGED_THRESHOLD, parse_fraction
from evalstore.runs import Run, read_rows, read_run
from evalstore.runs.run_view import CheckCorrection
from evalstore.scoring.grading import format_exact_ref
from evalstore.scoring.job import ScoringJob
from evalstore.statistics import Rate, ShareMoves, UnitTotals, correct_share
from evalstore.text import add_article, make_excerpt

# No validation claims more: nobody labels more, and a larger number does not fit a float.
_MOST_ROWS = 1 << 30
_HINT = (
    "evalstore judge validate measures a judge with labelled rows, and writes its rates into its "
    "file"
)


@dataclass(frozen=True, slots=True)
class JudgeRates:
    """How often a judge is right about good and bad outputs, and the measured models.

    None means any model.
    """

    good: Rate
    bad: Rate
    models: frozenset[str] | None


def find_obstacle(check: Check, judge: Artifact, threshold: Fraction) -> str:
    """Return why a check's verdict is not its judge's verdict at `threshold`; empty if it is."""
    parts = {
        "jury": "several judges decide it",
        "each": "it is made of statements, each judged by itself",
    }
    found = [words for key, words in parts.items() if key in check.params]
    if not find_check_kind(check.kind).is_judgement:
        found.append(f"{add_article(check.kind)} combines several judgements")
    if check.params.get("samples", 1) != 1:
        found.append("it is the mean of several replies")
    if check.negate:
        found.append("its verdict is negated")
    own = JUDGED_THRESHOLD if check.threshold is None else check.threshold
    # A binary judge gives 0 or 1, from which every threshold makes the same verdicts.
    if own != threshold and judge.value.get("score_type") != ScoreType.BINARY:
        found.append(
            f"it passes from {float(100 * own):g} on, and the judge was measured at "
            f"{float(100 * threshold):g}"
        )
    return f"{make_excerpt(check.id, 60)}: {found[0]}" if found else ""


def read_rates(judge: Artifact) -> JudgeRates | str:
    """Return the rates in a judge's validation, or why it has none to rely on."""
    block = get_mapping(judge.value, "validation")
    numbers = {key: block.get(key) for key in ("tpr", "tnr", "sample_size", "sample_good")}
    if numbers["tpr"] is None or numbers["tnr"] is None:
        return f"{judge.versioned} has no validation"
    if block.get("digest") != judge.scoring_digest:
        return f"the validation of {judge.versioned} is not of its content today"
    size = numbers["sample_size"]
    if isinstance(size, int) and size < LEAST_ROWS:
        return (
            f"{judge.versioned} was validated with {size:,} labelled rows, and it takes "
            f"{LEAST_ROWS}"
        )
    if numbers["sample_good"] is None:
        return (
            f"the validation of {judge.versioned} does not say how many of its rows are good "
            "(sample_good)"
        )
    models = block.get("model")
    if not isinstance(models, str) and not get_mapping(judge.value, "model").get("id"):
        return f"the validation of {judge.versioned} does not say which model was measured"
    rates = _count_rates(numbers)
    if rates is None:
        return f"the validation of {judge.versioned} has numbers that no labelled rows give"
    good, bad = rates
    if good.hits * bad.of + bad.hits * good.of <= good.of * bad.of:
        return f"{judge.versioned} does no better than a constant answer"
    return JudgeRates(good, bad, frozenset(models.split(", ")) if isinstance(models, str) else None)


def _count_rates(numbers: Mapping[str, Any]) -> tuple[Rate, Rate] | None:
    """Return the counts behind two rounded rates; None if none fit."""
    size, good = numbers["sample_size"], numbers["sample_good"]
    if type(size) is not int or type(good) is not int or not 0 < good < size <= _MOST_ROWS:
        return None
    found = []
    for rate, of in ((numbers["tpr"], good), (numbers["tnr"], size - good)):
        if not isinstance(rate, int | Decimal) or isinstance(rate, bool) or not 0 <= rate <= 1:
            return None
        found.append(Rate(round(Fraction(rate) * of), of))
    return found[0], found[1]


@dataclass(slots=True)
class _Passes:
    """The verdicts of one check so far, by question or group, and the models that gave them."""

    units: UnitTotals = field(default_factory=UnitTotals)
    moves: ShareMoves = field(default_factory=ShareMoves)
    engines: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class CorrectionPlan:
    """The rates that correct a run's checks, by rubric and id, or why one cannot be corrected."""

    rates: Mapping[tuple[str, str], tuple[str, JudgeRates | str]]

    def correct_run(self, run: Run) -> tuple[CheckCorrection, ...]:
        """Return the pass rate of each judged check of a run without the errors of its judge."""
        found: dict[tuple[str, str], _Passes] = {key: _Passes() for key in self.rates}
        for row in read_rows(read_run(run.path)):
            group = f"group {row.group}" if row.group else f"question {row.id}"
            for check in row.checks:
                passes = found.get((row.rubric, check.id))
                if passes is not None and check.score is not None:
                    passes.units.add_question(group)
                    passes.moves.add(Fraction(check.verdict is Verdict.PASS), group)
                    passes.engines.update(check.engine.split(", "))
        return tuple(self._correct_check(key, passes) for key, passes in found.items())

    def _correct_check(self, key: tuple[str, str], passes: _Passes) -> CheckCorrection:
        (rubric, check), (judge, rates) = key, self.rates[key]
        if isinstance(rates, str):
            return CheckCorrection(rubric, check, judge, problem=rates)
        other = passes.engines - (rates.models or passes.engines)
        if other:
            names = [
                make_excerpt(", ".join(sorted(some)), 60) for some in (rates.models or (), other)
            ]
            problem = f"{judge} was validated with {names[0]}, and {names[1]} answered"
            return CheckCorrection(rubric, check, judge, problem=problem)
        share = correct_share(passes.units.count_units(passes.moves), rates.good, rates.bad)
        problem = "" if share else "too few of its outputs have a verdict"
        return CheckCorrection(rubric, check, judge, rates.good, rates.bad, share, problem)


def plan_corrections(job: ScoringJob) -> CorrectionPlan:
    """Return how a run's judged checks will be corrected.

    Raises `RefusedError` if none of them can be.
    """
    rates = dict(_list_rates(job))
    problems = [found for _, found in rates.values() if isinstance(found, str)]
    if len(problems) == len(rates):
        why = problems[0] if problems else "no check of these rubrics asks a judge"
        raise RefusedError(
            f"no score can be corrected: {why}", hint=_HINT if problems else "leave out --corrected"
        )
    return CorrectionPlan(rates)


def _list_rates(job: ScoringJob) -> Iterator[tuple[tuple[str, str], tuple[str, JudgeRates | str]]]:
    rubric = job.options.rubric
    refs = job.questions.rubric_refs if rubric is None else (rubric,)
    for ref in refs:
        resolved = job.grading.artifacts.resolve(ref)
        for check in read_rubric(resolved.artifact.value).checks:
            judges = [
                pin for _, pin in find_check_pins((), check.params) if pin.startswith("judge/")
            ]
            if judges:
                judge = job.grading.artifacts.load(judges[0])
                key = format_exact_ref(resolved), check.id
                yield key, (judge.versioned, _find_rates(check, judge))


def _find_rates(check: Check, judge: Artifact) -> JudgeRates | str:
    measured = get_mapping(judge.value, "validation").get("threshold", JUDGED_THRESHOLD)
    threshold = (
        parse_fraction(measured) if isinstance(measured, int | Decimal) else JUDGED_THRESHOLD
    )
    if problem := find_obstacle(check, judge, threshold):
        return problem
    rates = read_rates(judge)
    # The model that a check names is not the one in the judge's content.
    if (
        isinstance(rates, JudgeRates)
        and rates.models is None
        and get_mapping(check.params, "model").get("id")
    ):
        return (
            f"{make_excerpt(check.id, 60)} names a model of its own, and {judge.versioned} was "
            "validated without it"
        )
    return rates
