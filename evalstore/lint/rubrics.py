"""Lints a whole rubric: check ids, weights, required checks, kinds, variables, examples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

from evalstore.checks import KINDS, CheckContext, find_check_kind
from evalstore.checks.question_values import find_wanted_type
from evalstore.checks.steps import find_step_problems
from evalstore.documents import Pointer
from evalstore.errors import RefError
from evalstore.lint.notes import (
    Fix,
    Note,
    describe_value,
    get_list,
    get_mapping,
    list_mappings,
    list_names,
    list_texts,
    make_note,
    suggest_name,
)
from evalstore.lint.reference_lookup import UNKNOWN, ReferenceLookup
from evalstore.lint.references import find_referenced, lint_composites
from evalstore.lint.rules import VALIDATION_RULES
from evalstore.lint.secrets import lint_secrets
from evalstore.lint.shapes import is_valid_by_schema, lint_artifact_shape
from evalstore.lint.values import has_own_lists
from evalstore.model import (
    Artifact,
    Combine,
    Kind,
    RubricResult,
    Severity,
    Verdict,
    is_check_id,
    list_check_ids,
)
from evalstore.model.check_schemas import list_check_kinds
from evalstore.model.example import EXAMPLES, describe_expected
from evalstore.model.judge import BUILTIN_VARIABLES
from evalstore.model.question_params import list_question_values
from evalstore.text import EXCERPT, find_only_near, make_excerpt

if TYPE_CHECKING:
    from evalstore.checks.examples import GradedExample

_WEIGHTLESS = tuple(combine for combine in Combine if combine is not Combine.WEIGHTED_AVG)
_WEIGHED = 12  # checks whose outcomes are all tried


def lint_rubric(artifact: Artifact) -> Iterator[Note]:
    """Yield the findings that need the rubric as a whole."""
    value = artifact.document.value
    yield from _lint_check_ids(artifact)
    yield from _lint_scoring_names(value)
    for index, check in list_mappings(value, "checks"):
        yield from _lint_check(check, ("checks", index))
        yield from lint_secrets(check.get("model"), ("checks", index, "model"))
    yield from _lint_question_keys(value)
    yield from _lint_partial(value)


def _lint_question_keys(value: Any) -> Iterator[Note]:
    """Yield the places that take a question's key as another type than an earlier place."""
    first: dict[str, tuple[str, str]] = {}
    checks = get_list(value, "checks")
    ids = (
        list_check_ids(checks)
        if all(_is_named(check) for check in checks)
        else [None] * len(checks)
    )
    for index, check in list_mappings(value, "checks"):
        places, kind = list_question_values(check), check.get("kind")
        if not places:  # as nearly always
            continue
        if kind not in list_check_kinds() or not is_valid_by_schema(f"checks/{kind}", check):
            continue  # a separate finding
        for place in places:
            wanted = find_wanted_type(check["kind"], place.pointer)
            other, owner = first.setdefault(place.key, (wanted, str(ids[index] or check["kind"])))
            if other != wanted:
                pointer = ("checks", index, *place.pointer)
                yield make_note(
                    "question-key-conflict",
                    pointer,
                    found=place.key,
                    wanted=wanted,
                    other=other,
                    check=owner,
                )


