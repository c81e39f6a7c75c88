"""What verify says beyond the sixteen: places, next steps, clones that lack something, ledgers and objects gone wrong."""

from __future__ import annotations

import hashlib
import json
import shlex
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.errors import GitError, RefError
from evalstore.places import find_resource_folder

from .conftest import ROWS, TONE, World, only, rubric, rules

SUMS = ".evalstore/sums/rubric/tone"
LOCK = "evalstore.lock"


def move(world: World, tag: str = TONE) -> None:
    world.git("tag", "-f", "-a", "-m", "x", tag, world.evil(tag.partition("@")[2]))


def tampered_ledger(world: World, *lines: str) -> None:
    world.write(SUMS, "".join(f"{line}\n" for line in lines))
    world.commit(SUMS)


# What is said: where, and what to do next.


def test_a_moved_tag_names_the_line_of_the_ledger_and_the_commit_it_belongs_to(world: World) -> None:
    right = world.git("rev-parse", f"{TONE}^{{}}")
    move(world)
    finding = only(world.alone())
    assert (finding.file, finding.line, finding.severity) == (SUMS, 1, "error")
    assert finding.message.startswith(f"{TONE} is not what was released: its file has SHA-256 ")
    command = finding.hint.removeprefix("find its commit: git ").split(" ")
    assert right in world.git(*command)


@pytest.mark.parametrize("what", ["move", "delete"])
def test_a_locked_tag_is_put_back_by_what_is_said(world: World, what: str) -> None:
    if what == "move":
        move(world)
    else:
        world.git("tag", "-d", TONE)
    for finding in world.verify().findings:
        _, _, command = finding.hint.rpartition("put it back: git ")
        world.git(*command.partition(";")[0].split(" "))
    assert rules(world.verify()) == []


def test_a_tag_whose_trailers_are_those_of_other_content(world: World) -> None:
    """A bump writes the digest into the tag, so that a tag moved by hand contradicts itself, ledger or not."""
    world.write("rubrics/hand.yaml", rubric("hand"))
    world.commit("rubrics/hand.yaml")
    digest = world.ask(lambda store: store.resolve("rubric/hand@worktree").digest)
    message = f"first\n\nEvalstore-Digest: {digest}\nEvalstore-Bump: none\n"
    world.git("tag", "-a", "-m", message, "rubric/hand@1.0.0")
    assert rules(world.verify()) == ["release-unrecorded"]
    world.git(
        "tag", "-f", "-a", "-m", message, "rubric/hand@1.0.0", world.aside(rubrics__hand=rubric("hand", word="evil"))
    )
    finding = only(world.verify())
    assert (finding.rule, finding.file) == ("release-invalid", "rubric/hand@1.0.0:rubrics/hand.yaml")


def test_a_tag_that_was_made_again_is_worth_a_question(world: World) -> None:
    commit = world.git("rev-parse", f"{TONE}^{{}}")
    world.git("tag", "-f", "-a", "-m", "again", TONE, commit)
    finding = only(world.verify())
    assert (finding.rule, finding.severity, finding.file, finding.line) == ("tag-remade", "warning", LOCK, 11)
    assert finding.pointer == "/refs/rubric~1tone@1.0.0"
    assert rules(world.alone()) == []
    assert world.answer(TONE) != "refused"
    world.lock()
    assert rules(world.verify()) == []
    world.git("tag", "-f", TONE, commit)
    assert rules(world.verify()) == ["tag-remade"]


