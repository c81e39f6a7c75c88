"""Pins that follow a release: which move, and to what.

It also makes the bytes of moved files and rows. It only reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO

from evalstore.documents import LINE_LIMIT, read_json, read_row, replace_scalars
from evalstore.errors import EvalstoreError, Place, RefusedError
from evalstore.files import open_below
from evalstore.model import Artifact, Kind, PinType, Ref, find_pins, find_rows_path, parse_ref
from evalstore.release.dependencies.references import FindPlace
from evalstore.release.dependencies.validity import check_names_releases
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.resolve import build_unknown_error, is_covered
from evalstore.versions import Version

PinMoves = Mapping[str, str]  # a pin as it is written -> as it will be

_KEY = "rubric_ref"
_ESCAPES = (b"\\/", b"\\u00")  # other ways for JSON to write the letters of a reference


def find_pin_moves(
    store: ArtifactStore, resolved: Resolved, targets: Mapping[str, Version]
) -> dict[str, str]:
    """Return the exact pins of a working file and its rows that move, with their new text.

    They are pins below `targets`, which are versions by name.
    """
    pins = _list_pins(store, resolved, partial(_make_needles, targets))
    moves = ((text, _move_ref(text, targets)) for text in pins)
    return {text: new for text, new in moves if new}


def list_exact_pins(
    store: ArtifactStore, resolved: Resolved, moved: Mapping[str, str]
) -> dict[str, str]:
    """Return a working file's exact pins to moved releases, with their new text.

    `moved` are new references by old ones. The pins in its rows are included.
    """
    names = {ref.partition("@")[0] for ref in moved}
    found: dict[str, str] = {}
    for text in _list_pins(store, resolved, partial(_make_needles, names)):
        with suppress(EvalstoreError):  # what cannot be read is reported where it is released
            ref = parse_ref(text)
            if ref.version and (new := moved.get(f"{ref.name}@{ref.version}")):
                found[text] = new
    return found


def list_floating_refs(
    store: ArtifactStore, resolved: Resolved, names: Iterable[str]
) -> Iterator[Ref]:
    """Yield a working file's floating references to `names`, including rows, except locked ones."""
    wanted = set(names)
    for text in _list_pins(
        store, resolved, lambda: (*(name.encode() for name in wanted), *_ESCAPES)
    ):
        try:
            ref = parse_ref(text)
        except EvalstoreError:  # what cannot be read is reported where it is released
            continue
        if ref.is_floating and ref.name in wanted and text not in store.lock.refs:
            yield ref


def move_artifact_pins(artifact: Artifact, moves: PinMoves) -> Artifact:
    """Return an artifact with its pins moved, as the working file would then be."""
    pins = find_pins(artifact.kind, artifact.value)
    changes = {pointer: moves[text] for pointer, text in pins if text in moves}
    if not changes:
        return artifact
    document = replace_scalars(artifact.document, changes)
    return Artifact(artifact.kind, artifact.id, artifact.version, document)


def move_row_pin(row: Mapping[str, Any], moves: PinMoves) -> Mapping[str, Any]:
    """Return a row with its pin moved."""
    text = row.get(_KEY)
    return {**row, _KEY: moves[text]} if isinstance(text, str) and text in moves else row


def move_pins_in_rows(file: BinaryIO, moves: PinMoves) -> Iterator[bytes]:
    """Yield the lines of a file of rows with their pins moved; every other byte stays.

    Only lines that contain the name of a pin, or an escape that could hide one, are parsed.
    """
    needles = _make_needles(parse_ref(text).name for text in moves)
    for number, line in enumerate(_read_lines(file), start=1):
        yield _move_pin_in_line(line, number, moves) if _contains_any(line, needles) else line


def _move_pin_in_line(line: bytes, number: int, moves: PinMoves) -> bytes:
    row = read_row(line, "rows", number) if line.strip() else None
    text = row.get(_KEY) if isinstance(row, dict) else None
    if not isinstance(text, str) or text not in moves:
        return line
    # The value is replaced at its position in the line, so that spacing, escapes and key order
    # stay.
    document = read_json(line, "rows")
    mark, shift = document.spans[_KEY,], len("\ufeff") if document.bom else 0
    decoded = line.decode("utf-8")
    return f'{decoded[: mark.start + shift]}"{moves[text]}"{decoded[mark.end + shift :]}'.encode()


def _list_pins(
    store: ArtifactStore, resolved: Resolved, find_needles: Callable[[], tuple[bytes, ...]]
) -> Iterator[str]:
    # What a judge was validated against is a record of the past, which no release rewrites.
    if resolved.kind is Kind.JUDGE:
        return
    for _, text in find_pins(resolved.kind, resolved.artifact.value):
        yield text
    rows = find_rows_path(resolved.artifact)
    # Made only for a file of rows: a bump of thousands asks for each of them, and has as many
    # names.
    if rows and store.root and (needles := find_needles()):
        with open_below(store.root, rows) as file:
            yield from _list_row_pins(file, rows, needles)


def _list_row_pins(file: BinaryIO, name: str, needles: tuple[bytes, ...]) -> Iterator[str]:
    seen: set[str] = set()
    for number, line in enumerate(_read_lines(file), start=1):
        row = read_row(line, name, number) if _contains_any(line, needles) else None
        text = row.get(_KEY) if isinstance(row, dict) else None
        if isinstance(text, str) and text not in seen:
            seen.add(text)
            yield text


def _read_lines(file: BinaryIO) -> Iterator[bytes]:
    return iter(partial(file.readline, LINE_LIMIT + 2), b"")


def _make_needles(names: Iterable[str]) -> tuple[bytes, ...]:
    wanted = {f"{name}@".encode() for name in names}
    return tuple(wanted | set(_ESCAPES)) if wanted else ()


def _contains_any(line: bytes, needles: tuple[bytes, ...]) -> bool:
    return any(needle in line for needle in needles)


def _move_ref(text: str, targets: Mapping[str, Version]) -> str | None:
    try:
        ref = parse_ref(text)
    except EvalstoreError:
        return None
    target = targets.get(ref.name)
    if (
        ref.type is not PinType.EXACT
        or target is None
        or ref.version is None
        or ref.version >= target
    ):
        return None
    return f"{ref.name}@{target}"


def check_pins_released(
    store: ArtifactStore,
    pins: Iterable[tuple[FindPlace, Ref]],
    versions: Mapping[str, Iterable[Version]],
) -> None:
    """Refuse a pin that no version in `versions` matches, or that names no release.

    Pins come with their place; `versions` are by name.
    """
    for find_place, ref in pins:
        check_names_releases([(find_place, ref)])
        known = sorted(versions.get(ref.name, ()))
        if not any(is_covered(ref, version) for version in known):
            raise _refuse_pin(store, ref, find_place(), known)


def _refuse_pin(
    store: ArtifactStore, ref: Ref, place: Place, known: Sequence[Version]
) -> RefusedError:
    is_absent = not known and store.root and not (store.root / ref.path).is_file()
    # In a clone without tags, only this bump's release is known, which cannot be pinned.
    if (
        is_absent
        or store.repository.shallow
        or str(ref.version) in store.ledgers.read(ref.name).by_version
    ):
        error = build_unknown_error(store, ref)
        return RefusedError(error.message, place=place, hint=error.hint)
    hint = (
        (
            f"pin {ref.name}@{known[-1]} or an earlier release; or take in others' releases: git "
            "pull --tags"
        )
        if known
        else f"release {ref.name} in the same bump, and pin the version in its file"
    )
    return RefusedError(f"{ref} is not released and not part of this bump", place=place, hint=hint)
