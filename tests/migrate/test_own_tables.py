"""Tables of the user's own: suites of the long tail become rubrics by them, nothing is lost, and wrong ones say where."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evalstore.checks import evaluate
from evalstore.documents import read_yaml, write_yaml
from evalstore.errors import EvalstoreError
from evalstore.migration import MigrationOutcome, MigrationReport, export, migrate
from evalstore.migration.extraction import parse_whole
from evalstore.migration.remainder import is_same_data
from evalstore.model import Verdict
from evalstore.places import find_resource_folder

Run = Callable[..., Any]

HEAD = {"format": "house", "title": "House suites", "lists": [{"key": "cases"}], "case": {"id": "name", "input": "ask"}}
PATTERNS = {"kind": "regex", "read": "texts_or_text", "items": "all", "into": "pattern"}
TEXTS = {"kind": "must_contain_any", "read": "texts_or_text", "into": "values"}


def write_table(folder: Path, *rows: Mapping[str, Any], **keys: Any) -> Path:
    path = folder / "house.yaml"
    path.write_text(write_yaml({**HEAD, **({"checks": list(rows)} if rows else {}), **keys}), "utf-8")
    return path


def write_suite(folder: Path, *cases: Mapping[str, Any], name: str = "odd.json", **root: Any) -> Path:
    path = folder / name
    named = [{"name": f"c{number}", "ask": "?", **case} for number, case in enumerate(cases, start=1)]
    path.write_text(json.dumps({**root, "cases": named}), "utf-8")
    return path


def load_rows(store: Path) -> list[Any]:
    """Return the questions of the only dataset."""
    (dataset,) = (store / "datasets").glob("*.yaml")
    rows: list[Any] = read_yaml(dataset.read_text(), "d").value["questions"]
    return rows


def load_rubrics(store: Path) -> list[Any]:
    """Return the rubrics of the questions of the only dataset, in their order."""
    ids = [row["rubric_ref"].split("/")[1].split("@")[0] for row in load_rows(store)]
    return [read_yaml((store / f"rubrics/{id_}.yaml").read_text(), id_).value for id_ in ids]


def verdicts(store: Path, output: str) -> list[bool]:
    pairs = zip(load_rubrics(store), load_rows(store), strict=True)
    return [evaluate(rubric, output, row).verdict is Verdict.PASS for rubric, row in pairs]


def migrate_by(table: Path, source: Path, **options: Any) -> MigrationReport:
    return migrate(source, into=table.parent / "store", tables=[table], **options)


def hold_round_trip(table: Path, source: Path, format_: str = "house") -> None:
    """The export by the same table is the source, and a second migration changes nothing."""
    store = table.parent / "store"
    assert migrate_by(table, source).written == ()
    (file,) = export(to=format_, store=store, tables=[table]).files
    assert is_same_data(
        parse_whole(file.text.encode(), source.name).value, parse_whole(source.read_bytes(), source.name).value
    )
    assert not file.left_out


def test_patterns_that_must_and_must_not_match(tmp_path: Path) -> None:
    table = write_table(
        tmp_path, {"key": "must_have", **PATTERNS}, {"key": "must_not_have", **PATTERNS, "with": {"negate": True}}
    )
    source = write_suite(tmp_path, {"must_have": [r"\bhi\b", "you|u"], "must_not_have": "bye"}, {"must_have": []})
    report = migrate_by(table, source)
    assert [entry.outcome for entry in report.entries] == [MigrationOutcome.MIGRATED] * 2
    assert verdicts(tmp_path / "store", "hi you") == [True, True]
    assert verdicts(tmp_path / "store", "hi bye") == [False, True]
    assert verdicts(tmp_path / "store", "hi you bye") == [False, True]
    hold_round_trip(table, source)


@pytest.mark.parametrize(("items", "passes"), [("any", [True, True, False]), ("all", [False, True, False])])
@pytest.mark.parametrize("row", [TEXTS, PATTERNS])
def test_any_or_all_of_a_list(items: str, passes: list[bool], row: Mapping[str, Any], tmp_path: Path) -> None:
    table = write_table(tmp_path, {"key": "must_include", **row, "items": items})
    migrate_by(table, write_suite(tmp_path, {"must_include": ["a", "b"]}))
    assert [verdicts(tmp_path / "store", output)[0] for output in ("a", "ab", "c")] == passes


def test_an_expected_answer_is_the_whole_answer(tmp_path: Path) -> None:
    row = {"key": "expected_answer", "kind": "regex", "read": "text", "into": "pattern", "escaped": r"\A\s*{}\s*\Z"}
    case = {"input": "question", "expected": "expected_answer"}
    table = write_table(tmp_path, row, lists=[{"key": ""}], case=case)
    source = tmp_path / "qa.jsonl"
    source.write_text('{"question": "2+2?", "expected_answer": "4."}\n{"question": "?", "expected_answer": "a|b"}\n')
    report = migrate_by(table, source)
    assert "it is called 1, by its place" in report.entries[0].reason
    assert verdicts(tmp_path / "store", " 4.\n") == [True, False]
    assert verdicts(tmp_path / "store", "4x") == [False, False]
    assert verdicts(tmp_path / "store", "a|b") == [False, True]
    hold_round_trip(table, source)


def test_keys_within_keys_and_items_by_their_sort(tmp_path: Path) -> None:
    sorts = [{"key": "has", **TEXTS}, {"key": "lacks", **TEXTS, "kind": "must_not_contain"}]
    table = write_table(
        tmp_path,
        {"key": "expect/contains", **TEXTS, "items": "all"},
        {"key": "asserts", "read": "items", "by": "type", "value": "value", "options": sorts},
        lists=[{"key": "suite/cases"}],
    )
    source = tmp_path / "odd.yaml"
    items = [{"type": "has", "value": "x"}, {"type": "lacks", "value": ["y"], "why": "z"}, {"type": "new"}, 5]
    cases = [
        {"name": 1, "ask": "?", "expect": {"contains": ["a", "b"], "contians": "c"}},
        {"name": 2, "ask": "?", "asserts": items, "hint": {"deep": [1.50, None]}},
    ]
    source.write_text(write_yaml({"suite": {"cases": cases, "owner": "me"}}))
    report = migrate_by(table, source)
    assert {entry.pointer: entry.outcome.value for entry in report.entries} == {
        "/suite/owner": "unmapped",
        "/suite/cases/0": "migrated",
        "/suite/cases/0/expect/contians": "unmapped",
        "/suite/cases/1": "lossy",
        "/suite/cases/1/hint": "unmapped",
        "/suite/cases/1/asserts/1/why": "unmapped",
        "/suite/cases/1/asserts/2": "unmapped",
        "/suite/cases/1/asserts/3": "unmapped",
    }
    reasons = " ".join(entry.reason for entry in report.entries)
    assert "did you mean contains by 'contians'?" in reasons
    assert "no row of the table is for items whose type is 'new'" in reasons
    assert verdicts(tmp_path / "store", "ab x") == [True, True]
    assert verdicts(tmp_path / "store", "a x y") == [False, False]
    hold_round_trip(table, source)


def test_a_judge_of_the_table_is_ours_until_it_is_said_to_be_theirs(tmp_path: Path) -> None:
    judge = {
        "id": "house",
        "template": "{{ input }} {{ output }} {{ point }}",
        "variables": ["point"],
        "score_type": "binary",
    }
    row = {"key": "points", "kind": "llm_judge", "read": "texts_or_text", "items": "all", "into": "variables/point"}
    source = write_suite(tmp_path, {"points": ["polite", "short"]})
    table = write_table(
        tmp_path, {**row, "judge": "house", "weight": 2}, judges=[judge], scoring={"combine": "weighted_avg"}
    )
    assert "another prompt" in migrate_by(table, source, share="cases").entries[0].reason
    (rubric,) = load_rubrics(tmp_path / "store")
    assert [check["variables"]["point"] for check in rubric["checks"]] == ["polite", "short"]
    assert rubric["scoring"]["weights"] == {"points_1": 2, "points_2": 2}
    assert (tmp_path / "store/judges/house.yaml").is_file()
    table = write_table(tmp_path, {**row, "judge": "house"}, judges=[{**judge, "same_as_grader": True}])
    assert migrate_by(table, source, dry_run=True).entries[0].outcome is MigrationOutcome.MIGRATED


def test_where_the_grader_does_otherwise_is_lossy(tmp_path: Path) -> None:
    table = write_table(tmp_path, {"key": "words", **TEXTS, "lossy": "it counts whole words"})
    report = migrate_by(table, write_suite(tmp_path, {"words": "a"}, {}))
    assert [entry.outcome.value for entry in report.entries] == ["lossy", "migrated"]
    assert report.entries[0].reasons == ("words: it counts whole words",)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({"ask": None}, "ask is missing, so nothing can be asked"),
        ({"ask": ["?"]}, "ask is a list, not a text"),
        ({"words": {"a": 1}}, "words has an object where the table wants a list of texts"),
        ({"words": ["a", 1]}, "words has a number in its list where the table wants only texts"),
        ({"most": "9"}, "most has a text where the table wants a number"),
        ({"most": -1}, "most makes no check: format does not take its value"),
        ({"likes": ["a", "("]}, "likes makes no check: the pattern does not compile"),
    ],
)
def test_what_the_table_does_not_foresee_is_refused_alone(case: dict[str, Any], said: str, tmp_path: Path) -> None:
    limit = {"key": "most", "kind": "format", "read": "number", "into": "max_chars", "with": {"format": "text"}}
    table = write_table(tmp_path, {"key": "words", **TEXTS}, limit, {"key": "likes", **PATTERNS})
    source = write_suite(tmp_path, {"words": "a", "most": 3}, case)
    first, second = sorted(migrate_by(table, source).entries, key=lambda entry: entry.pointer)
    assert first.outcome is MigrationOutcome.MIGRATED
    assert second.outcome is MigrationOutcome.REFUSED
    assert said in second.reason
    hold_round_trip(table, source)


def test_a_tie_beside_a_list_that_is_none_is_refused(tmp_path: Path) -> None:
    """The cases of the one dialect are under another key than the list that the file is read by."""
    signs = [{"at": "case", "keys": ["told"], "because": "they have told"}]
    variant = {"lists": [{"key": "others", "dialect": "told"}], "signs": signs, "checks": [{"key": "told", **TEXTS}]}
    lists = [{"key": "cases", "dialect": "plain"}]
    table = write_table(tmp_path, {"key": "must", **TEXTS}, lists=lists, variants=[variant])
    others = [{"name": "a", "ask": "?", "told": ["x"]}, {"name": "b", "ask": "?", "must": ["x"]}]
    source = tmp_path / "odd.json"
    source.write_text(json.dumps({"cases": 5, "others": others}), "utf-8")
    report = migrate_by(table, source, format="house", dry_run=True)
    refused = report.entries[0]
    assert (refused.outcome, refused.cases) == (MigrationOutcome.REFUSED, None)
    assert refused.reason.endswith("--dialect decides")


def test_other_formats_go_on_beside_it(tmp_path: Path, suite: Callable[..., Path]) -> None:
    """A mixed tree: each file is taken for what it is, and one odd case makes none of them the table's."""
    suite({"must_contain_any": ["a"]})
    table = write_table(
        tmp_path, {"key": "words", **TEXTS}, lists=[{"key": "evals"}], case={"id": "id", "input": "prompt"}
    )
    legacy = tmp_path / "legacy"
    stated = {"prompt": "?", "assertions": ["It greets"]}
    for name, cases in {
        "own": [{"prompt": "?", "words": "a"}] * 3,
        "theirs": [*[stated] * 9, {"prompt": "?", "words": "a"}],
    }.items():
        (legacy / f"{name}.json").write_text(json.dumps({"evals": [{"id": n, **case} for n, case in enumerate(cases)]}))
    report = migrate(legacy, into=tmp_path / "store", tables=[table])
    assert {Path(source.file).name: source.format for source in report.sources} == {
        "evals.json": "ai_best_practices",
        "own.json": "house",
        "theirs.json": "skill_creator",
    }