def test_refs_choose_artifacts_versions_and_ranges(world: World) -> None:
    move(world)
    move(world, "rubric/tone@2.0.0")
    count = lambda *refs: (world.verify(*refs).releases, len(world.verify(*refs).findings))  # noqa: E731
    assert count("judge/accuracy") == (1, 0)
    assert count("rubric/tone@1.0.0") == (1, 2)  # by the ledger and by the lock
    assert count("rubric/tone@^1") == (2, 2)
    assert count("rubric/tone", "judge/accuracy") == (4, 3)
    assert count() == (6, 3)


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ("rubric/nobody", "there is no rubric/nobody"),
        ("rubric/tone@7.0.0", r"has no version 7\.0\.0"),
        ("rubric/tone@worktree", "names no release"),
        ("rubric/tone@git:main", "names no release"),
        ("tone", "is not a reference"),
    ],
)
def test_a_ref_that_names_no_release_is_an_error(world: World, ref: str, says: str) -> None:
    with pytest.raises(RefError, match=says):
        world.verify(ref)


def test_a_deleted_release_can_be_asked_for_by_name(world: World) -> None:
    world.git("tag", "-d", TONE)
    assert rules(world.verify(TONE)) == ["tag-missing"]


def test_a_lock_that_is_kept_elsewhere_tells_of_a_store_that_was_rewritten_as_a_whole(
    cli: Callable[..., Any], world: World, tmp_path: Path
) -> None:
    (tmp_path / "mine.lock").write_bytes((world.path / LOCK).read_bytes())
    move(world)
    line = f"1.0.0 {hashlib.sha256(rubric(word='evil').encode()).hexdigest()}"
    tampered_ledger(world, line, *world.lines("rubric/tone")[1:])
    (world.path / LOCK).unlink()
    world.lock()
    assert "rewritten" in cli("-C", world.path, "verify").out
    ran = cli("-C", world.path, "verify", "--lock", tmp_path / "mine.lock", "--format", "json")
    found = {(one["rule"], one["file"]) for one in json.loads(ran.out)["findings"] if "mine.lock" in one["file"]}
    assert (ran.code, found) == (1, {(rule, str(tmp_path / "mine.lock")) for rule in ("ledger-rewritten", "tag-moved")})


# Ledgers.


def test_a_line_of_another_form_and_a_version_that_stands_twice(world: World) -> None:
    first, second, third = world.lines("rubric/tone")
    evil = f"1.0.0 {hashlib.sha256(rubric(word='evil').encode()).hexdigest()}"
    tampered_ledger(world, first, second, third, "<<<<<<< HEAD", evil, "3.0 " + "a" * 64)
    assert [(one.rule, one.line) for one in world.alone().findings] == [
        ("ledger-malformed", 4), ("ledger-repeated", 5), ("ledger-malformed", 6)
    ]  # fmt: skip
    move(world)  # to what the second line of that version says
    assert world.answer(TONE, locked=False) == "refused"
    assert "tag-moved" in rules(world.alone())


@pytest.mark.parametrize("what", ["emptied", "removed", "edited"])
def test_a_ledger_that_does_not_go_on_from_what_was_locked(world: World, what: str) -> None:
    first, second, third = world.lines("rubric/tone")
    changed = {"emptied": [], "edited": [first[:-1] + "0", second, third]}
    if what == "removed":
        world.git("rm", "-q", SUMS)
        world.git("commit", "-q", "-m", "x")
    else:
        tampered_ledger(world, *changed[what])
    assert "ledger-rewritten" in rules(world.check())
    assert "ledger-rewritten" in rules(world.verify())
    # Without the lines every tag is one that nobody listed.
    if what in {"emptied", "removed"}:
        assert rules(world.alone()) == ["ledger-history-rewritten", "release-unlisted"]


def test_a_ledger_that_goes_on_is_no_finding(world: World) -> None:
    world.release("rubric/tone", "3.0.0", rubric(version="3.0.0"))
    assert rules(world.check()) == rules(world.verify()) == []


def test_a_link_in_place_of_a_ledger_is_no_ledger_and_its_pins_are_refused(world: World) -> None:
    (world.path / SUMS).unlink()
    (world.path / SUMS).symlink_to("/etc/passwd")
    world.commit(SUMS)
    assert "ledger-unreadable" in rules(world.alone())
    assert world.answer(TONE) == "refused"


def test_an_edit_of_the_working_ledger_alone_changes_nothing(world: World) -> None:
    world.write(SUMS, "")
    assert rules(world.verify()) == []
    assert world.answer(TONE) != "refused"


