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
from tests.release.shop import ROWS, TONE, Shop, mixed, only, rules

SUMS = ".evalstore/sums/rubric/tone"
LOCK = "evalstore.lock"


def move(stocked: Shop, tag: str = TONE) -> None:
    stocked.git("tag", "-f", "-a", "-m", "x", tag, stocked.commit_evil(tag.partition("@")[2]))


def tampered_ledger(stocked: Shop, *lines: str) -> None:
    stocked.write(SUMS, "".join(f"{line}\n" for line in lines))
    stocked.commit(SUMS)


# What is said: where, and what to do next.


def test_a_moved_tag_names_the_line_of_the_ledger_and_the_commit_it_belongs_to(stocked: Shop) -> None:
    right = stocked.git("rev-parse", f"{TONE}^{{}}")
    move(stocked)
    finding = only(stocked.verify_without_lock())
    assert (finding.file, finding.line, finding.severity) == (SUMS, 1, "error")
    assert finding.message.startswith(f"{TONE} is not what was released: its file has SHA-256 ")
    command = finding.hint.removeprefix("find its commit: git ").split(" ")
    assert right in stocked.git(*command)


@pytest.mark.parametrize("what", ["move", "delete"])
def test_a_locked_tag_is_put_back_by_what_is_said(stocked: Shop, what: str) -> None:
    if what == "move":
        move(stocked)
    else:
        stocked.git("tag", "-d", TONE)
    for finding in stocked.verify().findings:
        _, _, command = finding.hint.rpartition("put it back: git ")
        stocked.git(*command.partition(";")[0].split(" "))
    assert rules(stocked.verify()) == []


def test_a_tag_whose_trailers_are_those_of_other_content(stocked: Shop) -> None:
    """A bump writes the digest into the tag, so that a tag moved by hand contradicts itself, ledger or not."""
    stocked.write("rubrics/hand.yaml", mixed("hand"))
    stocked.commit("rubrics/hand.yaml")
    digest = stocked.ask(lambda store: store.resolve("rubric/hand@worktree").digest)
    message = f"first\n\nEvalstore-Digest: {digest}\nEvalstore-Bump: none\n"
    stocked.git("tag", "-a", "-m", message, "rubric/hand@1.0.0")
    assert rules(stocked.verify()) == ["release-unrecorded"]
    stocked.git(
        "tag",
        "-f",
        "-a",
        "-m",
        message,
        "rubric/hand@1.0.0",
        stocked.commit_aside(rubrics__hand=mixed("hand", word="evil")),
    )
    finding = only(stocked.verify())
    assert (finding.rule, finding.file) == ("release-invalid", "rubric/hand@1.0.0:rubrics/hand.yaml")


def test_a_tag_that_was_made_again_is_worth_a_question(stocked: Shop) -> None:
    commit = stocked.git("rev-parse", f"{TONE}^{{}}")
    stocked.git("tag", "-f", "-a", "-m", "again", TONE, commit)
    finding = only(stocked.verify())
    assert (finding.rule, finding.severity, finding.file, finding.line) == ("tag-remade", "warning", LOCK, 11)
    assert finding.pointer == "/refs/rubric~1tone@1.0.0"
    assert rules(stocked.verify_without_lock()) == []
    assert stocked.answer(TONE) != "refused"
    stocked.lock()
    assert rules(stocked.verify()) == []
    stocked.git("tag", "-f", TONE, commit)
    assert rules(stocked.verify()) == ["tag-remade"]


def test_refs_choose_artifacts_versions_and_ranges(stocked: Shop) -> None:
    move(stocked)
    move(stocked, "rubric/tone@2.0.0")
    count = lambda *refs: (stocked.verify(*refs).releases, len(stocked.verify(*refs).findings))  # noqa: E731
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
def test_a_ref_that_names_no_release_is_an_error(stocked: Shop, ref: str, says: str) -> None:
    with pytest.raises(RefError, match=says):
        stocked.verify(ref)


def test_a_deleted_release_can_be_asked_for_by_name(stocked: Shop) -> None:
    stocked.git("tag", "-d", TONE)
    assert rules(stocked.verify(TONE)) == ["tag-missing"]