def lint_judged_checks(artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield the findings about a rubric's checks that depend on the judges they name."""
    for index, check in list_mappings(artifact.document.value, "checks"):
        yield from _lint_variables(check, ("checks", index), lookup)


def _lint_check_ids(artifact: Artifact) -> Iterator[Note]:
    first: dict[str, Pointer] = {}
    for index, check in list_mappings(artifact.document.value, "checks"):
        id_, pointer = check.get("id"), ("checks", index, "id")
        if not isinstance(id_, str):
            continue
        if not is_check_id(id_):
            yield make_note("id-malformed", pointer, found=describe_value(id_))
        if id_ in first:
            yield make_note(
                "check-id-duplicate",
                pointer,
                found=id_,
                line=artifact.document.locate(first[id_]).line,
            )
        first.setdefault(id_, pointer)


def _fix_id(id_: str, ids: Iterable[str], taken: Container[Any]) -> Fix | None:
    """Return the check that is meant if only one is possible, and nothing else names it."""
    guess = find_only_near(id_, tuple(ids))
    return Fix(guess) if guess and guess not in taken else None


def _is_named(check: Any) -> bool:
    """Whether a check has an id, or a kind that gives it one."""
    return (
        isinstance(check, dict)
        and isinstance(check.get("kind"), str)
        and isinstance(check.get("id", ""), str)
    )


def _lint_scoring_names(value: Any) -> Iterator[Note]:
    """Yield weights and required ids that name no check.

    A check without a kind might be the one that is meant.
    """
    checks, scoring = get_list(value, "checks"), get_mapping(value, "scoring")
    if not all(_is_named(check) for check in checks):
        return
    ids, weights = dict.fromkeys(list_check_ids(checks)), get_mapping(scoring, "weights")
    for id_ in weights:
        if id_ not in ids:
            yield make_note(
                "weight-without-check",
                ("scoring", "weights", id_),
                of_key=True,
                fix=_fix_id(id_, ids, weights),
                found=id_,
                hint=_suggest_check(id_, ids),
            )
    for index, id_ in list_texts(scoring, "required"):
        if id_ not in ids:
            fix = _fix_id(id_, ids, get_list(scoring, "required"))
            yield make_note(
                "required-without-check",
                ("scoring", "required", index),
                fix=fix,
                found=id_,
                hint=_suggest_check(id_, ids),
            )
    if (
        scoring.get("combine") == "weighted_avg"
        and ids
        and all(_is_zero(weights.get(id_, 1)) for id_ in ids)
    ):
        yield make_note("weights-zero", ("scoring", "weights"), of_key=True)


def lint_weights(artifact: Artifact) -> Iterator[Note]:
    """Yield the weights that move nothing: unread by the combination, or too small to count."""
    value = artifact.document.value
    checks, scoring = get_list(value, "checks"), get_mapping(value, "scoring")
    if not checks or not all(_is_named(check) for check in checks):
        return
    ids = list_check_ids(checks)
    if scoring.get("combine") in _WEIGHTLESS:
        yield from _lint_unread_weights(scoring, ids)
    elif len(ids) <= _WEIGHED and all(map(_is_pass_or_fail, checks)):
        yield from _lint_small_weights(scoring, ids)


def _is_pass_or_fail(check: Mapping[str, Any]) -> bool:
    """Whether a check's score is 0 or 1, and a higher one is better."""
    return find_check_kind(check["kind"]).is_binary and not check.get("negate")


def _lint_unread_weights(scoring: Mapping[str, Any], ids: Sequence[str]) -> Iterator[Note]:
    combine = scoring["combine"]
    for id_ in get_mapping(scoring, "weights"):
        if id_ in ids:
            why = f"the weight of {id_} has no effect: {combine} reads no weights"
            hint = "remove it, or write `combine: weighted_avg`"
            pointer = ("scoring", "weights", id_)
            yield make_note("weight-ineffective", pointer, of_key=True, why=why, hint=hint)


def _lint_small_weights(scoring: Mapping[str, Any], ids: Sequence[str]) -> Iterator[Note]:
    """Yield the weights of pass-or-fail checks that never turn the rubric's verdict."""
    written, threshold = get_mapping(scoring, "weights"), scoring.get("threshold", Decimal("0.7"))
    weights = [written.get(id_, 1) for id_ in ids]
    has_verdict = scoring.get("combine") == "weighted_avg" and scoring.get("verdict") != "all"
    has_numbers = all(_is_number(number) for number in (*weights, threshold))
    if not has_verdict or not has_numbers or not threshold:
        return
    # A required check decides by itself, and a weight of 0 says that the check only advises.
    required = [id_ for _, id_ in list_texts(scoring, "required")]
    for index, (id_, weight) in enumerate(zip(ids, weights, strict=True)):
        if weight > 0 and id_ not in required and not _can_turn(weights, index, threshold):
            why = (
                f"{id_} never turns the verdict: with weight {weight}, it is the same whether "
                f"{id_} passes or fails"
            )
            hint = "raise its weight, lower `threshold`, or make it required"
            pointer = ("scoring", "weights", id_) if id_ in written else ("checks", index)
            yield make_note("weight-ineffective", pointer, of_key=True, why=why, hint=hint)


def _can_turn(weights: list[Any], index: int, threshold: Any) -> bool:
    """Whether some outcome of the other checks leaves the verdict to this one."""
    needed = threshold * sum(weights)
    others = [weight for at, weight in enumerate(weights) if at != index]
    sums = {sum(chosen) for size in range(len(others) + 1) for chosen in combinations(others, size)}
    return any(total < needed <= total + weights[index] for total in sums)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool) and value >= 0


