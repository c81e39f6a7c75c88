"""The lock: what it holds, that it is written in one way and read in no other, and what moves it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError, LimitError, LoadError, RefError, RefusedError
from evalstore.lint import find_store_sources, validate
from evalstore.model.lock import Lock, LockedLedger, LockEntry, read_lock, write_lock
from evalstore.places import find_resource_folder
from evalstore.store import ArtifactStore
from tests.release.shop import DATASET, TONE, Shop, judge, mixed, only, rules

LOCK = "evalstore.lock"
OID, SHA = "7" * 40, "ab" * 32
HELD = LockEntry("1.2.0", OID, OID, OID, SHA, SHA)
FULL = Lock(
    {"judge/accuracy@^1": HELD, "rubric/tone@>=1.2 <2": LockEntry("1.2.0", None, OID, OID, SHA, SHA, OID)},
    {"judge/accuracy": LockedLedger(3, SHA)},
)


def text(stocked: Shop) -> str:
    return (stocked.top / LOCK).read_text()


def test_what_a_killed_lock_left_is_swept_by_the_next_that_writes(stocked: Shop) -> None:
    left, other = stocked.top / ".evalstore.lock.4711.tmp", stocked.top / ".evalstore.lock.mine.tmp"
    for file in (left, other, stocked.top / LOCK):
        file.write_bytes(b"half")
    (stocked.top / LOCK).unlink()
    stocked.lock()
    assert (left.exists(), other.exists()) == (False, True)


def test_a_lock_of_twelve_thousand_references_is_read_wherever_it_stands(stocked: Shop) -> None:
    """It has more bytes than any other file that is read whole."""
    lock = Lock({f"rubric/tone_{number}@1.0.0": HELD for number in range(12_000)}, {})
    data = write_lock(lock)
    assert len(data) > 4 << 20
    stocked.write(LOCK, data)
    stocked.commit(LOCK)
    assert stocked.read_lock() == lock
    stocked.git("clone", "-q", "--bare", ".", str(bare := stocked.top.parent / "bare.git"))
    assert stocked.at(bare).read_lock() == lock


def test_a_lock_that_nothing_could_read_is_not_written(stocked: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    stocked.release("judge/accuracy", "1.1.0", judge("1.1.0", ask="Right then?"))
    stocked.write("rubrics/other.yaml", mixed("other").replace("accuracy@1.0.0", "accuracy@1.1.0"))
    before = text(stocked)
    monkeypatch.setattr("evalstore.model.lock.LIMIT", len(before))
    with pytest.raises(LimitError, match=r"^evalstore\.lock: the lock would be larger than"):
        stocked.lock()
    assert text(stocked) == before


def findings(stocked: Shop, *, strict: bool = False) -> list[str]:
    """Return the rules that validate finds broken."""

    def look(store: ArtifactStore) -> Any:
        sources = list(find_store_sources(stocked.top))
        return validate(
            sources, load=store.read_artifact, today=datetime.now(UTC).date(), strict=strict, locked=store.lock.refs
        )

    return [one.rule for one in stocked.ask(look).findings if one.rule.startswith("reference")]


def test_it_holds_version_tag_object_commit_blob_digests_rows_and_the_ledgers(stocked: Shop) -> None:
    held = stocked.read_lock()
    assert list(held.refs) == ["judge/accuracy@1.0.0", TONE, "rubric/tone@^1"]
    names = ("rubric/tone@1.1.0", "rubric/tone@1.1.0^{}", "rubric/tone@1.1.0:rubrics/tone.yaml")
    one = held.refs["rubric/tone@^1"]
    assert (one.version, one.tag_object, one.commit, one.blob) == (
        "1.1.0",
        *(stocked.git("rev-parse", name) for name in names),
    )
    assert (one.digest, one.scoring_digest) == stocked.ask(
        lambda s: (s.resolve("rubric/tone@1.1.0").digest, s.resolve("rubric/tone@1.1.0").scoring_digest)
    )
    assert {name: seen.lines for name, seen in held.ledgers.items()} == {
        "dataset/answers": 1, "judge/accuracy": 1, "rubric/other": 1, "rubric/tone": 3
    }  # fmt: skip


def test_running_it_twice_changes_nothing(stocked: Shop) -> None:
    before = (stocked.top / LOCK).stat()
    again = stocked.lock()
    assert not again.written
    assert not [one for one in again.refs if one.changed]
    assert (stocked.top / LOCK).stat().st_mtime_ns == before.st_mtime_ns
    (stocked.top / LOCK).write_text(text(stocked).replace("\n", "\r\n"))
    assert stocked.lock().written
    assert "\r" not in text(stocked)


def test_the_rows_beside_a_dataset_are_held_too(stocked: Shop) -> None:
    stocked.write("evalstore.yaml", "targets: {nightly: {dataset: dataset/answers@1.0}}\n")
    stocked.lock()
    held = stocked.read_lock().refs["dataset/answers@1.0"]
    assert held.rows == stocked.git("rev-parse", "dataset/answers@1.0.0:datasets/answers.jsonl")
    # The same YAML beside other rows, under the same tag: no digest and no ledger tells.
    evil = stocked.commit_aside(datasets__answers='{"id": "a", "input": "Evil?"}\n')
    stocked.git("tag", "-f", "-a", "-m", "x", "dataset/answers@1.0.0", evil)
    assert rules(stocked.verify_without_lock()) == []
    assert rules(stocked.verify()) == ["tag-moved"]
    with pytest.raises(RefusedError, match=r"the rows of dataset/answers@1\.0 changed since it was locked"):
        stocked.ask(lambda store: store.resolve("dataset/answers@1.0"))


def test_what_is_referred_to_is_followed_as_it_was_released(stocked: Shop) -> None:
    """The working rubric pins a judge of its own; scoring by the released dataset reads the released rubric's."""
    stocked.release("judge/accuracy", "2.0.0", judge("2.0.0", ask="Right then?"))
    stocked.write("rubrics/tone.yaml", mixed(version="3.0.0").replace("accuracy@1.0.0", "accuracy@2.0.0"))
    assert [one.ref for one in stocked.lock().refs] == [
        "judge/accuracy@1.0.0",
        "judge/accuracy@2.0.0",
        TONE,
        "rubric/tone@^1",
    ]


