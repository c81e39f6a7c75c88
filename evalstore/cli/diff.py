"""`evalstore diff`: which changes can move a score, and which bump they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from evalstore.cli.context import Settings, examples, options
from evalstore.errors import EvalstoreError, ExitCode, LoadError, UsageError
from evalstore.model import Artifact, Kind, PinType, parse_ref

if TYPE_CHECKING:
    from evalstore.diff import Diff
    from evalstore.store import Store

_FILES = (".yaml", ".yml")
_LIMIT = 1 << 20
_SHAPES = {"checks": Kind.RUBRIC, "template": Kind.JUDGE, "questions": Kind.DATASET, "rows": Kind.DATASET}


@dataclass(frozen=True, slots=True)
class _Side:
    name: str
    artifact: Artifact
    rows: Iterable[Mapping[str, Any]] | None = None


@click.command(
    epilog=examples(
        "evalstore diff rubric/answer_style",
        "evalstore diff rubric/answer_style@1.0.0 rubric/answer_style@2.0.0",
        "evalstore diff judge/accuracy@1.0.0 judge/accuracy@git:main --format json",
        "evalstore diff old.yaml new.yaml --exit-code",
    )
)
@click.argument("a")
@click.argument("b", required=False)
@click.option("--exit-code", is_flag=True, help="Exit 1 when a bump is needed, like git diff.")
@options()
def command(settings: Settings, a: str, b: str | None, exit_code: bool) -> ExitCode:  # noqa: FBT001  # click's flag
    """Say what changed from A to B, which way scores can move, and which bump that needs.

    A and B are references, or files. Without B, A is compared with the working tree; A without a pin is then its last
    release.
    """
    b = _other(a) if b is None else b
    with ExitStack() as stack:
        store = _store(settings, stack, needed=not (_is_file(a) and _is_file(b)))
        diff = _diff(_side(a, settings, store), _side(b, settings, store), store)
    settings.emit(diff)
    return ExitCode.NO if exit_code and diff.required_bump else ExitCode.DONE


def _diff(old: _Side, new: _Side, store: Store | None) -> Diff:
    from evalstore.diff import compare

    if old.artifact.kind is not new.artifact.kind:
        raise UsageError(f"{old.name} is a {old.artifact.kind} and {new.name} a {new.artifact.kind}")
    rows = None if old.rows is None or new.rows is None else (old.rows, new.rows)
    diff = compare(old.artifact, new.artifact, load=store.load if store else None, rows=rows)
    return replace(diff, old=replace(diff.old, ref=old.name), new=replace(diff.new, ref=new.name))


def _store(settings: Settings, stack: ExitStack, *, needed: bool) -> Store | None:
    try:
        return stack.enter_context(settings.store())
    except EvalstoreError:
        if needed:
            raise
        return None  # two files are compared anywhere; their references are then not at hand


def _other(a: str) -> str:
    if _is_file(a):
        raise UsageError(f"{a} is compared with what?", hint="name a second file, or a reference")
    return f"{parse_ref(a).name}@worktree"


def _side(word: str, settings: Settings, store: Store | None) -> _Side:
    if _is_file(word) or store is None:
        return _file(word, settings)
    ref = parse_ref(word)
    resolved = (store if ref.pin else store.without_lock()).resolve(ref)  # no pin means the last release, held or not
    pin = ref.pin if ref.type in {PinType.WORKTREE, PinType.REVISION} else resolved.version
    return _Side(f"{ref.name}@{pin}", resolved.artifact, store.rows(resolved))


def _file(word: str, settings: Settings) -> _Side:
    from evalstore.documents import read_yaml
    from evalstore.files import read_named

    document = read_yaml(read_named(settings.path / word, _LIMIT), word)
    value = document.value if isinstance(document.value, dict) else {}
    kind = next((kind for key, kind in _SHAPES.items() if key in value), None)
    if kind is None:
        raise LoadError("this is no rubric, judge or dataset", place=document.place())
    return _Side(word, Artifact(kind, str(value.get("id", "")), str(value.get("version", "")), document))


def _is_file(word: str) -> bool:
    return word.endswith(_FILES)
