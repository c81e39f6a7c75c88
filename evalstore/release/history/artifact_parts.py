"""Takes an artifact apart into named parts with a meaning each; spelling and order do not count."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.diff.kinds import KINDS, find_plain_kind
from evalstore.diff.pairing import pair_checks
from evalstore.diff.rubric_state import CheckState, RubricState, read_rubric_state
from evalstore.documents import Pointer, convert_fraction, write_canonical
from evalstore.model import (
    Artifact,
    Kind,
    Question,
    is_cosmetic,
    iterate_questions,
    select_scoring_part,
)
from evalstore.store import ArtifactStore
from evalstore.store.rows import parse_row, read_row_lines

_SCORING_KEYS = ("combine", "threshold", "verdict", "missing", "errors")
_AREAS = ("question", "input", "reference", "rubric")
_QUESTION_DEFAULTS = ("rubric_ref", "bundle")


class ArtifactPart(NamedTuple):
    """One part of an artifact.

    `area` is check (everything that a check demands), presence (its existence), param, item, weight
    or required of the check `name`; scoring (of a rubric); key (of a judge, or the defaults of a
    dataset); question, input, reference or rubric (of the question `name`); or artifact: all of it.
    `item` is an item of an unordered list.
    """

    area: str
    name: str = ""
    key: str = ""
    item: str = ""


WHOLE, FILE = ArtifactPart("artifact"), ArtifactPart("presence")


class PartPlace(NamedTuple):
    """Where a part is, and its value there.

    `is_written` is false for a default that is not in the file.
    """

    pointer: Pointer
    value: Any
    is_written: bool = True


class ListedPart(NamedTuple):
    """A part as an artifact has it: what it means, and its place.

    If it is only present, with nothing written about it, the place is None.
    """

    part: ArtifactPart
    meaning: str
    place: PartPlace | None = None


@dataclass(frozen=True, slots=True)
class PartTable:
    """What the parts of one version mean, as comparable texts.

    `rubric` pairs checks whose ids changed.
    """

    meanings: Mapping[ArtifactPart, str] = field(default_factory=dict)
    rubric: RubricState | None = None

    @property
    def has_plain_ids(self) -> bool:
        """Whether every check has an id that does not depend on its place."""
        return self.rubric is not None and all(check.has_id for check in self.rubric.checks)


class QuestionMeanings(NamedTuple):
    """What the parts of one question mean: its whole row, input, reference and rubric's name."""

    question: str
    input: str
    reference: str
    rubric: str


def read_question_meanings(question: Question, defaults: Mapping[str, Any]) -> QuestionMeanings:
    """Return what the parts of a question mean; `defaults` are those of its dataset."""
    own = write_canonical(list_own_fields(question, defaults))
    rubric = (question.rubric_ref or "").partition("@")[0]
    return QuestionMeanings(own, question.input_digest, question.reference_digest, rubric)


def read_parts(
    kind: Kind, value: Mapping[str, Any], questions: Iterable[tuple[str, QuestionMeanings]] = ()
) -> PartTable | None:
    """Return the parts of an artifact's mapping, or None if it is malformed.

    `questions` are those of a dataset.
    """
    rubric = read_rubric_state(value) if kind is Kind.RUBRIC else None
    if kind is Kind.RUBRIC and rubric is None:
        return None
    whole = ((FILE, ""), (WHOLE, write_canonical(select_scoring_part(kind, dict(value)))))
    listed = ((one.part, one.meaning) for one in list_parts(kind, value, rubric))
    table = dict([*whole, *listed])
    for id_, meanings in questions:
        parts = (ArtifactPart(area, id_) for area in _AREAS)
        table.update(zip(parts, meanings, strict=True))
    return PartTable(table, rubric)


def pair_names(old: PartTable, new: PartTable, renames: Mapping[str, str]) -> dict[str, str]:
    """Return the older names of checks and questions by the newer ones, where they differ.

    A check is paired by id, or by equal content; a question by `renames`, which are new ids by old
    ones. A check that the older version lacks has the name "" there.
    """
    if old.rubric and new.rubric:
        are_plain = old.has_plain_ids and new.has_plain_ids
        if are_plain and _list_ids(old.rubric) == _list_ids(new.rubric):
            return {}
        by_token = {check.token: check.id for check in old.rubric.checks}
        checks = pair_checks(old.rubric, new.rubric).checks
        pairs = ((check.id, by_token.get(check.token)) for check in checks)
        return {name: before or "" for name, before in pairs if name != before}

    def had(id_: str) -> bool:
        return ArtifactPart("question", id_) in old.meanings

    items = renames.items()
    return {after: before for before, after in items if had(before) and not had(after)}


def find_weight_factor(old: PartTable, new: PartTable) -> Fraction:
    """Return the factor by which all weights grew, or 1 if there is none.

    Rescaled weights mean the same.
    """
    if not (old.rubric and new.rubric):
        return Fraction(1)
    before = {check.token: check.weight for check in old.rubric.checks}
    paired = [
        check for check in pair_checks(old.rubric, new.rubric).checks if check.token in before
    ]
    factors = {check.weight / before[check.token] for check in paired if before[check.token]}
    if len(factors) != 1 or any(
        bool(before[check.token]) != bool(check.weight) for check in paired
    ):
        return Fraction(1)
    return factors.pop()