def test_a_reference_that_is_held_does_not_float(stocked: Shop) -> None:
    stocked.release("rubric/tone", "1.2.0", mixed(version="1.2.0", word="later"))
    held, free = (
        stocked.ask(lambda store, lock=lock: (store if lock else store.without_lock()).resolve("rubric/tone@^1"))
        for lock in (True, False)
    )
    assert (held.version, held.floating, held.locked) == ("1.1.0", False, True)
    assert (free.version, free.floating, free.locked) == ("1.2.0", True, False)
    assert findings(stocked, strict=True) == []
    (stocked.top / LOCK).unlink()
    assert findings(stocked) == ["reference-floating"]


def test_it_keeps_what_it_held_and_moves_only_what_it_is_told_to(stocked: Shop) -> None:
    stocked.write("rubrics/other.yaml", mixed("other", "1.1.0").replace("accuracy@1.0.0", "accuracy@latest"))
    stocked.lock()
    stocked.release("rubric/tone", "1.2.0", mixed(version="1.2.0", word="later"))
    stocked.release("judge/accuracy", "1.1.0", judge("1.1.0", ask="Right then?"))
    held = {one.ref: one.version for one in stocked.lock().refs}
    assert (held["rubric/tone@^1"], held["judge/accuracy@latest"]) == ("1.1.0", "1.0.0")
    assert rules(stocked.check_lock()) == []
    moved = stocked.lock("rubric/tone", update=True)
    assert [(one.ref, one.previous, one.version) for one in moved.refs if one.changed] == [
        ("rubric/tone@^1", "1.1.0", "1.2.0")
    ]
    moved = stocked.lock(update=True)
    assert [(one.ref, one.previous, one.version) for one in moved.refs if one.changed] == [
        ("judge/accuracy@latest", "1.0.0", "1.1.0")
    ]
    with pytest.raises(RefError, match="nothing in this store refers to judge/nobody"):
        stocked.lock("judge/nobody", update=True)


