"""A suite lives on beside its store: migrate, release, edit on both sides, add, rename, delete, and migrate again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evalstore.migration import export, migrate

Git = Callable[..., str]
Run = Callable[..., Any]


def write_suite(root: Path, folder: str, *phrases: str, name: str = "") -> None:
    path = root / f"legacy/{folder}/evals.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    cases = [
        {"id": n, "prompt": f"{folder.upper()[:2]} {n}?", "must_contain_any": phrase.split()}
        for n, phrase in enumerate(phrases, start=1)
    ]
    path.write_text(json.dumps({"skill_name": name or folder, "evals": cases}, indent=1), encoding="utf-8")


def list_states(cli: Run, *options: str) -> dict[str, tuple[str, str]]:
    document = json.loads(cli("migrate", "legacy", "--format", "json", *options).out)
    return {file["path"]: (file["state"], file["reason"]) for file in document["files"] if file["state"] != "unchanged"}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.heavy
def test_nothing_is_lost_nothing_lowered_and_every_step_is_said(
    cli: Run, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git()
    repo = tmp_path / "repo"
    monkeypatch.chdir(repo)
    write_suite(repo, "forms", "alpha", "beta", "gamma", "delta")
    write_suite(repo, "views", "one", "two")
    write_suite(repo, "nodes", "red", "green")
    assert cli("migrate", "legacy", "--share", "cases").code == 0
    git("add", ".")
    git("commit", "-m", "Migrate")
    assert cli("bump", "--all").code == 0
    # A release of an edit: the pin of the dataset moves along.
    edit(repo / "rubrics/forms_b01.yaml", "- alpha", "- alfa")
    assert cli("bump", "rubric/forms_b01", "--dependents").code == 0
    assert "rubric/forms_b01@2.0.0" in (repo / "datasets/forms.yaml").read_text()
    tags = git("tag").split()
    # Now the source: a phrase more, an answer to what was edited here, a suite in front, one renamed, one deleted.
    edit(repo / "rubrics/forms_b03.yaml", "- gamma", "- gamma here")
    write_suite(repo, "forms", "alpha", "beta bete", "gamma there", "delta")
    write_suite(repo, "aaa", "alpha", "beta")
    (repo / "legacy/panels").mkdir()
    shutil.move(repo / "legacy/views/evals.json", repo / "legacy/panels/evals.json")
    edit(repo / "legacy/panels/evals.json", '"views"', '"panels"')
    shutil.rmtree(repo / "legacy/nodes")
    before = {path: path.read_bytes() for path in repo.glob("[rd]*s/*")}
    planned = list_states(cli, "--share", "cases", "--dry-run")
    assert {path: path.read_bytes() for path in repo.glob("[rd]*s/*")} == before
    states = list_states(cli, "--share", "cases")
    assert planned == states
    gone = ("orphan", "its source legacy/nodes/evals.json is gone")
    assert states == {
        "datasets/aaa.yaml": ("new", ""),
        "rubrics/aaa_b01.yaml": ("new", ""),
        "rubrics/aaa_b02.yaml": ("new", ""),
        "datasets/views.yaml": (
            "renamed",
            "legacy/views/evals.json is legacy/panels/evals.json now; the source changed",
        ),
        "datasets/nodes.yaml": gone,
        "rubrics/nodes_b01.yaml": gone,
        "rubrics/nodes_b02.yaml": gone,
        "rubrics/forms_b01.yaml": ("kept", "it was changed here, not at the source"),
        "rubrics/forms_b02.yaml": ("updated", "the source changed"),
        "rubrics/forms_b03.yaml": (
            "conflict",
            "it was changed at the source and here: the file stays; --force takes its side, --keep yours, --merge both",
        ),
    }
    assert cli("migrate", "legacy", "--share", "cases").code == 1
    assert 'version: "2.0.0"' in (repo / "rubrics/forms_b01.yaml").read_text()
    assert "rubric/forms_b01@2.0.0" in (repo / "datasets/forms.yaml").read_text()
    # The edit of the source is one that diff and status judge.
    found = json.loads(cli("diff", "rubric/forms_b02", "--format", "json").out)
    assert (found["required_bump"], found["next_version"]) == ("major", "2.0.0")
    assert "looser" in {finding["direction"] for finding in found["findings"]}
    assert "rubric/forms_b02  1.0.0     1.0.0  major  needs 2.0.0" in cli("status", "--check").out
    # What is left: the conflict is decided, and the next run is silent.
    assert cli("migrate", "legacy", "--share", "cases", "--keep").code == 0
    after = {path: path.read_bytes() for path in repo.glob("[rd]*s/*")}
    assert {state for state, _ in list_states(cli).values()} == {"kept", "orphan"}
    assert {path: path.read_bytes() for path in repo.glob("[rd]*s/*")} == after
    assert before.keys() <= after.keys()
    assert "- gamma here" in (repo / "rubrics/forms_b03.yaml").read_text()
    assert cli("bump", "--all", "--dependents").code == 0
    assert set(tags) < set(git("tag").split())
    assert cli("status", "--check").code == 0


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_an_update_keeps_the_comments_and_the_layout_of_a_file(
    cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ends: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path, "forms", "alpha beta gamma delta", "same")
    assert cli("migrate", "legacy", "--share", "cases").code == 0
    path = tmp_path / "rubrics/forms_b01.yaml"
    noted = (
        path.read_text().replace("- alpha\n", "- alpha  # the old name\n").replace("scoring:", "# Ask Mia.\n\nscoring:")
    )
    path.write_bytes(noted.replace("\n", ends).encode())
    assert list_states(cli) == {}
    write_suite(tmp_path, "forms", "alpha beta gamma delta more", "same")
    assert list_states(cli) == {"rubrics/forms_b01.yaml": ("updated", "the source changed")}
    lines = path.read_bytes().decode().split(ends)
    assert not any("\n" in line for line in lines)
    assert {line.strip() for line in lines} >= {"- alpha  # the old name", "# Ask Mia.", "- more"}
    # A comment on a line that the source takes away stands above what follows.
    write_suite(tmp_path, "forms", "beta gamma delta more", "same")
    assert list_states(cli) == {"rubrics/forms_b01.yaml": ("updated", "the source changed")}
    lines = path.read_bytes().decode().split(ends)
    assert lines[lines.index("      # the old name") + 1] == "      - beta"
    assert "# Ask Mia." in lines
    # Where the layout is one's own on a line that the source changes, the file is written anew, and says so.
    text = path.read_bytes().decode()
    flow = f"values: [beta, gamma, delta, more]  # one line{ends}"
    path.write_bytes(re.sub(r"(?s)values:.*?(?=    case_sensitive)", flow, text).encode())
    write_suite(tmp_path, "forms", "gamma delta more", "same")
    states = list_states(cli)
    assert states["rubrics/forms_b01.yaml"] == (
        "updated",
        "the source changed; it is rewritten in the plain layout, without comments",
    )
    assert "#" not in path.read_text().partition("\n")[2]
    assert list_states(cli) == {}


def test_a_case_added_in_front_renames_nothing(cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path, "forms", "alpha", "beta")
    assert cli("migrate", "legacy", "--share", "cases").code == 0
    rubrics = {path.name: path.read_bytes() for path in (tmp_path / "rubrics").iterdir()}
    path = tmp_path / "legacy/forms/evals.json"
    value = json.loads(path.read_text())
    value["evals"].insert(0, {"id": 9, "prompt": "New?", "must_contain_any": ["alpha"]})
    path.write_text(json.dumps(value))
    assert list_states(cli) == {"datasets/forms.yaml": ("updated", "the source changed")}
    assert {path.name: path.read_bytes() for path in (tmp_path / "rubrics").iterdir()} == rubrics
    assert re.findall("rubric_ref: (.*)", (tmp_path / "datasets/forms.yaml").read_text()) == [
        "rubric/forms_b01@1.0.0",
        "rubric/forms_b01@1.0.0",
        "rubric/forms_b02@1.0.0",
    ]


def test_a_renamed_case_keeps_what_somebody_made_of_its_rubric(
    cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path, "forms", "alpha", "beta", "gamma")
    assert cli("migrate", "legacy", "--share", "cases").code == 0
    for number, word in enumerate(("alpha", "beta"), start=1):
        edit(tmp_path / f"rubrics/forms_b0{number}.yaml", f"- {word}", f"- {word} here")
    # One is renamed; of the next its prompt is another, too, so that it is a new case with equal checks.
    legacy = tmp_path / "legacy/forms/evals.json"
    for old, new in (('"id": 1', '"id": 101'), ('"id": 2', '"id": 102'), ("FO 2?", "FO new?")):
        edit(legacy, old, new)
    edit(legacy, '"gamma"', '"gamma", "more"')
    edit(legacy, '"id": 3', '"id": 103')
    states = list_states(cli)
    assert states == {
        "datasets/forms.yaml": ("updated", "the source changed"),
        "rubrics/forms_b01.yaml": ("kept", "its case is B101 now; it was changed here, not at the source"),
        "rubrics/forms_b02.yaml": ("orphan", "no case of legacy/forms/evals.json needs it any more"),
        "rubrics/forms_b03.yaml": ("updated", "the source changed"),
        "rubrics/forms_b102.yaml": (
            "new",
            "forms_b02 was changed here, and no release of it says what the source says: this one is its own",
        ),
    }
    pins = re.findall(r"rubric_ref: (.*)@", (tmp_path / "datasets/forms.yaml").read_text("utf-8"))
    assert pins == ["rubric/forms_b01", "rubric/forms_b102", "rubric/forms_b03"]
    assert {state for state, _ in list_states(cli).values()} == {"kept", "orphan"}


def test_one_suite_then_its_parent_is_the_same_migration(
    cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("alpha", "beta"):
        write_suite(tmp_path / "in", folder, "same", "words")
    monkeypatch.chdir(tmp_path / "in/legacy")
    assert cli("migrate", "alpha", "--share", "cases", "--into", tmp_path / "store").code == 0
    before = {path: path.read_bytes() for path in (tmp_path / "store").glob("*/*")}
    monkeypatch.chdir(tmp_path / "in")
    ran = cli("migrate", "legacy", "--share", "cases", "--into", tmp_path / "store")
    assert "3 files written, 3 unchanged" in ran.out
    assert {path: path.read_bytes() for path in before} == before
    assert (
        "0 files written, 6 unchanged" in cli("migrate", "legacy", "--share", "cases", "--into", tmp_path / "store").out
    )


def test_a_suite_that_moved_is_known_again_by_itself(cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("forms", "views"):
        write_suite(tmp_path, folder, "same", "words")
    assert cli("migrate", "legacy").code == 0
    shutil.move(tmp_path / "legacy/forms", tmp_path / "legacy/later")
    shutil.rmtree(tmp_path / "legacy/views")
    document = json.loads(cli("migrate", "legacy/later", "--format", "json").out)
    # What was not asked for is not said to be gone.
    assert [(file["path"], file["state"], file["reason"]) for file in document["files"] if file["reason"]] == [
        ("datasets/forms.yaml", "renamed", "legacy/forms/evals.json is legacy/later/evals.json now")
    ]


def test_a_renamed_case_keeps_its_rubric(cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path, "forms", "alpha", "beta")
    cli("migrate", "legacy", "--share", "cases")
    edit(tmp_path / "legacy/forms/evals.json", '"id": 2', '"id": 20')
    assert list_states(cli) == {
        "datasets/forms.yaml": ("updated", "the source changed"),
        "rubrics/forms_b02.yaml": ("renamed", "its case is B20 now"),
    }
    edit(tmp_path / "legacy/forms/evals.json", '"beta"', '"beta", "bete"')
    assert list_states(cli) == {"rubrics/forms_b02.yaml": ("updated", "the source changed")}


def test_a_renamed_case_is_a_rename_to_diff(
    cli: Run, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git()
    repo = tmp_path / "repo"
    monkeypatch.chdir(repo)
    write_suite(repo, "forms", "alpha", "beta")
    cli("migrate", "legacy")
    git("add", ".")
    git("commit", "-m", "Migrate")
    assert cli("bump", "--all").code == 0
    # Its content is another one as well, so that only the source knows it for the same.
    edit(repo / "legacy/forms/evals.json", '"id": 2', '"note": "here", "id": 20')
    cli("migrate", "legacy")
    rules = [
        finding["rule"] for finding in json.loads(cli("diff", "dataset/forms", "--format", "json").out)["findings"]
    ]
    assert "question-id-renamed" in rules
    assert not {"question-added", "question-removed"} & set(rules)
    dataset = (repo / "datasets/forms.yaml").read_bytes()
    assert b"renamed_from: B02" in dataset
    assert json.loads(cli("migrate", "legacy", "--format", "json").out)["written"] == []
    assert json.loads(cli("export", "--to", "ai_best_practices", "dataset/forms@worktree").out) == json.loads(
        (repo / "legacy/forms/evals.json").read_text()
    )


@pytest.mark.heavy
def test_a_new_case_pins_the_release_that_says_what_the_source_says(
    cli: Run, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git()
    repo = tmp_path / "repo"
    monkeypatch.chdir(repo)
    write_suite(repo, "forms", "alpha", "beta")
    cli("migrate", "legacy", "--share", "cases")
    git("add", ".")
    git("commit", "-m", "Migrate")
    cli("bump", "--all")
    edit(repo / "rubrics/forms_b01.yaml", "- alpha", "- alfa")
    cli("bump", "rubric/forms_b01", "--dependents")
    write_suite(repo, "forms", "alpha", "beta", "alpha")
    edit(repo / "rubrics/forms_b02.yaml", "- beta", "- bete")
    write_suite(repo, "forms", "alpha", "beta", "alpha", "beta")
    assert cli("migrate", "legacy").code == 0
    pins = re.findall("rubric_ref: (.*)", (repo / "datasets/forms.yaml").read_text())
    # The third case means what the first said when it was released; the fourth what the second was, before an edit.
    assert pins == [
        "rubric/forms_b01@2.0.0",
        "rubric/forms_b02@1.0.0",
        "rubric/forms_b01@1.0.0",
        "rubric/forms_b02@1.0.0",
    ]


CASES = Path(__file__).resolve().parents[1] / "cases/migrations"
SEVERAL = [
    "agentevals/keys_that_nobody_reads",
    "agentevals/quirk_o11_the_same_key_means_another_thing",
    "ai_best_practices/names",
    "ai_best_practices/quirk_d08_same_checks_share_a_rubric",
    "ai_eval/quirk_d18_versions_of_two_parts",
    "openrubricrl/the_same_name_twice",
    "every_eval_ever/a_run_and_its_rows",
]


@pytest.mark.parametrize("case", SEVERAL)
def test_files_one_by_one_then_their_folder_are_one_migration(case: str, tmp_path: Path) -> None:
    legacy, store = CASES / case / "legacy", tmp_path / "store"
    for path in sorted((path for path in legacy.rglob("*.*") if path.is_file()), reverse=True):
        migrate([path], into=store)
    before = {path: path.read_bytes() for path in store.rglob("*.*") if path.is_file()}
    report = migrate([legacy], into=store)
    assert (report.written, report.conflicts) == ((), ())
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("case", [*SEVERAL, "legal_eval_v1/three_tasks", "ai_agents_test/a_group"])
def test_an_artifact_that_was_only_released_keeps_its_version_and_pins(case: str, tmp_path: Path) -> None:
    legacy, store = CASES / case / "legacy", tmp_path / "store"
    migrate([legacy], into=store)
    for path in store.glob("[!r]*/*.yaml"):
        path.write_text(re.sub(r'(?m)^version: ".*"$', 'version: "7.0.0"', path.read_text("utf-8")), encoding="utf-8")
    for path in store.glob("*/*.yaml"):
        path.write_text(
            re.sub("(_ref: (?:judge|rubric)/.*)@.*", r"\1@7.0.0", path.read_text("utf-8")), encoding="utf-8"
        )
    before = {path: path.read_bytes() for path in store.rglob("*.*") if path.is_file()}
    report = migrate([legacy], into=store, force=True)
    assert (report.written, {str(file.state) for file in report.files}) == ((), {"unchanged"})
    assert {path: path.read_bytes() for path in before} == before


def test_a_judge_that_the_whole_suite_asks_keeps_its_id(tmp_path: Path) -> None:
    shutil.copytree(CASES / "openrubricrl/one_judge/legacy", tmp_path / "legacy")
    store = tmp_path / "store"
    before = {file.path for file in migrate([tmp_path / "legacy"], into=store).files}
    edit(tmp_path / "legacy/letters.json", "No word too many", "No word too many, no word too few")
    files = migrate([tmp_path / "legacy"], into=store).files
    assert {(file.path, str(file.state)) for file in files} == {(path, "updated") for path in before}
    assert "no word too few" in next(store.glob("judges/*.yaml")).read_text("utf-8")


REMOVED = "it was removed here, and stays so: --force writes it again"


@pytest.mark.heavy
def test_what_was_released_and_removed_is_not_made_again_under_another_name(
    cli: Run, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git()
    repo = tmp_path / "repo"
    monkeypatch.chdir(repo)
    write_suite(repo, "forms", "alpha", "beta", "gamma")
    write_suite(repo, "views", "one", "two")
    assert cli("migrate", "legacy", "--share", "cases").code == 0
    assert cli("bump", "--all").code == 0
    released = (repo / "rubrics/forms_b02.yaml").read_bytes()
    for path in ("rubrics/forms_b02.yaml", "datasets/views.yaml"):
        (repo / path).unlink()
    before = {path: path.read_bytes() for path in repo.glob("[rd]*s/*")}
    for _ in range(2):
        assert list_states(cli) == {
            "rubrics/forms_b02.yaml": ("kept", REMOVED),
            "datasets/views.yaml": ("kept", REMOVED),
        }
        assert {path: path.read_bytes() for path in repo.glob("[rd]*s/*")} == before
    # The source of one of them changes: that is a conflict, and the case beside it is merged as ever.
    write_suite(repo, "forms", "alpha", "beta bete", "gamma there")
    states = list_states(cli)
    assert states["rubrics/forms_b02.yaml"] == (
        "conflict",
        "it was removed here and changed at the source: --force writes it again, --keep leaves it",
    )
    assert states["rubrics/forms_b03.yaml"] == ("updated", "the source changed")
    assert list_states(cli, "--keep") == {
        "rubrics/forms_b02.yaml": ("kept", REMOVED),
        "datasets/views.yaml": ("kept", REMOVED),
    }
    assert not (repo / "rubrics/forms_b02.yaml").exists()
    # A suite whose source is gone as well has nothing left to delete.
    shutil.rmtree(repo / "legacy/views")
    gone = ("orphan", "its source legacy/views/evals.json is gone")
    assert {path: state for path, state in list_states(cli).items() if "views" in path} == {
        "rubrics/views_b01.yaml": gone,
        "rubrics/views_b02.yaml": gone,
    }
    forced = list_states(cli, "--force")
    assert forced["rubrics/forms_b02.yaml"] == ("new", "it was removed here: --force wrote it again")
    written = (repo / "rubrics/forms_b02.yaml").read_text()
    assert (b"1.0.0" in released, 'version: "1.0.0"' in written, "bete" in written) == (True, True, True)
    assert cli("validate").code == 0
    assert "rubric/forms_b02@1.0.0" in (repo / "datasets/forms.yaml").read_text()


def write_rubric(path: Path, id_: str, word: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    check = f"{{id: one, kind: must_contain_any, case_sensitive: false, values: [{word}]}}"
    scoring = "{combine: weighted_avg, weights: {one: 1.0}, threshold: 0.6}"
    path.write_text(
        f"id: {id_}\nversion: '1.0'\napplicable_bundles: [nav]\nchecks:\n- {check}\nscoring: {scoring}\n", "utf-8"
    )


def write_questions(path: Path, *names: str) -> None:
    rows = (
        f"- {{id: q{number}, bundle: nav, input: Where is {number}?, criteria: It is, rubric_ref: rubric/{name}@1.0}}\n"
        for number, name in enumerate(names)
    )
    path.write_text(f"questions:\n{''.join(rows)}", "utf-8")


def test_a_dataset_names_the_rubric_of_another_file_by_its_id_in_the_store(
    cli: Run, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git()
    repo = tmp_path / "repo"
    monkeypatch.chdir(repo)
    taken = repo / "rubrics/ctx_1.yaml"
    taken.parent.mkdir()
    taken.write_text('id: ctx_1\nversion: "1.0.0"\nchecks: [{kind: php_lint}]\nscoring: {combine: all_pass}\n', "utf-8")
    # Two folders call a rubric by one name, and somebody has a rubric called so.
    for folder in ("a", "b"):
        for name in ("ctx_1", f"only_{folder}"):
            write_rubric(repo / f"legacy/{folder}/rubrics/{name}.yaml", name, f"{folder} {name}")
        write_questions(repo / f"legacy/{folder}/dataset.yaml", "ctx_1", f"only_{folder}", "elsewhere")

    load = YAML(typ="safe").load

    def list_phrases() -> list[list[str]]:
        """List what the pinned rubrics of each dataset look for."""
        refs = [[row["rubric_ref"] for row in load(path)["questions"]] for path in sorted(repo.glob("datasets/*"))]
        files = [[repo / f"{ref.replace('rubric/', 'rubrics/').partition('@')[0]}.yaml" for ref in row] for row in refs]
        return [[load(file)["checks"][0]["values"][0] for file in group if file.exists()] for group in files]

    states = list_states(cli)
    assert {state for state, _ in states.values()} == {"new"}
    entries = json.loads(cli("migrate", "legacy", "--format", "json").out)["entries"]
    missing = "rubric/elsewhere is neither in the store nor in these sources, so nothing grades it"
    assert {(entry["outcome"], *entry["reasons"]) for entry in entries} == {("migrated",), ("lossy", missing)}
    assert list_phrases() == [["a ctx_1", "a only_a"], ["b ctx_1", "b only_b"]]
    # The source gives them other names: here they keep theirs.
    for folder in ("a", "b"):
        write_rubric(repo / f"legacy/{folder}/rubrics/only_{folder}.yaml", f"called_{folder}", f"{folder} again")
        write_questions(repo / f"legacy/{folder}/dataset.yaml", "ctx_1", f"called_{folder}", "elsewhere")
    before = sorted(path.name for path in repo.glob("rubrics/*"))
    assert "conflict" not in {state for state, _ in list_states(cli).values()}
    assert sorted(path.name for path in repo.glob("rubrics/*")) == before
    assert list_phrases() == [["a ctx_1", "a again"], ["b ctx_1", "b again"]]
    assert list_states(cli) == {}
    git("add", ".")
    git("commit", "-m", "Migrate")
    for folder in ("a", "b"):
        out = tmp_path / f"back_{folder}"
        ran = cli("export", "--to", "ai_eval", "--out", out, f"dataset/{folder}")
        assert ran.code == 0, ran.err
        (back,) = out.rglob("dataset.yaml")
        assert load(back) == load(repo / f"legacy/{folder}/dataset.yaml")


def test_a_suite_of_one_nameless_question_keeps_its_suite_when_its_text_is_edited(tmp_path: Path) -> None:
    source = tmp_path / "source/letters/evals.json"
    source.parent.mkdir(parents=True)
    for season, states in (("spring", {"new"}), ("autumn", {"updated", "unchanged"})):
        case = {"prompt": f"Write a short letter to a friend about {season}.", "assertions": ["Is short."]}
        source.write_text(json.dumps([case]))
        report = migrate(source, into=tmp_path / "store")
        assert {str(file.state) for file in report.files} == states
    assert [path.name for path in (tmp_path / "store/datasets").iterdir()] == ["letters.yaml"]
    (given,) = export(to="skill_creator", store=tmp_path / "store").files
    assert json.loads(given.text) == [case]
    # Another question in a file of the same name is another suite.
    source.write_text(json.dumps([{"prompt": "Which is the largest lake?", "assertions": ["Is short."]}]))
    assert "new" in {str(file.state) for file in migrate(source, into=tmp_path / "store").files}


@pytest.mark.parametrize("text", ['{"skill_name": "forms", "evals": 7}', '{"skill_name": "forms", "ev'])
def test_what_came_from_a_source_that_is_refused_now_is_said_to_stay(
    text: str, cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path, "forms", "alpha")
    write_suite(tmp_path, "views", "one")
    assert cli("migrate", "legacy", "--share", "suite").code == 0
    (tmp_path / "legacy/forms/evals.json").write_text(text)
    stays = ("kept", "its source legacy/forms/evals.json was refused, so it stays as it was")
    assert list_states(cli) == {"datasets/forms.yaml": stays, "rubrics/forms.yaml": stays}
