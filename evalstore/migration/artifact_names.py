"""Spells the names in a migration: slugs, unique labels, used ids, and paths of runs."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from evalstore.documents import Pointer, format_json_pointer
from evalstore.errors import RefusedError
from evalstore.model import is_id
from evalstore.runs.run_names import (
    RUNS_FOLDER,
    STORED_PATH,
    encode_name,
    encode_whole_name,
    strip_run_ending,
)

_HEX = 6
_CHECK_ID = 56  # characters: within an id, this leaves room for a number
_NAME_WORDS = 5
_BY_CHECK = frozenset({"required", "weights"})  # keys in a rubric's scoring that name its checks
REF_KEYS = frozenset({"rubric_ref", "judge_prompt_ref"})


def make_slug(text: str) -> str:
    """Return the lower-case ASCII letters and digits of a text, joined by `_`.

    It is empty if the text has none.
    """
    # Leaves room for a digest or a number within an id.
    return _make_long_slug(text)[:48].strip("_")


def _make_long_slug(text: str) -> str:
    # NFKD splits letters from their accents, which ASCII then drops: `Über` becomes `uber`.
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")


def shorten_slug(text: str, limit: int) -> str:
    """Return the slug of a text; one longer than `limit` ends in six hex digits of the text."""
    slug = _make_long_slug(text)
    if len(slug) <= limit:
        return slug
    # The digits come from the text alone: no neighbour can change a name.
    head = slug[: limit - _HEX - 1]
    words = head.rpartition("_")[0] if slug[len(head)] != "_" else head
    return f"{(words if len(words) * 2 > len(head) else head).strip('_')}_{make_tag(text)}"


def make_tag(text: str) -> str:
    """Return six hex digits that distinguish texts."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HEX]


def number_names(name: str) -> Iterator[str]:
    """Yield `name`, then `name_2` and so on."""
    yield name
    yield from (f"{name}_{number}" for number in count(2))


@dataclass(slots=True)
class UniqueLabels:
    """Unique labels for the cases of one source.

    A repeated label gets the next free number (`name_2`). `used` starts with the ids of all cases,
    so that no numbered label takes the id of a later case. Numbers already tried are not tried
    again, which keeps very common labels linear.
    """

    used: set[str] = field(default_factory=set)
    _first: dict[str, Pointer] = field(default_factory=dict)
    _numbers: dict[str, Iterator[str]] = field(default_factory=dict)

    def claim(self, name: str) -> str:
        """Return a label if it is free, else the label with the first free number.

        It is then marked as used.
        """
        numbers = self._numbers.setdefault(name, number_names(name))
        label = next(candidate for candidate in numbers if candidate not in self.used)
        self.used.add(label)
        return label

    def claim_for_case(self, id_: str, pointer: Pointer) -> tuple[str, tuple[str, ...]]:
        """Return the label of the case at `pointer`.

        A note comes with it if an earlier case has the same id.
        """
        self.used.add(id_)
        if self._first.setdefault(id_, pointer) == pointer:
            return id_, ()
        label = self.claim(id_)
        return label, (
            (
                f"{id_} is also the case at {format_json_pointer(self._first[id_])}; here it is "
                f"{label}"
            ),
        )


def make_id(name: str) -> str:
    """Return a name as a valid id: unchanged if it is one, else with the prefix `n_`."""
    return name if is_id(name) else f"n_{name}"


def make_check_id(names: Iterable[Any]) -> str:
    """Return an id from the first of several names that yields one.

    Such a name is an id, or has letters or digits to make one from.
    """
    words = [name for name in names if isinstance(name, str)]
    word = next(filter(make_slug, words))
    return word if is_id(word) and len(word) <= _CHECK_ID else make_id(make_slug(word))


def make_check_ids(names: Iterable[Sequence[Any]]) -> list[str]:
    """Return the ids of checks, each from the first usable of its names.

    A name that is an id keeps its check.
    """
    candidates = list(names)
    wanted = [make_check_id(words) for words in candidates]
    labels, ids = UniqueLabels(), dict[int, str]()
    # Exact names first: names that only become equal when spelled as ids get the number.
    for place in sorted(
        range(len(wanted)), key=lambda place: wanted[place] != candidates[place][0]
    ):
        ids[place] = labels.claim(wanted[place])
    return [ids[place] for place in range(len(wanted))]