def _suggest_check(id_: str, ids: Iterable[str]) -> str:
    return suggest_name(id_, ids, f"the checks are {list_names(ids)}")


def _is_zero(weight: Any) -> bool:
    return isinstance(weight, int | Decimal) and weight == 0


def _lint_check(check: dict[str, Any], pointer: Pointer) -> Iterator[Note]:
    kind = check.get("kind")
    # A kind may rely on its schema; one without a module yet has no problems either.
    if kind in list_check_kinds() and kind in KINDS and is_valid_by_schema(f"checks/{kind}", check):
        # A list or pattern from the question is checked there, with each value filled in.
        own = KINDS[kind].find_problems(check) if has_own_lists(check) else ()
        for problem in chain(own, find_step_problems(check)):
            rule = "check-broken" if problem.blocks else "check-problem"
            yield make_note(
                rule, (*pointer, *problem.pointer), message=problem.message, hint=problem.hint
            )


def _lint_variables(
    check: dict[str, Any], pointer: Pointer, lookup: ReferenceLookup
) -> Iterator[Note]:
    """Yield what the judges of a check lack, and what it gives them in vain."""
    kind = check.get("kind")
    inputs = find_check_kind(kind).find_judge_inputs(check) if isinstance(kind, str) else None
    if inputs is None:
        return
    judges = [find_referenced(ref, lookup) for ref in inputs.refs]
    where = (*pointer, inputs.key) if inputs.key else pointer
    subject = (inputs.subject,) if inputs.subject else ()
    yield from _lint_unfilled(judges, (*inputs.variables, *subject), where, inputs.hint)
    for name in subject:
        for judge in judges:
            yield from _lint_unasked(judge, name, (*pointer, inputs.subject_key))
    known = {name for judge in judges for name in _list_variables(judge)}
    for name in inputs.variables if all(judges) else ():
        if name not in known:
            hint = _suggest_variable(name, known)
            yield make_note("variable-unknown", (*where, name), of_key=True, found=name, hint=hint)


def _lint_unasked(judge: Artifact | None, name: str, where: Pointer) -> Iterator[Note]:
    """Yield that a judge does not ask about the one thing that it is given each time."""
    if judge and name not in _list_variables(judge):
        hint = (
            f"list it under the judge's `variables:`, and ask about {{{{ {name} }}}} in its "
            "template"
        )
        yield make_note("variable-unknown", where, found=name, hint=hint)


def _lint_unfilled(
    judges: Iterable[Artifact | None], filled: Collection[str], where: Pointer, hint: str
) -> Iterator[Note]:
    for judge in judges:
        for name in _list_variables(judge):
            if judge and name not in filled and name not in BUILTIN_VARIABLES:
                yield make_note(
                    "variable-unfilled", where, of_key=True, judge=judge.id, found=name, hint=hint
                )