def test_a_lock_that_is_kept_elsewhere_tells_of_a_store_that_was_rewritten_as_a_whole(
    cli: Callable[..., Any], stocked: Shop, tmp_path: Path
) -> None:
    (tmp_path / "mine.lock").write_bytes((stocked.top / LOCK).read_bytes())
    move(stocked)
    line = f"1.0.0 {hashlib.sha256(mixed(word='evil').encode()).hexdigest()}"
    tampered_ledger(stocked, line, *stocked.read_ledger("rubric/tone")[1:])
    (stocked.top / LOCK).unlink()
    stocked.lock()
    assert "rewritten" in cli("-C", stocked.top, "verify").out
    ran = cli("-C", stocked.top, "verify", "--lock", tmp_path / "mine.lock", "--format", "json")
    found = {(one["rule"], one["file"]) for one in json.loads(ran.out)["findings"] if "mine.lock" in one["file"]}
    assert (ran.code, found) == (1, {(rule, str(tmp_path / "mine.lock")) for rule in ("ledger-rewritten", "tag-moved")})


# Ledgers.


def test_a_line_of_another_form_and_a_version_that_stands_twice(stocked: Shop) -> None:
    first, second, third = stocked.read_ledger("rubric/tone")
    evil = f"1.0.0 {hashlib.sha256(mixed(word='evil').encode()).hexdigest()}"
    tampered_ledger(stocked, first, second, third, "<<<<<<< HEAD", evil, "3.0 " + "a" * 64)
    assert [(one.rule, one.line) for one in stocked.verify_without_lock().findings] == [
        ("ledger-malformed", 4), ("ledger-repeated", 5), ("ledger-malformed", 6)
    ]  # fmt: skip
    move(stocked)  # to what the second line of that version says
    assert stocked.answer(TONE, locked=False) == "refused"
    assert "tag-moved" in rules(stocked.verify_without_lock())


@pytest.mark.parametrize("what", ["emptied", "removed", "edited"])
def test_a_ledger_that_does_not_go_on_from_what_was_locked(stocked: Shop, what: str) -> None:
    first, second, third = stocked.read_ledger("rubric/tone")
    changed = {"emptied": [], "edited": [first[:-1] + "0", second, third]}
    if what == "removed":
        stocked.git("rm", "-q", SUMS)
        stocked.git("commit", "-q", "-m", "x")
    else:
        tampered_ledger(stocked, *changed[what])
    assert "ledger-rewritten" in rules(stocked.check_lock())
    assert "ledger-rewritten" in rules(stocked.verify())
    # Without the lines every tag is one that nobody listed.
    if what in {"emptied", "removed"}:
        assert rules(stocked.verify_without_lock()) == ["ledger-history-rewritten", "release-unlisted"]


def test_a_ledger_that_goes_on_is_no_finding(stocked: Shop) -> None:
    stocked.release("rubric/tone", "3.0.0", mixed(version="3.0.0"))
    assert rules(stocked.check_lock()) == rules(stocked.verify()) == []


def test_a_link_in_place_of_a_ledger_is_no_ledger_and_its_pins_are_refused(stocked: Shop) -> None:
    (stocked.top / SUMS).unlink()
    (stocked.top / SUMS).symlink_to("/etc/passwd")
    stocked.commit(SUMS)
    assert "ledger-unreadable" in rules(stocked.verify_without_lock())
    assert stocked.answer(TONE) == "refused"


def test_an_edit_of_the_working_ledger_alone_changes_nothing(stocked: Shop) -> None:
    stocked.write(SUMS, "")
    assert rules(stocked.verify()) == []
    assert stocked.answer(TONE) != "refused"


