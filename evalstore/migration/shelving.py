"""Gives the artifacts of a migration their ids: equal content is made once, other content gets a number."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from evalstore.documents import digest
from evalstore.errors import RefusedError
from evalstore.migration.names import number_names
from evalstore.migration.taken import ArtifactDraft
from evalstore.model import scoring_part
from evalstore.runs.kept import FOLDER, KEPT, apart_name, kept_name, stem_of

REFS = frozenset({"rubric_ref", "judge_prompt_ref"})


class _Made(NamedTuple):
    """An artifact of this migration: its content by digest, empty where nobody else may share it, and its source."""

    content: str
    file: str


@dataclass(frozen=True, slots=True)
class ArtifactNames:
    """The artifacts that one migration has made so far, by `<kind>/<id>`."""

    made: ChainMap[str, _Made] = field(default_factory=ChainMap)

    def trial(self) -> ArtifactNames:
        """Return these names with a page of their own, for a source that may fail yet."""
        return ArtifactNames(self.made.new_child())

    def run(self, file: str, sha256: str) -> str:
        """Return where a source is kept as it is; a name that another has but for its capitals is spelled out.

        Raises `RefusedError` where another source of the same name is kept already.
        """
        path = file if KEPT.fullmatch(file) else self._spelled(file)
        if self.made.setdefault(f"/{path}", _Made(sha256, file)).content != sha256:
            raise RefusedError(f"another source is called {file}, too; migrate the folder that both lie in")
        return path

    def _spelled(self, file: str) -> str:
        path = FOLDER
        for part in PurePosixPath(file).parts:
            stem = stem_of(part)
            first = self.made.setdefault(f"{path}/{stem.casefold()}", _Made("", stem)).file
            path += f"/{kept_name(part) if first == stem else apart_name(part)}"
        return path

    def keep(self, trial: ArtifactNames) -> None:
        """Take over what a source made."""
        self.made.update(trial.made.maps[0])


@dataclass(slots=True)
class ArtifactBatch:
    """The artifacts of one source under their final ids; `fresh` are those that no earlier source has brought."""

    file: str
    names: ArtifactNames
    notes: list[str] = field(default_factory=list)
    fresh: list[ArtifactDraft] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)

    def add(self, draft: ArtifactDraft, *, own: bool = False) -> ArtifactDraft:
        """Return a draft under its final id; an `own` one is never shared. What it refers to is added before it."""
        meant = replace(draft, value=_renamed(draft.value, self.renamed))
        said = [draft.version, scoring_part(draft.kind, meant.value), meant.value.get("x_unmapped")]
        content = "" if own else digest(said)
        final = replace(meant, id=self._id(draft, content))
        if final.id != draft.id:
            file = self.names.made[_name(draft)].file
            self.notes.append(f"{draft.id} is the {draft.kind} of {file}, this one is {final.id}")
        self.renamed[draft.ref] = final.ref
        if _name(final) not in self.names.made:
            self.names.made[_name(final)] = _Made(content, self.file)
            self.fresh.append(final)
        return final

    def _id(self, draft: ArtifactDraft, content: str) -> str:
        for id_ in number_names(draft.id):
            there = self.names.made.get(_name(replace(draft, id=id_)))
            if there is None or (content and there.content == content):
                return id_
        raise AssertionError  # the numbers do not end


def _name(draft: ArtifactDraft) -> str:
    return f"{draft.kind}/{draft.id}"


def _renamed(value: Any, renamed: Mapping[str, str]) -> Any:
    """Return a value whose references follow the artifacts that were renamed."""
    if isinstance(value, list):
        return [_renamed(item, renamed) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: renamed.get(item, item) if key in REFS and isinstance(item, str) else _renamed(item, renamed)
        for key, item in value.items()
    }
