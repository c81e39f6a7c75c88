"""`evalstore git-driver`, which git calls to convert, diff or merge a file.

git starts it for every file, so each of the three imports only what it needs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import click

from evalstore.cli.context import CommandSettings, add_output_options
from evalstore.cli.streams import find_git_screen
from evalstore.errors import EvalstoreError, ExitCode, LoadError, Place, UsageError
from evalstore.files import open_user_file
from evalstore.report.text_layout import Part
from evalstore.text import escape_ci_commands, make_printable

_LINK, _MODULE, _ABSENT = "120000", "160000", "."  # file modes, as git writes them
_UNMERGED, _CHANGED, _RENAMED, _MERGED = 1, 7, 9, 4  # how many words git passes to a driver
_HINT = "see docs/ci.md, In git"


@dataclass(frozen=True, slots=True)
class _FilePair:
    """The two files of one change as git passes them: their bytes, or None for a missing one."""

    path: str
    old: bytes | None
    new: bytes | None
    modes: tuple[str, str]
    note: str = ""


def _run_textconv(settings: CommandSettings, words: tuple[str, ...]) -> ExitCode:
    """Print an artifact in its normal form, and any other file as it is."""
    from evalstore.report.value_diff import make_readable

    if len(words) != 1:
        raise UsageError(f"git gives one file to convert, not {len(words)}", hint=_HINT)
    data = _read_bytes(settings.path / words[0])
    if data is None:
        raise LoadError("cannot be read", place=Place(words[0]))
    try:
        text = _write_normal_form(data)
    except Exception:  # noqa: BLE001  # git stops at the first failure, and hides the other files
        text = make_readable(data)
    sys.stdout.write(text + "\n" if text else "")
    return ExitCode.DONE


def _run_diff(settings: CommandSettings, words: tuple[str, ...]) -> ExitCode:
    """Print what changed between two artifacts, or line by line between other files."""
    if len(words) == _UNMERGED:
        sys.stdout.write(f"* Unmerged path {make_printable(words[0])}\n")
        return ExitCode.DONE
    if len(words) not in {_CHANGED, _RENAMED}:
        raise UsageError(f"git gives 7 words to an external diff, not {len(words)}", hint=_HINT)
    pair = _read_file_pair(settings.path, words)
    sys.stdout.write(escape_ci_commands(f"{_describe_change(settings, pair)}\n"))
    return ExitCode.DONE


def _run_merge(settings: CommandSettings, words: tuple[str, ...]) -> ExitCode:
    """Merge a file for git: write the result over our side, and exit 1 for a conflict.

    gitattributes(5) says how git calls it.
    """
    from evalstore.api import MergeSides, merge_file
    from evalstore.files import write_below

    if len(words) != _MERGED:
        raise UsageError(
            f"git gives {_MERGED} words to a merge driver, not {len(words)}", hint=_HINT
        )
    base, ours, theirs = (settings.path / word for word in words[:-1])
    data = [_read_bytes(path) for path in (base, ours, theirs)]
    merged = merge_file(words[-1], MergeSides(*(one or b"" for one in data)))
    write_below(ours.parent, ours.name, merged.data, label=str(ours))
    for note in merged.notes:
        settings.print_message(note)
    return ExitCode.DONE if merged.is_clean else ExitCode.NO


_JOBS: Mapping[str, Callable[[CommandSettings, tuple[str, ...]], ExitCode]] = {
    "textconv": _run_textconv,
    "diff": _run_diff,
    "merge": _run_merge,
}


@click.command(hidden=True)
@click.argument("job", type=click.Choice([*_JOBS]))
@click.argument("words", nargs=-1)
@add_output_options()
def command(settings: CommandSettings, job: str, words: tuple[str, ...]) -> ExitCode:
    """Do a job for git, with the arguments described in gitattributes(5).

    `evalstore init` writes the lines of the configuration that call it.
    """
    return _JOBS[job](settings, words)


def _write_normal_form(data: bytes) -> str:
    from evalstore.api import normalize_artifact
    from evalstore.cli.diff_sides import parse_file_side
    from evalstore.report.value_diff import make_readable
    from evalstore.report.value_outline import format_value_outline

    value = normalize_artifact(parse_file_side(data, "").artifact.value)
    return make_readable(data) if value is None else "\n".join(format_value_outline(value, 0))


def _read_file_pair(folder: Path, words: tuple[str, ...]) -> _FilePair:
    path, old, _, old_mode, new, _, new_mode = words[:_CHANGED]
    to, note = words[_CHANGED:] or (path, "")
    return _FilePair(
        to, _read_bytes(folder / old), _read_bytes(folder / new), (old_mode, new_mode), note
    )


def _describe_change(settings: CommandSettings, pair: _FilePair) -> str:
    head = [find_git_screen().paint(Part.HEAD, make_printable(f"evalstore diff {pair.path}"))]
    before, after = pair.modes
    if before != after and _ABSENT not in pair.modes:
        head.append(make_printable(f"mode {before} \u2192 {after}"))
    head += [
        make_printable(line) for line in pair.note.splitlines() if not line.startswith("index ")
    ]
    # An empty line, because git puts nothing between files.
    return "\n".join([*head, *_change_lines(settings, pair), ""])


def _change_lines(settings: CommandSettings, pair: _FilePair) -> list[str]:
    from evalstore.report.value_diff import format_plain_diff

    if pair.old == pair.new:
        return []
    if pair.old is None or pair.new is None or {_LINK, _MODULE} & set(pair.modes):
        return [format_plain_diff(pair.old, pair.new, pair.path)]
    try:
        return [_compare_files(settings, pair.old, pair.new, pair.path)]
    except EvalstoreError as error:
        return [
            make_printable(f"not compared: {error}"),
            format_plain_diff(pair.old, pair.new, pair.path),
        ]
    except Exception:  # noqa: BLE001  # git stops at the first failure, and hides the other files
        return [format_plain_diff(pair.old, pair.new, pair.path)]


def _compare_files(settings: CommandSettings, old: bytes, new: bytes, path: str) -> str:
    from evalstore.cli.diff_sides import compare_sides, open_optional_store, parse_file_side
    from evalstore.report import render

    sides = (parse_file_side(old, path), parse_file_side(new, path))
    with ExitStack() as stack:
        store = open_optional_store(settings, stack, needed=False)
        diff = compare_sides(sides, store, None)
    names = (f"{side.artifact.name} {side.artifact.version}".strip() for side in sides)
    before, after = (
        replace(side, ref=name) for side, name in zip((diff.old, diff.new), names, strict=True)
    )
    return render(replace(diff, old=before, new=after), "text", screen=find_git_screen())


def _read_bytes(path: Path) -> bytes | None:
    """Return the bytes of a temporary file of git, or of a working file; None for a missing one."""
    if os.fspath(path) == os.devnull:
        return None
    try:
        if path.is_symlink():
            return os.fsencode(path.readlink())
        with open_user_file(path) as file:  # not a device or a FIFO
            return file.read()
    except (OSError, LoadError):
        return None