def test_a_branch_is_held_at_its_commit_until_it_is_moved(stocked: Shop) -> None:
    stocked.write("rubrics/other.yaml", mixed("other", "1.1.0").replace("accuracy@1.0.0", "accuracy@git:main"))
    commit = stocked.git("rev-parse", "HEAD")
    stocked.lock()
    stocked.release("judge/accuracy", "2.0.0", judge("2.0.0", ask="Right then?"))
    found = stocked.ask(lambda store: store.resolve("judge/accuracy@git:main"))
    assert (found.version, found.commit, found.locked) == ("1.0.0", commit, True)
    assert rules(stocked.check_lock()) == rules(stocked.verify()) == []
    stocked.lock("judge/accuracy@git:main", update=True)
    assert stocked.read_lock().refs["judge/accuracy@git:main"].version == "2.0.0"


def test_what_changed_since_is_refused_and_never_locked_again_by_itself(stocked: Shop) -> None:
    before = text(stocked)
    stocked.git("tag", "-f", "-a", "-m", "x", "rubric/tone@1.1.0", stocked.commit_evil("1.1.0"))
    stocked.write(".evalstore/sums/rubric/tone", "")
    stocked.commit(".evalstore/sums/rubric/tone")
    for update in (False, True):
        with pytest.raises(RefusedError, match=r"does not continue the locked one|changed since it was locked"):
            stocked.lock(update=update)
    assert text(stocked) == before


def test_a_pin_that_changed_is_refused_even_where_it_is_told_to_update(stocked: Shop) -> None:
    stocked.git("tag", "-f", "-a", "-m", "x", TONE, stocked.commit_evil())
    stocked.write(".evalstore/sums/rubric/tone", "\n".join(stocked.read_ledger("rubric/tone")) + "\n")
    with pytest.raises(RefusedError) as caught:
        stocked.lock("rubric/tone", update=True)
    assert caught.value.hint
    assert "evalstore verify rubric/tone" in caught.value.hint


def test_a_reference_that_is_not_released_cannot_be_locked_and_nothing_is_written(stocked: Shop) -> None:
    before = text(stocked)
    stocked.write("rubrics/other.yaml", mixed("other").replace("accuracy@1.0.0", "accuracy@7.0.0"))
    with pytest.raises(RefError, match=r"^rubrics/other\.yaml:7:\d+: judge/accuracy has no version 7\.0\.0"):
        stocked.lock()
    assert text(stocked) == before
    assert [(one.rule, one.file, one.line) for one in stocked.check_lock().findings] == [
        ("reference-unlocked", "rubrics/other.yaml", 7)
    ]


def test_a_working_file_is_none_that_a_lock_could_hold(stocked: Shop) -> None:
    stocked.write("rubrics/other.yaml", mixed("other").replace("accuracy@1.0.0", "accuracy@worktree"))
    assert "judge/accuracy@worktree" not in [one.ref for one in stocked.lock().refs]
    assert rules(stocked.check_lock()) == []


def test_a_lock_that_is_behind_is_said_with_place_and_next_step(stocked: Shop) -> None:
    stocked.write("datasets/answers.yaml", DATASET.replace("tone@^1", "other@1.0.0"))
    said = {one.rule: (one.file, one.line, one.hint) for one in stocked.check_lock().findings}
    again = "update the file: evalstore lock"
    assert said == {"reference-unlocked": ("datasets/answers.yaml", 3, again), "lock-unused": (LOCK, 18, again)}
    assert stocked.lock().removed == ("rubric/tone@^1",)
    assert rules(stocked.check_lock()) == []
    (stocked.top / LOCK).unlink()
    assert only(stocked.check_lock()).hint == "create and commit it: evalstore lock"


def test_blocks_are_sorted_so_that_two_branches_merge(stocked: Shop) -> None:
    """One branch refers to something more, another to something else: git merges their locks without a conflict."""
    for branch, check in (
        ("one", "kind: llm_judge, judge_prompt_ref: judge/accuracy@^1"),
        ("two", "kind: composite, rubric_ref: rubric/tone@latest"),
    ):
        stocked.git("checkout", "-q", "-b", branch, "main")
        body = f"checks:\n  - {{{check}}}\nscoring: {{combine: all_pass}}\n"
        stocked.write(f"rubrics/{branch}.yaml", f'id: {branch}\nversion: "1.0.0"\n{body}')
        stocked.lock()
        stocked.commit("rubrics", LOCK)
    stocked.git("merge", "-q", "--no-edit", "one")
    assert list(stocked.read_lock().refs) == sorted(stocked.read_lock().refs)
    assert rules(stocked.check_lock()) == rules(stocked.verify()) == []
    assert not stocked.lock().written


