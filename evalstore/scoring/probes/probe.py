"""Grades what ought to fail under a rubric, and stored outputs under its mutants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.checks import CheckContext, combine_results, prepare_check, prepare_rubric
from evalstore.checks.examples import grade_examples, settle_errors
from evalstore.diff.kinds import UnreadableError
from evalstore.diff.plain_data import make_plain
from evalstore.diff.question_references import fill_from_question
from evalstore.diff.rubric_state import RubricState
from evalstore.diff.rubric_state import read_rubric as read_state
from evalstore.documents import format_json_pointer
from evalstore.errors import Place, RefusedError
from evalstore.model import (
    MALFORMED_ERRORS,
    CheckResult,
    Kind,
    Output,
    Question,
    Rubric,
    RubricResult,
    Sample,
    Scoring,
    UnscoredReason,
    Verdict,
    list_check_ids,
    parse_ref,
    read_rubric,
)
from evalstore.model.example import EXAMPLES
from evalstore.model.rubric import list_question_values
from evalstore.runs import StoredOutput, find_samples, read_outputs
from evalstore.scoring.judging import Judges, JudgeSession, open_session
from evalstore.scoring.probes.texts import ProbedText, ProbeText, RubricMutant, RubricProbe, build_texts
from evalstore.statistics import ExactMean
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.question_index import open_question_index
from evalstore.text import make_excerpt

# The lists of a check that stand for several demands.
_LISTS = ("values", "facts", "required_sections", "forbidden_patterns", "forbidden", "tools", "expected_fields")
_STEP = Fraction(1, 10)  # by which a threshold moves


class MutatedRubric(NamedTuple):
    """A mutant, and the rubric that it is."""

    mutant: RubricMutant
    rubric: Rubric


def iterate_mutants(value: Mapping[str, Any]) -> Iterator[MutatedRubric]:
    """Yield every rubric that one change leads to: a check or a phrase less, a switch turned, a number moved."""
    # Ids are written out first: a removed check must not rename those that follow it.
    checks = [{**check, "id": id_} for id_, check in zip(list_check_ids(value["checks"]), value["checks"], strict=True)]
    whole = {**value, "checks": checks}
    for message, pointer, mutated in (*_mutate_checks(whole), *_mutate_scoring(whole)):
        try:
            yield MutatedRubric(RubricMutant(message, format_json_pointer(pointer)), read_rubric(mutated))
        except MALFORMED_ERRORS:
            continue  # no rubric any more, so nobody can have it


_Mutation = tuple[str, tuple[str | int, ...], Mapping[str, Any]]


def _mutate_checks(value: Mapping[str, Any]) -> Iterator[_Mutation]:
    checks: Sequence[Mapping[str, Any]] = value["checks"]
    for place, check in enumerate(checks):
        before, after = checks[:place], checks[place + 1 :]
        if before or after:
            yield f"without check {check['id']}", ("checks", place), {**value, "checks": [*before, *after]}
        for message, pointer, changed in _mutate_check(check):
            whole = {**value, "checks": [*before, changed, *after]}
            yield f"check {check['id']} {message}", ("checks", place, *pointer), whole


def _mutate_check(check: Mapping[str, Any]) -> Iterator[_Mutation]:
    yield "turned round (negate)", ("negate",), {**check, "negate": not check.get("negate", False)}
    if "case_sensitive" in check or check["kind"] in {"must_contain_any", "must_not_contain", "fact_match"}:
        turned = not check.get("case_sensitive", False)
        yield f"with case_sensitive: {str(turned).lower()}", ("case_sensitive",), {**check, "case_sensitive": turned}
    if check["kind"] == "regex":
        flags = "".join(check.get("flags", ""))
        other = flags.replace("i", "") if "i" in flags else f"{flags}i"
        yield f'with flags: "{other}"', ("flags",), {**check, "flags": other}
    for name in _LISTS:
        items = check.get(name)
        several = items if isinstance(items, list) and len(items) > 1 else []
        for place, item in enumerate(several):
            rest = [*several[:place], *several[place + 1 :]]
            yield f"without {name}: {make_excerpt(str(item), 40)}", (name, place), {**check, name: rest}
    if isinstance(check.get("min_matches"), int):
        more = check["min_matches"] + 1
        yield f"with min_matches: {more}", ("min_matches",), {**check, "min_matches": more}
    yield from _move_threshold(check)


def _mutate_scoring(value: Mapping[str, Any]) -> Iterator[_Mutation]:
    scoring: Mapping[str, Any] = value["scoring"]
    ids = [check["id"] for check in value["checks"]]
    for message, pointer, changed in (
        *_double_weights(scoring, ids),
        *_toggle_gates(scoring, ids),
        *_move_threshold(scoring),
    ):
        yield f"scoring {message}", ("scoring", *pointer), {**value, "scoring": changed}


def _double_weights(scoring: Mapping[str, Any], ids: Sequence[str]) -> Iterator[_Mutation]:
    weights = scoring.get("weights", {})
    for id_ in ids if scoring["combine"] == "weighted_avg" and len(ids) > 1 else ():
        doubled = Fraction(str(weights.get(id_, 1))) * 2
        yield f"with twice the weight of {id_}", ("weights", id_), {**scoring, "weights": {**weights, id_: doubled}}


def _toggle_gates(scoring: Mapping[str, Any], ids: Sequence[str]) -> Iterator[_Mutation]:
    gates = scoring.get("required", [])
    for id_ in ids:
        held = id_ in gates
        changed = [gate for gate in gates if gate != id_] if held else [*gates, id_]
        yield f"with {id_} {'not ' if held else ''}required", ("required",), {**scoring, "required": changed}


def _move_threshold(part: Mapping[str, Any]) -> Iterator[_Mutation]:
    if "threshold" in part:
        bar = Fraction(str(part["threshold"]))
        for moved in sorted({max(bar - _STEP, Fraction(0)), min(bar + _STEP, Fraction(1))} - {bar}):
            yield f"with threshold {float(moved):g}", ("threshold",), {**part, "threshold": moved}


_Grades = Mapping[int, Callable[[Sample], CheckResult]]


class Survivors(NamedTuple):
    """How many outputs were graded, and the mutants that give each of them the rubric's own score and verdict."""

    outputs: int
    mutants: tuple[RubricMutant, ...]