def test_tags_made_by_hand_are_a_note_until_there_is_a_ledger(cli: Callable[..., Any], stocked: Shop) -> None:
    stocked.write("rubrics/hand.yaml", mixed("hand"))
    stocked.commit("rubrics/hand.yaml")
    stocked.git("tag", "rubric/hand@1.0.0")
    finding = only(stocked.verify())
    assert (finding.rule, finding.severity, stocked.verify().ok) == ("release-unrecorded", "info", True)
    assert cli("-C", stocked.top, "verify").code == 0
    stocked.release("rubric/hand", "1.1.0", mixed("hand", "1.1.0"))
    finding = only(stocked.verify())
    assert (finding.rule, finding.severity) == ("release-unlisted", "error")
    path, line = finding.hint.partition("add to ")[2].split(": ")
    stocked.write(path, (stocked.top / path).read_text() + line + "\n")
    stocked.commit(path)
    assert rules(stocked.verify()) == []


def test_a_release_of_another_branch_is_listed_there(stocked: Shop) -> None:
    stocked.git("checkout", "-q", "-b", "maintenance", "rubric/tone@1.1.0")
    stocked.release("rubric/tone", "1.1.1", mixed(version="1.1.1"))
    stocked.git("checkout", "-q", "main")
    assert rules(stocked.verify()) == rules(stocked.check_lock()) == []
    stocked.git("tag", "-f", "-a", "-m", "x", "rubric/tone@1.1.1", stocked.commit_evil("1.1.1"))
    assert rules(stocked.verify()) == ["tag-moved"]
    stocked.git("branch", "-D", "-q", "maintenance")
    assert rules(stocked.verify()) == ["release-unlisted"]


def test_a_release_whose_commit_lists_it_is_not_said_to_be_nobodys(stocked: Shop) -> None:
    stocked.release("rubric/tone", "3.0.0", mixed(version="3.0.0"))
    commit = stocked.git("rev-parse", "HEAD").strip()
    stocked.git("revert", "--no-edit", "HEAD")
    (finding,) = (one for one in stocked.verify_without_lock().findings if one.rule == "release-unlisted")
    assert finding.hint.startswith(f"its own commit {commit[:12]} lists it")
    assert "git tag -d" not in finding.hint
    path, line = finding.hint.partition("add to ")[2].split(": ")
    stocked.write(path, (stocked.top / path).read_text() + line + "\n")
    stocked.commit(path)
    assert "release-unlisted" not in rules(stocked.verify_without_lock())
    # Nobody lists this one.
    stocked.git("tag", "-a", "-m", "x", "rubric/tone@9.0.0", stocked.commit_evil("9.0.0"))
    (finding,) = (one for one in stocked.verify().findings if one.rule == "release-unlisted")
    assert finding.hint.startswith("it was not released with evalstore; remove it: git tag -d rubric/tone@9.0.0")


# Objects.


@pytest.mark.parametrize("what", ["{}", "{}^{{commit}}", "{}^{{tree}}", "{}:rubrics", "{}:rubrics/tone.yaml"])
@pytest.mark.parametrize("how", ["forged", "gone", "garbage", "empty"])
def test_a_damaged_object_is_named_and_the_rest_is_still_looked_at(stocked: Shop, what: str, how: str) -> None:
    path = stocked.find_loose(stocked.git("rev-parse", what.format(TONE)))
    raw = zlib.decompress(path.read_bytes())
    path.chmod(0o644)
    if how == "gone":
        path.unlink()
    else:
        forged = zlib.compress(raw[:-2] + bytes([raw[-2] ^ 1]) + raw[-1:])
        path.write_bytes({"forged": forged, "garbage": b"no object", "empty": b""}[how])
    move(stocked, "rubric/tone@2.0.0")
    found = {(one.rule, one.message.partition(" ")[0]) for one in stocked.verify_without_lock().findings}
    # What git itself sees is not an object it calls missing; what it does not see our hash does.
    assert ("object-damaged" if how == "forged" else "object-missing", TONE) in found
    assert ("tag-moved", "rubric/tone@2.0.0") in found
    assert {rule for rule, ref in found if ref == "judge/accuracy@1.0.0"} == set()
    assert stocked.answer(TONE) == "refused"


