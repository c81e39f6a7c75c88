"""What every command prints as text: no line wider than the terminal, a next step that works, and nothing under -q."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from evalstore.cli.main import COMMANDS, group
from evalstore.cli.option_sections import JudgeOption, SectionedCommand
from evalstore.report.folding import measure_columns
from tests.cli.test_documents import CASES, LABELS, RUNS, STORY, STYLE
from tests.rows import thin

Cli = Callable[..., Any]
GRADINGS = ("old.json", "new.json")  # of skill-creator, which nothing grades again
MOST_OPTIONS = 10  # that --help shows first
MAIN = [
    *(argv for argv, _ in (*CASES, *STORY)),
    ["status", "--check"],
    ["validate", "bad.yaml"],
    ["show", RUNS[0]],
    ["show", RUNS[0], "--failed"],
    ["show", RUNS[0], "--question", "card_in_sidebar"],
    ["audit", *RUNS, "--question", "card_in_sidebar"],
    ["audit", *GRADINGS],
    ["audit", *RUNS, "--by", "check", "--fail-on", "delta<50"],
    ["explain", "--schema", "rubric"],
    ["score", "dataset/web_answers@2.0.0", "outputs/model_a.jsonl", "--dry-run"],
    ["diff"],
]
# The first form of each command, and of each option by which it does something else.
QUIET = [
    *reversed({(argv[0], *{"--check", "--dry-run", GRADINGS[0]} & {*argv}): argv for argv in reversed(MAIN)}.values())
]
# Their text is a file, which is printed as it is.
FILES = {"show dataset/web_answers@worktree", f"show {STYLE}@1.0", "explain --schema rubric"}


def list_commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command of the tree by its words."""
    for name in COMMANDS:
        command = importlib.import_module(f"evalstore.cli.{name}").command
        yield name, command
        yield from ((f"{name} {inner}", one) for inner, one in getattr(command, "commands", {}).items())


TREE = dict(list_commands())


@pytest.fixture(scope="module")
def told(demo: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the demo's store; one working file is changed, and one beside it is broken."""
    target = Path(shutil.copytree(demo.folder, tmp_path_factory.mktemp("text") / "store", symlinks=True))
    (target / LABELS).parent.mkdir(exist_ok=True)
    (target / LABELS).write_text('{"id": "a", "label": "pass", "verdict": "pass"}\n', "utf-8")
    for name, passed in zip(GRADINGS, (True, False), strict=True):
        statements = [{"text": "Names the river", "passed": True}, {"text": "Has a sum", "passed": passed}]
        runs = [{"eval_id": number, "expectations": statements} for number in range(9)]
        (target / name).write_text(json.dumps({"runs": runs, "run_summary": {}}), "utf-8")
    path = target / "rubrics/answer_style.yaml"
    path.write_text(path.read_text("utf-8").replace("which means", "which is why"), "utf-8")
    (target / "bad.yaml").write_text("id: bad\nversion: 1.0.0\ncheks: []\nscoring: {combine: min}\n")
    return target


@pytest.mark.parametrize("width", thin([80, 120, 200, 40], 4))
def test_no_text_is_wider_than_the_terminal_and_every_next_step_works(
    told: Path, cli: Cli, tmp_path: Path, width: int
) -> None:
    folder = shutil.copytree(told, tmp_path / "store", symlinks=True)
    wide, offers, tried = {}, set[str](), set[str]()
    for argv in MAIN:
        ran = cli(*argv, cwd=folder, COLUMNS=str(width))
        assert ran.code in {0, 1}, (argv, ran.err)
        lines = [*ran.err.splitlines(), *ran.next_steps.splitlines()] + (
            [] if " ".join(argv) in FILES else ran.out.splitlines()
        )
        if most := [line for line in lines if measure_columns(line) > width and not is_one_long_word(line, width)]:
            wide[" ".join(argv)] = most
        assert "\n\n\n" not in ran.out, argv
        if ran.next_steps:
            offers.add(argv[0])
        if ran.next_steps not in {"", *tried}:
            tried.add(ran.next_steps)
            follow(ran.next_steps, cli, Path(shutil.copytree(folder, tmp_path / f"next{len(tried)}", symlinks=True)))
    assert wide == {}
    assert offers >= {
        "validate",
        "diff",
        "status",
        "score",
        "show",
        "audit",
        "history",
        "log",
        "list",
        "new",
    }
    for format_ in ("json", "github", "sarif", "markdown"):
        assert cli("status", "--format", format_, cwd=folder).next_steps == ""


def is_one_long_word(line: str, width: int) -> bool:
    """Whether a line is one word of a command that can be pasted, and too long for any line beside its margin."""
    (word, *others) = line.removesuffix(" \\").split()
    return not others and measure_columns(word) > width - len("next: ") - len("     \\")


def follow(said: str, cli: Cli, folder: Path) -> None:
    """Run each command that is offered next, as it is printed; what follows a backslash is of the same line."""
    for step in re.sub(r"\\\n\s*", "", said.removeprefix("next: ")).splitlines():
        program, *words = shlex.split(step)
        if program == "evalstore":
            ran = cli(*words, cwd=folder)
            assert ran.code in {0, 1}, (step, ran.err)


@pytest.mark.parametrize(
    "lines",
    [QUIET, pytest.param([argv for argv in MAIN if argv not in QUIET], marks=pytest.mark.slow)],
    ids=["a form each", "the rest"],
)
def test_nothing_is_printed_under_quiet(told: Path, cli: Cli, tmp_path: Path, lines: list[list[str]]) -> None:
    folder = shutil.copytree(told, tmp_path / "store", symlinks=True)
    for argv in lines:
        ran = cli(*argv, "-q", cwd=folder)
        assert (ran.code in {0, 1}, ran.out, ran.err + ran.next_steps) == (True, "", ""), argv


@pytest.mark.parametrize("name", ["", *TREE])
def test_help_fits_a_terminal_of_80_columns(name: str, cli: Cli) -> None:
    ran = cli(*name.split(), "--help", COLUMNS="80")
    assert ran.code == 0
    assert [line for line in ran.out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", TREE)
def test_help_shows_at_most_ten_options_first(name: str, cli: Cli) -> None:
    if isinstance(TREE[name], click.Group):
        return
    first = cli(*name.split(), "--help").out.partition("\nOptions:\n")[2].partition("\n\n")[0]
    options = [line for line in first.splitlines() if re.match(r"  -", line)]
    assert 0 < len(options) <= MOST_OPTIONS


def test_every_option_is_in_the_help_once(cli: Cli) -> None:
    command = TREE["score"]
    assert isinstance(command, SectionedCommand)
    context = click.Context(command)
    sections = command.list_sections(context)
    assert list(sections) == ["Options", "More options"]
    listed = [option.name for options in sections.values() for option in options]
    options = [one for one in command.get_params(context) if isinstance(one, click.Option) and "--help" not in one.opts]
    apart = [one for one in options if isinstance(one, JudgeOption)]
    assert sorted(listed) == sorted(one.name for one in options if one not in apart)
    assert len(apart) == 10
    said = " ".join(cli("explain", "settings.judge").out.split())
    assert [one.opts[-1] for one in apart if one.opts[-1] not in said and one.opts[-1] != "--judge-key"] == []
    assert "evalstore explain settings.judge" in " ".join(cli("score", "--help").out.split())


def test_the_tree_is_whole() -> None:
    assert set(COMMANDS) == {name.split()[0] for name in TREE}
    assert group.name == "group"
