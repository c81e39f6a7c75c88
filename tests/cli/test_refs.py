"""References on the command line: what is none of them, and what a shell completes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.cli.main import main
from evalstore.errors import ExitCode

TONE = 'id: tone\nversion: "1.0.0"\nchecks:\n  - kind: regex\n    pattern: hello\nscoring:\n  combine: all_pass\n'


@pytest.fixture
def repo(git: Callable[..., str], tmp_path: Path) -> Path:
    git()
    return tmp_path / "repo"


@pytest.mark.parametrize(
    "line",
    [
        "show tone",
        "resolve rubric/Tone@1.0.0",
        "log rubric/tone@@",
        "diff tone",
        "diff judge/-x rubric/tone",
        "bump tone",
        "bump --push rubric/T",
        "verify rubric/tone@1.0.0.0",
        "lock --update tone",
        "impact tone",
        "export --to ai_eval tone",
        "score tone outputs.jsonl",
        "score dataset/a x.jsonl --rubric tone",
        "judge validate tone --labels labels.jsonl",
    ],
)
def test_a_malformed_reference_is_a_wrong_command_line(
    line: str, capsys: pytest.CaptureFixture[str], repo: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["-C", str(repo), *line.split()])
    assert ended.value.code == 2
    assert " is not a" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("bump tone", "did you mean rubric/tone?\n"),
        ("show tune@1.0.0", "did you mean rubric/tone@1.0.0?\n"),
        ("score rubrik/tone x", "did you mean rubric/tone?\n"),
        ("show rubric/tone@1.x", "pins are 1.2.3, ^1.2, "),
        ("show rubric/tone@", "write rubric/tone or rubric/tone@1.0.0\n"),
    ],
)
def test_a_word_that_is_no_reference_is_told_what_it_may_mean(
    line: str, hint: str, capsys: pytest.CaptureFixture[str], repo: Path
) -> None:
    (repo / "rubrics").mkdir()
    (repo / "rubrics/tone.yaml").write_text(TONE)
    with pytest.raises(SystemExit) as ended:
        main(["-C", str(repo), *line.split()])
    assert (ended.value.code, f"hint: {hint}" in capsys.readouterr().err) == (2, True)


def test_references_are_completed_from_what_is_on_disk(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def completed(word: str, *before: str) -> list[str]:
        line = " ".join(["evalstore", "-C", str(repo), *(before or ("show",)), word])
        for name, value in (("WORDS", line), ("CWORD", str(len(before or ("show",)) + 3))):
            monkeypatch.setenv(f"COMP_{name}", value)
        monkeypatch.setenv("_EVALSTORE_COMPLETE", "bash_complete")
        with pytest.raises(SystemExit):
            main([])
        return [one.partition(",")[2] for one in capsys.readouterr().out.split()]

    (repo / "rubrics").mkdir()
    for name in ("tone.yaml", "Odd.yaml", "tone.yml", "voice.yaml"):
        (repo / "rubrics" / name).write_text(": [")
    assert completed("rubric/t") == ["rubric/tone"]
    assert completed("r", "diff", "rubric/tone") == ["rubric/tone", "rubric/voice"]
    assert completed("rubric/tone@1") == []
    (repo / ".evalstore/sums/rubric").mkdir(parents=True)
    (repo / ".evalstore/sums/rubric/tone").write_text(f"1.0.0 {'0' * 64}\n2.0.0 {'0' * 64}\n\x1b[31m1.1.0 x\n")
    assert completed("rubric/tone@1") == ["rubric/tone@1.0.0"]
    assert completed("rubric/../tone@") == completed("/") == []
    (repo / ".evalstore/sums/rubric/tone").write_bytes(b"\xff\xfe")
    assert completed("rubric/tone@") == []


def test_bash_takes_a_reference_for_one_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_EVALSTORE_COMPLETE", "bash_source")
    with pytest.raises(SystemExit):
        main([])
    asks = f'{capsys.readouterr().out}\nprintf %s "$COMP_WORDBREAKS"'
    env = {"PATH": os.environ["PATH"]}
    breaks = subprocess.run(["bash", "--norc", "-ic", asks], env=env, capture_output=True, text=True, check=True).stdout
    assert ("=" in breaks, "@" in breaks) == (True, False)


def test_resolve_answers_alike_with_and_without_options(cli: Callable[..., Any], repo: Path) -> None:
    # Without options click does not read the command line.
    (repo / "rubrics").mkdir()
    (repo / "rubrics" / "tone.yaml").write_text(TONE)
    assert cli("-C", repo, "bump", "--all").code == ExitCode.DONE
    rows = (
        *(
            ["rubric/tone@1.0.0"],
            ["rubric/tone@^1", "rubric/tone"],
            ["rubrics/tone.yaml"],
            [f"{repo}/rubrics/tone.yaml"],
        ),
        *(["rubric/tone@2.0.0"], ["rubric/ton"], ["tone"], [""], ["rubric/x.yaml"], [" rubric/tone"], ["@file"]),
    )
    for folder in (["-C", str(repo)], ["-C", f"{repo}/rubrics"], ["-C", f"{repo}/no"], ["-C", ""], []):
        for words in rows[:: 1 if folder == ["-C", str(repo)] else 3]:
            plain, read = (
                cli(*folder, "resolve", *words, *options, cwd=repo) for options in ([], ["--format", "text"])
            )
            assert plain == read, (folder, words)


@pytest.mark.parametrize(
    "argv", [["resolve"], ["resolve", "--"], ["resolve", "-x"], ["-C", "resolve"], ["resolv", "a"]]
)
def test_a_wrong_command_line_is_read_by_click(argv: list[str], cli: Callable[..., Any]) -> None:
    assert cli(*argv).code == ExitCode.USAGE