# The file itself.


@pytest.mark.parametrize("lock", [Lock(), FULL], ids=["empty", "full"])
def test_what_is_written_reads_back_and_meets_its_schema(lock: Lock) -> None:
    data = write_lock(lock)
    assert read_lock(data) == lock
    schema = json.loads((find_resource_folder("schema") / "lock.schema.json").read_text())
    value = read_yaml(data, LOCK).value
    assert not list(Draft202012Validator(schema).iter_errors(value))
    assert list(value["refs"]) == sorted(lock.refs)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("lock: 1", "lock: 2", 1, "is a lock of form 2"),
        ("lock: 1\n", "", 1, "is not a lock of evalstore"),
        ('  "judge/accuracy@^1":', '<<<<<<< HEAD\n  "judge/accuracy@^1":', 4, "holds a merge conflict"),
        ('"rubric/tone@>=1.2 <2"', '"judge/accuracy@^1"', 11, "duplicate reference judge/accuracy@^1 (first on line 4)"),
        ('    version: "1.2.0"', "    version: 1.2.0", 4, "not a valid lock"),
        ('    version: "1.2.0"\n', "", 4, "not a valid lock"),
        ('    version: "1.2.0"\n', '    version: "1.2.0"\n    note: "x"\n', 4, "not a valid lock"),
        ("    tag_object: null", "    tag_object: ~", 11, "not a valid lock"),
        (OID, OID[:-1], 4, "not a valid lock"),
        (SHA, SHA.upper(), 4, "not a valid lock"),
        ("lines: 3", "lines: 0", 20, "not a valid lock"),
        ("ledgers:", "ledger:", 19, "not a valid lock"),
        ("refs:", "refs: {}", 4, "not a valid lock"),
        ("refs:\n", "refs:\n# mine\n", 4, "not a valid lock"),
    ],
)  # fmt: skip
def test_another_form_is_refused_at_its_line(old: str, new: str, line: int, says: str) -> None:
    data = write_lock(FULL).decode()
    assert old in data
    with pytest.raises(LoadError) as caught:
        read_lock(data.replace(old, new, 1).encode())
    assert caught.value.place
    assert (caught.value.place.file, caught.value.place.line) == (LOCK, line), caught.value
    assert says in caught.value.message
    assert caught.value.hint


def test_every_cut_and_every_line_taken_out_is_another_lock_or_refused() -> None:
    data = write_lock(FULL)
    lines = data.splitlines(keepends=True)
    for cut in range(len(data)):
        with pytest.raises(LoadError):
            read_lock(data[:cut])
    for gone in range(1, len(lines)):
        try:
            assert read_lock(b"".join([*lines[:gone], *lines[gone + 1 :]])) != FULL
        except LoadError:
            continue


@pytest.mark.parametrize("stand_in", ["link", "folder", "conflict"])
def test_a_lock_that_cannot_be_read_holds_everything_up(stocked: Shop, tmp_path: Path, stand_in: str) -> None:
    """Else a store would be read as if nothing was held."""
    path = stocked.top / LOCK
    held = path.read_text()
    path.unlink()
    if stand_in == "link":
        (tmp_path / "outside").write_text(held)
        path.symlink_to(tmp_path / "outside")
    elif stand_in == "folder":
        path.mkdir()
    else:
        path.write_text(f"<<<<<<< HEAD\n{held}=======\n{held}>>>>>>> other\n")
    with pytest.raises(LoadError, match=r"^evalstore\.lock"):
        stocked.ask(lambda store: store.resolve(TONE))
    with pytest.raises(LoadError, match=r"^evalstore\.lock"):
        stocked.lock()
    assert rules(stocked.check_lock()) == rules(stocked.verify()) == ["lock-unreadable"]


def test_validate_names_a_broken_lock_once(cli: Callable[..., Any], stocked: Shop) -> None:
    (stocked.top / LOCK).write_text(text(stocked).replace("digest", "digests", 1))
    ran = cli("-C", stocked.top, "validate", "--format", "json")
    assert ran.code == 1
    found = [
        (one["rule"], one["file"], one["line"]) for one in json.loads(ran.out)["findings"] if one["severity"] == "error"
    ]
    assert found == [("document-malformed", LOCK, 4)]


