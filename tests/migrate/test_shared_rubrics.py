"""A rubric is written once for the cases that differ in values; what a suite in the old form keeps, and how it turns."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_row, read_yaml
from evalstore.migration import FileState, MigrationReport, export, migrate
from evalstore.migration.legacy_files import parse_whole
from evalstore.migration.remainder import is_same_data
from evalstore.migration.shared_rubrics import fill_rubric, restore_judge
from evalstore.model import Kind, select_scoring_part
from tests.rows import thin

CASES = Path(__file__).resolve().parents[1] / "cases/migrations"
Git = Callable[..., str]
Run = Callable[..., Any]
FOLDERS = sorted(path for path in CASES.glob("*/*") if path.is_dir())


def load(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = read_yaml(path.read_bytes(), path.name).value
    return value


def load_rows(store: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the questions of a store by dataset and id."""
    rows: dict[tuple[str, str], Mapping[str, Any]] = {}
    for path in store.glob("datasets/*.yaml"):
        value = load(path)
        lines = (path.parent / value["rows"]).read_bytes().split(b"\n") if "rows" in value else []
        listed = value.get("questions", [read_row(line, "r", 1) for line in lines if line])
        rows |= {(path.stem, row["id"]): row for row in listed}
    return rows


def read_graders(store: Path) -> dict[tuple[str, str], Any]:
    """Return what grades each question: the checks with its values written in, and the judges in full."""
    graders: dict[tuple[str, str], Any] = {}
    for place, row in load_rows(store).items():
        file = find_file(store, row.get("rubric_ref", "rubric/none@1"))
        if file.exists():
            graders[place] = expand(select_scoring_part(Kind.RUBRIC, dict(fill_rubric(load(file), row))), store)
    return graders


def find_file(store: Path, ref: str) -> Path:
    kind, _, name = ref.partition("@")[0].partition("/")
    return store / f"{kind}s/{name}.yaml"


def expand(value: Any, store: Path) -> Any:
    if isinstance(value, list):
        return [expand(item, store) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: expand_ref(item, store) if key in {"judge_prompt_ref", "rubric_ref"} else expand(item, store)
        for key, item in value.items()
    }


def expand_ref(ref: str, store: Path) -> Any:
    value = load(find_file(store, ref))
    if ref.startswith("judge/"):
        return select_scoring_part(Kind.JUDGE, dict(restore_judge(value)))
    return expand(select_scoring_part(Kind.RUBRIC, value), store)


def hold_export(report: MigrationReport, case: Path, store: Path) -> None:
    files = {source.file for source in report.sources if source.target}
    given = export(to=case.parent.name, store=store).files if files else ()
    assert files == {file.file for file in given} & files
    for file in given:
        value = parse_whole(file.text.encode(), file.file).value
        assert is_same_data(value, parse_whole((case / file.file).read_bytes(), file.file).value)


@pytest.mark.parametrize("folder", thin(FOLDERS, 8), ids=lambda case: f"{case.parent.name}/{case.name}")
def test_the_old_form_stays_and_turns_into_the_new_one_without_another_grader(folder: Path, tmp_path: Path) -> None:
    case = Path(shutil.copytree(folder, tmp_path / folder.parent.name / folder.name))
    store = tmp_path / "store"
    report = migrate([case / "legacy"], into=store, share="cases")
    if folder.parent.name == "every_eval_ever":  # a run, whose questions have no rubric to share
        return
    graders = read_graders(store)
    assert migrate([case / "legacy"], into=store).written == ()
    hold_export(report, case, store)
    turned = migrate([case / "legacy"], into=store, share="suite")
    assert {file.state for file in turned.files} <= {
        FileState.NEW,
        FileState.UPDATED,
        FileState.UNCHANGED,
        FileState.ORPHAN,
    }
    assert graders.keys() == read_graders(store).keys()
    for place, grader in read_graders(store).items():
        assert is_same_data(grader, graders[place])
    hold_export(turned, case, store)
    assert migrate([case / "legacy"], into=store).written == ()
    assert [entry.outcome for entry in turned.entries] == [entry.outcome for entry in report.entries]
    # And the form of a fresh store has the same graders, too.
    migrate([case / "legacy"], into=tmp_path / "fresh")
    assert is_same_data(read_graders(tmp_path / "fresh"), graders)


def write_suite(root: Path, *phrases: str, **more: Any) -> Path:
    path = root / "legacy/forms/evals.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    cases = [
        {"id": number, "prompt": f"Question {number}?", "must_contain_any": [phrase]}
        for number, phrase in enumerate(phrases, start=1)
    ]
    path.write_text(json.dumps({"skill_name": "forms", "evals": [*cases, *more.get("cases", ())]}))
    return path


def list_states(report: MigrationReport) -> dict[str, str]:
    return {file.path: file.state.value for file in report.files if file.state is not FileState.UNCHANGED}


