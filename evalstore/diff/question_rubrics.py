"""What a rubric reads from a question, and the rubric with a question's values in its checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from evalstore.checks.question_values import fill_from_question
from evalstore.diff.deciders.judges import find_prompt_names
from evalstore.diff.kinds import KINDS, Params, Row, UnreadableError
from evalstore.diff.plain_data import is_same, make_plain
from evalstore.diff.references import ArtifactLoader, is_pinned
from evalstore.diff.rubric_state import CheckState, RubricState, read_rubric_state
from evalstore.documents import Pointer
from evalstore.errors import EvalstoreError
from evalstore.model import (
    Grade,
    Kind,
    Question,
    UnscoredReason,
    is_cosmetic,
    list_check_ids,
    parse_ref,
)
from evalstore.model.judge import BUILTIN_VARIABLES
from evalstore.model.question_params import list_question_values


@dataclass(frozen=True, slots=True)
class RubricReads:
    """What a rubric reads from a question.

    `parts` has each part with the judge or inner rubric that reads it, or "" for the rubric's own
    checks. `value_keys` are the keys that checks take values from, and `judged_keys` those that are
    sent to judges. `sources` has the keys behind each parameter, by the check's index and the
    parameter's path.
    """

    ref: str
    value: Mapping[str, Any]
    parts: Mapping[Pointer, str]
    value_keys: frozenset[str]
    judged_keys: frozenset[str]
    sources: Mapping[tuple[int, str], tuple[str, ...]]

    def list_sources(self, index: int, path: str) -> tuple[str, ...]:
        """Return the keys of a question behind a part of a check, or behind all of it."""
        found = [(name, keys) for (at, name), keys in self.sources.items() if at == index]
        if not path:
            return tuple(key for _, keys in found for key in keys)
        return next((keys for name, keys in found if f"{path}/".startswith(f"{name}/")), ())

    def is_key_read(self, key: str) -> bool:
        """Whether the rubric's checks or judges read this key of a question."""
        return any(part[0] == key for part in self.parts)

    def find_moved_parts(self, before: Row, after: Row) -> list[Pointer]:
        """Return the parts that differ between two questions."""
        parts = sorted(self.parts)
        return [
            one for one in parts if not is_same(_view_part(before, one), _view_part(after, one))
        ]


@dataclass(slots=True)
class RubricReaders:
    """The rubrics of a dataset's questions, each read once; `load` reads what a reference names."""

    load: ArtifactLoader | None
    known: dict[str, RubricReads | str]

    def read(self, ref: Any) -> RubricReads | str:
        """Return what a rubric reads from a question, or the reason why that is unknown."""
        if not isinstance(ref, str):
            return "it names no rubric, and any rubric may read it"
        if ref not in self.known:
            try:
                self.known[ref] = self._read_rubric(ref, deep=False)
            except EvalstoreError as error:
                self.known[ref] = error.message
        return self.known[ref]

    def _read_rubric(self, ref: str, *, deep: bool) -> RubricReads:
        if self.load is None:
            raise EvalstoreError("its rubric is not available")
        if not is_pinned(parse_ref(ref)):
            raise EvalstoreError(f"{ref} floats")
        found = self.load(ref)
        value: dict[str, Any] = make_plain(found.value)
        rubric = read_rubric_state(value) if found.kind is Kind.RUBRIC else None
        if rubric is None or any(map(_has_unread_keys, rubric.checks)):
            raise EvalstoreError(f"{ref} cannot be read in full")
        parts: dict[Pointer, str] = {}
        judged: set[str] = set()
        for check in rubric.checks:
            parts |= dict.fromkeys(KINDS[check.kind].question_parts(check.params), "")
        for check in rubric.checks:
            if check.grading.holds_rubric and deep:
                raise EvalstoreError(f"{ref} is nested too deeply")
            for inner in _list_references(check):
                # Judges and nested rubrics are read one level deep, as scoring runs them.
                if check.grading.holds_rubric:
                    nested = self._read_rubric(inner, deep=True)
                    parts |= dict.fromkeys(nested.parts, inner)
                    judged |= nested.judged_keys
                else:
                    names = self._list_template_names(inner)
                    parts |= {(name,): inner for name in names}
                    judged |= {*names}
        keys = (one.key for check in value["checks"] for one in list_question_values(check))
        sources = dict(_list_sources(value, rubric))
        return RubricReads(ref, value, parts, frozenset(keys), frozenset(judged), sources)

    def _list_template_names(self, ref: str) -> list[str]:
        """Return the keys of a question that a judge's template reads; raises `EvalstoreError`."""
        found = self.load(ref) if self.load and is_pinned(parse_ref(ref)) else None
        names = find_prompt_names(found.value) if found and found.kind is Kind.JUDGE else None
        if names is None:
            raise EvalstoreError(f"{ref} floats, or cannot be read")
        return [name for name in names if name in BUILTIN_VARIABLES]


