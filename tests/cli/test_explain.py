"""`explain` and `schema` through the real command: every file, kind and key, each with an example that is valid."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalstore.catalogue import explain_name, find_topics, list_names
from evalstore.catalogue.schema_topics import TopicSort, load_topics, read_schema
from evalstore.catalogue.schemas import list_schema_names
from evalstore.checks import KINDS
from evalstore.documents import read_yaml, write_yaml
from evalstore.errors import RefError
from evalstore.lint.shapes import lint_artifact_shape
from evalstore.model import Kind
from evalstore.model.check_schemas import list_check_kinds
from evalstore.report.explain import document, format_example, text
from evalstore.report.text_layout import Screen
from tests.rows import each

Cli = Callable[..., Any]
FOLDERS = {"rubric": "rubrics", "judge": "judges", "dataset": "datasets"}
# What the examples refer to.
STORE = {
    "rubric/refund_answers": "1.2.0",
    "judge/accuracy": "1.0.0",
    "judge/tone": "1.0.0",
    "judge/states_fact": "1.0.0",
    "judge/meets_criterion": "1.0.0",
    "judge/meets_statement": "1.0.0",
    "dataset/gold": "1.0.0",
    "dataset/shop_questions": "1.0.0",
}
BUNDLE = '{"type": "object"}'
# What is true of an example by itself, or gets true with the days.
HARMLESS = {"judge-unvalidated", "judge-validation-stale", "judge-model-retires", "dataset-unscored", "rubric-partial"}
HARMLESS |= {"renamed-from-unknown"}  # nothing is released here
# The judges that the examples name and that name variables of their own.
VARIABLES = {"judge/states_fact": "fact", "judge/meets_criterion": "criterion", "judge/meets_statement": "statement"}


def complete(path: str, part: dict[str, Any], name: str) -> tuple[str, str]:
    """Return the file of an example, with what a whole file needs beside it; settings and acceptances stand alone."""
    root = path.partition(".")[0]
    if root in {"settings", "accepted"}:
        return "", ""
    kind = root if root in FOLDERS else "rubric"
    example = read_schema(kind)["examples"][0]
    required = (
        {key: example[key] for key in (*read_schema(kind)["required"], "version", "id") if key in example}
        if kind != "dataset"
        else {**example}
    )
    if "rows" in part:
        required.pop("questions")
    whole = {**required, **part, "id": name, "version": "1.0.0"}
    scoring = whole.get("scoring", {})
    # A weight and a gate name a check: those of another example stand for the checks that are shown.
    if kind == "rubric" and "checks" in part:
        whole["scoring"] = {"combine": scoring["combine"]}
    return f"{FOLDERS[kind]}/{name}.yaml", write_yaml(whole)


def test_the_example_of_every_file_kind_and_key_is_valid(cli: Cli, tmp_path: Path) -> None:
    assert cli("init", cwd=tmp_path).code == 0
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles/code_navigation.schema.json").write_text(BUNDLE)
    for ref, version in STORE.items():
        kind, _, id_ = ref.partition("/")
        value = {**read_schema(kind)["examples"][0], "id": id_, "version": version}
        if name := VARIABLES.get(ref):
            value |= {"template": f"{{{{ {name} }}}} {value['template']}", "variables": [name]}
        (tmp_path / FOLDERS[kind] / f"{id_}.yaml").write_text(write_yaml(value))
    names = {}
    for number, topic in enumerate(load_topics().values()):
        part = read_yaml(format_example(topic), "example").value
        file, content = complete(topic.path, part, f"e{number}")
        if not file:
            continue
        names[file] = topic.path
        if rows := part.get("rows"):
            (tmp_path / "datasets" / f"e{number}.jsonl").write_text('{"id": "a", "input": "x"}\n')
            content = content.replace(rows, f"e{number}.jsonl")
        (tmp_path / file).write_text(content)
    found = json.loads(cli("validate", "--format", "json", cwd=tmp_path).out)["findings"]
    said = [(names.get(one["file"], one["file"]), one["rule"], one["message"]) for one in found]
    assert len(names) > 150
    assert [one for one in said if one[1] not in HARMLESS] == []


def test_the_example_of_a_setting_is_valid() -> None:
    from evalstore.lint.shapes import lint_shape

    for topic in load_topics().values():
        root = topic.path.partition(".")[0]
        if root in {"settings", "accepted"}:
            assert list(lint_shape({"settings": "evalstore"}.get(root, root), topic.document)) == [], topic.path


def test_every_example_shows_its_key() -> None:
    for topic in load_topics().values():
        if topic.sort is TopicSort.KEY:
            # A key that YAML 1.1 takes for true is written in quotes.
            assert f"{topic.name}:" in format_example(topic).replace('"on"', "on"), topic.path


def test_every_kind_and_every_key_is_a_topic() -> None:
    assert list(list_check_kinds()) == sorted(KINDS)
    for kind in KINDS:
        keys = set(read_schema(f"checks/{kind}")["properties"])
        assert keys == {path.split(".")[1] for path in load_topics() if path.startswith(f"{kind}.")}


@pytest.mark.parametrize("width", [80, 100, 200])
def test_every_topic_fits_its_screen(width: int) -> None:
    for path in load_topics():
        explanation = explain_name(path)
        words, example, _ = text(explanation, Screen(width)).partition("\n  example ")
        assert example, path
        assert max(map(len, words.splitlines())) <= width, words
        assert document(explanation)["topics"][0]["path"] == path


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("regex", ["regex"]),
        ("scoring.missing", ["rubric.scoring.missing"]),
        ("rubric.scoring.missing", ["rubric.scoring.missing"]),
        ("/scoring/missing", ["rubric.scoring.missing"]),
        ("/checks/3/pattern", ["regex.pattern"]),
        ("checks[0].pattern", ["regex.pattern"]),
        ("evalstore.strict", ["settings.strict", "settings.targets.strict"]),
        ("questions.expected_facts", ["dataset.questions.expected_facts"]),
        ("nothing.of.this", []),
        ("", []),
    ],
)
def test_a_key_goes_by_its_path(name: str, paths: list[str]) -> None:
    assert [topic.path for topic in find_topics(name)][: len(paths) or None] == paths


def test_one_name_in_many_places_is_told_once_for_each_meaning() -> None:
    groups = explain_name("threshold").topics
    assert sum(map(len, groups)) == len(KINDS) + 2  # of the whole rubric, and of a judge when it was measured
    assert len(groups) == 5  # of a rubric, of a composite, of a judge's check, of all others, of a judge


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("regx", "regex"),
        ("scoring.mising", "scoring.missing"),
        ("tresholdd", "threshold"),
        ("must_contain", "must_contain_any"),
    ],
)
def test_a_near_name_is_told(name: str, near: str) -> None:
    with pytest.raises(RefError, match="unknown rule, kind or key") as raised:
        explain_name(name)
    assert near in (raised.value.hint or "")


def test_names_are_completed(cli: Cli) -> None:
    def complete_word(words: str) -> list[str]:
        line = f"evalstore {words}"
        ran = cli(COMP_WORDS=line, COMP_CWORD=str(line.count(" ")), _EVALSTORE_COMPLETE="bash_complete")
        assert ran.code == 0
        return [word.partition(",")[2] for word in ran.out.split()]

    assert "regex" in complete_word("explain reg")
    assert "rubric.scoring.missing" in complete_word("explain rubric.sc")
    assert "check-added" in complete_word("explain check-a")
    assert complete_word("explain --schema checks/reg") == ["checks/regex"]
    assert complete_word("new rubric x --kind reg") == ["regex"]
    assert len(list_names()) == len(set(list_names()))


@each(list_schema_names())
def test_a_schema_is_printed_as_it_is(name: str) -> None:
    from evalstore.catalogue.schemas import load_schema
    from evalstore.report import render

    for format_ in ("text", "json"):
        assert json.loads(render(load_schema(name), format_)) == json.loads(
            (Path(__file__).parents[2] / "schema" / f"{name}.schema.json").read_text("utf-8")
        )


def test_a_schema_goes_by_its_kind_and_a_near_name_is_told(cli: Cli, tmp_path: Path) -> None:
    assert json.loads(cli("explain", "--schema", "regex", cwd=tmp_path).out)["title"] == "regex check"
    address = "https://git.drupalcode.org/project/ai_eval/-/raw/1.0.x/schema/judge.schema.json"
    assert json.loads(cli("explain", "--schema", address, cwd=tmp_path).out)["title"] == "evalstore judge"
    ran = cli("explain", "--schema", "rubrik", cwd=tmp_path)
    assert (ran.code, ran.err) == (3, "error: there is no schema rubrik\nhint: did you mean rubric?\n")
    listed = cli("explain", "--schema", cwd=tmp_path).out
    assert all(f"{name} " in listed for name in list_schema_names())


def test_a_change_goes_by_its_fingerprint(cli: Cli, tmp_path: Path) -> None:
    cli("init", "store", "--example", cwd=tmp_path)
    store = tmp_path / "store"
    assert cli("bump", "--all", cwd=store).code == 0
    path = store / "rubrics/answer_style.yaml"
    path.write_text(path.read_text("utf-8").replace("because", "because of"), "utf-8")
    fingerprint = json.loads(cli("diff", "rubric/answer_style", "--format", "json", cwd=store).out)["findings"][0][
        "fingerprint"
    ]
    said = json.loads(cli("explain", fingerprint, "--format", "json", cwd=store).out)
    assert said["change"]["ref"] == "rubric/answer_style"
    assert [rule["id"] for rule in said["rules"]] == [said["change"]["finding"]["rule"]]
    words = {"COMP_WORDS": f"evalstore accept {fingerprint[:4]}", "COMP_CWORD": "2"}
    assert cli(cwd=store, _EVALSTORE_COMPLETE="bash_complete", **words).out == f"plain,{fingerprint}\n"
    ran = cli("explain", "0" * 16, cwd=store)
    assert (ran.code, "list the fingerprints: evalstore diff" in ran.err) == (3, True)


def _make_wrong(document: Any) -> Iterator[Any]:
    """Yield an example with each value on the way to a key exchanged for one that no key takes."""
    for name, value in document.items() if isinstance(document, dict) else enumerate(document):
        copy = dict(document) if isinstance(document, dict) else [*document]
        if isinstance(value, dict | list):
            for inner in _make_wrong(value):
                copy[name] = inner
                yield copy
        copy[name] = [[3]]
        yield copy


def test_what_a_hint_says_is_explained_is() -> None:
    named: set[str] = set()
    for topic in load_topics().values():
        root = topic.path.partition(".")[0]
        if root not in {*FOLDERS, *list_check_kinds()}:
            continue
        kind = Kind(root) if root in FOLDERS else Kind.RUBRIC
        for value in _make_wrong(topic.document):
            hints = [note.facts.get("hint", "") for note in lint_artifact_shape(kind, value)]
            named |= {hint.rpartition("evalstore explain ")[2] for hint in hints if "evalstore explain " in hint}
    assert len(named) > 60
    assert {"scoring.missing", "regex.pattern"} <= named
    for name in named:
        assert explain_name(name).topics
