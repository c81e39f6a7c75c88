"""Takes an artifact apart into parts with a meaning each, by name and not by place: spelling and order do not count."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.diff.kinds import KINDS, find_plain_kind, list_written_params
from evalstore.diff.plain_data import pair_checks
from evalstore.diff.rubric_state import CheckState, RubricState, read_rubric
from evalstore.documents import write_canonical
from evalstore.model import Artifact, Kind, Question, is_cosmetic, iterate_questions, select_scoring_part
from evalstore.store import ArtifactStore
from evalstore.store.rows import parse_row, read_row_lines

SCORING_KEYS = ("combine", "threshold", "missing", "errors")
_AREAS = ("question", "input", "reference", "rubric")
_QUESTION_DEFAULTS = ("rubric_ref", "bundle")


class ArtifactPart(NamedTuple):
    """One part of an artifact.

    `area` is check (all that a check demands), presence (that it is there), param, item, weight or required of the
    check `name`; scoring (of a rubric); key (of a judge, or the defaults of a dataset); question, input, reference or
    rubric (of the question `name`); or artifact: all of it. `item` is one of a list without order.
    """

    area: str
    name: str = ""
    key: str = ""
    item: str = ""


WHOLE, FILE = ArtifactPart("artifact"), ArtifactPart("presence")


@dataclass(frozen=True, slots=True)
class PartTable:
    """What the parts of one version mean: equal texts are equal meanings; `rubric` pairs checks whose ids changed."""

    meanings: Mapping[ArtifactPart, str] = field(default_factory=dict)
    rubric: RubricState | None = None

    @property
    def has_plain_ids(self) -> bool:
        """Whether every check has an id that does not depend on its place."""
        return self.rubric is not None and all(check.has_id for check in self.rubric.checks)


class QuestionMeanings(NamedTuple):
    """What the parts of one question mean: all that its row says, its input, its reference, and its rubric's name."""

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
    """Return the parts of an artifact's mapping; None when it is malformed. `questions` are those of a dataset."""
    whole = ((FILE, ""), (WHOLE, write_canonical(select_scoring_part(kind, dict(value)))))
    if kind is Kind.JUDGE:
        return PartTable(dict([*whole, *_list_judge_parts(value)]))
    if kind is Kind.DATASET:
        return PartTable(dict([*whole, *_list_dataset_parts(value, questions)]))
    rubric = read_rubric(value)
    return PartTable(dict([*whole, *_list_rubric_parts(rubric)]), rubric) if rubric else None


def pair_names(old: PartTable, new: PartTable, renames: Mapping[str, str]) -> dict[str, str]:
    """Return the names of checks and questions in an older version by those in a newer one, where they differ.

    A check is paired by id, or by equal content; a question by `renames`, which are new ids by old ones. A check that
    the older version lacks has the name "" there.
    """
    if old.rubric and new.rubric:
        if old.has_plain_ids and new.has_plain_ids and _list_ids(old.rubric) == _list_ids(new.rubric):
            return {}
        by_token = {check.token: check.id for check in old.rubric.checks}
        pairs = ((check.id, by_token.get(check.token)) for check in pair_checks(old.rubric, new.rubric).checks)
        return {name: before or "" for name, before in pairs if name != before}
    return {
        after: before
        for before, after in renames.items()
        if ArtifactPart("question", after) not in old.meanings and ArtifactPart("question", before) in old.meanings
    }


def find_weight_factor(old: PartTable, new: PartTable) -> Fraction:
    """Return the factor by which all weights grew: weights that were only rescaled mean the same; 1 without one."""
    if not (old.rubric and new.rubric):
        return Fraction(1)
    before = {check.token: check.weight for check in old.rubric.checks}
    paired = [check for check in pair_checks(old.rubric, new.rubric).checks if check.token in before]
    factors = {check.weight / before[check.token] for check in paired if before[check.token]}
    if len(factors) != 1 or any(bool(before[check.token]) != bool(check.weight) for check in paired):
        return Fraction(1)
    return factors.pop()


def list_own_fields(question: Question, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row says of its question, without its id, notes, and what the dataset's defaults say."""
    inherited = {key for key in _QUESTION_DEFAULTS if question.row.get(key) == defaults.get(key)}
    left_out = inherited | {"id"}
    return {key: item for key, item in question.row.items() if key not in left_out and not is_cosmetic(key)}


def _list_ids(rubric: RubricState) -> set[str]:
    return {check.id for check in rubric.checks}


def _list_rubric_parts(rubric: RubricState) -> Iterator[tuple[ArtifactPart, str]]:
    for check in rubric.checks:
        yield from _list_check_parts(check)
        yield ArtifactPart("weight", check.id), str(check.weight)
        yield ArtifactPart("required", check.id), str(check.is_gate)
    for key in SCORING_KEYS:
        yield ArtifactPart("scoring", key), str(getattr(rubric, key))


def _list_check_parts(check: CheckState) -> Iterator[tuple[ArtifactPart, str]]:
    own = {"threshold": str(check.threshold), "negate": str(check.negate)}
    yield ArtifactPart("presence", check.id), ""
    known = KINDS[find_plain_kind(check.kind)].params
    for key, value in list_written_params(check.kind, check.params).items():
        if known[key].is_set and isinstance(value, list):
            own[key] = " ".join(sorted({write_canonical(item) for item in value}))
            for item in value:
                yield ArtifactPart("item", check.id, key, str(item)), ""
        else:
            own[key] = write_canonical(value)
            yield ArtifactPart("param", check.id, key), own[key]
    for key in ("threshold", "negate"):
        yield ArtifactPart("param", check.id, key), own[key]
    yield ArtifactPart("check", check.id), "\n".join([check.kind, *(f"{key} {own[key]}" for key in sorted(own))])


def _list_judge_parts(value: Mapping[str, Any]) -> Iterator[tuple[ArtifactPart, str]]:
    for key, item in select_scoring_part(Kind.JUDGE, dict(value)).items():
        if isinstance(item, dict):
            yield from ((ArtifactPart("key", key, inner), write_canonical(held)) for inner, held in item.items())
        else:
            yield ArtifactPart("key", key), write_canonical(item)


def _list_dataset_parts(
    value: Mapping[str, Any], questions: Iterable[tuple[str, QuestionMeanings]]
) -> Iterator[tuple[ArtifactPart, str]]:
    defaults = value.get("defaults", {})
    yield from ((ArtifactPart("key", "defaults", key), write_canonical(item)) for key, item in defaults.items())
    for id_, meanings in questions:
        yield from ((ArtifactPart(area, id_), meaning) for area, meaning in zip(_AREAS, meanings, strict=True))


_Named = tuple[str, QuestionMeanings]


@dataclass(slots=True)
class QuestionRows:
    """The questions of one dataset's versions; of the last version read, what each line of its rows means."""

    store: ArtifactStore
    _defaults: str = ""
    _by_line: dict[bytes, _Named] = field(default_factory=dict)

    def read(self, dataset: Artifact, commit: str | None) -> Iterator[_Named]:
        """Yield the questions of a dataset at a commit (None: on disk), each with what it means; none of other kinds.

        Raises `LoadError` for a row that is none, and what a malformed question raises.
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


def _read_row(row: Mapping[str, Any], dataset: Mapping[str, Any], defaults: Mapping[str, Any]) -> _Named:
    (question,) = iterate_questions(dataset, [row])
    return question.id, read_question_meanings(question, defaults)