def find_survivors(
    rubric: Rubric, mutants: Sequence[MutatedRubric], samples: Iterable[Sample], context: CheckContext
) -> Survivors:
    """Return the mutants that are left after all samples; one that was told apart once is not graded again."""
    # A mutant shares with the rubric the checks that it does not change, and each is graded once an output.
    grades = {
        id(check.params): prepare_check(check, context)
        for one in (rubric, *(mutated.rubric for mutated in mutants))
        for check in one.checks
    }
    left, count = list(mutants), 0
    for sample in samples:
        count += 1
        results: dict[int, CheckResult] = {}
        wanted = _grade(rubric, sample, grades, results)
        left = [one for one in left if _grade(one.rubric, sample, grades, results) == wanted]
    return Survivors(count, tuple(mutated.mutant for mutated in left))


def _grade(rubric: Rubric, sample: Sample, grades: _Grades, results: dict[int, CheckResult]) -> tuple[object, object]:
    for check in rubric.checks:
        key = id(check.params)
        if key not in results:
            results[key] = grades[key](sample)
    result: RubricResult = combine_results(rubric.scoring, [results[id(check.params)] for check in rubric.checks])
    return result.score, result.verdict


_OPPOSITE = {Verdict.PASS: Verdict.FAIL, Verdict.FAIL: Verdict.PASS}


def probe(
    rubric: str,
    store: ArtifactStore,
    *,
    dataset: str | None = None,
    outputs: Path | None = None,
    judges: Judges | None = None,
) -> RubricProbe:
    """Return what a rubric gives to texts that say nothing, and which changes of it no stored output tells apart.

    Its examples are graded, too, and of a judge they alone.
    With `dataset` each text is graded for every question that the rubric grades (for all, where it grades none); with
    `outputs`, a file of any shape that evalstore.runs reads, the mutants of the rubric grade them. Judges answer from
    kept replies, or as `judges` says. Raises `RefusedError` for what is not a rubric or a judge, and where no output
    answers a question.
    """
    ruler = store.resolve(rubric)
    if ruler.kind is not Kind.JUDGE:
        ruler = _resolve(store, rubric, Kind.RUBRIC)
    elif dataset or outputs:
        raise RefusedError(f"{ruler.ref} is a judge, of which only its examples are tried", hint="name REF alone")
    elif not ruler.artifact.value.get(EXAMPLES):
        hint = "write some under `examples:`"
        raise RefusedError("this judge has no examples to try", place=ruler.artifact.document.locate(), hint=hint)
    questions = ProbeQuestions(store, ruler.name, _resolve(store, dataset, Kind.DATASET) if dataset else None)
    with open_session(judges or Judges(), store.git.common) as session:
        found = session.repeat_until_answered(lambda: _probe_once(ruler, questions, outputs, session))
        return replace(found, calls=len(session.missing))