def test_it_comes_before_a_shape_that_no_format_takes(tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    source.write_text('{"cases": [{"question": "?", "expected": "b"}]}')
    assert migrate(source, into=tmp_path / "store", dry_run=True).sources[0].format is None
    table = write_table(tmp_path, {"key": "expected", **TEXTS}, case={"input": "question", "expected": "expected"})
    assert migrate_by(table, source, dry_run=True).sources[0].format == "house"


def test_a_table_of_evalstore_under_another_name_does_the_same(suite: Callable[..., Path], tmp_path: Path) -> None:
    """What is declared in `migrations/` is the same thing as a table of one's own."""
    text = (find_resource_folder("migrations") / "ai_best_practices.yaml").read_text("utf-8")
    value = read_yaml(text, "t").value
    table = tmp_path / "mine.yaml"
    table.write_text(
        write_yaml(
            {**{key: item for key, item in value.items() if key not in {"variants", "not_this"}}, "format": "mine"}
        )
    )
    source = suite(
        {"must_contain_any": ["A", "b"], "must_not_contain": ["c"], "check_php_lint": True}, {"must_contain_any": ["x"]}
    )
    assert migrate_by(table, source).sources[0].format == "mine"
    for output in ("a", "a c", "x\n```php\n$a = 1;\n```"):
        migrate(source, into=tmp_path / "theirs")
        assert verdicts(tmp_path / "store", output) == verdicts(tmp_path / "theirs", output)
    hold_round_trip(table, source, "mine")


def test_the_table_of_an_export_is_the_one_of_the_migration(cli: Run, tmp_path: Path) -> None:
    table = write_table(tmp_path, {"key": "words", **TEXTS})
    source = write_suite(tmp_path, {"words": "a"})
    assert cli("-C", tmp_path, "migrate", source, "--into", "store", "--table", "house.yaml").code == 0
    exported = cli("-C", tmp_path / "store", "export", "--to", "house", "--table", table)
    assert json.loads(exported.out) == json.loads(source.read_text())
    unknown = cli("-C", tmp_path / "store", "export", "--to", "house")
    assert (unknown.code, "there is no format 'house'" in unknown.err) == (2, True)
    write_table(tmp_path, {"key": "words", **TEXTS}, case={"id": "name", "input": "ask", "expected": "note"})
    other = cli("-C", tmp_path / "store", "export", "--to", "house", "--table", table)
    assert other.code == 3
    assert "migrated by another table called house" in other.err


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"chekcs": []}, "`chekcs` is not allowed here", "did you mean checks?"),
    ({"case": {"inptu": "a"}}, "`inptu` is not allowed here", "did you mean input?"),
    ({"format": "agentevals"}, "agentevals is a format of evalstore itself", "a name of its own"),
    ({"form": {}}, "`form` is for formats with a reader", "take it out"),
    ({"checks": [{**TEXTS, "key": "a", "kind": "must_contain"}]}, "unknown check kind 'must_contain'", "did you mean must_contain_any?"),
    ({"checks": [{**TEXTS, "key": "a", "into": "valeus"}]}, "no parameter 'valeus'", "did you mean values?"),
    ({"checks": [{**TEXTS, "key": "a", "with": {"case_sensitive": "no"}}]}, "`case_sensitive` must be true or false", ""),
    ({"checks": [{**TEXTS, "key": "a", "read": "number"}]}, "must be a list", ""),
    ({"checks": [{**TEXTS, "key": "a", "read": "txt"}]}, "`read` must be one of", "text"),
    ({"checks": [{**TEXTS, "key": "a", "weight": 2}]}, "weights count with", "weighted_avg"),
    ({"checks": [{"key": "a", "kind": "regex", "read": "truth", "with": {"pattern": "("}}]}, "does not compile", "re"),
    ({"checks": [{"key": "a", "kind": "llm_judge", "read": "text", "into": "variables/x", "judge": "j"}]}, "no judge 'j'", "judges"),
    ({"checks": [{"key": "a", "kind": "regex", "read": "text", "into": "pattern", "escaped": "x"}]}, "has no {}", "as in"),
    ({"checks": [{"key": "a", "read": "items", "by": "type"}]}, "`value` is missing", ""),
    ({"judges": [{"id": "j", "template": "x", "score_type": "binry"}]}, "`score_type` must be one of", "did you mean binary?"),
    ({"scoring": {"combine": "most"}}, "`combine` must be one of", ""),
    ({"lists": []}, "`lists` is empty", ""),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "message", "hint"), WRONG)
