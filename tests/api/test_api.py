"""The public names, used as the documentation says, on a real store."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

import evalstore
from evalstore import Bump, EvalstoreError, Judges, Run, Store, audit, compare, evaluate, export, migrate, score
from evalstore.about import VERSION
from evalstore.errors import RefusedError, UsageError
from evalstore.integrations import scorer
from evalstore.runs.tables import build_columns

ROOT = Path(__file__).resolve().parents[2]
RUBRIC = """id: style
version: 1.0.0
checks:
  - {id: reason, kind: must_contain_any, values: [because]}
  - {id: filler, kind: must_not_contain, values: [simply]}
scoring: {combine: weighted_avg, weights: {reason: 2}}
"""
DATASET = """id: answers
version: 1.0.0
questions:
  - {id: q1, input: Why?, rubric_ref: rubric/style@1.0.0}
  - {id: q2, input: How?, rubric_ref: rubric/style@1.0.0}
"""
AT = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def store(git: Callable[..., str], tmp_path: Path) -> Iterator[Store]:
    git("commit", "--quiet", "--allow-empty", "--message=begin")
    for path, text in (("rubrics/style.yaml", RUBRIC), ("datasets/answers.yaml", DATASET)):
        (tmp_path / "repo" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "repo" / path).write_text(text)
    with Store.open(tmp_path / "repo") as opened:
        yield opened


def outputs(path: Path, *texts: str) -> Path:
    path.write_text(
        "".join(json.dumps({"id": f"q{n}", "output": text}) + "\n" for n, text in enumerate(texts, start=1))
    )
    return path


def test_every_public_name_is_there_whatever_was_imported_before() -> None:
    assert len(evalstore.__all__) <= 20
    for name in evalstore.__all__:
        thing = getattr(evalstore, name)
        assert thing.__doc__
        assert not hasattr(thing, "__path__"), f"{name} is hidden by a package of that name"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="frobnicate"):
        evalstore.frobnicate  # noqa: B018  # the access is the test


@pytest.mark.heavy
def test_release_load_compare_and_evaluate(store: Store) -> None:
    released = store.release()
    assert [item.tag for item in released.released] == ["rubric/style@1.0.0", "dataset/answers@1.0.0"]
    assert store.resolve("rubric/style@^1").version == "1.0.0"
    old = store.load("rubric/style@1.0.0")
    new = old.value | {"scoring": old.value["scoring"] | {"required": ["filler"]}}
    assert compare(old, new).required_bump is Bump.MAJOR
    assert compare(old, old.value).findings == ()
    result = evaluate(old, "simply clear it", store=store)
    assert (result.score, result.verdict, [check.id for check in result.checks]) == (
        Fraction(0),
        "fail",
        ["reason", "filler"],
    )
    assert evaluate(new, {"output": "because"}).score == 1


@pytest.mark.heavy
def test_score_and_audit(store: Store, tmp_path: Path) -> None:
    store.release()
    runs = [
        score(
            "dataset/answers@1.0.0",
            outputs(tmp_path / f"{name}.jsonl", *texts),
            store=store,
            out=tmp_path / name,
            at=AT,
        )
        for name, texts in (("a", ("because", "no")), ("b", ("because", "because simply")))
    ]
    assert [run.score for run in runs] == [Fraction(2, 3), Fraction(5, 6)]
    found = audit(runs[0].path, runs[1].path, store)
    assert found.delta == Fraction(1, 6)
    assert {factor.name: factor.share for factor in found.factors}["outputs"] == Fraction(1, 6)


def test_outputs_are_matched_by_their_inputs(store: Store, tmp_path: Path) -> None:
    """A log without ids counts in the order in which it ran; what was asked says which question that was."""
    store.release()
    path = tmp_path / "shuffled.jsonl"
    rows = [{"id": "q1", "input": "How?", "output": "no"}, {"id": "q2", "input": "Why?", "output": "because"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    grade = partial(score, "dataset/answers@1.0.0", path, store=store, out=tmp_path / "runs", at=AT)
    with pytest.raises(RefusedError, match="the output to 'q1' answers 'q2'"):
        grade()
    run = grade(match="input")
    assert {row.id: row.output.text for row in run.rows()} == {"q1": "because", "q2": "no"}
    with pytest.raises(UsageError, match=r"match must be 'id' or 'input', not 'text'"):
        grade(match="text")
    with pytest.raises(UsageError, match="max_ungraded must be from 0 to 1, not 7"):
        grade(max_ungraded=7)
    with pytest.raises(UsageError, match="kind must be 'rubric', 'judge' or 'dataset', not 'zzz'"):
        store.list_releases("zzz")


def test_migrate_and_export(tmp_path: Path) -> None:
    case = {"id": 1, "prompt": "p", "must_contain_any": ["x"], "must_not_contain": []}
    legacy = tmp_path / "demo/evals.json"
    legacy.parent.mkdir()
    legacy.write_text(json.dumps({"skill_name": "demo", "evals": [case]}))
    report = migrate(str(legacy), into=tmp_path / "store")
    assert [entry.outcome for entry in report.entries] == ["migrated"]
    assert migrate([legacy], into=tmp_path / "store").sources == report.sources
    export("dataset/demo", to="ai_best_practices", store=tmp_path / "store", out=tmp_path / "back")
    assert [json.loads(path.read_text()) for path in (tmp_path / "back").rglob("*.json")] == [
        json.loads(legacy.read_text())
    ]


USER = """
from fractions import Fraction

