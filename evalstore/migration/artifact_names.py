"""Names the artifacts of a migration: slugs, unique labels, ids shared by equal content, and paths of runs."""

from __future__ import annotations

import re
import unicodedata
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from evalstore.documents import Pointer, compute_digest, format_json_pointer
from evalstore.errors import RefusedError
from evalstore.migration.extraction import ArtifactDraft
from evalstore.migration.table import FormatTable
from evalstore.model import is_id, select_scoring_part
from evalstore.runs.stored_names import RUNS_FOLDER, STORED_PATH, encode_name, encode_whole_name, strip_run_ending

# Leaves room for a digest or a number within the 64 characters of an id.
SLUG_LIMIT = 48
REF_KEYS = frozenset({"rubric_ref", "judge_prompt_ref"})


def make_slug(text: str) -> str:
    """Return the lower-case ASCII letters and digits of a text, joined by `_`; empty when it has none."""
    # NFKD splits letters from their accents, which ASCII then drops: `Über` becomes `uber`.
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:SLUG_LIMIT].strip("_")


def make_dataset_id(file: str, root: Any, table: FormatTable) -> str:
    """Return the id of a suite's dataset: by its folder where the table says so, else by its name, else by its file."""
    path = PurePosixPath(file)
    name = root.get(table.name) if table.name else None
    # A folder that repeats the file's own name says no more than the file.
    by_folder = path.parent.name if path.name == table.named_by_folder and path.parent.name != path.stem else ""
    candidates = [by_folder, name if isinstance(name, str) else "", path.stem]
    return make_id(next(filter(None, map(make_slug, candidates)), "suite"))


def number_names(name: str) -> Iterator[str]:
    """Yield `name`, then `name_2` and so on."""
    yield name
    yield from (f"{name}_{number}" for number in count(2))


@dataclass(slots=True)
class UniqueLabels:
    """Unique labels for the cases of one source; a repeated label gets the next free number (`name_2`).

    `used` starts with the ids of all cases, so that no numbered label takes the id of a later case. Numbers that were
    tried are not tried again, which keeps very common labels linear.
    """

    used: set[str] = field(default_factory=set)
    _first: dict[str, Pointer] = field(default_factory=dict)
    _numbers: dict[str, Iterator[str]] = field(default_factory=dict)

    def claim(self, name: str) -> str:
        """Return a label if it is free, else the label with the first free number; mark it as used."""
        numbers = self._numbers.setdefault(name, number_names(name))
        label = next(candidate for candidate in numbers if candidate not in self.used)
        self.used.add(label)
        return label

    def claim_for_case(self, id_: str, pointer: Pointer) -> tuple[str, tuple[str, ...]]:
        """Return the label of the case at `pointer`, and a note if an earlier case has the same id."""
        self.used.add(id_)
        if self._first.setdefault(id_, pointer) == pointer:
            return id_, ()
        label = self.claim(id_)
        return label, (f"{id_} is also the case at {format_json_pointer(self._first[id_])}; here it is {label}",)


def make_id(name: str) -> str:
    """Return a name as a valid id: unchanged where it is one, else with the prefix `n_`."""
    return name if is_id(name) else f"n_{name}"


class _ArtifactRecord(NamedTuple):
    """The digest of an artifact's content (empty where it is never shared), and the source file that brought it."""

    content: str
    file: str


@dataclass(frozen=True, slots=True)
class ArtifactNames:
    """The artifacts that one migration has made so far: records by `<kind>/<id>`."""

    records: ChainMap[str, _ArtifactRecord] = field(default_factory=ChainMap)

    def start_trial(self) -> ArtifactNames:
        """Return names whose additions stay apart until `merge_trial`, for a source that may still be refused."""
        # Lookups see the parent, additions go to the child: dropping the trial undoes them.
        return ArtifactNames(self.records.new_child())

    def claim_run_path(self, file: str, sha256: str) -> str:
        """Return the path below `runs/` that stores a source unchanged.

        Names that differ only in capitals are escaped, for file systems that ignore case. Raises `RefusedError` where
        another source of the same name is stored already.
        """
        path = file if STORED_PATH.fullmatch(file) else self._spell_run_path(file)
        if self.records.setdefault(f"/{path}", _ArtifactRecord(sha256, file)).content != sha256:
            raise RefusedError(f"another source is called {file}, too; migrate the folder that both lie in")
        return path

    def _spell_run_path(self, file: str) -> str:
        path = RUNS_FOLDER
        for part in PurePosixPath(file).parts:
            stem = strip_run_ending(part)
            # The record's `file` holds the first spelling of this path; another spelling is escaped.
            first = self.records.setdefault(f"{path}/{stem.casefold()}", _ArtifactRecord("", stem)).file
            path += f"/{encode_name(part) if first == stem else encode_whole_name(part)}"
        return path

    def merge_trial(self, trial: ArtifactNames) -> None:
        """Add the records of a source that succeeded."""
        self.records.update(trial.records.maps[0])


@dataclass(slots=True)
class ArtifactBatch:
    """The artifacts of one source under their final ids; `new_drafts` are those that no earlier source made."""

    file: str
    names: ArtifactNames
    notes: list[str] = field(default_factory=list)
    new_drafts: list[ArtifactDraft] = field(default_factory=list)
    new_refs: dict[str, str] = field(default_factory=dict)

    def add(self, draft: ArtifactDraft, *, unshared: bool = False) -> ArtifactDraft:
        """Return a draft under its final id; an `unshared` one gets a new id. Add its references first."""
        renamed = replace(draft, value=_rename_refs(draft.value, self.new_refs))
        identity = [draft.version, select_scoring_part(draft.kind, renamed.value), renamed.value.get("x_unmapped")]
        # Equal scoring content shares one artifact across sources; titles and other cosmetic keys do not count.
        content = "" if unshared else compute_digest(identity)
        final = replace(renamed, id=self._choose_id(draft, content))
        if final.id != draft.id:
            file = self.names.records[_make_key(draft)].file
            self.notes.append(f"{draft.id} is the {draft.kind} of {file}, this one is {final.id}")
        self.new_refs[draft.ref] = final.ref
        if _make_key(final) not in self.names.records:
            self.names.records[_make_key(final)] = _ArtifactRecord(content, self.file)
            self.new_drafts.append(final)
        return final

    def _choose_id(self, draft: ArtifactDraft, content: str) -> str:
        for id_ in number_names(draft.id):
            record = self.names.records.get(_make_key(replace(draft, id=id_)))
            if record is None or (content and record.content == content):
                return id_
        raise AssertionError  # the numbers do not end


def _make_key(draft: ArtifactDraft) -> str:
    return f"{draft.kind}/{draft.id}"


def _rename_refs(value: Any, new_refs: Mapping[str, str]) -> Any:
    """Return a value whose references point to the final ids."""
    if isinstance(value, list):
        return [_rename_refs(item, new_refs) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: new_refs.get(item, item) if key in REF_KEYS and isinstance(item, str) else _rename_refs(item, new_refs)
        for key, item in value.items()
    }
