"""`evalstore diff` through the real entry point: references, files, exit codes, text, and JSON against its schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.places import find_resource_folder

Cli = Callable[..., Any]
Git = Callable[..., str]
TEXT = """\
id: tone
version: "1.0.0"
title: Tone
checks:
  - id: polite
    kind: must_contain_any
    values: [please]
  - id: calm
    kind: must_not_contain
    values: ["!!"]
scoring:
  combine: weighted_avg
"""


@pytest.fixture
def repo(git: Git, tmp_path: Path) -> Path:
    """Return a repository with rubric/tone 1.0.0 and 1.0.1, a data set that pins the first, and a changed rubric."""
    repo = tmp_path / "repo"
    git()
    (repo / "rubrics").mkdir()
    (repo / "datasets").mkdir()
    rubric = repo / "rubrics/tone.yaml"
    (repo / "datasets/mail.yaml").write_text(
        'id: mail\nversion: "1.0.0"\ndefaults: {rubric_ref: rubric/tone@1.0.0}\nquestions:\n  - {id: a, input: Hello}\n'
    )
    for version, title in (("1.0.0", "Tone"), ("1.0.1", "The tone")):
        rubric.write_text(TEXT.replace("1.0.0", version).replace("title: Tone", f"title: {title}"))
        git("add", ".")
        git("commit", "-q", "-m", f"Call it {title}")
        git("tag", f"rubric/tone@{version}")
    git("tag", "dataset/mail@1.0.0")
    rubric.write_text(rubric.read_text().replace("[please]", "[please, thank you]"))
    return repo


def valid(ran: Any) -> Any:
    document = json.loads(ran.out)
    schema = json.loads((find_resource_folder("schema") / "output" / "diff.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(document)
    return document


def test_one_reference_is_its_last_release_against_the_working_tree(cli: Cli, repo: Path) -> None:
    ran = cli("-C", repo, "diff", "rubric/tone")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "rubric/tone@1.0.1 → rubric/tone@worktree",
        "",
        "MAJOR  polite also accepts 'thank you'",
        "       contain-phrase-added, rubrics/tone.yaml:7 (new), 867b7c5d0148d945",
        "       moves     scores can only rise, by at most 50 points (by definition)",
        "       why       one more way to pass",
        '       shown by  the output "thank you" goes from 50 (fail) to 100 (pass)',
        "",
        "1 major. This needs a major bump: the next version is 2.0.0",
    ]


def test_two_references_name_both_sides(cli: Cli, repo: Path) -> None:
    ran = cli("-C", repo, "diff", "rubric/tone@1.0", "rubric/tone@1.0.1")
    assert ran.out.splitlines() == [
        "rubric/tone@1.0.0 → rubric/tone@1.0.1",
        "",
        "patch  title: Tone → The tone (line 3)",
        "",
        "1 patch. This needs a patch bump: the next version is 1.0.1",
    ]


def test_a_version_that_is_released_is_not_the_next(cli: Cli, repo: Path, git: Any) -> None:
    rubric = repo / "rubrics/tone.yaml"
    rubric.write_text(rubric.read_text().replace("1.0.1", "3.0.0"))
    git("commit", "-aqm", "Thank")
    git("tag", "rubric/tone@3.0.0")
    for side in ("rubric/tone@3.0.0", "rubric/tone@worktree"):
        document = valid(cli("-C", repo, "diff", "rubric/tone@1.0.0", side, "--format", "json"))
        assert (document["next_version"], document["later_release"]) == (None, "3.0.0")
    told = cli("-C", repo, "diff", "rubric/tone@1.0.0", "rubric/tone@3.0.0").out.splitlines()
    assert told[-1] == "1 major, 1 patch. This needs a major bump; 3.0.0 is released already"


def test_a_file_that_no_release_can_have_is_not_to_be_bumped(cli: Cli, repo: Path) -> None:
    rubric = repo / "rubrics/tone.yaml"
    rubric.write_text(rubric.read_text().replace("kind: must_contain_any", "kind: must_contain_many"))
    for words in ((), ("rubric/tone",)):
        ran = cli("-C", repo, "diff", *words)
        place = next(number for number, line in enumerate(rubric.read_text().splitlines(), 1) if "many" in line)
        assert f"This cannot be released: rubrics/tone.yaml:{place}:" in ran.out
        assert "evalstore bump" not in ran.err
    assert "must_contain_many" in valid(cli("-C", repo, "diff", "rubric/tone", "--format", "json"))["refused"]


@pytest.mark.heavy
def test_json_says_all_of_it(cli: Cli, repo: Path) -> None:
    document = valid(cli("-C", repo, "diff", "rubric/tone@1.0.0", "rubric/tone@worktree", "--format", "json"))
    assert (document["old"]["ref"], document["new"]["ref"]) == ("rubric/tone@1.0.0", "rubric/tone@worktree")
    assert (document["required_bump"], document["next_version"]) == ("major", "2.0.0")
    title, phrase = document["findings"]
    assert (title["rule"], title["level"], title["max_shift"], title["witness"]) == (
        "metadata-changed",
        "patch",
        0,
        None,
    )
    assert (title["file"], title["line"], title["old_line"]) == ("rubrics/tone.yaml", 3, 3)
    assert phrase["witness"] == {
        "output": "thank you",
        "old_score": 0.5,
        "new_score": 1,
        "old_verdict": "fail",
        "new_verdict": "pass",
    }
    assert (phrase["pointer"], phrase["line"], phrase["old_file"]) == ("/checks/0/values/1", 7, None)


@pytest.mark.heavy
def test_a_moved_pin_brings_the_findings_of_what_it_pins(cli: Cli, repo: Path) -> None:
    path = repo / "datasets/mail.yaml"
    path.write_text(path.read_text().replace("tone@1.0.0", "tone@1.0.1"))
    (finding,) = valid(cli("-C", repo, "diff", "dataset/mail", "--format", "json"))["findings"]
    assert (finding["rule"], finding["level"]) == ("question-rubric-ref-changed", "patch")
    assert [child["rule"] for child in finding["children"]] == ["metadata-changed"]


def test_files_are_compared_anywhere(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(TEXT)
    (tmp_path / "new.yaml").write_text(TEXT.replace("title: Tone", "title: Other"))
    ran = cli("-C", tmp_path, "diff", "old.yaml", "new.yaml")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "old.yaml → new.yaml")
    same = cli("-C", tmp_path, "diff", "old.yaml", "old.yaml", "--exit-code")
    assert (same.code, same.out.splitlines()[-1]) == (
        0,
        "no noticeable change: no bump is needed",
    )


def test_exit_code_answers_like_git(cli: Cli, repo: Path) -> None:
    assert cli("-C", repo, "diff", "rubric/tone", "--exit-code").code == 1
    assert cli("-C", repo, "diff", "rubric/tone@1.0.0", "rubric/tone@1.0.0", "--exit-code").code == 0


def test_the_certain_and_the_possible_fail_apart(cli: Cli, repo: Path, tmp_path: Path) -> None:
    counts = valid(cli("-C", repo, "diff", "rubric/tone", "--format", "json"))
    assert (counts["certain"], counts["possible"]) == (1, 0)
    # Of a judge's words nothing is certain.
    judge = 'id: kind\nversion: "1.0.0"\ntemplate: "How kind? {{ output }}"\n'
    (tmp_path / "old.yaml").write_text(judge)
    (tmp_path / "new.yaml").write_text(judge.replace("kind?", "very kind?"))
    words = (tmp_path / "old.yaml", tmp_path / "new.yaml")
    for sides, wanted, code in (
        (("rubric/tone",), "certain", 1),
        (("rubric/tone",), "possible", 0),
        (words, "certain", 0),
        (words, "possible", 1),
        ((), "possible", 0),
        ((), "certain", 1),
    ):
        assert cli("-C", repo, "diff", *sides, "--fail-on", wanted, "-q").code == code, (sides, wanted)


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (["tone"], 2, "is not a reference"),
        (["rubric/tune"], 3, "tone"),
        (["rubric/tone@9.9.9"], 3, "1.0.1"),
        (["rubric/tone", "dataset/mail"], 2, "rubric/tone@1.0.1 is a rubric and dataset/mail@1.0.0 a dataset"),
        (["old.yaml"], 2, "old.yaml: no such file"),
        (["old.yaml", "new.yaml"], 3, "old.yaml"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_sentence(
    cli: Cli, repo: Path, argv: list[str], code: int, told: str
) -> None:
    ran = cli("-C", repo, "diff", *argv)
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err


def test_a_file_that_is_no_artifact_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text("- a\n")
    ran = cli("-C", tmp_path, "diff", "list.yaml", "list.yaml")
    assert (ran.code, ran.err) == (3, "error: list.yaml:1:1: not a rubric, judge or dataset\n")


def test_text_of_strangers_cannot_act_on_the_terminal(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(TEXT)
    (tmp_path / "new.yaml").write_text(TEXT.replace("[please]", '[please, "\\e]0;x\\a"]'))
    ran = cli("-C", tmp_path, "diff", "old.yaml", "new.yaml")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "\\x1b]0;x" in ran.out


def test_a_witness_is_saved_as_an_example_and_shown_before_any_other_output(repo: Path, cli: Cli) -> None:
    file = repo / "rubrics/tone.yaml"
    before, found = file.read_text(), valid(cli("-C", repo, "diff", "rubric/tone", "--format", "json"))
    (finding,) = found["findings"]
    assert "example" not in finding["witness"]
    save = ("diff", "rubric/tone", "--format", "json", "--save-example", finding["fingerprint"])
    ran = cli("-C", repo, *save)
    assert (ran.code, "saved an example that expects pass: rubrics/tone.yaml:" in ran.err) == (0, True)
    assert file.read_text() == (
        f"{before}examples:\n"
        f"  - output: {finding['witness']['output']}\n"
        "    verdict: pass\n"
        f"    note: {finding['message']}\n"
    )
    again = cli("-C", repo, *save[:-1], f"{save[-1]}=fail")
    assert "has this example already, and expects pass" in again.err
    shown = valid(again)
    assert shown["examples"]["turned"][0]["as_expected"] is True
    added = next(one for one in shown["findings"] if one["rule"] != "examples-changed")
    assert added["witness"]["example"]["line"] == before.count("\n") + 2
    assert cli("-C", repo, "validate", "rubrics/tone.yaml").code == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("rubric/tone", "--save-example", "0123456789abcdef"), 3, "no change has the fingerprint 0123456789abcdef"),
        (("rubrics/tone.yaml", "rubrics/tone.yaml", "--save-example", "0"), 2, "is compared as a file"),
        (("--save-example", "0"), 2, "--save-example needs a single artifact"),
    ],
)
def test_what_shows_no_change_is_not_saved(words: tuple[str, ...], code: int, said: str, repo: Path, cli: Cli) -> None:
    ran = cli("-C", repo, "diff", *words)
    assert (ran.code, said in ran.err) == (code, True)