from evalstore import Bump, Diff, Resolved, RubricResult, Store, compare, evaluate

with Store.open(".") as store:
    resolved: Resolved = store.resolve("rubric/style@1.0.0")
    diff: Diff = compare(store.load("rubric/style@1.0.0"), {"id": "style"})
    bump: Bump = diff.required_bump
    if bump == "major":
        print(resolved.digest, [finding.message for finding in diff.findings])
    result: RubricResult = evaluate({"id": "a"}, {"output": "x", "tool_calls": []}, {"id": "q"}, store=store)
    score: Fraction | None = result.score
    print([(one.id, one.kind, one.score, one.verdict, one.reason) for one in result.checks])
"""


@pytest.mark.slow  # mypy over the whole package
@pytest.mark.process
def test_the_types_reach_whoever_imports_evalstore(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text(f"{USER}number: int = bump\n")
    if (known := ROOT / ".mypy_cache").exists():  # what `make lint` has found of the package itself
        shutil.copytree(known, tmp_path / "cache")
    options = [f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={tmp_path / 'cache'}"]
    argv = [sys.executable, "-m", "mypy", *options, "user.py", "wrong.py"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "Found 1 error in 1 file (checked 2 source files)", done.stdout
    assert (done.returncode, done.stdout.startswith(f"wrong.py:{USER.count(chr(10)) + 1}: ")) == (1, True), done.stdout


def test_public_names_are_what_dir_shows() -> None:
    assert dir(evalstore) == sorted([*evalstore.__all__, "__version__"])
    assert evalstore.__version__ == VERSION


@pytest.mark.heavy
def test_values_are_short_to_look_at_and_plain_as_data(store: Store, tmp_path: Path) -> None:
    released = store.release()
    run = score("dataset/answers", outputs(tmp_path / "a.jsonl", "because", "no"), store=store, out=tmp_path, at=AT)
    diff = compare("rubric/style@1.0.0", store.load("rubric/style").value | {"title": "Style"}, store=store)
    why = audit(run, run, store)
    result = evaluate("rubric/style@1.0.0", "because", store=store)
    values = [released, run, diff, why, result, store.resolve("rubric/style")]
    assert all(len(repr(value)) < 300 for value in (*values, store, store.load("rubric/style")))
    assert [json.loads(json.dumps(value.to_dict())) != {} for value in values] == [True] * 6
    assert "" not in map(str, values)
    assert str(values[-1]).startswith("ref ")
    assert (diff.to_dict()["old"]["ref"], result.to_dict()["score"]) == ("rubric/style@1.0.0", 1)
    for value in (run, diff, why):
        page = value._repr_html_()
        assert page.startswith('<iframe sandbox srcdoc="&lt;!DOCTYPE html&gt;')
        assert page.count('"') == page.count('="') * 2, "the page does not leave its attribute"


@pytest.mark.heavy
def test_tables_of_a_run_have_null_where_nothing_was_scored(store: Store, tmp_path: Path) -> None:
    store.release()
    run = score("dataset/answers", outputs(tmp_path / "a.jsonl", "because", "no"), store=store, out=tmp_path, at=AT)
    assert [(row.id, row.score) for row in Run.read(run.path).rows()] == [("q1", 1), ("q2", Fraction(1, 3))]
    columns = build_columns(run)
    assert (columns["score"], columns["passed"]) == ([1.0, 1 / 3], [True, False])
    assert columns["check.reason"] == [1.0, 0.0]
    assert columns["reason.reason"][1] == "0 of 1 values found, 1 needed"


def test_pandas_and_arrow_keep_null(store: Store, tmp_path: Path) -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    (tmp_path / "repo/rubrics/style.yaml").write_text(
        "id: style\nversion: 1.0.0\nchecks: [{kind: tool_usage, tools: [{name: a}]}]\nscoring: {combine: min}\n"
    )
    store.release()
    run = score("dataset/answers", outputs(tmp_path / "a.jsonl", "x", "y"), store=store, out=tmp_path, at=AT)
    assert run.to_pandas()["score"].isna().all()
    assert run.to_arrow()["score"].null_count == 2
    assert (pandas.__name__, arrow.__name__) == ("pandas", "pyarrow")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate(3, "x"), "evaluate: rubric takes Artifact or Resolved or Mapping[str, Any] or str, not int"),
        (lambda: evaluate({}, "x", ["q"]), "evaluate: question takes Question or Mapping[str, Any], not list of str"),
        (lambda: compare({}, {}, store="."), "compare: store takes Store or ArtifactStore, not str"),
        (lambda: audit(1, 2, None), "audit: run_a takes Run or Path or str, not int"),
        (lambda: migrate("x", into=None), "migrate: into takes Path or str, not NoneType"),
        (lambda: Store.open(None), "Store.open: path takes Path or str, not NoneType"),
    ],
)
def test_a_wrong_type_is_one_sentence(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message
    assert isinstance(caught.value, evalstore.EvalstoreError)


def test_a_reference_needs_a_store() -> None:
    with pytest.raises(evalstore.EvalstoreError, match="evaluate needs a store to find"):
        evaluate("rubric/x@1.0.0", "x")


@pytest.mark.heavy
def test_a_word_or_value_that_a_function_does_not_take_is_one_sentence(store: Store, tmp_path: Path) -> None:
    store.release()
    given = outputs(tmp_path / "a.jsonl", "because")
    run = score("dataset/answers", given, store=store, out=None)
    legacy = tmp_path / "evals.json"
    legacy.write_text('{"evals": [{"id": 1, "prompt": "?", "must_contain_any": ["a"]}]}')
    report = migrate(legacy, into=tmp_path / "repo", dry_run=True)
    assert (report.count("migrated"), report.count("lossy")) == (1, 0)
    calls: list[tuple[str, Callable[[], object]]] = [
        ("by must be 'tag', 'group' or 'check', not 'x'", lambda: audit(run, run, store, by="x")),
        ("share must be 'cases', 'suite' or 'all', not 'x'", lambda: migrate(legacy, into=tmp_path, share="x")),
        ("force and keep exclude each other", lambda: migrate(legacy, into=tmp_path, force=True, keep=True)),
        ("outcome must be 'migrated'", lambda: report.count("migratd")),
        ("losses must be 'another-prompt'", lambda: report.is_complete_but_for(["x"])),
        ("kind must be 'rubric', 'judge' or 'dataset', not 'x'", lambda: store.list_releases("x")),
        ("max_ungraded must be from 0 to 1", lambda: score("dataset/answers", given, store=store, max_ungraded=2)),
        ("max_ungraded takes Fraction or Decimal or float, not str", lambda: score("dataset/answers", given, store=store, max_ungraded="a")),
        ("Judges: model takes Mapping[str, Any], not str", lambda: Judges(model="gpt")),
        ("is a rubric and dataset/answers@1.0.0 a dataset", lambda: compare("rubric/style", "dataset/answers", store=store)),
        ("old is a judge and new a rubric", lambda: compare({"template": "x"}, {"checks": []})),
        ("is a dataset, not a rubric", lambda: evaluate("dataset/answers", "x", store=store)),
        ("is a rubric, not a dataset", lambda: store.read_questions("rubric/style")),
        ("there is no dataset/none", lambda: export("dataset/none", to="promptfoo", store=tmp_path / "repo")),
        ("output takes str, not int", lambda: scorer("rubric/style", store=store)(5)),
    ]  # fmt: skip
    for said, call in calls:
        with pytest.raises(EvalstoreError) as raised:
            call()
        assert said in str(raised.value)
