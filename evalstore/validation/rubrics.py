"""A rubric's checks among themselves: ids, weights, gates, what their kinds know, and the judges' variables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from typing import Any

from evalstore.checks import KINDS
from evalstore.checks.judges import BUILTIN_VARIABLES, FACT_VARIABLE
from evalstore.documents import Pointer
from evalstore.model import Artifact, is_id, list_check_ids
from evalstore.validation.lookup import Lookup
from evalstore.validation.notes import Note, guessed, listed, note, shown
from evalstore.validation.parts import items, mapping, mappings, texts
from evalstore.validation.references import found_by
from evalstore.validation.shape import accepts, kinds


def rubric_notes(artifact: Artifact, lookup: Lookup) -> Iterator[Note]:
    """Yield the findings that need the rubric as a whole, or its judges."""
    value = artifact.document.value
    yield from _ids(artifact)
    yield from _names(value)
    for index, check in mappings(value, "checks"):
        yield from _problems(check, ("checks", index))
        yield from _variables(check, ("checks", index), lookup)
    yield from _unmapped(value)


def _ids(artifact: Artifact) -> Iterator[Note]:
    first: dict[str, int | None] = {}
    for index, check in mappings(artifact.document.value, "checks"):
        id_, pointer = check.get("id"), ("checks", index, "id")
        if not isinstance(id_, str):
            continue
        if not is_id(id_):
            yield note("id-malformed", pointer, found=shown(id_))
        if id_ in first:
            yield note("check-id-duplicate", pointer, found=id_, line=first[id_])
        first.setdefault(id_, artifact.document.locate(pointer).line)


def _names(value: Any) -> Iterator[Note]:
    """Yield the weights and gates that name no check; a check without a kind might be the one that is meant."""
    checks, scoring = items(value, "checks"), mapping(value, "scoring")
    if not all(isinstance(check, dict) and isinstance(check.get("kind"), str) for check in checks):
        return
    if not all(isinstance(check.get("id", ""), str) for check in checks):
        return
    ids, weights = dict.fromkeys(list_check_ids(checks)), mapping(scoring, "weights")
    for id_ in weights:
        if id_ not in ids:
            yield note(
                "weight-without-check", ("scoring", "weights", id_), of_key=True, found=id_, hint=_which(id_, ids)
            )
    for index, id_ in texts(scoring, "required"):
        if id_ not in ids:
            yield note("gate-without-check", ("scoring", "required", index), found=id_, hint=_which(id_, ids))
    if scoring.get("combine") == "weighted_avg" and ids and all(_is_zero(weights.get(id_, 1)) for id_ in ids):
        yield note("weights-zero", ("scoring", "weights"), of_key=True)


def _which(id_: str, ids: Iterable[str]) -> str:
    return guessed(id_, ids, f"the checks are {listed(ids)}")


def _is_zero(weight: Any) -> bool:
    return isinstance(weight, int | Decimal) and weight == 0


def _problems(check: dict[str, Any], pointer: Pointer) -> Iterator[Note]:
    kind = check.get("kind")
    # A kind may rely on its schema; one that has no module yet has no problems either.
    if kind in kinds() and kind in KINDS and accepts(f"checks/{kind}", check):
        for inner, message, hint in KINDS[kind].find_problems(check):
            yield note("check-problem", (*pointer, *inner), message=message, hint=hint)


def _variables(check: dict[str, Any], pointer: Pointer, lookup: Lookup) -> Iterator[Note]:
    kind = check.get("kind")
    if kind == "llm_judge":
        given = mapping(check, "variables")
        judges = [found_by(ref, lookup) for ref in _refs(check)]
        where = (*pointer, "variables") if given else pointer
        yield from _unfilled(judges, given, where, "add it under `variables:`")
        known = {name for judge in judges for name in _wanted(judge)}
        for name in given if all(judges) else ():
            if name not in known:
                yield note("variable-unknown", (*where, name), of_key=True, found=name, hint=_read(name, known))
    elif kind == "fact_match":
        yield from _fact(found_by(check.get("judge_prompt_ref"), lookup), (*pointer, "judge_prompt_ref"))


def _fact(judge: Artifact | None, where: Pointer) -> Iterator[Note]:
    """Yield what a judge of facts needs besides the fact, and that it does not ask for the fact at all."""
    yield from _unfilled(
        [judge], (FACT_VARIABLE,), where, f"besides the question and the output it is given `{FACT_VARIABLE}` only"
    )
    if judge and FACT_VARIABLE not in _wanted(judge):
        hint = f"list it under the judge's `variables:`, and ask about {{{{ {FACT_VARIABLE} }}}} in its template"
        yield note("variable-unknown", where, found=FACT_VARIABLE, hint=hint)


def _unfilled(judges: Iterable[Artifact | None], given: Collection[str], where: Pointer, hint: str) -> Iterator[Note]:
    for judge in judges:
        for name in _wanted(judge):
            if judge and name not in given and name not in BUILTIN_VARIABLES:
                yield note("variable-unfilled", where, of_key=True, judge=judge.id, found=name, hint=hint)


def _refs(check: dict[str, Any]) -> list[Any]:
    if "jury" not in check:
        return [check.get("judge_prompt_ref")]
    return [member.get("judge_prompt_ref") for _, member in mappings(mapping(check, "jury"), "members")]


def _wanted(judge: Artifact | None) -> list[str]:
    return [name for _, name in texts(judge.document.value, "variables")] if judge else []


def _read(name: str, known: set[str]) -> str:
    otherwise = f"the variables are {listed(sorted(known))}" if known else "the judge has no variables: remove it"
    return guessed(name, sorted(known), otherwise)


def _unmapped(value: Any) -> Iterator[Note]:
    unmapped = value.get("x_unmapped") if isinstance(value, dict) else None
    if unmapped:
        count = len(unmapped) if isinstance(unmapped, list | dict) else 1
        checks = "1 check" if count == 1 else f"{count} checks"
        yield note("rubric-partial", ("x_unmapped",), of_key=True, checks=checks)