def test_tags_made_by_hand_are_a_note_until_there_is_a_ledger(cli: Callable[..., Any], world: World) -> None:
    world.write("rubrics/hand.yaml", rubric("hand"))
    world.commit("rubrics/hand.yaml")
    world.git("tag", "rubric/hand@1.0.0")
    finding = only(world.verify())
    assert (finding.rule, finding.severity, world.verify().ok) == ("release-unrecorded", "info", True)
    assert cli("-C", world.path, "verify").code == 0
    world.release("rubric/hand", "1.1.0", rubric("hand", "1.1.0"))
    finding = only(world.verify())
    assert (finding.rule, finding.severity) == ("release-unlisted", "error")
    path, line = finding.hint.partition("add to ")[2].split(": ")
    world.write(path, (world.path / path).read_text() + line + "\n")
    world.commit(path)
    assert rules(world.verify()) == []


def test_a_release_of_another_branch_is_listed_there(world: World) -> None:
    world.git("checkout", "-q", "-b", "maintenance", "rubric/tone@1.1.0")
    world.release("rubric/tone", "1.1.1", rubric(version="1.1.1"))
    world.git("checkout", "-q", "main")
    assert rules(world.verify()) == rules(world.check()) == []
    world.git("tag", "-f", "-a", "-m", "x", "rubric/tone@1.1.1", world.evil("1.1.1"))
    assert rules(world.verify()) == ["tag-moved"]
    world.git("branch", "-D", "-q", "maintenance")
    assert rules(world.verify()) == ["release-unlisted"]


def test_a_release_whose_commit_lists_it_is_not_said_to_be_nobodys(world: World) -> None:
    world.release("rubric/tone", "3.0.0", rubric(version="3.0.0"))
    commit = world.git("rev-parse", "HEAD").strip()
    world.git("revert", "--no-edit", "HEAD")
    (finding,) = (one for one in world.alone().findings if one.rule == "release-unlisted")
    assert finding.hint.startswith(f"its own commit {commit[:12]} lists it")
    assert "git tag -d" not in finding.hint
    path, line = finding.hint.partition("add to ")[2].split(": ")
    world.write(path, (world.path / path).read_text() + line + "\n")
    world.commit(path)
    assert "release-unlisted" not in rules(world.alone())
    # Nobody lists this one.
    world.git("tag", "-a", "-m", "x", "rubric/tone@9.0.0", world.evil("9.0.0"))
    (finding,) = (one for one in world.verify().findings if one.rule == "release-unlisted")
    assert finding.hint.startswith("it was not released with evalstore; remove it: git tag -d rubric/tone@9.0.0")


# Objects.


@pytest.mark.parametrize("what", ["{}", "{}^{{commit}}", "{}^{{tree}}", "{}:rubrics", "{}:rubrics/tone.yaml"])
@pytest.mark.parametrize("how", ["forged", "gone", "garbage", "empty"])
def test_a_damaged_object_is_named_and_the_rest_is_still_looked_at(world: World, what: str, how: str) -> None:
    path = world.loose(world.git("rev-parse", what.format(TONE)))
    raw = zlib.decompress(path.read_bytes())
    path.chmod(0o644)
    if how == "gone":
        path.unlink()
    else:
        forged = zlib.compress(raw[:-2] + bytes([raw[-2] ^ 1]) + raw[-1:])
        path.write_bytes({"forged": forged, "garbage": b"no object", "empty": b""}[how])
    move(world, "rubric/tone@2.0.0")
    found = {(one.rule, one.message.partition(" ")[0]) for one in world.alone().findings}
    # What git itself sees is not an object it calls missing; what it does not see our hash does.
    assert ("object-damaged" if how == "forged" else "object-missing", TONE) in found
    assert ("tag-moved", "rubric/tone@2.0.0") in found
    assert {rule for rule, ref in found if ref == "judge/accuracy@1.0.0"} == set()
    assert world.answer(TONE) == "refused"