@dataclass(frozen=True, slots=True)
class ProbeQuestions:
    """The questions of a dataset that a rubric grades: all of them where it grades none, and None without a dataset."""

    store: ArtifactStore
    rubric: str
    dataset: Resolved | None

    def iterate(self) -> Iterator[Question | None]:
        """Yield each question."""
        if self.dataset is None:
            yield None
            return
        grades = self._find_choice(self.dataset)
        yield from filter(grades, self.store.questions(self.dataset))

    def iterate_samples(self, outputs: Path) -> Iterator[Sample]:
        """Yield the stored outputs to them, in the order of the file."""
        stored = (one for one in read_outputs(find_samples(outputs)) if isinstance(one, StoredOutput))
        if self.dataset is None:
            yield from (Sample(one.output) for one in stored)
            return
        grades = self._find_choice(self.dataset)
        with open_question_index(self.dataset, self.store) as index:
            pairs = ((one.output, index.find(one.id)) for one in stored)
            yield from (Sample(output, found[1]) for output, found in pairs if found and grades(found[1]))

    def _find_choice(self, dataset: Resolved) -> Callable[[Question], bool]:
        return self._grades if any(map(self._grades, self.store.questions(dataset))) else lambda _: True

    def _grades(self, question: Question) -> bool:
        return bool(question.rubric_ref) and parse_ref(question.rubric_ref or "").name == self.rubric


@dataclass(slots=True)
class _ResultTally:
    """What became of one kind of text so far."""

    example: ProbeText
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    scores: ExactMean = field(default_factory=ExactMean)
    wrong: list[str] = field(default_factory=list)
    # Why a check could not be graded, once for each.
    errors: dict[str, str] = field(default_factory=dict)
    undecided: int = 0
    sample: Sample | None = None

    def add(self, sample: Sample, result: RubricResult, scoring: Scoring) -> None:
        failed = {check.id: check.reason for check in result.checks if check.unscored is UnscoredReason.ERROR}
        if failed:
            self.errors = failed | self.errors
            result = settle_errors(result, scoring)
            self.undecided += result.verdict is Verdict.UNSCORED
        self.verdicts[result.verdict] += 1
        if result.score is not None:
            self.scores.add(result.score)
        is_wrong = result.verdict is _OPPOSITE[self.example.wanted]
        if self.sample is None or (is_wrong and not self.wrong):
            self.sample = sample
        if is_wrong:
            self.wrong.append(sample.question.id if sample.question else "")

    def build_text(self) -> ProbedText:
        name, wanted, text = self.example
        mean, sample = self.scores.compute_mean(), self.sample or Sample(Output(text))
        return ProbedText(name, wanted, text, dict(self.verdicts), mean, tuple(self.wrong), self.undecided, sample)


def _resolve(store: ArtifactStore, ref: str, kind: Kind) -> Resolved:
    resolved = store.resolve(ref)
    if resolved.kind is not kind:
        raise RefusedError(f"{ref} is a {resolved.kind}, not a {kind}")
    return resolved


def _fill_state(value: Mapping[str, Any], state: RubricState, question: Question | None) -> RubricState:
    """Return a rubric with the values that a question gives it, where it gives them all."""
    if question is None or not any(list_question_values(check) for check in value["checks"]):
        return state
    try:
        return read_state(fill_from_question(value, make_plain(question.row))) or state
    except UnreadableError:
        return state


def _probe_once(ruler: Resolved, questions: ProbeQuestions, outputs: Path | None, session: JudgeSession) -> RubricProbe:
    store = questions.store
    context = CheckContext(store.read_artifact, session.ask, session.judges.model, strict=store.strict)
    examples = tuple(grade_examples(ruler.kind, ruler.artifact.value, context))
    if ruler.kind is Kind.JUDGE:
        return RubricProbe(ruler.ref, None, 0, (), examples=examples)
    value = make_plain(ruler.artifact.value)
    state = read_state(value)
    if state is None:
        raise RefusedError(f"{ruler.ref} is not a valid rubric", hint="see where: evalstore validate")
    rubric, tallies, count = read_rubric(value), dict[str, _ResultTally](), 0
    grade = prepare_rubric(rubric, context)
    for question in questions.iterate():
        count += question is not None
        for text in build_texts(_fill_state(value, state, question), question):
            sample = Sample(Output(text.text), question)
            tallies.setdefault(text.name, _ResultTally(text)).add(sample, grade(sample), rubric.scoring)
    failed = {id_: reason for tally in tallies.values() for id_, reason in tally.errors.items()}
    found = RubricProbe(
        ref=ruler.ref,
        dataset=questions.dataset.ref if questions.dataset else None,
        questions=count,
        texts=tuple(tally.build_text() for tally in tallies.values()),
        examples=examples,
        notes=tuple(f"{id_} could not be graded: {reason}" for id_, reason in failed.items()),
    )
    if outputs is None:
        return found
    mutants = list(iterate_mutants(value))
    tried = mutants[:1_000]
    left = find_survivors(rubric, tried, questions.iterate_samples(outputs), context)
    if not left.outputs:
        raise RefusedError("has no output for a question that this rubric grades", place=Place(str(outputs)))
    more = (f"of {len(mutants):,} mutants the first {len(tried):,} were tried",) if mutants[len(tried) :] else ()
    return replace(found, outputs=left.outputs, mutants=len(tried), survivors=left.mutants, notes=(*found.notes, *more))
