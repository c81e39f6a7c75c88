"""Reports on a real terminal: colours and its width there only, and none where NO_COLOR is set."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from evalstore.report.folding import measure_columns
from evalstore.report.formats import FORMATS

OWN = re.compile(rb"\x1b\[[0-9;]*m")
OLD = 'id: j\nversion: "1.0.0"\ntemplate: |\n  Is it right?\n  {{ output }}\nscore_type: binary\n'


Shown = Callable[..., bytes]


@pytest.fixture
def on_terminal(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Run the command with its stdout and stderr on a terminal of a width, and return what it wrote."""
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)

    def run(*argv: str, cwd: Path, width: int = 80, **env: str) -> bytes:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        with ThreadPoolExecutor(1) as reader:
            written = reader.submit(read_all, ours)
            try:
                cli(*argv, cwd=cwd, terminal=theirs, **{"TERM": "xterm", **env})
            finally:
                os.close(theirs)
            return written.result()

    return run


def read_all(terminal: int) -> bytes:
    written = b""
    with suppress(OSError):  # so a terminal on Linux says that its last writer has gone
        while chunk := os.read(terminal, 1 << 16):
            written += chunk
    os.close(terminal)
    return written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "old.yaml").write_text(OLD)
    (tmp_path / "new.yaml").write_text(OLD.replace("right", "right, and \U0001f600 " + "long " * 30))
    return tmp_path


@pytest.mark.heavy
def test_a_terminal_has_colours_and_a_width(on_terminal: Shown, folder: Path) -> None:
    written = on_terminal("diff", "old.yaml", "new.yaml", cwd=folder, width=72)
    assert b"\x1b[1;31mMAJOR\x1b[0m" in written
    plain = OWN.sub(b"", written)
    assert b"\x1b" not in plain
    assert max(len(line) for line in plain.decode().splitlines()) <= 72


@pytest.mark.heavy
@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}])
def test_who_wants_no_colours_gets_none(on_terminal: Shown, folder: Path, env: dict[str, str]) -> None:
    assert b"\x1b" not in on_terminal("diff", "old.yaml", "new.yaml", cwd=folder, **env)


def test_clicolor_0_wants_none_on_a_terminal(on_terminal: Shown, folder: Path) -> None:
    assert b"\x1b" not in on_terminal("diff", "old.yaml", "new.yaml", cwd=folder, CLICOLOR="0")


@pytest.mark.parametrize(
    ("env", "painted"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        ({"FORCE_COLOR": "1", "CLICOLOR": "0"}, True),
    ],
    ids=str,
)
def test_colours_in_a_pipe(cli: Callable[..., Any], folder: Path, env: dict[str, str], *, painted: bool) -> None:
    said = cli("diff", "old.yaml", "new.yaml", cwd=folder, **env)
    assert ("\x1b[1;31mMAJOR\x1b[0m" in said.out) == painted
    refused = cli("diff", "old.yaml", "none.yaml", cwd=folder, **env)
    assert refused.code == 3
    assert refused.err.startswith("\x1b[1;31merror:\x1b[0m" if painted else "error:")


@pytest.mark.parametrize("columns", ["40", "80", "120", "200"])
def test_columns_are_the_width_of_a_pipe_too(cli: Callable[..., Any], folder: Path, columns: str) -> None:
    ran = cli("diff", "old.yaml", "new.yaml", cwd=folder, COLUMNS=columns)
    assert int(columns) // 2 < max(map(measure_columns, ran.out.splitlines())) <= int(columns)
    refused = cli("diff", "old.yaml", f"{'none' * 20}.yaml", cwd=folder, COLUMNS=columns)
    assert max(map(len, refused.err.splitlines())) <= int(columns)


@pytest.mark.heavy
@pytest.mark.parametrize("argv", [["diff", "old.yaml", "new.yaml"], ["validate", "new.yaml"]], ids=lambda argv: argv[0])
@pytest.mark.parametrize("format_", ["text", "json", *FORMATS])
def test_an_escape_from_outside_never_reaches_the_terminal(
    on_terminal: Shown, folder: Path, argv: list[str], format_: str
) -> None:
    hostile = "\\e]0;owned\\a\\e[2J\\u009b31m\\u202e"
    new = OLD.replace("id: j", f'id: "{hostile}"')
    (folder / "new.yaml").write_text(new)
    written = on_terminal(*argv, "--format", format_, cwd=folder)
    assert b"owned" in written
    assert b"\x1b" not in OWN.sub(b"", written)
    assert not {0x07, 0x9B} & {ord(char) for char in written.decode()}
    assert "\u202e" not in written.decode()