def test_a_forged_pack_is_seen(world: World, samples: Callable[[int], int]) -> None:
    world.git("gc", "-q")
    pack = next((world.path / ".git/objects/pack").glob("*.pack"))
    data = pack.read_bytes()
    found = set()
    for at in range(40, len(data) - 40, 97 * (1 if samples(8) == 8 else 5)):
        pack.chmod(0o644)
        pack.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            found |= set(rules(world.alone()))
        except GitError:  # of the commit that HEAD names, say: nothing can be looked at then
            found.add("error")
        assert world.answer(TONE, locked=False) in {world_digest(world, data, pack), "refused"}
    assert {"object-damaged"} <= found


def world_digest(world: World, data: bytes, pack: Path) -> str:
    """Return what the whole pack answers."""
    forged = pack.read_bytes()
    pack.write_bytes(data)
    try:
        return world.answer(TONE)
    finally:
        pack.write_bytes(forged)


@pytest.mark.parametrize("how", ["forged", "gone"])
def test_damaged_rows_beside_a_dataset_are_found(world: World, how: str) -> None:
    path = world.loose(world.git("rev-parse", "dataset/answers@1.0.0:datasets/answers.jsonl"))
    path.chmod(0o644)
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(zlib.compress(zlib.decompress(path.read_bytes()).replace(b"Hello", b"Hallo")))
    finding = only(world.verify())
    assert finding.rule == ("object-missing" if how == "gone" else "object-damaged")
    assert finding.message.startswith("dataset/answers@1.0.0 cannot be ")


# Repositories that lack something.


def test_a_shallow_clone_says_how_much_is_missing(world: World, clone: Callable[..., World]) -> None:
    mine = clone(world, "--depth=1", "--no-tags")
    finding = only(mine.alone())
    assert finding.message == "6 of 6 releases have no tag here: this is a shallow clone"
    assert finding.hint == "git fetch --unshallow --tags; then run evalstore verify again"
    mine.git(*finding.hint.removeprefix("git ").partition(";")[0].split(" "))
    assert rules(mine.verify()) == rules(mine.check()) == []


def test_a_clone_without_tags_says_so_once(world: World, clone: Callable[..., World]) -> None:
    mine = clone(world, "--no-tags")
    assert only(mine.check()).message == "3 of 3 releases have no tag here: this is a tag-less clone"
    hint = (only(mine.verify()).hint or "").split("; ")
    assert hint == [
        "git fetch --tags",
        "in a fork: git fetch <address of the original> --tags",
        "if nobody has them, Ada released them: evalstore verify --remote there",
        "then run evalstore verify again",
    ]


def test_a_partial_clone_names_what_it_lacks(world: World, clone: Callable[..., World]) -> None:
    world.git("config", "uploadpack.allowFilter", "true")
    mine = clone(world, "--filter=blob:none")
    found = mine.alone().findings
    assert {one.rule for one in found} == {"history-unreadable", "object-missing"}
    named = {one.message.partition(" ")[0] for one in found if one.rule == "object-missing"}
    assert named == {TONE, "rubric/tone@1.1.0"}


def test_a_bare_repository_is_verified_and_its_lock_checked(world: World, clone: Callable[..., World]) -> None:
    mine = clone(world, "--bare")
    assert rules(mine.verify()) == rules(mine.check()) == []
    mine.git("update-ref", f"refs/tags/{TONE}", mine.git("rev-parse", "rubric/tone@2.0.0"))
    assert rules(mine.verify()) == rules(mine.check()) == ["tag-invalid"]
    world.write("datasets/answers.yaml", "rows: answers.jsonl\ndefaults: {rubric_ref: rubric/other@1.0.0}\n")
    world.commit("datasets/answers.yaml")
    mine.git("fetch", "-q", "origin", "main:main", "+refs/tags/*:refs/tags/*")
    assert rules(mine.check()) == ["lock-unused", "reference-unlocked"]


