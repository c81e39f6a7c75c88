"""Starts files: a small, valid, commented rubric, judge or dataset, from the schemas' examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from evalstore.catalogue.schema_topics import load_topics, read_schema
from evalstore.checks import find_inner_ref
from evalstore.checks.kinds import suggest_kind
from evalstore.documents import write_yaml
from evalstore.errors import EvalstoreError, GitError, RefusedError, UsageError
from evalstore.files import sweep_below, write_below
from evalstore.model import Artifact, Kind, is_id
from evalstore.model.check_schemas import list_check_kinds
from evalstore.model.refs import ID_FORM
from evalstore.places import has_store_mark
from evalstore.store import ArtifactStore
from evalstore.text import make_excerpt

_VERSION = "1.0.0"
_DEFAULT_KIND = "must_contain_any"
SCORE_TYPES = ("continuous", "binary", "levels")
# The key of a check that needs another artifact -> the kind of that artifact.
_NEEDS = {"judge_prompt_ref": Kind.JUDGE, "rubric_ref": Kind.RUBRIC}


@dataclass(frozen=True, slots=True)
class StartedFile:
    """A newly started file: its artifact (`<kind>/<id>`), its path, and what it refers to."""

    ref: str
    file: str
    refers_to: tuple[str, ...]


def start_file(
    store: ArtifactStore,
    kind: Kind,
    id: str,  # noqa: A002
    kinds: Sequence[str] = (),
) -> StartedFile:
    """Write the file of a new artifact.

    `kinds` are the checks of a rubric, or the score type of a judge.

    What it refers to is taken from the store. Raises `UsageError` for an invalid name, and
    `RefusedError` if the file already exists, or the store has nothing that it could refer to.
    """
    root = _require_store(store)
    if not is_id(id):
        raise UsageError(f"{make_excerpt(id)} is not a valid id", hint=ID_FORM)
    path = f"{kind.folder}/{id}.yaml"
    if _is_written(root / path):
        raise RefusedError(
            f"{path} already exists", hint=f"see it: evalstore show {kind}/{id}@worktree"
        )
    artifacts = _WorkingArtifacts(store)
    writers = {Kind.RUBRIC: _write_rubric, Kind.JUDGE: _write_judge, Kind.DATASET: _write_dataset}
    text = "".join(writers[kind](id, kinds, artifacts))
    sweep_below(root, path)
    write_below(root, path, text.encode())
    return StartedFile(f"{kind}/{id}", path, tuple(artifacts.used))


def _is_written(file: Path) -> bool:
    """Whether the place of a new file is taken.

    It is not by an empty file: a shell may have made it.
    """
    return file.is_symlink() or (
        file.exists() and not (file.is_file() and file.stat().st_size == 0)
    )


def _require_store(store: ArtifactStore) -> Path:
    if store.root is None:
        raise RefusedError("a bare repository has no working files", hint="run it in a clone")
    if not has_store_mark(store.root) and not store.working():
        raise GitError(f"there is no store in {store.root}", hint="create one: evalstore init")
    return store.root


class _WorkingArtifacts:
    """The artifacts on disk that a new file can refer to, and those that it does."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store
        self.used: dict[str, None] = {}

    def choose(self, kind: Kind, purpose: str) -> tuple[str, Artifact]:
        """Return an exact reference to the artifact that fits best, and the artifact."""
        found = [*self._read(kind)]
        if kind is Kind.RUBRIC:
            found = [artifact for artifact in found if not _is_composite(artifact)]
        if not found:
            raise RefusedError(
                f"{purpose} needs a {kind}, but this store has none",
                hint=f"create one: evalstore new {kind} ID",
            )
        # A judge with its own variables needs words for each of them.
        artifact = min(found, key=lambda one: len(one.value.get("variables", ())))
        ref = f"{kind}/{artifact.id}@{artifact.version}"
        self.used[ref] = None
        return ref, artifact

    def has(self, kind: Kind) -> bool:
        """Whether there is an artifact of that kind."""
        return any(True for _ in self._read(kind))

    def _read(self, kind: Kind) -> Iterator[Artifact]:
        for ref in self._store.working():
            if ref.kind is kind:
                try:
                    yield self._store.read_artifact(ref)
                except EvalstoreError:  # validate says what is wrong with it
                    continue


