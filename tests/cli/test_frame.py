"""The frame of the command line: exit codes, one document on failure, and a start that costs nothing."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from evalstore.cli.main import COMMANDS, FIRST, GONE_OPTIONS, MOVED
from evalstore.migration.table import list_formats
from evalstore.runs.formats import FORMATS
from tests.rows import mark_slow


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    command = importlib.import_module(f"evalstore.cli.{name}").command
    assert isinstance(command, click.Command)
    assert command.help
    assert "Examples:" in (command.epilog or "")
    assert f"evalstore {name}" in (command.epilog or "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_is_a_line_that_a_shell_reads(name: str) -> None:
    epilog = importlib.import_module(f"evalstore.cli.{name}").command.epilog
    for line in epilog.splitlines()[2:]:
        assert subprocess.run(["sh", "-n", "-c", line], check=False).returncode == 0, line


def test_help_names_every_command_and_imports_none(cli: Callable) -> None:
    for words in (("--help", "--all"), ("--all", "-h")):
        ran = cli(*words)
        assert ran.code == 0
        assert all(f"  {name} " in ran.out for name in COMMANDS)


def test_help_shows_the_thirteen_commands_of_every_day(cli: Callable) -> None:
    ran = cli("--help")
    shown = [line.split()[0] for line in ran.out.splitlines() if line.startswith("  ") and line.split()[0] in COMMANDS]
    assert (len(shown), {*shown}) == (13, FIRST)
    assert f"{len(COMMANDS) - 13} more commands: evalstore --help --all" in ran.out


def test_help_of_score_names_every_tool_whose_outputs_it_grades(cli: Callable) -> None:
    shown = " ".join(cli("score", "--help").out.split())
    assert [one.tool for one in FORMATS if one.read_entries and one.has_outputs and one.tool not in shown] == []


@pytest.mark.parametrize("name", MOVED)
def test_an_old_name_answers_with_the_new_one(name: str, cli: Callable) -> None:
    ran = cli(name, "x", "--y")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: the command {name} is gone\nhint: {MOVED[name]}\n"
    assert MOVED[name].split()[1] in COMMANDS


@pytest.mark.parametrize("words", GONE_OPTIONS)
def test_an_option_that_is_gone_answers_with_what_to_do(words: str, cli: Callable) -> None:
    ran = cli(*words.split(), "x")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: the option {words.split()[1]} is gone\nhint: {GONE_OPTIONS[words]}\n"


@pytest.mark.process
@pytest.mark.parametrize("code", ["import evalstore", "import evalstore.cli.main"])
def test_the_start_imports_no_heavy_library(code: str) -> None:
    probe = f"import sys; {code}; print(*sorted({{'git', 'deepdiff', 'jsonschema', 'ruamel', 'regex', 'markdown_it', 'yaml'}} & set(sys.modules)))"
    assert (
        subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.strip() == ""
    )


def test_an_interrupt_while_imports_are_under_way_leaves_no_trace(cli_process: Callable, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(9)")
    ran = cli_process("explain", "--rules", PYTHONPATH=str(tmp_path))
    assert (ran.code, ran.out, ran.err) == (130, "", "")


def test_a_wrong_command_line_is_2(cli: Callable) -> None:
    ran = cli("frobnicate")
    assert (ran.code, ran.out) == (2, "")
    assert "No such command 'frobnicate'" in ran.err
    assert "evalstore --help" in ran.err


def test_a_misspelt_command_is_told_its_nearest_name(cli: Callable) -> None:
    ran = cli("liist")
    assert (ran.code, ran.err) == (2, "error: there is no command 'liist'\nhint: did you mean evalstore list?\n")


def test_an_option_before_its_command_is_told_where_it_belongs(cli: Callable) -> None:
    ran = cli("--format", "json", "list")
    assert ran.code == 2
    assert json.loads(ran.out)["error"]["hint"].startswith("options other than -C follow the command")


def test_a_wrong_command_line_is_one_line(cli: Callable) -> None:
    assert (
        cli("export").err.splitlines()[0] == f"error: Missing option '--to'. Choose from: {', '.join(list_formats())}"
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            "new rubrik x",
            "error: 'rubrik' is not one of 'rubric', 'judge', 'dataset'.\nhint: see evalstore new --help\n",
        ),
        ("new rubric x --kind", "error: Option '--kind' requires an argument.\nhint: see evalstore new --help\n"),
        (
            "history runs/a.json",
            "error: name a run and an artifact\nhint: evalstore history REF --run RUN, or RUN --rubric REF\n",
        ),
    ],
)
def test_a_wrong_command_line_names_what_is_wrong(cli: Callable, words: str, error: str) -> None:
    ran = cli(*words.split())
    assert (ran.code, ran.err) == (2, error)


@pytest.mark.parametrize(
    "argv",
    [["resolve", "rubric/a@1.0.0"], ["list"], ["log", "rubric/a"], ["status"], ["bump", "--all"], ["show", "rubric/a"]],
)
def test_outside_a_repository_is_3_and_one_document(cli: Callable, tmp_path: Path, argv: list[str]) -> None:
    ran = cli(*argv, "--format", "json", cwd=tmp_path)
    assert ran.code == 3
    assert set(json.loads(ran.out)["error"]) == {"message", "file", "line", "column", "hint", "exit_code"}
    assert ran.err.startswith("error: ")


@pytest.mark.process
@pytest.mark.parametrize(("raised", "code"), [("KeyboardInterrupt()", 130), ("ZeroDivisionError('x')", 4)])
def test_a_bug_and_an_interruption_tell_their_own_exit_code(tmp_path: Path, raised: str, code: int) -> None:
    program = (
        "import evalstore.store\n"
        f"def opened(*_): raise {raised}\n"
        "evalstore.store.ArtifactStore.open = opened\n"
        "from evalstore.cli.main import main; main(['list', '--format', 'json'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, json.loads(done.stdout)["error"]["exit_code"]) == (code, code)
    assert "Traceback" not in done.stderr


@pytest.mark.process
def test_a_reader_that_left_is_no_error() -> None:
    argv = [sys.executable, "-m", "evalstore", "--help"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.process
def test_a_full_disk_is_one_sentence(cli: Callable) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "evalstore", "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of sh in which $E is the real command."""
    env = {**os.environ, "E": f"{sys.executable} -m evalstore"}
    return subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, check=False)


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("$E --help >&-", 0),
        mark_slow(("$E --help 2>&-", 0)),
        mark_slow(("$E nope >&-", 2)),
        ("$E nope 2>&-", 2),
        mark_slow(("$E nope 2>/dev/full", 2)),
        ("$E nope >&- 2>&- <&-", 2),
        mark_slow(("$E -C / list --format json >&-", 3)),
        ("$E -C / list --format json >/dev/full", 3),
        ("$E -C / list --format json >/dev/full 2>/dev/full", 3),
        ("$E validate - <&-", 1),
    ],
)
def test_a_stream_that_is_closed_or_full_changes_no_exit_code(line: str, code: int) -> None:
    if "full" in line and not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    done = shell(line)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