def _list_variables(judge: Artifact | None) -> list[str]:
    return [name for _, name in list_texts(judge.document.value, "variables")] if judge else []


def _suggest_variable(name: str, known: set[str]) -> str:
    otherwise = (
        f"its variables are {list_names(sorted(known))}"
        if known
        else "remove it: the judge has no variables"
    )
    return suggest_name(name, sorted(known), otherwise)


def _lint_partial(value: Any) -> Iterator[Note]:
    unmapped = value.get("x_unmapped") if isinstance(value, dict) else None
    if unmapped:
        count = len(unmapped) if isinstance(unmapped, list | dict) else 1
        checks = "1 check" if count == 1 else f"{count} checks"
        yield make_note("rubric-partial", ("x_unmapped",), of_key=True, checks=checks)


def grade_file_examples(
    artifact: Artifact, lookup: ReferenceLookup, grading: CheckContext
) -> list[GradedExample]:
    """Return the examples of a rubric or judge with their results.

    `grading` says how judges answer.
    """
    value = artifact.document.value
    if artifact.kind is Kind.DATASET or not isinstance(value, dict) or EXAMPLES not in value:
        return []
    from evalstore.checks.examples import grade_examples

    def load(ref: str) -> Artifact:
        found = find_referenced(ref, lookup)
        if found is None:  # a separate finding
            raise RefError(f"{ref} is not there")
        return found

    return list(grade_examples(artifact.kind, value, replace(grading, load=load)))


def lint_examples(kind: Kind, graded: Iterable[GradedExample]) -> Iterator[Note]:
    """Yield the examples whose results are not as expected."""
    for one in graded:
        example, result = one.example, one.result
        if result is None or not one.is_failed:
            continue
        key = "score" if example.verdict is None else "verdict"
        yield make_note(
            "example-failed",
            (*example.place, key),
            number=example.number,
            expected=describe_expected(example.expected),
            got=one.got,
            why=f": {reason}" if (reason := _explain(result)) else "",
            kind=kind,
        )


def _explain(result: RubricResult) -> str:
    """Return the reason of a check that failed, else of one that was not scored, else of any."""
    checks = sorted(
        result.checks,
        key=lambda check: (check.verdict is not Verdict.FAIL, check.verdict is Verdict.PASS),
    )
    if not checks or not checks[0].reason:
        return result.reason
    return f"{checks[0].id}: {make_excerpt(checks[0].reason, EXCERPT)}"


def describe_ungraded(file: str, graded: Iterable[GradedExample]) -> Iterator[str]:
    """Yield a sentence on the examples in a file that could not be graded."""
    graded = list(graded)
    reasons = [one.why for one in graded if one.result is None]
    if reasons:
        total = f"{len(graded):,} {'example' if len(graded) == 1 else 'examples'}"
        yield f"{file}: {len(reasons):,} of {total} could not be graded: {make_excerpt(reasons[0])}"


def find_obstacles(artifact: Artifact, load: Callable[[str], Artifact]) -> Iterator[Note]:
    """Yield the errors that keep an artifact from grading: `bump` refuses it for them.

    `load` reads the rubrics of its composites. Whether its references name releases is left to
    `bump`, because it releases several artifacts at once.
    """
    lookup = ReferenceLookup(UNKNOWN.files, lambda ref: load(str(ref)))
    notes = [lint_artifact_shape(artifact.kind, artifact.document.value)]
    if artifact.kind is Kind.RUBRIC:
        notes += [
            lint_rubric(artifact),
            lint_judged_checks(artifact, UNKNOWN),
            lint_composites(artifact, lookup),
        ]
    elif artifact.kind is Kind.JUDGE and isinstance(artifact.document.value, dict):
        from evalstore.lint.judges import lint_prompt

        notes += [lint_prompt(artifact)]
    return (
        note for note in chain(*notes) if VALIDATION_RULES[note.rule].severity is Severity.ERROR
    )