def test_a_forged_pack_is_seen(stocked: Shop, samples: Callable[[int], int]) -> None:
    stocked.git("gc", "-q")
    pack = next((stocked.top / ".git/objects/pack").glob("*.pack"))
    data = pack.read_bytes()
    found = set()
    for at in range(40, len(data) - 40, 97 * (1 if samples(8) == 8 else 5)):
        pack.chmod(0o644)
        pack.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            found |= set(rules(stocked.verify_without_lock()))
        except GitError:  # of the commit that HEAD names, say: nothing can be looked at then
            found.add("error")
        assert stocked.answer(TONE, locked=False) in {compute_pack_digest(stocked, data, pack), "refused"}
    assert {"object-damaged"} <= found


def compute_pack_digest(stocked: Shop, data: bytes, pack: Path) -> str:
    """Return what the whole pack answers."""
    forged = pack.read_bytes()
    pack.write_bytes(data)
    try:
        return stocked.answer(TONE)
    finally:
        pack.write_bytes(forged)


@pytest.mark.parametrize("how", ["forged", "gone"])
def test_damaged_rows_beside_a_dataset_are_found(stocked: Shop, how: str) -> None:
    path = stocked.find_loose(stocked.git("rev-parse", "dataset/answers@1.0.0:datasets/answers.jsonl"))
    path.chmod(0o644)
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(zlib.compress(zlib.decompress(path.read_bytes()).replace(b"Hello", b"Hallo")))
    finding = only(stocked.verify())
    assert finding.rule == ("object-missing" if how == "gone" else "object-damaged")
    assert finding.message.startswith("dataset/answers@1.0.0 cannot be ")


# Repositories that lack something.


def test_a_shallow_clone_says_how_much_is_missing(stocked: Shop, clone: Callable[..., Shop]) -> None:
    mine = clone(stocked, "--depth=1", "--no-tags")
    finding = only(mine.verify_without_lock())
    assert finding.message == "6 of 6 releases have no tag here: this is a shallow clone"
    assert finding.hint == "git fetch --unshallow --tags; then run evalstore verify again"
    mine.git(*finding.hint.removeprefix("git ").partition(";")[0].split(" "))
    assert rules(mine.verify()) == rules(mine.check_lock()) == []


def test_a_clone_without_tags_says_so_once(stocked: Shop, clone: Callable[..., Shop]) -> None:
    mine = clone(stocked, "--no-tags")
    assert only(mine.check_lock()).message == "3 of 3 releases have no tag here: this is a tag-less clone"
    hint = (only(mine.verify()).hint or "").split("; ")
    assert hint == [
        "git fetch --tags",
        "in a fork: git fetch <address of the original> --tags",
        "if nobody has them, Ada Tester released them: evalstore verify --remote there",
        "then run evalstore verify again",
    ]


def test_a_partial_clone_names_what_it_lacks(stocked: Shop, clone: Callable[..., Shop]) -> None:
    stocked.git("config", "uploadpack.allowFilter", "true")
    mine = clone(stocked, "--filter=blob:none")
    found = mine.verify_without_lock().findings
    assert {one.rule for one in found} == {"history-unreadable", "object-missing"}
    named = {one.message.partition(" ")[0] for one in found if one.rule == "object-missing"}
    assert named == {TONE, "rubric/tone@1.1.0"}


def test_a_bare_repository_is_verified_and_its_lock_checked(stocked: Shop, clone: Callable[..., Shop]) -> None:
    mine = clone(stocked, "--bare")
    assert rules(mine.verify()) == rules(mine.check_lock()) == []
    mine.git("update-ref", f"refs/tags/{TONE}", mine.git("rev-parse", "rubric/tone@2.0.0"))
    assert rules(mine.verify()) == rules(mine.check_lock()) == ["tag-invalid"]
    stocked.write("datasets/answers.yaml", "rows: answers.jsonl\ndefaults: {rubric_ref: rubric/other@1.0.0}\n")
    stocked.commit("datasets/answers.yaml")
    mine.git("fetch", "-q", "origin", "main:main", "+refs/tags/*:refs/tags/*")
    assert rules(mine.check_lock()) == ["lock-unused", "reference-unlocked"]