@pytest.mark.process
def test_a_failure_whose_reader_left_keeps_its_code() -> None:
    assert shell("{ $E -C / list --format json; echo $? >&2; } | true").stderr.splitlines()[-1] == "3"


@pytest.mark.parametrize(
    "words",
    [
        "-C ",
        "init ",
        "demo ",
        "validate ",
        "migrate ",
        "migrate x --into ",
        "export --out ",
        "score d ",
        "audit ",
        "history rubric/r --run ",
    ],
)
def test_completion_offers_files_where_a_file_belongs(words: str, cli: Callable) -> None:
    line = f"evalstore {words}"
    ran = cli(COMP_WORDS=line, COMP_CWORD=str(line.count(" ")), _EVALSTORE_COMPLETE="bash_complete")
    assert (ran.code, ran.out) == (0, "file,\n")


def test_completion_knows_the_commands(cli: Callable) -> None:
    ran = cli(COMP_WORDS="evalstore re", COMP_CWORD="1", _EVALSTORE_COMPLETE="bash_complete")
    assert (ran.code, ran.out) == (0, "plain,resolve\n")


def test_raw_bytes_are_no_document(cli: Callable) -> None:
    ran = cli("show", "rubric/a", "--raw", "--format", "json")
    assert ran.code == 2
    assert "exclude each other" in json.loads(ran.out)["error"]["message"]