def test_an_edit_of_a_value_is_an_edit_of_its_question(tmp_path: Path) -> None:
    source = write_suite(tmp_path, "alpha", "beta", "alpha")
    store = tmp_path / "store"
    assert sorted(migrate([source], into=store).written) == ["datasets/forms.yaml", "rubrics/forms.yaml"]
    rubric = (store / "rubrics/forms.yaml").read_bytes()
    assert b"from: must_contain_any" in rubric
    # Values that were equal differ now, and others are equal: the rubric is the same, and so are all names.
    write_suite(tmp_path, "alpha", "alpha", "gamma", "delta")
    assert list_states(migrate([source], into=store)) == {"datasets/forms.yaml": "updated"}
    assert (store / "rubrics/forms.yaml").read_bytes() == rubric
    assert [row["must_contain_any"] for row in load_rows(store).values()] == [
        ["alpha"],
        ["alpha"],
        ["gamma"],
        ["delta"],
    ]


def test_another_shape_is_another_rubric_with_words_for_a_name(tmp_path: Path) -> None:
    source = write_suite(tmp_path, "alpha", "beta")
    store = tmp_path / "store"
    migrate([source], into=store)
    apart = {"id": 3, "prompt": "?", "must_contain_any": ["a"], "must_not_contain": ["b"], "check_php_lint": True}
    write_suite(tmp_path, "alpha", "beta", cases=[apart])
    states = list_states(migrate([source], into=store))
    assert states == {"datasets/forms.yaml": "updated", "rubrics/forms_contains_excludes_php.yaml": "new"}
    migrate([source], into=tmp_path / "fresh")
    names = sorted(path.stem for path in (tmp_path / "fresh/rubrics").iterdir())
    assert names == ["forms_contains", "forms_contains_excludes_php"]


def test_all_suites_share_a_shape_where_that_is_asked_for(tmp_path: Path) -> None:
    source = write_suite(tmp_path, "alpha", "beta")
    other = tmp_path / "legacy/views/evals.json"
    other.parent.mkdir()
    other.write_text(source.read_text().replace("forms", "views").replace("alpha", "gamma"))
    store = tmp_path / "store"
    migrate([tmp_path / "legacy"], into=store, share="all")
    assert [path.name for path in (store / "rubrics").iterdir()] == ["contains.yaml"]
    assert migrate([tmp_path / "legacy"], into=store).written == ()


def test_a_rubric_that_somebody_made_his_own_stays_that_of_its_case(tmp_path: Path) -> None:
    source = write_suite(tmp_path, "alpha", "beta", "gamma")
    store = tmp_path / "store"
    migrate([source], into=store, share="cases")
    own = store / "rubrics/forms_b02.yaml"
    own.write_text(own.read_text().replace("- beta", "- beta here"))
    states = list_states(migrate([source], into=store, share="suite"))
    assert states["rubrics/forms_b02.yaml"] == "kept"
    assert states["rubrics/forms_contains.yaml"] == "new"
    assert re.findall("rubric_ref: (.*)@", (store / "datasets/forms.yaml").read_text()) == [
        "rubric/forms_contains",
        "rubric/forms_b02",
        "rubric/forms_contains",
    ]
    assert "beta here" in own.read_text()
    again = migrate([source], into=store)
    assert again.written == ()
    assert "forms_b02" in str(list_states(again))


def test_turning_is_proved_by_its_own_diff(tmp_path: Path, cli: Run, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    git()
    repo = tmp_path / "repo"
    monkeypatch.chdir(repo)
    write_suite(repo, "alpha", "beta", "gamma")
    assert cli("migrate", "legacy", "--share", "cases").code == 0
    git("add", ".")
    git("commit", "-m", "Migrate")
    assert cli("bump", "--all").code == 0
    ran = cli("migrate", "legacy", "--share", "suite")
    assert ran.code == 0
    assert "its cases share rubrics now" in " ".join(ran.out.split())
    found = json.loads(cli("diff", "dataset/forms", "--format", "json").out)
    assert found["required_bump"] == "minor"
    assert {finding["rule"] for finding in found["findings"] if finding["level"] == "minor"} == {
        "question-rubric-ref-changed",
        "question-value-changed",
    }
    # A value that changes with it is what it is: the rubric is another one for that question.
    dataset = repo / "datasets/forms.yaml"
    dataset.write_text(dataset.read_text().replace("- beta", "- bete"))
    assert json.loads(cli("diff", "dataset/forms", "--format", "json").out)["required_bump"] == "major"


def test_what_a_rubric_takes_from_its_questions_is_not_said_to_be_left_out(
    tmp_path: Path, cli: Run, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    git()
    repo = tmp_path / "repo"
    monkeypatch.chdir(repo)
    write_suite(repo, "alpha", "beta")
    assert cli("migrate", "legacy").code == 0
    git("add", ".")
    git("commit", "-m", "Migrate")
    assert cli("bump", "--all").code == 0
    ran = cli("export", "--to", "ai_best_practices", "--out", tmp_path / "back", "dataset/forms")
    assert ran.code == 0
    assert "left out" not in ran.out + ran.err