def _is_composite(rubric: Artifact) -> bool:
    return any(map(find_inner_ref, rubric.value.get("checks", ())))


def _write_rubric(id_: str, kinds: Sequence[str], artifacts: _WorkingArtifacts) -> Iterator[str]:
    yield from _write_head(Kind.RUBRIC, id_)
    yield _comment(
        "What is asked of an output. evalstore explain KIND says what a kind of check can do."
    )
    yield "checks:\n"
    for kind in dict.fromkeys(kinds or (_DEFAULT_KIND,)):
        yield _comment(_describe_kind(kind), "  ")
        check = _fill_references(dict(read_schema(f"checks/{kind}")["examples"][0]), artifacts)
        yield write_yaml([check])
    yield _comment(read_schema("base/rubric")["$defs"]["scoring"]["description"])
    yield _comment(
        read_schema("base/rubric")["$defs"]["scoring"]["properties"]["combine"]["description"]
    )
    yield write_yaml({"scoring": {"combine": "all_pass"}})


def _describe_kind(kind: str) -> str:
    if kind not in list_check_kinds():
        hint = suggest_kind(kind) or f"kinds are {', '.join(list_check_kinds())}"
        raise UsageError(f"unknown kind of check {make_excerpt(kind)}", hint=hint)
    return load_topics()[kind].description


def _fill_references(check: dict[str, Any], artifacts: _WorkingArtifacts) -> dict[str, Any]:
    for key, kind in _NEEDS.items():
        if key in check:
            check[key], artifact = artifacts.choose(kind, f"a check {check['kind']}")
            if names := artifact.value.get("variables"):
                check["variables"] = dict.fromkeys(names, "…")
    return check


def _write_judge(id_: str, kinds: Sequence[str], _: _WorkingArtifacts) -> Iterator[str]:
    wanted = kinds[0] if kinds else SCORE_TYPES[0]
    if len(kinds) > 1 or wanted not in SCORE_TYPES:
        raise UsageError(
            f"a judge has only one kind: {', '.join(SCORE_TYPES)}",
            hint="evalstore explain judge.score_type",
        )
    example = next(
        one for one in read_schema("judge")["examples"] if one.get("score_type") == wanted
    )
    yield from _write_head(Kind.JUDGE, id_)
    yield from _write_keys(
        "judge", {key: value for key, value in example.items() if key not in {"id", "version"}}
    )


def _write_dataset(id_: str, kinds: Sequence[str], artifacts: _WorkingArtifacts) -> Iterator[str]:
    if kinds:
        raise UsageError("a dataset has no kinds", hint="remove --kind")
    ref = artifacts.choose(Kind.RUBRIC, "a dataset")[0] if artifacts.has(Kind.RUBRIC) else None
    example = read_schema("dataset")["examples"][0]
    yield from _write_head(Kind.DATASET, id_)
    if ref:
        yield from _write_keys("dataset", {"defaults": {"rubric_ref": ref}})
    else:
        yield _comment("No rubric yet: evalstore new rubric ID, and name it here.")
        yield "# defaults:\n#   rubric_ref: rubric/ID@1.0.0\n"
    yield from _write_keys("dataset", {"questions": example["questions"]})


def _write_head(kind: Kind, id_: str) -> Iterator[str]:
    yield f"# yaml-language-server: $schema=../.evalstore/schema/{kind}.schema.json\n"
    yield _comment(f"{read_schema(str(kind))['description']} Its keys: evalstore explain {kind}")
    yield write_yaml({"id": id_, "version": _VERSION})


def _write_keys(root: str, values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        yield _comment(load_topics()[f"{root}.{key}"].description)
        yield write_yaml({key: value})


def _comment(sentence: str, margin: str = "") -> str:
    lines = wrap(sentence, 100 - len(margin) - 2, break_long_words=False, break_on_hyphens=False)
    return "".join(f"{margin}# {line}\n" for line in lines)