def list_own_fields(question: Question, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row itself says about its question.

    Its id, its notes and what the dataset's defaults say are left out.
    """
    row = question.row
    left_out = {key for key in _QUESTION_DEFAULTS if row.get(key) == defaults.get(key)} | {"id"}
    own = {key: item for key, item in row.items() if key not in left_out}
    return {key: item for key, item in own.items() if not is_cosmetic(key)}


def _list_ids(rubric: RubricState) -> set[str]:
    return {check.id for check in rubric.checks}


def list_parts(
    kind: Kind, value: Mapping[str, Any], rubric: RubricState | None
) -> Iterator[ListedPart]:
    """Yield the parts of an artifact check by check or key by key, without a dataset's questions.

    `rubric` is the parsed mapping of a rubric; a malformed one (None) has no parts.
    """
    if kind is Kind.RUBRIC:
        yield from _list_rubric_parts(rubric, value) if rubric else ()
        return
    keys = (
        {"defaults": value.get("defaults", {})}
        if kind is Kind.DATASET
        else select_scoring_part(kind, dict(value))
    )
    for key, item in keys.items():
        inner = (
            {(key, name): held for name, held in item.items()}
            if isinstance(item, dict)
            else {(key,): item}
        )
        for path, held in inner.items():
            yield ListedPart(
                ArtifactPart("key", *path), write_canonical(held), PartPlace(path, held)
            )


def _list_rubric_parts(rubric: RubricState, value: Mapping[str, Any]) -> Iterator[ListedPart]:
    for check, written in zip(rubric.checks, value["checks"], strict=True):
        yield from _list_check_parts(check, written)
        yield from _list_check_scoring(check, value["scoring"])
    for key in _SCORING_KEYS:
        held = getattr(rubric, key)
        shown = convert_fraction(held) if key == "threshold" else str(held)
        place = PartPlace(("scoring", key), shown, key in value["scoring"])
        yield ListedPart(ArtifactPart("scoring", key), str(held), place)


def _list_check_parts(check: CheckState, written: Mapping[str, Any]) -> Iterator[ListedPart]:
    at: Pointer = ("checks", check.index)
    meanings: dict[str, str] = {}
    params: list[ListedPart] = []

    def add_param(key: str, meaning: str, value: Any) -> None:
        meanings[key] = meaning
        place = PartPlace((*at, key), value, key in written)
        params.append(ListedPart(ArtifactPart("param", check.id, key), meaning, place))

    known = KINDS[find_plain_kind(check.kind)].params
    for key, value in check.params.items():
        if known[key].is_set and isinstance(value, list):
            meanings[key] = " ".join(sorted({write_canonical(item) for item in value}))
            for index, item in enumerate(value):
                place = PartPlace((*at, key, index), item)
                params.append(ListedPart(ArtifactPart("item", check.id, key, str(item)), "", place))
        else:
            add_param(key, write_canonical(value), value)
    add_param(
        "threshold",
        str(check.threshold),
        None if check.threshold is None else convert_fraction(check.threshold),
    )
    add_param("negate", str(check.negate), check.negate)
    whole = "\n".join([check.kind, *(f"{key} {meanings[key]}" for key in sorted(meanings))])
    yield ListedPart(ArtifactPart("presence", check.id), "")
    yield ListedPart(ArtifactPart("check", check.id), whole, PartPlace(at, dict(written)))
    yield from params


def _list_check_scoring(check: CheckState, scoring: Mapping[str, Any]) -> Iterator[ListedPart]:
    weights, gates = scoring.get("weights", {}), scoring.get("required", [])
    weight = PartPlace(
        ("scoring", "weights", check.id), convert_fraction(check.weight), check.id in weights
    )
    yield ListedPart(ArtifactPart("weight", check.id), str(check.weight), weight)
    pointer: Pointer = (
        "scoring",
        "required",
        *([gates.index(check.id)] if check.is_required else []),
    )
    gate = PartPlace(pointer, check.is_required, check.is_required)
    yield ListedPart(ArtifactPart("required", check.id), str(check.is_required), gate)


_Named = tuple[str, QuestionMeanings]


@dataclass(slots=True)
class QuestionRows:
    """The questions of one dataset's versions.

    For the last version read, it remembers what each line of its rows means.
    """

    store: ArtifactStore
    _defaults: str = ""
    _by_line: dict[bytes, _Named] = field(default_factory=dict)

    def read(self, dataset: Artifact, commit: str | None) -> Iterator[_Named]:
        """Yield a dataset's questions at a commit, with what each means.

        Without a commit (None) they are those on disk. Artifacts of other kinds have none. Raises
        `LoadError` for a malformed row, and what a malformed question raises.
        """
        if dataset.kind is not Kind.DATASET:
            return
        defaults = dataset.value.get("defaults", {})
        if "rows" not in dataset.value:
            for question in iterate_questions(dataset.value):
                yield question.id, read_question_meanings(question, defaults)
            return
        known = self._by_line if self._defaults == write_canonical(defaults) else {}
        found: dict[bytes, _Named] = {}
        for line in read_row_lines(self.store, dataset, commit=commit, tag=None):
            # By digest: the lines themselves may be as large as the file.
            key = hashlib.blake2b(line.data, digest_size=16).digest()
            found[key] = known.get(key) or _read_row(parse_row(line), dataset.value, defaults)
            yield found[key]
        self._defaults, self._by_line = write_canonical(defaults), found


def _read_row(
    row: Mapping[str, Any], dataset: Mapping[str, Any], defaults: Mapping[str, Any]
) -> _Named:
    (question,) = iterate_questions(dataset, [row])
    return question.id, read_question_meanings(question, defaults)
