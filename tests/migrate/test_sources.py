"""Which files are read, what they are called, and what they are taken for."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_yaml
from evalstore.errors import LoadError, UsageError
from evalstore.languages.schemas import compile_schema
from evalstore.migration import MigrationOutcome, list_formats, migrate
from evalstore.migration.artifact_names import make_slug
from evalstore.migration.table import load_tables
from evalstore.model import is_id
from evalstore.places import find_resource_folder
from tests.migrate.planning import copy_legacy

SUITE = json.dumps({"skill_name": "given", "evals": [{"id": 1, "prompt": "?", "must_contain_any": ["a"]}]})


def put(path: Path, text: str = SUITE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def names(*paths: Path, into: Path) -> list[str]:
    return [source.file for source in migrate(paths, into=into, dry_run=True).sources]


@pytest.mark.parametrize("name", list_formats())
def test_every_table_is_valid_and_named_by_its_format(name: str) -> None:
    schema = json.loads((find_resource_folder("schema") / "migration.schema.json").read_text("utf-8"))
    table = read_yaml((find_resource_folder("migrations") / f"{name}.yaml").read_bytes(), name).value
    assert list(compile_schema(schema).find_violations(table)) == []
    assert table["format"] == name
    assert [sign["confidence"] for sign in table["signs"]] == sorted(
        (sign["confidence"] for sign in table["signs"]), reverse=True
    )


def test_an_unknown_format_is_a_usage_error_with_a_guess() -> None:
    with pytest.raises(UsageError, match="no format 'ai_best_practice'") as raised:
        load_tables("ai_best_practice")
    assert raised.value.hint == "did you mean ai_best_practices?"


@pytest.mark.heavy
def test_a_file_is_called_the_same_however_it_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = put(tmp_path / "legacy/forms/evals.json")
    monkeypatch.chdir(tmp_path)
    for path in (
        source,
        source.parent,
        tmp_path / "legacy",
        Path("legacy"),
        Path("./legacy/forms"),
        Path(),
        tmp_path,
    ):
        assert names(path, into=tmp_path) == ["legacy/forms/evals.json"]
        assert names(path, source, into=tmp_path) == ["legacy/forms/evals.json"]


def test_outside_the_store_a_name_is_as_given_but_never_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, source = tmp_path / "store", put(tmp_path / "other/legacy/forms/evals.json")
    (store / "sub").mkdir(parents=True)
    assert names(source, into=store) == ["forms/evals.json"]
    assert names(source.parents[1], into=store) == ["legacy/forms/evals.json"]
    monkeypatch.chdir(tmp_path / "other")
    assert names(Path("legacy"), into=store) == ["legacy/forms/evals.json"]
    monkeypatch.chdir(store)
    assert names(Path("../other/legacy"), into=store) == ["legacy/forms/evals.json"]
    assert names(Path("../other/legacy/forms/evals.json"), into=store) == ["forms/evals.json"]


def test_a_walk_follows_no_link_and_passes_by_git(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside/evals.json")
    root = tmp_path / "root"
    put(root / "a/evals.json")
    put(root / ".git/evals.json")
    put(root / "a/notes.yaml", "a: 1")
    (root / "link").symlink_to(outside.parent)
    (root / "evals.json").symlink_to(outside)
    os.mkfifo(root / "pipe.json")
    assert names(root, into=tmp_path / "store") == ["a/evals.json"]


def test_a_named_link_is_read_and_a_named_gap_is_an_error(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside/evals.json")
    (tmp_path / "link.json").symlink_to(outside)
    assert names(tmp_path / "link.json", into=tmp_path) == ["link.json"]
    for wrong in (tmp_path / "none.json", tmp_path / "loop"):
        (tmp_path / "loop").is_symlink() or (tmp_path / "loop").symlink_to("loop")
        with pytest.raises(LoadError, match="cannot be read"):
            migrate([wrong], into=tmp_path)


@pytest.mark.parametrize(
    ("key", "item"),
    [
        ("cases", {"question": "?", "expected": "!"}),
        ("assertions", {"check": "contains"}),
        ("expectations", {"passed": True, "evidence": "x"}),
    ],
)
def test_a_suite_with_something_else_beside_its_cases_is_one_all_the_same(
    tmp_path: Path, key: str, item: object
) -> None:
    path = put(tmp_path / "evals.json", json.dumps(json.loads(SUITE) | {key: [item]}))
    report = migrate([path], into=tmp_path)
    assert [(entry.pointer, entry.outcome) for entry in report.entries] == [
        (f"/{key}", MigrationOutcome.UNMAPPED),
        ("/evals/0", MigrationOutcome.MIGRATED),
    ]


def test_a_link_that_is_passed_by_is_counted_and_one_that_is_named_is_read(tmp_path: Path) -> None:
    outside, root = put(tmp_path / "outside/evals.json"), tmp_path / "root"
    root.mkdir()
    (root / "folder").symlink_to(outside.parent)
    (root / "suite.json").symlink_to(outside)
    (root / "dangling.json").symlink_to("nowhere")
    (root / "notes").symlink_to(outside)
    skipped = migrate([root], into=tmp_path / "store").skipped
    assert [(one.file, one.reason) for one in skipped] == [
        ("root/folder", "a link is followed only when it is named itself"),
        ("root/suite.json", "a link is followed only when it is named itself"),
    ]
    for paths in ([root / "suite.json", root], [root, root / "suite.json"]):
        assert names(*paths, into=tmp_path / "store") == ["root/suite.json"]


def test_a_folder_that_cannot_be_listed_is_an_entry_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shut, listed = put(tmp_path / "in/shut/evals.json").parent, os.scandir
    put(tmp_path / "in/open/evals.json")

    def scandir(path: Any) -> Any:
        if str(path).rstrip("/") == str(shut):
            raise PermissionError(errno.EACCES, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    report = migrate([tmp_path / "in"], into=tmp_path / "store")
    assert [(entry.file, entry.outcome) for entry in report.entries] == [
        ("in/open/evals.json", MigrationOutcome.MIGRATED),
        ("in/shut", MigrationOutcome.REFUSED),
    ]
    with pytest.raises(LoadError, match="cannot be listed"):
        migrate([shut], into=tmp_path / "store")


@pytest.mark.heavy
def test_a_folder_is_walked_however_deep(tmp_path: Path) -> None:
    deep = [f"{tmp_path}/in" + "/d" * level for level in range(1000)]
    for path in deep:
        os.mkdir(path)  # noqa: PTH102  # what pathlib does takes seconds here
    bottom = put(Path(deep[-1]) / "evals.json")
    found = names(tmp_path / "in", into=tmp_path / "store")
    bottom.unlink()
    for path in reversed(deep):  # what removes temporary folders does not go so deep
        os.rmdir(path)  # noqa: PTH106
    assert len(found) == 1


def test_names_that_are_not_utf_8_stay_apart(tmp_path: Path) -> None:
    for name in (b"a\xff.json", b"a\xfe.json"):
        put(tmp_path / "in" / os.fsdecode(name))
    assert names(tmp_path / "in", into=tmp_path / "store") == [r"in/a\xfe.json", r"in/a\xff.json"]


def test_a_named_file_of_no_known_format_is_refused_and_a_walked_one_counted(tmp_path: Path) -> None:
    other = put(tmp_path / "site/package.json", '{"name": "site"}')
    report = migrate([other], into=tmp_path)
    assert [(entry.outcome, entry.reason) for entry in report.entries] == [
        (MigrationOutcome.REFUSED, "this is not a format that evalstore migrates")
    ]
    walked = migrate([other.parent], into=tmp_path)
    assert walked.entries == ()
    assert [source.file for source in walked.skipped] == ["site/package.json"]


def test_a_store_that_lies_in_what_is_walked_is_no_source(tmp_path: Path) -> None:
    put(tmp_path / "legacy/forms/evals.json")
    cases = Path(__file__).resolve().parents[1] / "cases/migrations/every_eval_ever"
    shutil.copytree(cases / "a_run_and_its_rows/legacy", tmp_path / "legacy/records")
    first = migrate([tmp_path], into=tmp_path)
    assert any(path.startswith("runs/legacy/records/") for path in first.written)
    again = migrate([tmp_path], into=tmp_path)
    assert (again.written, again.entries) == ((), first.entries)
    assert {source.reason for source in again.skipped if source not in first.skipped} == {
        "this is the run that a migration has made of a source",
        "written by a migration",
    }
    named = migrate([tmp_path / "datasets/given.yaml"], into=tmp_path)
    assert [(entry.outcome, entry.reason) for entry in named.entries] == [
        (MigrationOutcome.REFUSED, "written by a migration")
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"evals": [', "not JSON"),
        ("\x00\x01", "not JSON"),
        ('{"evals": [{"id": 1, "prompt": "\x01"}]}', "not JSON: invalid control character"),
        ('{"evals": [{"id": 1, "prompt": "Why', "not JSON: unterminated string"),
        ('{"evals": [{"id": 1, "prompt": "\\ud800", "must_contain_any": []}]}', "surrogate"),
        ('{"evals": ' + "[" * 950 + "]" * 950 + "}", "nested deeper"),
    ],
)
def test_a_broken_file_is_an_entry_beside_the_good_ones(tmp_path: Path, text: str, said: str) -> None:
    broken, good = put(tmp_path / "a/evals.json", text), put(tmp_path / "b/evals.json")
    report = migrate([broken, good], into=tmp_path)
    assert [entry.outcome for entry in report.entries] == [MigrationOutcome.REFUSED, MigrationOutcome.MIGRATED]
    assert said in report.entries[0].reason
    assert not report.entries[0].reason.endswith((" at", " starting"))
    assert "datasets/given.yaml" in report.written


def test_not_utf_8_is_said_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "evals.json"
    path.write_bytes(b'{"evals":\n ["\xff"]}')
    entry = migrate([path], into=tmp_path).entries[0]
    assert (entry.line, entry.reason) == (2, "not UTF-8; save the file as UTF-8")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_a_suite_in_another_encoding_is_refused_and_not_passed_by(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "in/evals.json"
    path.parent.mkdir()
    path.write_text(SUITE.replace("given", "\xe9"), encoding)
    (entry,) = migrate([path.parent], into=tmp_path).entries
    assert (entry.outcome, entry.reason) == (MigrationOutcome.REFUSED, "not UTF-8; save the file as UTF-8")


def test_what_hardly_looks_like_it_is_taken_when_told(tmp_path: Path) -> None:
    path = put(tmp_path / "evals.json", json.dumps({"evals": [{"id": 1, "prompt": "?"}]}))
    assert [entry.outcome for entry in migrate([path], into=tmp_path).entries] == [MigrationOutcome.UNMAPPED]
    told = migrate([path], into=tmp_path, format="ai_best_practices")
    assert [(entry.outcome, entry.rubric) for entry in told.entries] == [
        (MigrationOutcome.MIGRATED, "rubric/evals@1.0.0")
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Drupal – Forms 2", "drupal_forms_2"), ("Über", "uber"), ("→", ""), ("../../x", "x"), ("a" * 99, "a" * 48)],
)
def test_slugs(text: str, expected: str) -> None:
    assert make_slug(text) == expected


@pytest.mark.parametrize("name", ["../../x", "con", "NUL", "1", "_", "-", "é", "a\nb", "x" * 300, "--force", " "])
def test_every_name_becomes_an_id(tmp_path: Path, name: str) -> None:
    suite = json.loads(SUITE) | {"skill_name": name}
    suite["evals"][0]["must_contain_any"] = [name]
    report = migrate([put(tmp_path / "x.json", json.dumps(suite))], into=tmp_path)
    for path in report.written:
        assert is_id(path.split("/")[1].removesuffix(".yaml"))


def test_a_link_to_itself_is_one_entry_and_not_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "self.json").symlink_to("self.json")
    (folder / "evals.json").write_text('{"evals": [{"id": 1, "prompt": "?", "must_contain_any": ["a"]}]}')
    report = migrate(folder, into=tmp_path / "store", dry_run=True)
    assert [(entry.file.rpartition("/")[2], entry.outcome) for entry in report.entries] == [
        ("evals.json", "migrated"),
        ("self.json", "refused"),
    ]


def test_installed_packages_are_passed_by_and_named(tmp_path: Path) -> None:
    installed = put(tmp_path / "in/node_modules/kit/evals.json")
    put(tmp_path / "in/vendor/kit/evals.json")
    put(tmp_path / "in/own/evals.json")
    report = migrate(tmp_path / "in", into=tmp_path / "store", dry_run=True)
    assert [source.file for source in report.sources] == ["in/own/evals.json", "in/vendor/kit/evals.json"]
    assert [source.file for source in report.skipped] == ["in/node_modules/"]
    assert "installed packages" in report.skipped[0].reason
    assert names(installed.parents[1], into=tmp_path / "store") == ["node_modules/kit/evals.json"]


def clone_sources(git: Any, folder: Path) -> Path:
    """Make a repository with two suites and a store, as every clone of it is: only its folder is called otherwise."""
    put(folder / "kit/forms/evals.json")
    put(folder / "kit/nodes/cases.json", json.dumps({"evals": [{"id": 1, "prompt": "!", "must_contain_any": ["b"]}]}))
    git("init", "-q", cwd=folder)
    git("add", ".", cwd=folder)
    git("commit", "-qm", "sources", cwd=folder)
    (folder / "store").mkdir()
    return folder


def read_tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_name_does_not_depend_on_where_a_clone_lies(
    tmp_path: Path, git: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (clone_sources(git, tmp_path / name / name) for name in ("one", "another"))
    migrate([first], into=first / "store")
    written = read_tree(first / "store")
    assert "kit/nodes/cases.json" in written["datasets/cases.yaml"].decode()
    ways: list[tuple[Path, str | Path]] = [
        (second, "."),
        (second / "store", ".."),
        (second, second),
        (second / "kit", "."),
        (second / "kit/forms", "../../kit"),
        (tmp_path, second),
    ]
    for folder, path in ways:
        monkeypatch.chdir(folder)
        for child in (second / "store").iterdir():
            shutil.rmtree(child)
        migrate([Path(path)], into=second / "store")
        assert read_tree(second / "store") == written
        assert migrate([Path(path)], into=second / "store").written == ()
        # A store that another clone has written is known, and nothing is written a second time.
        shutil.copytree(first / "store", second / "copy")
        assert migrate([Path(path)], into=second / "copy").written == ()
        shutil.rmtree(second / "copy")


def test_a_store_with_the_names_of_clones_is_known_again(tmp_path: Path, git: Any) -> None:
    clone = clone_sources(git, tmp_path / "here")
    # As releases before this one named it: by the folder of the clone.
    elsewhere = tmp_path / "there"
    shutil.copytree(clone / "kit", elsewhere / "kit")
    migrate([elsewhere], into=clone / "store")
    old = read_tree(clone / "store")
    assert b"file: there/kit/nodes/cases.json" in old["datasets/cases.yaml"]
    assert migrate([clone], into=clone / "store").written == ()
    assert read_tree(clone / "store") == old
    (clone / "kit/forms/evals.json").unlink()
    report = migrate([clone], into=clone / "store")
    assert [(file.path, file.state) for file in report.files if file.state != "unchanged"] == [
        ("datasets/given.yaml", "orphan"),
    ]
    # The other suite asks for the same, and shares its rubric.
    assert b"rubric_ref: rubric/contains@1.0.0" in old["datasets/cases.yaml"]


def test_two_repositories_keep_their_files_apart(tmp_path: Path, git: Any) -> None:
    one, two = (clone_sources(git, tmp_path / name) for name in ("one", "two"))
    found = names(one, two, into=tmp_path / "store")
    assert found == [
        f"{name}/kit/{file}" for name in ("one", "two") for file in ("forms/evals.json", "nodes/cases.json")
    ]
    migrate([one], into=tmp_path / "store")
    (two / "kit/nodes/cases.json").unlink()
    put(two / "kit/nodes/other.json", json.dumps({"evals": [{"id": 1, "prompt": "?!", "must_contain_any": ["c"]}]}))
    git("rm", "-q", "--cached", "kit/nodes/cases.json", cwd=two)
    shutil.rmtree(two / ".git")
    git("init", "-q", cwd=two)
    git("add", "kit", cwd=two)
    git("commit", "-qm", "others", cwd=two)
    report = migrate([two], into=tmp_path / "store")
    # Its history never had the file of the other repository.
    assert "orphan" not in {file.state for file in report.files}


@pytest.mark.parametrize("case", ["a_run_and_its_rows", "scores_without_rows", "judges_and_juries"])
def test_runs_with_the_names_of_clones_are_known_again(case: str, tmp_path: Path, git: Any) -> None:
    source = copy_legacy(f"every_eval_ever/{case}", tmp_path)
    clone = Path(shutil.copytree(source, tmp_path / "clone/data"))
    migrate([source.parent], into=tmp_path / "store")
    git("init", "-q", cwd=clone.parent)
    git("add", ".", cwd=clone.parent)
    git("commit", "-qm", "runs", cwd=clone.parent)
    clone.rename(clone.with_name("legacy"))
    before = read_tree(tmp_path / "store")
    assert migrate([clone.parent], into=tmp_path / "store").written == ()
    assert read_tree(tmp_path / "store") == before


def test_a_folder_outside_of_git_that_was_renamed_is_known_again(tmp_path: Path) -> None:
    store, first, second = (tmp_path / name for name in ("store", "one", "two"))
    put(first / "kit/evals.json")
    migrate([first], into=store)
    first.rename(second)
    again = migrate([second], into=store)
    assert {str(file.state) for file in again.files} <= {"renamed", "unchanged"}
    assert b"file: two/kit/evals.json" in next((store / "datasets").iterdir()).read_bytes()
    assert migrate([second], into=store).written == ()
    # Where both are there, they are two.
    put(tmp_path / "three/kit/evals.json")
    assert "new" in {str(file.state) for file in migrate([tmp_path / "three"], into=store).files}
