"""What the project says of itself is true: pages come from the code, links lead somewhere, and what they say works."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

import evalstore
from evalstore.cli.main import COMMANDS, GROUPS
from tests.project.generate import render_pages

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
LINK = re.compile(r"\]\(([^)\s]+)\)")
LINE = re.compile(r"^\$ (.*?)(?:\s{2,}#.*)?$", re.MULTILINE)


@pytest.mark.parametrize("name", ["commands.md", "formats.md", "kinds.md", "migrating.md"])
def test_a_page_from_the_code_is_fresh(name: str) -> None:
    assert render_pages()[name] == PAGES[f"docs/{name}"], "run `python -m tests.project.generate`"


def test_every_command_is_in_one_group() -> None:
    listed = [name for commands in GROUPS.values() for name in commands]
    assert sorted(listed) == sorted(COMMANDS)
    assert list(GROUPS) == ["Write", "Release", "Score", "Explain"]


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    for target in LINK.findall(PAGES[name]):
        if not target.startswith("https://"):
            assert (ROOT / name).parent.joinpath(target.partition("#")[0]).exists(), target


NOBODYS = b"evalstore" + b".dev"  # a host that the project does not own


def test_nothing_refers_to_a_host_that_is_not_ours() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    assert [path for path in paths if path.is_file() and NOBODYS in path.read_bytes()] == []


def test_every_page_is_part_of_the_site() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    assert sorted(re.findall(r"[a-z]+\.md", str(config["nav"]))) == sorted(
        name.removeprefix("docs/") for name in PAGES if name != "README.md"
    )


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for name, text in PAGES.items():
        for line in LINE.findall(text):
            for part in re.split(r"&&|[>|]", line):
                words = shlex.split(part, comments=True)
                if words[:1] == ["evalstore"]:
                    yield name, words[1:]


def test_every_command_line_is_one_that_evalstore_reads() -> None:
    """Each command, and each option that the pages give it, is there."""
    from importlib import import_module

    lines = list(command_lines())
    assert len(lines) > 40
    for name, words in lines:
        argv = words[2:] if words[0] == "-C" else words
        command = import_module(f"evalstore.cli.{argv[0]}").command
        if argv[0] == "judge":
            command, argv = command.commands[argv[1]], argv[1:]
        known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)} | {"--help"}
        used = {word.partition("=")[0] for word in argv[1:] if word.startswith("--")}
        assert used <= known, (name, words)


def test_the_readme_is_read_in_five_minutes() -> None:
    assert 5_000 <= len(README.encode()) <= 6_500


def test_the_figure_has_the_numbers_of_the_audit() -> None:
    figure = (ROOT / "docs/why.svg").read_text("utf-8")
    audit = README.partition("```\nThe score fell")[2].partition("```")[0]
    shown = re.findall(r">([+-]?\d+\.\d\d)<", figure)
    assert len(shown) == 5
    assert all(number in audit for number in shown)
    assert "prefers-color-scheme: dark" in figure
    assert audit in PAGES["docs/why.md"]


def test_what_the_python_page_imports_is_there() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGES["docs/python.md"], re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module == "evalstore":
                assert {alias.name for alias in node.names} <= set(evalstore.__all__)
    for module, names in re.findall(r"`evalstore\.integrations\.(\w+)\.(\w+)`", PAGES["docs/python.md"]):
        folder = ROOT / "evalstore/integrations"
        source = folder / f"{module}.py" if (folder / f"{module}.py").exists() else folder / module / "__init__.py"
        assert names in source.read_text("utf-8")


def play(text: str, cli: Callable[..., Any], folder: Path) -> list[tuple[str, Any]]:
    """Run the lines of a page: those of evalstore by the command, and the few of a shell by hand."""
    told = []
    for line in LINE.findall(text):
        words = shlex.split(line, comments=True)
        if words[0] == "evalstore":
            told.append((line, cli(*words[1:], cwd=folder)))
        elif words[0] == "mkdir":
            (folder / words[1]).mkdir()
        elif words[0] == "cd":
            folder = folder / words[1]
        elif words[0] == "echo":
            (folder / words[3]).write_text(words[1] + "\n")
        elif words[0] == "sed":
            edit(folder / words[3], *words[2].split("/")[1:3])
        elif words[0] == "$EDITOR":
            # What the comment asks of the reader.
            word = line.partition("add ")[2].partition(" to the values")[0]
            edit(folder / words[1], '"as an AI"', f'"as an AI", {word}')
        else:
            assert words[0] in {"git", "rm"}, line
    return told


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_the_quick_start_ends_in_this_needs_2_0_0(cli: Callable[..., Any], tmp_path: Path) -> None:
    start = README.partition("## Start")[2].partition("## Why")[0]
    told = play(start.partition("```console")[2].partition("```")[0], cli, tmp_path)
    assert [ran.code for _, ran in told] == [0] * (len(told) - 1) + [1], [ran.err for _, ran in told]
    assert len(told) <= 10
    said = next(ran.out for line, ran in told if line == "evalstore diff")
    for line in start.partition("```\nMAJOR  ")[2].partition("```")[0].splitlines():
        assert line.strip() == "…" or line in said
    assert "needs 2.0.0" in told[-1][1].out


# What differs from run to run: commits, and days.
CHANGING = re.compile(r"\b([0-9a-f]{12}|[0-9a-f]{7}(?= 2)|20[0-9]{2}-[0-9]{2}-[0-9]{2})\b")


def list_expected(page: str) -> list[list[str]]:
    """Return what a page shows below each of its commands of evalstore, line by line."""
    blocks = re.findall(r"```console\n(.*?)\n```", page, re.DOTALL)
    steps = [step.split("\n") for block in blocks for step in block.removeprefix("$ ").split("\n$ ")]
    return [lines[1:] for lines in steps if lines[0].startswith("evalstore ")]


def is_shown(expected: list[str], said: list[str]) -> bool:
    """Whether a text is as shown, where `…` stands for any lines."""
    shown = ["…" if line.strip() == "…" else CHANGING.sub("#", line) for line in expected]
    lines = iter(CHANGING.sub("#", line) for line in said)
    for index, line in enumerate(shown):
        after_gap = index > 0 and shown[index - 1] == "…"
        if line == "…":
            continue
        if not (line in lines if after_gap else next(lines, None) == line):
            return False
    return shown[-1:] == ["…"] or next(lines, None) is None


def test_what_is_shown_is_compared_line_by_line() -> None:
    said = ["one", "in commit 0123456789ab", "", "last"]
    for shown in (said, ["…", "last"], ["one", "…"], ["…", "in commit ba9876543210", "…"]):
        assert is_shown(shown, said)
    for shown in (["one"], ["…", "lost", "…"], ["two", "…"], ["…", "last", "one"], ["one", "last"]):
        assert not is_shown(shown, said)


@pytest.mark.heavy
def test_the_tutorial_goes_from_an_empty_folder_to_an_audit(cli: Callable[..., Any], tmp_path: Path) -> None:
    page = PAGES["docs/tutorial.md"]
    first, _, second = page.partition("## A tighter rubric")
    told = play(first, cli, tmp_path)
    store = tmp_path / "rulers"
    path = store / "rubrics/answer_style.yaml"
    path.write_text(path.read_text("utf-8").replace("      - RMA\n", "      - RMA\n      - Of course\n"), "utf-8")
    told += play(second.partition("From here")[0], cli, store)
    expected = list_expected(page)
    assert len(told) == len(expected) > 12
    for (line, ran), shown in zip(told, expected, strict=True):
        assert ran.code == (line == "evalstore status --check"), (line, ran.err)
        assert is_shown(shown, ran.out.removesuffix("\n").split("\n")), (line, ran.out)


# What needs another machine, a judge's endpoint, a remote, files of the reader's own, or an empty folder.
ELSEWHERE = re.compile(r"tcp:|--push|accept 0f3a|odd[/. ]|--run RUN|\.\./|~/|^evalstore new|lock --check|--scheduler")


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(set(PAGES) - {"README.md", "docs/tutorial.md"}))
def test_what_a_page_says_can_be_typed_in_the_store_of_the_demo(
    name: str, demo: Any, cli: Callable[..., Any], tmp_path: Path
) -> None:
    store = shutil.copytree(demo.folder, tmp_path / "store", symlinks=True)
    for line in LINE.findall(PAGES[name]):
        words = shlex.split(line, comments=True)
        if words[0] != "evalstore" or ELSEWHERE.search(line):
            continue
        if "parquet" in words and find_spec("pyarrow") is None:
            continue
        ran = cli(*words[1:], cwd=store)
        assert ran.code == 0, (line, ran.err)


def test_the_audit_of_the_pages_is_that_of_the_demo(demo: Any, cli: Callable[..., Any]) -> None:
    page = PAGES["docs/why.md"]
    line, shown = re.findall(r"```console\n\$ (.*?)\n```\n\n```\n(.*?)\n```", page, re.DOTALL)[0]
    ran = cli(*shlex.split(line)[1:], cwd=demo.folder)
    assert is_shown(shown.split("\n"), ran.out.rstrip("\n").split("\n"))