def test_a_store_in_a_subfolder_under_a_prefix(git: Callable[..., str], tmp_path: Path) -> None:
    git("init", "-q")
    stocked = Shop(tmp_path / "repo", git)
    text = mixed("tone").replace("  - {kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0}\n", "")
    stocked.write("evals/evalstore.yaml", "tag_prefix: web/\n")
    stocked.write("evals/rubrics/tone.yaml", text)
    stocked.write("evals/.evalstore/sums/rubric/tone", f"1.0.0 {hashlib.sha256(text.encode()).hexdigest()}\n")
    stocked.commit("evals")
    stocked.git("tag", "-a", "-m", "x", "web/rubric/tone@1.0.0")
    store = Shop(tmp_path / "repo/evals", git)
    assert (store.verify().releases, rules(store.verify())) == (1, [])
    stocked.git("tag", "-d", "web/rubric/tone@1.0.0")
    store.git(*shlex.split((only(store.verify()).hint or "").partition("again: git ")[2]))
    assert rules(store.verify()) == []


def test_another_store_of_the_repository_is_none_of_our_business(stocked: Shop) -> None:
    stocked.write("other/evalstore.yaml", "")
    stocked.write("other/rubrics/theirs.yaml", mixed("theirs"))
    stocked.commit("other")
    stocked.git("tag", "-a", "-m", "x", "rubric/theirs@1.0.0")
    assert (only(stocked.verify()).rule, stocked.verify().ok) == ("tag-ignored", True)
    stocked.git("tag", "-f", "-a", "-m", "x", TONE, stocked.git("commit-tree", "-m", "x", stocked.git("mktree")))
    assert rules(stocked.verify_without_lock()) == ["release-invalid", "tag-ignored"]  # for the ledger lists that one


def test_thousands_of_foreign_tags_are_one_finding(stocked: Shop, cli: Callable[..., Any]) -> None:
    commit = stocked.git("rev-parse", "HEAD")
    names = [f"rubric/{name}" for n in range(1_500) for name in (f"theirs@1.0.{n}", f"tone@v{n}")]
    refs = "".join(f"{commit} refs/tags/{name}\n" for name in sorted(names))
    packed = stocked.top / ".git/packed-refs"
    packed.write_text((packed.read_text() if packed.exists() else "# pack-refs with: sorted\n") + refs)
    for format_ in ("text", "json", "sarif", "github", "junit", "gitlab"):
        ran = cli("-C", stocked.top, "verify", "--format", format_)
        assert ran.code == 0, ran.err
        assert len(ran.out) < 40_000
        assert "2,990 more tags are not releases of this store" in ran.out


def test_a_folder_whose_name_a_shell_would_run_is_in_no_hint(git: Callable[..., str], tmp_path: Path) -> None:
    git("init", "-q")
    store = Shop(tmp_path / "repo", git)
    stocked = Shop(tmp_path / "repo/x; touch y", git)
    store.write("x; touch y/evalstore.yaml", "")
    store.write("x; touch y/rubrics/tone.yaml", mixed())
    store.write("x; touch y/.evalstore/sums/rubric/tone", f"1.0.0 {'a' * 64}\n")
    store.commit(".")
    store.git("tag", TONE)
    assert only(stocked.verify()).hint.endswith("-- .evalstore/sums/rubric/tone")


def test_an_empty_repository_has_nothing_to_verify(git: Callable[..., str], tmp_path: Path) -> None:
    git("init", "-q")
    stocked = Shop(tmp_path / "repo", git)
    assert stocked.verify().findings == ()
    assert stocked.lock().refs == ()
    assert rules(stocked.check_lock()) == []


def test_a_worktree_has_ledgers_and_a_lock_of_its_own(stocked: Shop) -> None:
    stocked.git("worktree", "add", "-q", "-b", "older", "../older", "rubric/tone@1.0.0")
    older = stocked.at(stocked.top.parent / "older")
    assert rules(older.verify()) == []
    move(stocked)
    assert rules(older.verify()) == ["tag-moved"]
    assert rules(older.check_lock()) == ["lock-missing"]


# The command.