def test_a_store_in_a_subfolder_under_a_prefix(git: Callable[..., str], tmp_path: Path) -> None:
    git("init", "-q")
    world = World(tmp_path / "repo")
    text = rubric("tone").replace("  - {kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0}\n", "")
    world.write("evals/evalstore.yaml", "tag_prefix: web/\n")
    world.write("evals/rubrics/tone.yaml", text)
    world.write("evals/.evalstore/sums/rubric/tone", f"1.0.0 {hashlib.sha256(text.encode()).hexdigest()}\n")
    world.commit("evals")
    world.git("tag", "-a", "-m", "x", "web/rubric/tone@1.0.0")
    store = World(tmp_path / "repo/evals")
    assert (store.verify().releases, rules(store.verify())) == (1, [])
    world.git("tag", "-d", "web/rubric/tone@1.0.0")
    store.git(*shlex.split((only(store.verify()).hint or "").partition("again: git ")[2]))
    assert rules(store.verify()) == []


def test_another_store_of_the_repository_is_none_of_our_business(world: World) -> None:
    world.write("other/evalstore.yaml", "")
    world.write("other/rubrics/theirs.yaml", rubric("theirs"))
    world.commit("other")
    world.git("tag", "-a", "-m", "x", "rubric/theirs@1.0.0")
    assert (only(world.verify()).rule, world.verify().ok) == ("tag-ignored", True)
    world.git("tag", "-f", "-a", "-m", "x", TONE, world.git("commit-tree", "-m", "x", world.git("mktree")))
    assert rules(world.alone()) == ["release-invalid", "tag-ignored"]  # for the ledger lists that one


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github", "junit", "gitlab"])
def test_thousands_of_foreign_tags_are_one_finding(world: World, cli: Callable[..., Any], format_: str) -> None:
    commit = world.git("rev-parse", "HEAD")
    names = [f"rubric/{name}" for n in range(1_500) for name in (f"theirs@1.0.{n}", f"tone@v{n}")]
    refs = "".join(f"{commit} refs/tags/{name}\n" for name in sorted(names))
    packed = world.path / ".git/packed-refs"
    packed.write_text((packed.read_text() if packed.exists() else "# pack-refs with: sorted\n") + refs)
    ran = cli("-C", world.path, "verify", "--format", format_)
    assert ran.code == 0, ran.err
    assert len(ran.out) < 40_000
    assert "2,990 more tags are not releases of this store" in ran.out


def test_a_folder_whose_name_a_shell_would_run_is_in_no_hint(git: Callable[..., str], tmp_path: Path) -> None:
    git("init", "-q")
    store = World(tmp_path / "repo")
    world = World(tmp_path / "repo/x; touch y")
    store.write("x; touch y/evalstore.yaml", "")
    store.write("x; touch y/rubrics/tone.yaml", rubric())
    store.write("x; touch y/.evalstore/sums/rubric/tone", f"1.0.0 {'a' * 64}\n")
    store.commit(".")
    store.git("tag", TONE)
    assert only(world.verify()).hint.endswith("-- .evalstore/sums/rubric/tone")


def test_an_empty_repository_has_nothing_to_verify(git: Callable[..., str], tmp_path: Path) -> None:
    git("init", "-q")
    world = World(tmp_path / "repo")
    assert world.verify().findings == ()
    assert world.lock().refs == ()
    assert rules(world.check()) == []


def test_a_worktree_has_ledgers_and_a_lock_of_its_own(world: World) -> None:
    world.git("worktree", "add", "-q", "-b", "older", "../older", "rubric/tone@1.0.0")
    older = World(world.path.parent / "older")
    assert rules(older.verify()) == []
    move(world)
    assert rules(older.verify()) == ["tag-moved"]
    assert rules(older.check()) == ["lock-missing"]


# The command.


