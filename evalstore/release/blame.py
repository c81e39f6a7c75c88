"""Blame: lists each part of an artifact with its place in the file, its value there, and who gave it its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from evalstore.diff.kinds import KINDS, find_plain_kind, list_written_params
from evalstore.diff.rubric_state import CheckState, RubricState, read_rubric
from evalstore.documents import Pointer, convert_fraction
from evalstore.errors import LoadError
from evalstore.model import Artifact, Kind, Question, select_scoring_part
from evalstore.release.artifact_parts import FILE, SCORING_KEYS, ArtifactPart, list_own_fields
from evalstore.release.origins import OriginFinder, PartOrigin, iterate_resolved_questions
from evalstore.store import ArtifactStore, Resolved


class PartPlace(NamedTuple):
    """Where a part stands, and its value there; `is_written` is false where it is a default that stands nowhere."""

    pointer: Pointer
    value: Any
    is_written: bool = True


def list_places(artifact: Artifact, questions: Iterable[Question]) -> Iterator[tuple[ArtifactPart, PartPlace]]:
    """Yield the parts of an artifact check by check, key by key or question by question; none of a malformed one."""
    if artifact.kind is Kind.JUDGE:
        yield from _list_judge_places(artifact.value)
    elif artifact.kind is Kind.DATASET:
        yield from _list_dataset_places(artifact.value, questions)
    elif rubric := read_rubric(artifact.value):
        yield from _list_rubric_places(rubric, artifact.value)


def _list_rubric_places(rubric: RubricState, value: Mapping[str, Any]) -> Iterator[tuple[ArtifactPart, PartPlace]]:
    scoring = value["scoring"]
    for check, written in zip(rubric.checks, value["checks"], strict=True):
        yield from _list_check_places(check, written)
        yield from _list_check_scoring(check, scoring)
    for key in SCORING_KEYS:
        shown = convert_fraction(rubric.threshold) if key == "threshold" else str(getattr(rubric, key))
        yield ArtifactPart("scoring", key), PartPlace(("scoring", key), shown, key in scoring)


def _list_check_places(check: CheckState, written: Mapping[str, Any]) -> Iterator[tuple[ArtifactPart, PartPlace]]:
    at: Pointer = ("checks", check.index)
    yield ArtifactPart("check", check.id), PartPlace(at, dict(written))
    known = KINDS[find_plain_kind(check.kind)].params
    for key, value in list_written_params(check.kind, check.params).items():
        if known[key].is_set and isinstance(value, list):
            for index, item in enumerate(value):
                yield ArtifactPart("item", check.id, key, str(item)), PartPlace((*at, key, index), item)
        else:
            yield ArtifactPart("param", check.id, key), PartPlace((*at, key), value, key in written)
    threshold = None if check.threshold is None else convert_fraction(check.threshold)
    for key, value in (("threshold", threshold), ("negate", check.negate)):
        yield ArtifactPart("param", check.id, key), PartPlace((*at, key), value, key in written)


def _list_check_scoring(check: CheckState, scoring: Mapping[str, Any]) -> Iterator[tuple[ArtifactPart, PartPlace]]:
    weights, gates = scoring.get("weights", {}), scoring.get("required", [])
    weight = PartPlace(("scoring", "weights", check.id), convert_fraction(check.weight), check.id in weights)
    yield ArtifactPart("weight", check.id), weight
    place: Pointer = ("scoring", "required", *([gates.index(check.id)] if check.is_gate else []))
    yield ArtifactPart("required", check.id), PartPlace(place, check.is_gate, check.is_gate)


def _list_judge_places(value: Mapping[str, Any]) -> Iterator[tuple[ArtifactPart, PartPlace]]:
    for key, item in select_scoring_part(Kind.JUDGE, dict(value)).items():
        if isinstance(item, dict):
            yield from (
                (ArtifactPart("key", key, inner), PartPlace((key, inner), held)) for inner, held in item.items()
            )
        else:
            yield ArtifactPart("key", key), PartPlace((key,), item)


def _list_dataset_places(
    value: Mapping[str, Any], questions: Iterable[Question]
) -> Iterator[tuple[ArtifactPart, PartPlace]]:
    defaults = value.get("defaults", {})
    for key, item in defaults.items():
        yield ArtifactPart("key", "defaults", key), PartPlace(("defaults", key), item)
    folder = "rows" if "rows" in value else "questions"
    for index, question in enumerate(questions):
        yield ArtifactPart("question", question.id), PartPlace((folder, index), list_own_fields(question, defaults))


@dataclass(frozen=True, slots=True)
class BlamedPart:
    """One part as the artifact has it, and the origin of its value."""

    part: ArtifactPart
    place: PartPlace
    origin: PartOrigin


@dataclass(frozen=True, slots=True)
class Blame:
    """The parts of one version of an artifact, check by check, each with its origin."""

    resolved: Resolved
    parts: tuple[BlamedPart, ...]


def blame(store: ArtifactStore, ref: str) -> Blame:
    """Return who last changed the meaning of each part of what `ref` means; comments, layout and order are none.

    A default that stands nowhere in the file is listed only where it took its value later than what it belongs to.
    Raises `LoadError` for an artifact that is malformed.
    """
    resolved = store.resolve(ref)
    places = dict(list_places(resolved.artifact, iterate_resolved_questions(store, resolved)))
    if not places:
        raise LoadError(f"{resolved.ref} cannot be read part by part", hint="see what is wrong: evalstore validate")
    owners = {part: _find_owner(part) for part in places if resolved.kind is Kind.RUBRIC}
    origins = OriginFinder(store).find_origins(None, resolved, {*places, *owners.values()})
    return Blame(
        resolved,
        tuple(
            BlamedPart(part, place, origins[part])
            for part, place in places.items()
            if place.is_written or _is_later(part, owners, origins)
        ),
    )


def _find_owner(part: ArtifactPart) -> ArtifactPart:
    return FILE if part.area == "scoring" else ArtifactPart("presence", part.name)


def _is_later(
    part: ArtifactPart, owners: Mapping[ArtifactPart, ArtifactPart], origins: Mapping[ArtifactPart, PartOrigin]
) -> bool:
    """Whether a part took its value in another commit than the one that brought its check, or the rubric."""
    return origins[part] != origins[owners[part]]