@pytest.mark.parametrize("ref", ["rubric/tone@^1\n", 'rubric/tone@^1"', "rubric/tone@>=1\t<2"])
def test_a_reference_that_yaml_would_escape_is_not_locked(ref: str) -> None:
    with pytest.raises(RefError, match="cannot be locked as it is written"):
        write_lock(Lock({ref: HELD}))


# What reads the lock.


def test_score_reads_what_is_held(cli: Callable[..., Any], stocked: Shop, tmp_path: Path) -> None:
    stocked.write("evalstore.yaml", "unpinned: forbid\n")
    stocked.release("rubric/tone", "1.2.0", mixed(version="1.2.0", word="later"))
    (tmp_path / "outputs.jsonl").write_text('{"id": "a", "output": "please"}\n{"id": "b", "output": "thanks"}\n')
    ran = cli(
        "-C",
        stocked.top,
        "score",
        "dataset/answers@1.0.0",
        tmp_path / "outputs.jsonl",
        "--out",
        tmp_path / "runs",
        "--offline",
        "--format",
        "json",
    )
    assert ran.code == 1, ran.err  # the rubric's judge was not asked
    used = (tmp_path / "runs").rglob("*.json")
    assert [
        name for path in used for name in ("rubric/tone@1.1.0", "rubric/tone@1.2.0") if name in path.read_text()
    ] == ["rubric/tone@1.1.0"]
    (stocked.top / LOCK).unlink()
    ran = cli(
        "-C", stocked.top, "score", "dataset/answers@1.0.0", tmp_path / "outputs.jsonl", "--out", tmp_path / "runs"
    )
    assert (ran.code, "floats" in ran.err) == (3, True)


def test_diff_without_a_pin_compares_with_the_last_release_whatever_is_held(
    cli: Callable[..., Any], stocked: Shop
) -> None:
    stocked.write("rubrics/other.yaml", mixed("other").replace("judge/accuracy@1.0.0", "judge/accuracy"))
    stocked.lock()
    stocked.release("judge/accuracy", "1.1.0", judge("1.1.0", ask="Right then?"))
    ran = cli("-C", stocked.top, "diff", "judge/accuracy", "--format", "json")
    assert json.loads(ran.out)["old"]["ref"] == "judge/accuracy@1.1.0"


def test_a_block_that_its_reference_cannot_mean_is_refused(stocked: Shop) -> None:
    held = stocked.read_lock()
    wrong = {
        **held.refs,
        "rubric/tone@^1": held.refs[TONE].__class__(**{**_fields(held.refs["rubric/tone@^1"]), "version": "2.0.0"}),
    }
    (stocked.top / LOCK).write_bytes(write_lock(Lock(wrong, held.ledgers)))
    with pytest.raises(
        EvalstoreError, match=r"evalstore\.lock:18: rubric/tone@\^1 is locked at 2\.0\.0, which its pin does not allow"
    ):
        stocked.ask(lambda store: store.resolve("rubric/tone@^1"))
    assert rules(stocked.check_lock()) == ["lock-edited"]


def _fields(held: LockEntry) -> dict[str, Any]:
    return {name: getattr(held, name) for name in LockEntry.__dataclass_fields__}


def test_a_range_that_is_held_holds_the_version_that_it_means(stocked: Shop) -> None:
    assert "rubric/tone@1.1.0" not in stocked.read_lock().refs
    stocked.git("checkout", "-q", "rubric/tone@1.0.0")  # whose ledger does not know the version yet
    stocked.write(LOCK, stocked.git("show", "main:evalstore.lock") + "\n")
    right = stocked.answer("rubric/tone@1.1.0")
    assert stocked.ask(lambda store: store.resolve("rubric/tone@1.1.0").locked)
    stocked.git("tag", "-f", "-a", "-m", "x", "rubric/tone@1.1.0", stocked.commit_evil("1.1.0"))
    assert stocked.answer("rubric/tone@1.1.0", locked=False) not in {right, "refused"}
    assert stocked.answer("rubric/tone@1.1.0") == "refused"