def test_the_command_answers_in_text_and_in_its_schema(cli: Callable[..., Any], world: World) -> None:
    ran = cli("-C", world.path, "verify")
    assert (ran.code, ran.out) == (
        0,
        "6 releases, 4 ledgers and 3 locked references: all unchanged since their release\n",
    )
    move(world)
    ran = cli("-C", world.path, "verify")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith(f"{SUMS}:1  error    tag-moved\n    rubric/tone@1.0.0 is not what was released")
    assert ran.out.endswith("6 releases, 4 ledgers and 3 locked references: 2 findings (2 errors)\n")
    schema = {
        name: json.loads((find_resource_folder("schema") / f"output/{name}.schema.json").read_text())
        for name in ("verify", "lock")
    }
    ran = cli("-C", world.path, "verify", "--format", "json")
    Draft202012Validator(schema["verify"]).validate(json.loads(ran.out))
    assert json.loads(ran.out)["files"] == 11
    ran = cli("-C", world.path, "lock", "--check", "--format", "json")
    assert ran.code == 1
    Draft202012Validator(schema["lock"]).validate(json.loads(ran.out))


def test_the_store_cannot_make_verify_say_less(world: World) -> None:
    world.write("evalstore.yaml", "rules: {tag-moved: off, ledger-rewritten: off}\nunpinned: allow\n")
    move(world)
    assert rules(world.verify()) == ["tag-moved"]


@pytest.mark.parametrize(
    "argv", [["lock", "judge/accuracy"], ["lock", "--check", "--update"], ["lock", "--check", "judge/accuracy"]]
)
def test_a_command_line_that_means_nothing_is_told(cli: Callable[..., Any], world: World, argv: list[str]) -> None:
    ran = cli("-C", world.path, *argv)
    assert (ran.code, "hint: " in ran.err) == (2, True)


def test_reading_writes_nothing(cli: Callable[..., Any], world: World) -> None:
    def snapshot() -> dict[Path, tuple[int, int]]:
        return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in world.path.rglob("*") if path.is_file()}

    before = snapshot()
    for argv in (["verify"], ["lock", "--check"], ["verify", "--lock", world.path / LOCK]):
        assert cli("-C", world.path, *argv).code == 0
    assert snapshot() == before


def test_rows_can_be_many(world: World) -> None:
    many = "".join(
        f'{{"id": "q{n}", "input": "x", "rubric_ref": "rubric/tone@{"1.0.0" if n % 2 else "1.1.0"}"}}\n'
        for n in range(5000)
    )
    world.write("datasets/answers.jsonl", ROWS + many)
    assert [one.ref for one in world.lock().refs] == [
        "judge/accuracy@1.0.0",
        TONE,
        "rubric/tone@1.1.0",
        "rubric/tone@^1",
    ]
    finding = only(world.ask(_behind))
    assert (finding.file, finding.line) == ("datasets/answers.jsonl", 3)


def _behind(store: Any) -> Any:
    from evalstore.model.lock import Lock
    from evalstore.release.verify import check_lock

    store._lock = Lock(
        {ref: held for ref, held in store.lock.refs.items() if ref != "rubric/tone@1.1.0"}, store.lock.ledgers
    )
    return check_lock(store)


def test_a_lost_tag_names_who_released_it_and_where_it_is(world: World, clone: Callable[..., World]) -> None:
    def lost_hint(place: World) -> str:
        place.git("tag", "-d", "rubric/tone@2.0.0")
        return only(place.verify()).hint or ""

    mine = clone(world)
    mine.git("remote", "rename", "origin", "company")
    hint = lost_hint(mine)
    assert hint.startswith("git fetch company --tags; in a fork: ")
    assert "if nobody has it, Ada pushes it: git push origin refs/tags/rubric/tone@2.0.0; if it is lost, " in hint
    # Where there is no remote, no fetch helps; the command that is named does.
    hint = lost_hint(world)
    assert hint.startswith("if it is lost, make it again: git tag -a -m 'Release rubric/tone@2.0.0'")
    world.git(*shlex.split(hint.partition("again: git ")[2]))
    assert world.verify().findings == ()