def _has_unread_keys(check: CheckState) -> bool:
    return not all(map(is_cosmetic, check.extras))


def _list_references(check: CheckState) -> Iterator[str]:
    """Yield the judges that a check asks, or the rubric that a composite names."""
    for name in ("judge_prompt_ref", "rubric_ref"):
        if (ref := check.params.get(name)) is not None:
            yield ref
    for member in (check.params.get("jury") or {}).get("members", ()):
        yield member["judge_prompt_ref"]


def _list_sources(
    rubric: Params, state: RubricState
) -> Iterator[tuple[tuple[int, str], tuple[str, ...]]]:
    for index, (written, check) in enumerate(zip(rubric["checks"], state.checks, strict=True)):
        for value in list_question_values(written):
            yield (index, "/".join(map(str, value.pointer))), (value.key,)
        # What a check reads by default is filled into a parameter that is not written in the file.
        parts = KINDS[check.kind].question_parts(check.params)
        keys = tuple(dict.fromkeys(str(part[0]) for part in parts))
        yield from (((index, name), keys) for name in check.params if name not in written)


def _view_part(row: Row, part: Pointer) -> Any:
    """Return the value at a part of a question, or the whole value if it is not a mapping."""
    value = row.get(str(part[0]))
    if len(part) == 1:
        return value
    if value is None or isinstance(value, dict):
        return [part[1] in (value or {}), (value or {}).get(part[1])]
    return value


class FilledRubric(NamedTuple):
    """A rubric filled with a question's values; a check without a value has nothing to grade.

    `misfits`: the question has a value of the wrong type for some check.
    """

    value: dict[str, Any]
    misfits: bool


def fill_rubric(rubric: Params, row: Row) -> FilledRubric:
    """Return a rubric with the values that its checks read from a question written into them."""
    checks, misfits = list[Params](), False
    for id_, check in zip(list_check_ids(rubric["checks"]), rubric["checks"], strict=True):
        try:
            filled = fill_check(check, row)
        except UnreadableError:
            misfits = True
            continue
        if isinstance(filled, Grade):
            misfits = misfits or filled.unscored is not UnscoredReason.MISSING
            from evalstore.checks.kinds.fact_match import make_empty_check

            filled = make_empty_check(id_)
        checks.append(filled)
    return FilledRubric({"checks": checks, "scoring": rubric["scoring"]}, misfits)


def fill_check(check: Params, row: Row) -> Params | Grade:
    """Return a check with the question's values written in, or its grade if one is missing.

    Raises `UnreadableError` for a reference that the check cannot read.
    """
    filled = fill_from_question(check, list_question_values(check), Question("", "", row))
    if isinstance(filled, Grade):
        return filled
    filled = {**filled, **KINDS[check["kind"]].fill_from_reference(filled, row)}
    return {key: item for key, item in filled.items() if item is not None}