def take_first_words(text: str) -> str:
    """Return the first five words of a text, as a name for its check."""
    return " ".join(text.split(maxsplit=_NAME_WORDS)[:_NAME_WORDS])


def rename_checks(rubric: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a rubric whose checks have new ids.

    `names` has them by the old ones. Its weights and gates follow.
    """
    renamed, checks, scoring = dict(rubric), rubric.get("checks"), rubric.get("scoring")
    if isinstance(checks, list):
        renamed["checks"] = [_rename_check(check, names) for check in checks]
    if isinstance(scoring, dict):
        by_check = {key: item for key, item in scoring.items() if key in _BY_CHECK}
        renames = {key: _rename_ids(item, names) for key, item in by_check.items()}
        renamed["scoring"] = {**scoring, **renames}
    return renamed


def _rename_ids(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [names.get(id_, id_) if isinstance(id_, str) else id_ for id_ in value]
    return (
        {names.get(id_, id_): item for id_, item in value.items()}
        if isinstance(value, dict)
        else value
    )


def _rename_check(check: Any, names: Mapping[str, str]) -> Any:
    id_ = check.get("id") if isinstance(check, dict) else None
    return {**check, "id": names[id_]} if isinstance(id_, str) and id_ in names else check


class _NameRecord(NamedTuple):
    """The digest of what has a name, and the source file that brought it.

    The digest is empty for an artifact.
    """

    content: str
    file: str


@dataclass(frozen=True, slots=True)
class ArtifactNames:
    """The names that one migration has used.

    They are ids by `<kind>/<id>`, and paths of runs with a leading slash.
    """

    records: ChainMap[str, _NameRecord] = field(default_factory=ChainMap)

    def start_trial(self) -> ArtifactNames:
        """Return names whose additions are kept apart until `merge_trial`.

        They are for a source that may still be refused.
        """
        # Lookups see the parent, additions go to the child: dropping the trial undoes them.
        return ArtifactNames(self.records.new_child())

    def merge_trial(self, trial: ArtifactNames) -> None:
        """Add the records of a source that succeeded."""
        self.records.update(trial.records.maps[0])

    def claim_id(self, name: str, file: str) -> bool:
        """Mark the artifact `<kind>/<id>` as used by a source; False if it is already used."""
        return self.records.setdefault(name, _NameRecord("", file)).file == file

    def is_used(self, name: str) -> bool:
        """Whether an artifact `<kind>/<id>` has been planned."""
        return name in self.records

    def claim_run_path(self, file: str, sha256: str) -> str:
        """Return the path below `runs/` that stores a source unchanged.

        Names that differ only in case are escaped, for file systems that ignore case. Raises
        `RefusedError` if another source of the same name is already stored.
        """
        path = file if STORED_PATH.fullmatch(file) else self._spell_run_path(file)
        if self.records.setdefault(f"/{path}", _NameRecord(sha256, file)).content != sha256:
            raise RefusedError(
                f"another source is called {file}, too; migrate the folder that both lie in"
            )
        return path

    def _spell_run_path(self, file: str) -> str:
        path = RUNS_FOLDER
        for part in PurePosixPath(file).parts:
            stem = strip_run_ending(part)
            # The record's `file` holds the first spelling of this path; another spelling is
            # escaped.
            first = self.records.setdefault(f"{path}/{stem.casefold()}", _NameRecord("", stem)).file
            path += f"/{encode_name(part) if first == stem else encode_whole_name(part)}"
        return path


def replace_refs(value: Any, change: Callable[[str], Any]) -> Any:
    """Return a value with each of its references to rubrics and judges changed."""
    if isinstance(value, list):
        return [replace_refs(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    changed = dict(value)
    for key, item in value.items():
        is_ref = key in REF_KEYS and isinstance(item, str)
        changed[key] = change(item) if is_ref else replace_refs(item, change)
    return changed


def rename_refs(value: Any, new_refs: Mapping[str, str]) -> Any:
    """Return a value whose references point to the final ids."""
    return replace_refs(value, lambda ref: new_refs.get(ref, ref))
