"""What an export gives back, and what it refuses: words that a format has not, paths that leave the folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import EvalstoreError, RefError, RefusedError
from evalstore.migration import export, migrate
from tests.migrate.planning import copy_legacy

Suite = Callable[..., Path]
TO = "ai_best_practices"


@pytest.fixture
def store(suite: Suite, tmp_path: Path) -> Path:
    """A plain folder, no repository, with one migrated suite."""
    case = {"must_contain_any": ["a"], "check_php_lint": True}
    migrate([suite(case, {"expectations": ["b"]})], into=tmp_path / "store", share="cases")
    return tmp_path / "store"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def cases(store: Path, *refs: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(export(refs, to=TO, store=store).files[0].text)["evals"]
    return found


def rubric(store: Path) -> Path:
    return next(path for path in (store / "rubrics").iterdir() if path.name == "forms_b01.yaml")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("case_sensitive: false", "case_sensitive: true", "no words for this must_contain_any check"),
        (
            "case_sensitive: false",
            "case_sensitive: false\n    negate: true",
            "no words for this must_contain_any check",
        ),
        (
            "  - kind: must_contain_any",
            "  - kind: regex\n    pattern: a\n  - kind: must_contain_any",
            "this regex check",
        ),
        ("    dialect: legacy\n", "", "no words for this php_lint check"),
        ("all_pass", "any_pass", "no words for the scoring"),
        ('version: "1.0.0"', 'version: "2.0.0"', "the file has version 2.0.0"),
        ("checks:", "check:", "not as the schema says"),
    ],
)
def test_a_rubric_that_the_format_cannot_say_is_refused(store: Path, old: str, new: str, said: str) -> None:
    edit(rubric(store), old, new)
    assert said in say_refusal(to=TO, store=store)


def test_notes_and_ids_of_checks_change_nothing(store: Path) -> None:
    before = cases(store)
    edit(
        rubric(store),
        "  - kind: must_contain_any",
        "  - id: mine\n    description: why\n    x_y: 1\n    kind: must_contain_any",
    )
    assert cases(store) == before


def test_what_the_format_has_no_words_for_is_said(store: Path) -> None:
    edit(
        store / "datasets/forms.yaml",
        "    input: Question 1?",
        "    input: Question 1?\n    criteria: Be kind\n    tags: [x]",
    )
    given = export(to=TO, store=store).files[0]
    assert given.left_out == ("dataset/forms B01: criteria", "dataset/forms B01: tags")
    assert "Be kind" not in given.text


def test_a_question_of_ones_own_comes_along(store: Path) -> None:
    path = store / "datasets/forms.yaml"
    edit(
        path,
        "x_source:\n  format",
        "  - id: mine\n    input: And this?\n    rubric_ref: rubric/forms_b02@1.0.0\nx_source:\n  format",
    )
    assert cases(store)[2] == {"id": "mine", "prompt": "And this?"}


def test_a_question_that_nothing_grades_is_said(store: Path) -> None:
    edit(store / "datasets/forms.yaml", "    rubric_ref: rubric/forms_b02@1.0.0\n", "")
    (left_out,) = export(to=TO, store=store).files[0].left_out
    assert left_out == "dataset/forms B02: it has no rubric; there, any answer that is not empty passes"


@pytest.mark.parametrize(("new", "id_"), [("mine", "mine"), ("B01_2", 1), ("B011", "B011"), ("B01_x", "B01_x")])
def test_a_question_that_was_renamed_is_called_by_its_new_name(store: Path, new: str, id_: object) -> None:
    edit(store / "datasets/forms.yaml", "- id: B01", f"- id: {new}")
    assert cases(store)[0]["id"] == id_


def test_a_case_that_was_set_aside_comes_back_whatever_its_keys(suite: Suite, tmp_path: Path) -> None:
    source = suite({"must_contain_any": ["a"]}, {"must_contain_any": None, "x_pairs": {"x_pairs": [[1, 2]]}})
    migrate([source], into=tmp_path / "store")
    assert cases(tmp_path / "store") == json.loads(source.read_text())["evals"]


def changed(store: Path, case: str, old: str, new: str) -> str:
    """Migrate a case, change its dataset, and return what an export says of it."""
    migrate([copy_legacy(case, store)], into=store)
    edit(next((store / "datasets").iterdir()), old, new)
    return say_refusal(to=case.partition("/")[0], store=store)


def say_refusal(**options: Any) -> str:
    """Return why the one dataset that cannot be given back is not."""
    (refused,) = export(**options).refused
    return refused.reason


def test_a_question_of_ones_own_has_no_words_in_other_formats(tmp_path: Path) -> None:
    said = changed(
        tmp_path, "skill_creator/statements", "\nquestions:\n", "\nquestions:\n  - id: mine\n    input: Q?\n"
    )
    assert said == "mine: it was added since dataset/writer was migrated"


@pytest.mark.parametrize("pin", ["nothing", "rubric/names_the_hook@2.0.0"])
def test_a_reference_of_the_source_that_was_edited_is_not_given_back(tmp_path: Path, pin: str) -> None:
    old = "    rubric_ref: rubric/names_the_hook@1.10.0\n"
    new = "" if pin == "nothing" else f"    rubric_ref: {pin}\n"
    said = changed(tmp_path, "ai_eval/quirk_d18_versions_of_two_parts", old, new)
    assert said == f"S01: its rubric is {pin} here and rubric/names_the_hook@1.10.0 in the source"


@pytest.mark.parametrize("file", ["../evil.json", "/tmp/evil.json", "a/../../evil.json", "link/evil.json"])  # noqa: S108  # refused
def test_a_path_that_leaves_the_folder_is_refused(store: Path, tmp_path: Path, file: str) -> None:
    edit(store / "datasets/forms.yaml", "file: forms/evals.json", f"file: {file}")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/link").symlink_to(tmp_path)
    with pytest.raises(RefusedError):
        export(to=TO, store=store, out=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["link"]
    assert not (tmp_path / "evil.json").exists()


def test_a_file_that_differs_is_not_overwritten(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(to=TO, store=store, out=out)
    export(to=TO, store=store, out=out)
    (out / "forms/evals.json").write_text("mine")
    with pytest.raises(RefusedError, match=r"they differ: forms/evals\.json"):
        export(to=TO, store=store, out=out)
    assert (out / "forms/evals.json").read_text() == "mine"


def test_two_datasets_of_one_file_are_not_mixed(store: Path) -> None:
    text = (store / "datasets/forms.yaml").read_text("utf-8")
    (store / "datasets/again.yaml").write_text(text.replace("id: forms", "id: again"))
    with pytest.raises(RefusedError, match=r"dataset/again@1\.0\.0 and dataset/forms@1\.0\.0 both came from"):
        export(to=TO, store=store)
    assert len(export(["dataset/again"], to=TO, store=store).files) == 1


@pytest.mark.parametrize(
    ("refs", "said"),
    [
        (["rubric/forms_b02"], "an export begins with a dataset|is a rubric"),
        (["dataset/none"], "cannot be read"),
        (["nonsense"], "is not a reference"),
    ],
)
def test_a_wrong_reference_is_one_sentence(store: Path, refs: list[str], said: str) -> None:
    with pytest.raises(EvalstoreError, match=said):
        export(refs, to=TO, store=store)


def test_an_empty_folder_has_nothing_to_give(tmp_path: Path) -> None:
    with pytest.raises(RefError, match="no dataset here came from ai_best_practices"):
        export(to=TO, store=tmp_path)


@pytest.mark.heavy
def test_a_released_dataset_is_given_back_as_it_was(
    cli: Callable[..., Any], git: Callable[..., str], suite: Suite, tmp_path: Path
) -> None:
    git()
    repo = tmp_path / "repo"
    assert cli("-C", repo, "migrate", suite({"must_contain_any": ["a"]}), "--share", "cases").code == 0
    git("add", ".")
    git("commit", "-qm", "migrated")
    git("tag", "-am", "first", "dataset/forms@1.0.0")
    git("tag", "-am", "first", f"rubric/{rubric(repo).stem}@1.0.0")
    edit(repo / "datasets/forms.yaml", "Question 1?", "Changed?")
    edit(rubric(repo), "- a\n", "- b\n")
    for ref in ("dataset/forms@1.0.0", "dataset/forms"):
        assert cases(repo, ref) == [{"id": 1, "prompt": "Question 1?", "must_contain_any": ["a"]}]
    for refs in ((), ("dataset/forms@worktree",)):  # its question still pins what is released
        assert cases(repo, *refs) == [{"id": 1, "prompt": "Changed?", "must_contain_any": ["a"]}]


def test_a_bare_repository_is_no_place_to_write(git: Callable[..., str], suite: Suite, tmp_path: Path) -> None:
    git("init", "-q", "--bare", str(tmp_path / "bare.git"))
    with pytest.raises(RefusedError, match="bare repository"):
        migrate([suite({"must_contain_any": ["a"]})], into=tmp_path / "bare.git")
    assert not (tmp_path / "bare.git/datasets").exists()


def test_releases_are_exported_from_a_bare_repository_by_name(
    cli: Callable[..., Any], git: Callable[..., str], suite: Suite, tmp_path: Path
) -> None:
    repo, bare = tmp_path / "repo", tmp_path / "bare.git"
    git()
    assert cli("-C", repo, "migrate", suite({"must_contain_any": ["a"]})).code == 0
    git("add", ".")
    assert cli("-C", repo, "bump", "--all").code == 0
    git("clone", "-q", "--bare", str(repo), str(bare))
    assert cases(bare, "dataset/forms@1.0.0") == [{"id": 1, "prompt": "Question 1?", "must_contain_any": ["a"]}]
    with pytest.raises(RefError, match=r"^a bare repository has no files to export$"):
        cases(bare)


@pytest.mark.parametrize(
    ("case", "path", "old", "new"),
    [
        ("openrubricrl/one_judge", "rubrics", "    name: letter_quality", "    name: false"),
        ("openrubricrl/one_judge", "rubrics", "  file: legacy/letters.json", '  file: "a\\0b.json"'),
        ("openrubricrl/one_judge", "rubrics", "  file: legacy/letters.json", "  file: [5]"),
        ("ai_best_practices/every_check", "datasets", "  file: legacy/", "  file: 5\n  was: "),
        ("ai_eval/a_dataset", "datasets", "    pointer: /questions/*", "    pointer: far"),
        ("ai_eval/a_dataset", "datasets", "\n  kept:", "\n  kept: all\n  was:"),
    ],
)
def test_a_source_that_was_written_by_hand_is_one_sentence(
    tmp_path: Path, case: str, path: str, old: str, new: str
) -> None:
    migrate([copy_legacy(case, tmp_path)], into=tmp_path / "store")
    edit(next((tmp_path / "store" / path).iterdir()), old, new)
    said = say_refusal(to=case.partition("/")[0], store=tmp_path / "store", out=tmp_path / "out")
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").rglob("*.json"))


@pytest.mark.parametrize("origin", ["pinned: rubric/names_the_hook", "pinned: 3\n      pin: 4", "pin: 4"])
def test_an_origin_that_somebody_broke_is_no_end(tmp_path: Path, origin: str) -> None:
    case = Path(__file__).resolve().parents[1] / "cases/migrations/ai_eval/quirk_d18_versions_of_two_parts/legacy"
    migrate([case], into=tmp_path)
    edit(next((tmp_path / "datasets").iterdir()), "pin: rubric/names_the_hook@1.10.0", origin)
    assert export(to="ai_eval", store=tmp_path).files


def test_one_edited_rubric_stops_no_other_file(suite: Suite, tmp_path: Path, cli: Any) -> None:
    sources = [suite({"must_contain_any": [name]}, name=name) for name in ("forms", "nodes", "views")]
    store, out = tmp_path / "store", tmp_path / "out"
    migrate(sources, into=store, share="suite")
    edit(store / "rubrics/nodes.yaml", "case_sensitive: false", "case_sensitive: true")
    done = cli("-C", store, "export", "--to", TO, "--out", out)
    assert done.code == 1
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.json")) == [
        "forms/evals.json",
        "views/evals.json",
    ]
    for word in ("nodes/evals.json", "dataset/nodes@1.0.0", "rubric/nodes@1.0.0", "must_contain_any"):
        assert word in " ".join(done.out.split())
    (refused,) = json.loads(cli("-C", store, "export", "--to", TO, "--format", "json").out)["refused"]
    assert (refused["file"], refused["ref"], refused["rubric"]) == (
        "nodes/evals.json",
        "dataset/nodes@1.0.0",
        "rubric/nodes@1.0.0",
    )


@pytest.mark.parametrize("others", [(), ("dataset/nodes",)])
def test_a_dataset_that_cannot_be_given_back_is_named_where_nothing_is_written(
    others: tuple[str, ...], suite: Suite, tmp_path: Path, cli: Any
) -> None:
    store = tmp_path / "store"
    migrate([suite({"must_contain_any": ["a"]}, name=name) for name in ("forms", "nodes")], into=store, share="suite")
    edit(store / "rubrics/forms.yaml", "case_sensitive: false", "case_sensitive: true")
    done = cli("-C", store, "export", "--to", TO, "dataset/forms", *others)
    assert (done.code, '"evals"' in done.out) == (1, bool(others))
    assert "not written: forms/evals.json from dataset/forms@1.0.0" in done.err


def test_an_edited_remainder_stops_no_other_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        suite = {
            "name": name,
            "tests": [{"id": "a", "criteria": "kind", "input": "?", "assert": [{"type": "contains", "value": name}]}],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(suite))
    migrate([tmp_path / "one.json", tmp_path / "two.json"], into=tmp_path / "store", share="cases")
    (path,) = (path for path in (tmp_path / "store/rubrics").iterdir() if path.name.startswith("two"))
    edit(path, "- two", "- three")
    result = export(to="agentevals", store=tmp_path / "store")
    assert [file.ref for file in result.files] == ["dataset/one@1.0.0"]
    assert [(refused.ref, refused.rubric) for refused in result.refused] == [
        ("dataset/two@1.0.0", f"rubric/{path.stem}@1.0.0")
    ]