def test_the_command_answers_in_text_and_in_its_schema(cli: Callable[..., Any], stocked: Shop) -> None:
    ran = cli("-C", stocked.top, "verify")
    assert (ran.code, ran.out) == (
        0,
        "6 releases, 4 ledgers and 3 locked references: all unchanged since their release\n",
    )
    move(stocked)
    ran = cli("-C", stocked.top, "verify")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith(f"{SUMS}:1  error    tag-moved\n    rubric/tone@1.0.0 is not what was released")
    assert ran.out.endswith("6 releases, 4 ledgers and 3 locked references: 2 findings (2 errors)\n")
    schema = {
        name: json.loads((find_resource_folder("schema") / f"output/{name}.schema.json").read_text())
        for name in ("verify", "lock")
    }
    ran = cli("-C", stocked.top, "verify", "--format", "json")
    Draft202012Validator(schema["verify"]).validate(json.loads(ran.out))
    assert json.loads(ran.out)["files"] == 11
    ran = cli("-C", stocked.top, "lock", "--check", "--format", "json")
    assert ran.code == 1
    Draft202012Validator(schema["lock"]).validate(json.loads(ran.out))


def test_the_store_cannot_make_verify_say_less(stocked: Shop) -> None:
    stocked.write("evalstore.yaml", "rules: {tag-moved: off, ledger-rewritten: off}\nunpinned: allow\n")
    move(stocked)
    assert rules(stocked.verify()) == ["tag-moved"]


@pytest.mark.parametrize(
    "argv", [["lock", "judge/accuracy"], ["lock", "--check", "--update"], ["lock", "--check", "judge/accuracy"]]
)
def test_a_command_line_that_means_nothing_is_told(cli: Callable[..., Any], stocked: Shop, argv: list[str]) -> None:
    ran = cli("-C", stocked.top, *argv)
    assert (ran.code, "hint: " in ran.err) == (2, True)


def test_reading_writes_nothing(cli: Callable[..., Any], stocked: Shop) -> None:
    def snapshot() -> dict[Path, tuple[int, int]]:
        return {
            path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in stocked.top.rglob("*") if path.is_file()
        }

    before = snapshot()
    for argv in (["verify"], ["lock", "--check"], ["verify", "--lock", stocked.top / LOCK]):
        assert cli("-C", stocked.top, *argv).code == 0
    assert snapshot() == before


def test_rows_can_be_many(stocked: Shop) -> None:
    many = "".join(
        f'{{"id": "q{n}", "input": "x", "rubric_ref": "rubric/tone@{"1.0.0" if n % 2 else "1.1.0"}"}}\n'
        for n in range(5000)
    )
    stocked.write("datasets/answers.jsonl", ROWS + many)
    assert [one.ref for one in stocked.lock().refs] == [
        "judge/accuracy@1.0.0",
        TONE,
        "rubric/tone@1.1.0",
        "rubric/tone@^1",
    ]
    finding = only(stocked.ask(_behind))
    assert (finding.file, finding.line) == ("datasets/answers.jsonl", 3)


def _behind(store: Any) -> Any:
    from evalstore.model.lock import Lock
    from evalstore.release.integrity.verify import check_lock

    store._lock = Lock(
        {ref: held for ref, held in store.lock.refs.items() if ref != "rubric/tone@1.1.0"}, store.lock.ledgers
    )
    return check_lock(store)


def test_a_lost_tag_names_who_released_it_and_where_it_is(stocked: Shop, clone: Callable[..., Shop]) -> None:
    def lost_hint(place: Shop) -> str:
        place.git("tag", "-d", "rubric/tone@2.0.0")
        return only(place.verify()).hint or ""

    mine = clone(stocked)
    mine.git("remote", "rename", "origin", "company")
    hint = lost_hint(mine)
    assert hint.startswith("git fetch company --tags; in a fork: ")
    assert (
        "if nobody has it, Ada Tester pushes it: git push origin refs/tags/rubric/tone@2.0.0; if it is lost, " in hint
    )
    # Where there is no remote, no fetch helps; the command that is named does.
    hint = lost_hint(stocked)
    assert hint.startswith("if it is lost, make it again: git tag -a -m 'Release rubric/tone@2.0.0'")
    stocked.git(*shlex.split(hint.partition("again: git ")[2]))
    assert stocked.verify().findings == ()
