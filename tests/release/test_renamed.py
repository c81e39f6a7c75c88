"""An artifact whose file says which id it had goes on from the releases of that id."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefError, RefusedError
from evalstore.model import parse_ref
from evalstore.release.changes.values import ArtifactState, Released
from evalstore.release.history.release_log import read_release_log
from evalstore.release.integrity.verify import verify
from evalstore.store import ArtifactStore
from evalstore.versions import Bump
from tests.release.shop import JUDGE, Shop, rubric

Cli = Callable[..., Any]
DATASET = "id: web\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/tone@1.0.0}\nquestions: [{id: q, input: Hello?}]\n"


def rename(shop: Shop, text: str, old: str, new: str, *, said: str = "") -> None:
    """Give the file of an artifact another id, and let it say so."""
    id_, before = (Path(path).stem for path in (new, old))
    kind = Path(old).parent.name.removesuffix("s")
    (shop.root / old).unlink()
    shop.write(new, text.replace(f"id: {before}\n", f"id: {id_}\nrenamed_from: {said or f'{kind}/{before}'}\n", 1))


def rename_with_rows(shop: Shop) -> None:
    """Release a dataset with a file of rows, and rename both; a row comes in."""
    text = "id: web\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/tone@1.0.0}\nrows: web.jsonl\n"
    rows = '{"id": "a", "input": "Hello?"}\n'
    shop.write("datasets/web.yaml", text)
    shop.write("datasets/web.jsonl", rows)
    shop.bump()
    (shop.root / "datasets/web.jsonl").unlink()
    rename(shop, text.replace("web.jsonl", "site.jsonl"), "datasets/web.yaml", "datasets/site.yaml")
    shop.write("datasets/site.jsonl", rows + '{"id": "b", "input": "Bye?"}\n')


def test_a_candidate_of_the_earlier_id_keeps_its_number(released: Shop) -> None:
    for word, version in (("just", "1.0.0"), ("only", "2.0.0-rc.1")):
        released.write("rubrics/tone.yaml", rubric(ban=word, version=version))
        released.bump(pre="rc")
    text = rubric(ban="merely", version="2.0.0-rc.2")
    rename(released, text, "rubrics/tone.yaml", "rubrics/manner.yaml")
    commit(released)
    (new,) = released.status().artifacts
    assert (new.ok, new.released, "--pre" in new.hint) == (False, "1.0.0", True)
    with pytest.raises(RefusedError, match=r"rubric/tone@2\.0\.0-rc\.2 is already released"):
        released.bump()
    assert list_steps(released.bump(pre="rc")) == [("rubric/manner@2.0.0-rc.3", "1.0.0", "major")]
    with ArtifactStore.open(released.root) as store:
        log = read_release_log(store, parse_ref("rubric/manner")).releases
    assert [str(one.logged.version) for one in log] == ["2.0.0-rc.3", "2.0.0-rc.2", "2.0.0-rc.1", "1.0.0"]
    assert list_steps(released.bump(level=Bump.MAJOR)) == [("rubric/manner@2.0.0", "1.0.0", "major")]
    assert released.verify().ok


@pytest.fixture
def renamed(released: Shop) -> Shop:
    """rubric/tone@1.0.0, whose file is now that of rubric/manner."""
    rename(released, rubric(), "rubrics/tone.yaml", "rubrics/manner.yaml")
    return released


def commit(shop: Shop) -> Shop:
    shop.git("add", "-A")
    shop.git("commit", "-qm", "Rename")
    return shop


def list_steps(released: Released) -> list[tuple[str, str | None, str]]:
    return [(one.ref, one.previous, str(one.bump)) for one in released.released]


def check_sound(shop: Shop) -> None:
    with ArtifactStore.open(shop.root) as store:
        assert verify(store).findings == ()
    assert shop.status().artifacts == ()


@pytest.mark.parametrize("said", ["rubric/tone", "tone"])
def test_a_rename_is_a_patch_of_the_last_release(released: Shop, said: str) -> None:
    rename(released, rubric(), "rubrics/tone.yaml", "rubrics/manner.yaml", said=said)
    new, old = released.status().artifacts
    assert (new.ref, new.state, new.released, new.working) == ("rubric/manner", ArtifactState.CHANGED, "1.0.0", "1.0.0")
    assert (new.required_bump, new.next_version, new.ok) == (Bump.PATCH, "1.0.1", False)
    assert [(one.rule, one.level) for one in new.findings] == [("rubric-id-changed", Bump.PATCH)]
    assert new.message == "needs 1.0.1, but is still 1.0.0; renamed from rubric/tone"
    assert (old.ref, old.ok, old.message) == ("rubric/tone", True, "renamed to rubric/manner; its releases stay")
    assert list_steps(commit(released).bump()) == [("rubric/manner@1.0.1", "1.0.0", "patch")]
    assert "Evalstore-Previous: 1.0.0" in released.git("tag", "-l", "--format=%(contents)", "rubric/manner@1.0.1")
    check_sound(released)


def test_what_else_changed_asks_for_its_own_level(renamed: Shop, cli: Cli) -> None:
    text = renamed.read("rubrics/manner.yaml").decode()
    renamed.write("rubrics/manner.yaml", text.replace("simply", "just"))
    for sides in ((), ("rubric/manner",), ("rubrics/manner.yaml",)):
        ran = cli("-C", renamed.root, "diff", *sides)
        assert "rubric/tone@1.0.0 → rubric/manner@worktree" in ran.out
        assert "the next version is 2.0.0" in ran.out
    assert list_steps(commit(renamed).bump()) == [("rubric/manner@2.0.0", "1.0.0", "major")]
    check_sound(renamed)


def test_later_releases_go_on_from_its_own(renamed: Shop) -> None:
    commit(renamed).bump()
    text = renamed.read("rubrics/manner.yaml").decode()
    renamed.write("rubrics/manner.yaml", text.replace("title: Tone", "title: Our tone"))
    assert list_steps(renamed.bump()) == [("rubric/manner@1.0.2", "1.0.1", "patch")]
    # The line has done its work; without it nothing but a key is gone.
    text = renamed.read("rubrics/manner.yaml").decode()
    renamed.write("rubrics/manner.yaml", text.replace("renamed_from: rubric/tone\n", ""))
    assert list_steps(renamed.bump()) == [("rubric/manner@1.0.3", "1.0.2", "patch")]
    check_sound(renamed)


def test_after_a_pre_release_the_final_one_still_goes_on_from_the_old_id(renamed: Shop) -> None:
    assert list_steps(commit(renamed).bump(pre="rc")) == [("rubric/manner@1.0.1-rc.1", "1.0.0", "patch")]
    assert list_steps(renamed.bump(level=Bump.PATCH)) == [("rubric/manner@1.0.1", "1.0.0", "patch")]
    check_sound(renamed)


def test_judges_and_datasets_are_renamed_as_well(released: Shop) -> None:
    released.write("judges/accuracy.yaml", JUDGE)
    released.write("datasets/web.yaml", DATASET)
    released.bump()
    rename(released, JUDGE, "judges/accuracy.yaml", "judges/truth.yaml")
    rename(released, DATASET, "datasets/web.yaml", "datasets/site.yaml")
    steps = list_steps(commit(released).bump())
    assert steps == [("judge/truth@1.0.1", "1.0.0", "patch"), ("dataset/site@1.0.1", "1.0.0", "patch")]
    check_sound(released)


def test_rows_beside_a_dataset_are_compared_too(released: Shop) -> None:
    rename_with_rows(released)
    (status, _) = released.status().artifacts
    assert (status.required_bump, status.released) == (Bump.MINOR, "1.0.0")
    assert list_steps(commit(released).bump()) == [("dataset/site@1.1.0", "1.0.0", "minor")]
    check_sound(released)


def test_the_line_moves_no_score(renamed: Shop) -> None:
    with ArtifactStore.open(renamed.root) as store:
        old, new = store.resolve("rubric/tone@1.0.0"), store.resolve("rubric/manner@worktree")
    assert old.scoring_digest == new.scoring_digest
    assert old.digest != new.digest


def test_a_change_of_it_can_be_accepted(renamed: Shop, cli: Cli) -> None:
    text = renamed.read("rubrics/manner.yaml").decode()
    renamed.write("rubrics/manner.yaml", text.replace("simply", "just"))
    found = {one.rule: one.fingerprint for one in renamed.status().artifacts[0].findings if one.level is Bump.MAJOR}
    for fingerprint in found.values():
        assert cli("-C", renamed.root, "accept", fingerprint, "--reason", "measured: nothing moves").code == 0
    assert list_steps(renamed.bump()) == [("rubric/manner@1.1.0", "1.0.0", "minor")]
    renamed.git("add", ".")
    renamed.git("commit", "-qm", "Accepted")
    with ArtifactStore.open(renamed.root) as store:
        assert {one.rule for one in verify(store).findings} == {"release-bump-lowered"}


def test_a_release_by_hand_that_says_too_little_is_found(renamed: Shop) -> None:
    text = renamed.read("rubrics/manner.yaml").decode()
    text = text.replace("simply", "just").replace("version: 1.0.0", "version: 1.0.1")
    renamed.write("rubrics/manner.yaml", text)
    commit(renamed)
    renamed.git("tag", "-am", "by hand", "rubric/manner@1.0.1")
    with ArtifactStore.open(renamed.root) as store:
        found = {one.rule: one.message for one in verify(store).findings}
    assert "rubric/tone@1.0.0" in found["release-bump-too-small"]


def test_the_gate_asks_for_the_bump_and_lets_it_pass(renamed: Shop, cli: Cli) -> None:
    base = renamed.git("rev-parse", "HEAD").strip()
    renamed.git("switch", "-qc", "change")
    commit(renamed)
    assert cli("-C", renamed.root, "gate", "--base", base).code == 1
    renamed.bump()
    ran = cli("-C", renamed.root, "gate", "--base", base)
    assert (ran.code, "released since the base" in ran.out) == (0, True)


def test_a_clone_without_the_old_tags_does_not_call_it_new(renamed: Shop, tmp_path: Path) -> None:
    commit(renamed)
    renamed.run("clone", "-q", "--no-tags", str(renamed.top), str(tmp_path / "clone"), cwd=tmp_path)
    clone = Shop(tmp_path / "clone", renamed.run)
    (status, *_) = clone.status().artifacts
    assert (status.state, status.ok) == (ArtifactState.BROKEN, False)
    assert "rubric/tone@1.0.0 was released, but its tag is not in this clone" in status.message
    with pytest.raises((RefusedError, RefError), match="its tag is not in this clone"):
        clone.bump()


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("rubric/tone", None),
        ("tone", None),
        ("rubric/gone", "renamed-from-unknown"),
        ("rubric/manner", "renamed-from-unknown"),
        ("judge/tone", "value-malformed"),
        ("rubric/tone@1.0.0", "value-malformed"),
    ],
)
def test_validate_knows_the_key(released: Shop, cli: Cli, said: str, rule: str | None) -> None:
    rename(released, rubric(), "rubrics/tone.yaml", "rubrics/manner.yaml", said=said)
    ran = cli("-C", released.root, "validate", "rubrics/manner.yaml")
    assert ran.out == "1 file: no findings\n" if rule is None else rule in ran.out


def rename_again(shop: Shop) -> None:
    """Release rubric/manner@2.0.0 with another word, and then rubric/voice@2.0.1."""
    text = shop.read("rubrics/manner.yaml").decode()
    shop.write("rubrics/manner.yaml", text.replace("simply", "just"))
    commit(shop).bump()
    text = shop.read("rubrics/manner.yaml").decode().replace("renamed_from: rubric/tone\n", "")
    rename(shop, text, "rubrics/manner.yaml", "rubrics/voice.yaml")
    commit(shop).bump()


def test_the_log_goes_on_under_the_earlier_ids(renamed: Shop, cli: Cli) -> None:
    rename_again(renamed)
    with ArtifactStore.open(renamed.root) as store:
        log = read_release_log(store, parse_ref("rubric/voice"))
    assert [(entry.logged.name, str(entry.logged.version)) for entry in log.releases] == [
        ("rubric/voice", "2.0.1"),
        ("rubric/manner", "2.0.0"),
        ("rubric/tone", "1.0.0"),
    ]
    assert [(str(entry.before), entry.before_name) for entry in log.releases[:2]] == [
        ("2.0.0", "rubric/manner"),
        ("1.0.0", "rubric/tone"),
    ]
    assert [(str(entry.since), entry.required) for entry in log.releases[:2]] == [
        ("2.0.0", Bump.PATCH),
        ("2.0.0", Bump.MAJOR),
    ]
    ran = cli("-C", renamed.root, "log", "rubric/voice")
    assert ran.next_steps.endswith("diff rubric/manner@2.0.0 rubric/voice@2.0.1\n")
    assert [" as rubric/" in line for line in ran.out.splitlines() if "released by" in line] == [False, True, True]
    # What a range covers are releases of this id.
    assert cli("-C", renamed.root, "log", "rubric/voice@^2", "--short").out.count("released by") == 1
    assert cli("-C", renamed.root, "log", "rubric/voice", "--short").out.count("released by") == 3
    # The old id ends where the new one begins.
    assert cli("-C", renamed.root, "log", "rubric/tone").out.count("released by") == 1


def test_blame_finds_who_wrote_a_part_before_the_rename(renamed: Shop, cli: Cli) -> None:
    first = renamed.git("rev-list", "--max-parents=0", "HEAD").strip()
    ran = cli("-C", renamed.root, "blame", "rubric/manner@worktree", "--format", "json")
    assert {part["commit"] for part in json.loads(ran.out)["parts"]} == {first}
    rename_again(renamed)
    ran = cli("-C", renamed.root, "blame", "rubric/voice", "--format", "json")
    parts = {part["pointer"]: part for part in json.loads(ran.out)["parts"]}
    assert parts["/checks/0/values/0"]["version"] == "2.0.0"
    assert (parts["/scoring/combine"]["commit"], parts["/scoring/combine"]["version"]) == (first, "1.0.0")


def test_blame_follows_the_rows_of_a_renamed_dataset(released: Shop, cli: Cli) -> None:
    rename_with_rows(released)
    commit(released).bump()
    ran = cli("-C", released.root, "blame", "dataset/site", "--format", "json")
    versions = {part["pointer"]: part["version"] for part in json.loads(ran.out)["parts"]}
    assert (versions["/rows/0"], versions["/rows/1"]) == ("1.0.0", "1.1.0")


@pytest.mark.parametrize(("ban", "level"), [("simply", Bump.PATCH), ("just", Bump.MAJOR)])
def test_who_pins_the_new_id_has_the_change_of_what_it_pins(renamed: Shop, ban: str, level: Bump) -> None:
    renamed.write("datasets/web.yaml", DATASET)
    renamed.bump("dataset/web")
    text = renamed.read("rubrics/manner.yaml").decode()
    renamed.write("rubrics/manner.yaml", text.replace("simply", ban))
    (released,) = commit(renamed).bump("rubric/manner").released
    renamed.write("datasets/web.yaml", DATASET.replace("rubric/tone@1.0.0", released.ref))
    (status,) = renamed.status().artifacts
    assert status.required_bump is level
    # Without the line it is another rubric: what it does to the questions is what counts.
    other = rubric("other")
    renamed.write("rubrics/other.yaml", other)
    renamed.bump("rubric/other")
    renamed.write("datasets/web.yaml", DATASET.replace("rubric/tone@1.0.0", "rubric/other@1.0.0"))
    (status,) = renamed.status().artifacts
    assert status.required_bump is Bump.MINOR
    other = rubric("other").replace("simply", "just")
    renamed.write("rubrics/other.yaml", other)
    renamed.bump("rubric/other")
    renamed.write("datasets/web.yaml", DATASET.replace("rubric/tone@1.0.0", "rubric/other@2.0.0"))
    (status,) = renamed.status().artifacts
    assert status.required_bump is Bump.MAJOR


def _move(shop: Shop, old: str, new: str, text: str) -> None:
    (shop.root / old).unlink()
    shop.write(new, text)


@pytest.mark.parametrize("is_committed", [False, True])
def test_where_the_content_is_equal_a_rename_is_proposed(released: Shop, cli: Cli, *, is_committed: bool) -> None:
    _move(released, "rubrics/tone.yaml", "rubrics/manner.yaml", rubric("manner", title="Our manner"))
    if is_committed:
        commit(released)
    said = "if that is a rename, write into rubrics/manner.yaml: renamed_from: rubric/tone"
    for command in ("status", "diff"):
        ran = cli("-C", released.root, command)
        assert (ran.code, said in " ".join(ran.out.split())) == (0, True)
    ran = cli("-C", released.root, "diff", "--format", "json")
    assert json.loads(ran.out)["renames"] == {"rubric/manner": "rubric/tone"}
    released.write(
        "rubrics/manner.yaml", rubric("manner").replace("id: manner", "id: manner\nrenamed_from: rubric/tone")
    )
    assert "if that is a rename" not in cli("-C", released.root, "status").out


def test_of_a_line_of_renames_the_last_id_is_proposed(renamed: Shop) -> None:
    commit(renamed).bump()
    _move(renamed, "rubrics/manner.yaml", "rubrics/voice.yaml", rubric("voice", "1.0.1"))
    (new,) = (one for one in renamed.status().artifacts if one.ref == "rubric/voice")
    assert new.hint.endswith("renamed_from: rubric/manner")


def test_the_rows_of_a_dataset_are_its_content(released: Shop) -> None:
    text = "id: web\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/tone@1.0.0}\nrows: web.jsonl\n"
    released.write("datasets/web.yaml", text)
    released.write("datasets/web.jsonl", '{"id": "a", "input": "Hello?"}\n')
    released.bump()
    _move(released, "datasets/web.yaml", "datasets/site.yaml", text.replace("web", "site"))
    for rows, is_proposed in (('{"id": "a", "input": "Hello?"}\n', True), ('{"id": "a", "input": "Bye?"}\n', False)):
        _move(released, "datasets/web.jsonl" if is_proposed else "datasets/site.jsonl", "datasets/site.jsonl", rows)
        new = next(one for one in released.status().artifacts if one.ref == "dataset/site")
        assert ("renamed_from: dataset/web" in new.hint) is is_proposed


def test_what_is_ambiguous_or_other_is_not_proposed(released: Shop) -> None:
    # One that is still there, with other content, and two of which nobody knows which it was.
    released.write("rubrics/copy.yaml", rubric("copy"))
    released.write("rubrics/other.yaml", rubric("other", ban="just"))
    assert [one.hint for one in released.status().artifacts] == ["", ""]
    (released.root / "rubrics/tone.yaml").unlink()
    released.write("rubrics/other.yaml", rubric("other"))
    assert [one.hint for one in released.status().artifacts] == ["", "", ""]


def test_a_rename_that_is_not_said_is_a_warning_which_fix_writes(released: Shop, cli: Cli) -> None:
    _move(released, "rubrics/tone.yaml", "rubrics/manner.yaml", rubric("manner", title="Our manner"))
    commit(released)
    ran = cli("-C", released.root, "validate", "--format", "json")
    (found,) = (one for one in json.loads(ran.out)["findings"] if one["rule"] == "renamed-from-missing")
    assert (ran.code, found["severity"], found["file"], found["pointer"]) == (
        0,
        "warning",
        "rubrics/manner.yaml",
        "/id",
    )
    assert cli("-C", released.root, "validate", "--strict").code == 1
    ran = cli("-C", released.root, "validate", "--fix", "--strict")
    assert ran.code == 0
    assert b"id: manner\nrenamed_from: rubric/tone\n" in released.read("rubrics/manner.yaml")
    assert "renamed_from: rubric/tone" in ran.out
    assert "renamed-from-missing" not in cli("-C", released.root, "validate").out


def test_a_copy_and_a_first_file_are_no_renames(released: Shop, cli: Cli) -> None:
    released.write("rubrics/manner.yaml", rubric("manner"))
    assert cli("-C", released.root, "validate", "--strict").code == 0