def test_a_wrong_table_says_where_and_what_to_do(keys: dict[str, Any], message: str, hint: str, tmp_path: Path) -> None:
    table = write_table(tmp_path, **keys)
    source = write_suite(tmp_path, {"a": "b"})
    with pytest.raises(EvalstoreError) as caught:
        migrate_by(table, source)
    assert caught.value.place
    assert caught.value.place.file == str(table)
    assert caught.value.place.line
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert not (tmp_path / "store").exists()


def test_the_place_is_that_of_the_row(tmp_path: Path) -> None:
    table = write_table(tmp_path, {"key": "a", **TEXTS}, {"key": "b", **TEXTS, "kind": "regexx"})
    with pytest.raises(EvalstoreError) as caught:
        migrate_by(table, write_suite(tmp_path, {"a": "b"}))
    assert caught.value.place
    assert "regexx" in table.read_text().splitlines()[(caught.value.place.line or 0) - 1]


HOSTILE = {
    "deep": "[" * 5000,
    "aliases": "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefghi", "bcdefghij", strict=True)),
    "huge": "a" * (1 << 21),
    "rows": write_yaml(HEAD) + "checks:\n" + "- {key: a, kind: must_contain_any, read: texts_or_text, into: values}\n" * 5000,
    "bytes": "\0\0",
    "list": "- 1",
    "pattern": write_yaml(HEAD) + f"checks: [{{key: a, kind: regex, read: truth, with: {{pattern: '{'(' * 3000 + ')' * 3000}'}}}}]\n",
}  # fmt: skip


@pytest.mark.parametrize("sort", HOSTILE)
def test_a_hostile_table_ends_in_a_sentence(sort: str, cli: Run, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(HOSTILE[sort])
    ran = cli("-C", tmp_path, "migrate", write_suite(tmp_path, {"a": "b"}), "--into", "store", "--table", "t.yaml")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: ")
    assert "t.yaml" in ran.err
    assert len(ran.err) < 2000


def test_two_tables_of_one_name_are_refused(tmp_path: Path) -> None:
    table = write_table(tmp_path, {"key": "a", **TEXTS})
    with pytest.raises(EvalstoreError, match="another --table is called house"):
        migrate(write_suite(tmp_path, {"a": "b"}), into=tmp_path / "store", tables=[table, table])
