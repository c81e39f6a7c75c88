"""The history of the ledgers: no commit takes away what was released, and merges, squashes and rebases are not an attack."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from evalstore.diff import compare

from .conftest import TONE, World, only, rubric, rules

SUMS = ".evalstore/sums/rubric/tone"
EVIL = rubric(word="evil")
EVIL_LINE = f"1.0.0 {hashlib.sha256(EVIL.encode()).hexdigest()}"


def rewrite(world: World, *lines: str) -> str:
    """Commit another ledger, and a release beside it that agrees with it."""
    world.write(SUMS, "".join(f"{line}\n" for line in lines))
    commit = world.commit(SUMS)
    world.git("tag", "-f", "-a", "-m", "x", TONE, world.evil())
    return commit


def test_a_line_and_a_tag_that_are_rewritten_together(world: World) -> None:
    commit = rewrite(world, EVIL_LINE, *world.lines("rubric/tone")[1:])
    # And 1.1.0 says too little for what 1.0.0 is said to have been.
    finding, second = world.alone().findings
    assert (finding.rule, finding.severity, finding.file) == ("ledger-history-rewritten", "error", SUMS)
    assert second.rule == "release-bump-too-small"
    assert finding.message.startswith(f"commit {commit[:12]} removed releases from the ledger of rubric/tone")
    assert "1.0.0 " in finding.message
    shown = world.git(*finding.hint.removeprefix("git ").partition(" shows them")[0].split(" "))
    assert "-1.0.0 " in shown
    # Later commits hide nothing.
    world.release("rubric/tone", "2.1.0", rubric(version="2.1.0", word="kindly", title="Other"))
    assert "ledger-history-rewritten" in rules(world.alone())


def test_a_ledger_that_is_removed_with_a_tag_made_again(world: World) -> None:
    world.git("rm", "-q", SUMS)
    world.git("commit", "-q", "-m", "x")
    world.git("tag", "-f", "-a", "-m", "x", TONE, world.evil())
    assert "ledger-history-rewritten" in rules(world.alone())
    assert "ledger-history-rewritten" in rules(world.verify(TONE))
    assert "ledger-history-rewritten" not in rules(world.verify("judge/accuracy"))


def test_lines_that_were_put_back_are_as_they_were(world: World) -> None:
    lines = world.lines("rubric/tone")
    world.write(SUMS, "")
    world.commit(SUMS)
    assert "ledger-history-rewritten" in rules(world.alone())
    world.write(SUMS, "".join(f"{line}\n" for line in lines))
    world.commit(SUMS)
    assert rules(world.alone()) == []


def branch_off(world: World) -> None:
    """Release on two branches: 2.0.1 on main, 1.1.1 on `maintenance`."""
    world.git("checkout", "-q", "-b", "maintenance", "rubric/tone@1.1.0")
    world.release("rubric/tone", "1.1.1", rubric(version="1.1.1"))
    world.git("checkout", "-q", "main")
    world.release("rubric/tone", "2.0.1", rubric(version="2.0.1", word="kindly"))


def merge(world: World, *options: str) -> None:
    world.git("merge", "-q", "--no-commit", *options, "maintenance", check=False)
    lines = world.lines("rubric/tone")
    entries = sorted({line for line in lines if not line.startswith(("<<<", "===", ">>>"))})
    world.write("rubrics/tone.yaml", rubric(version="2.0.1", word="kindly"))
    world.write(SUMS, "".join(f"{line}\n" for line in entries))
    world.commit(SUMS, "rubrics")


@pytest.mark.parametrize("options", [(), ("--squash",)], ids=["merged", "squashed"])
def test_a_merge_that_keeps_the_lines_of_both_sides_is_none(world: World, options: tuple[str, ...]) -> None:
    branch_off(world)
    merge(world, *options)
    assert [line.partition(" ")[0] for line in world.lines("rubric/tone")] == [
        "1.0.0",
        "1.1.0",
        "1.1.1",
        "2.0.0",
        "2.0.1",
    ]
    assert rules(world.alone()) == []


def test_a_rebase_makes_the_commits_again_and_takes_nothing(world: World) -> None:
    world.git("checkout", "-q", "-b", "feature")
    world.release("rubric/second", "1.0.0", rubric("second"))
    world.git("checkout", "-q", "main")
    world.release("rubric/tone", "2.0.1", rubric(version="2.0.1", word="kindly"))
    world.git("checkout", "-q", "feature")
    world.git("rebase", "-q", "main")
    assert rules(world.alone()) == []


def test_a_merge_that_drops_what_the_other_side_released(world: World) -> None:
    branch_off(world)
    world.git("merge", "-q", "-s", "ours", "-m", "ours", "maintenance")
    world.git("branch", "-q", "-D", "maintenance")
    world.git("tag", "-d", "rubric/tone@1.1.1")
    finding = only(world.alone())
    assert (finding.rule, "1.1.1 " in finding.message) == ("ledger-history-rewritten", True)


def test_a_graft_and_a_setting_tell_no_other_history(world: World) -> None:
    commit = rewrite(world, EVIL_LINE, *world.lines("rubric/tone")[1:])
    world.write(".git/info/grafts", f"{commit}\n")
    world.git("config", "log.follow", "true")
    world.git("config", "log.diffMerges", "off")
    world.git("config", "core.abbrev", "5")
    world.git("replace", "--graft", commit)
    assert "ledger-history-rewritten" in rules(world.alone())


def test_in_a_shallow_clone_the_missing_history_is_said(world: World, clone: Callable[..., World]) -> None:
    mine = clone(world, "--depth=1", "--no-tags")
    mine.git("fetch", "-q", "--depth=1", "origin", "refs/tags/*:refs/tags/*")
    finding = only(mine.alone())
    assert (finding.rule, finding.severity) == ("history-missing", "warning")
    mine.git("remote", "rename", "origin", "team")
    finding = only(mine.alone())
    assert finding.hint == "git fetch team --unshallow --tags; then run evalstore verify again"
    mine.git(*finding.hint.removeprefix("git ").partition(";")[0].split(" "))
    assert rules(mine.alone()) == []


def test_a_store_in_a_subfolder_has_the_history_of_its_own_ledgers(git: Callable[..., str], world: World) -> None:
    """Paths in git are those of the repository, whatever characters they have."""
    store = World(world.path / 'a "b" ü')
    store.path.mkdir()
    store.write("evalstore.yaml", "tag_prefix: web/\n")
    for lines in (f"1.0.0 {'a' * 64}\n", ""):
        store.write(SUMS, lines)
        store.commit("evalstore.yaml", SUMS)
    assert rules(store.alone()) == ["ledger-history-rewritten"]
    assert rules(world.verify()) == []


# Versions against what changed.


def bumped(world: World, version: str, **changes: str) -> None:
    world.release("rubric/tone", version, rubric(version=version, **changes))


def test_a_major_change_that_a_hand_published_as_a_patch(world: World) -> None:
    bumped(world, "2.0.1", word="evil")
    finding = only(world.alone())
    assert (finding.rule, finding.severity, finding.file) == (
        "release-bump-too-small", "error", "refs/tags/rubric/tone@2.0.1"
    )  # fmt: skip
    assert "rubric/tone@2.0.1 is a patch bump, but the changes since rubric/tone@2.0.0 need major" in finding.message
    assert "phrase-reworded" in finding.message
    assert "release it as 3.0.0" in finding.hint
    assert rules(world.verify("rubric/tone@2.0.1")) == ["release-bump-too-small"]
    assert rules(world.verify("rubric/tone@^1")) == []


def test_a_pre_release_says_what_its_final_version_will_say(world: World) -> None:
    bumped(world, "2.0.1-rc.1", word="evil")
    bumped(world, "3.0.0-rc.1", word="evil")
    assert only(world.alone()).file == "refs/tags/rubric/tone@2.0.1-rc.1"
    bumped(world, "3.0.0", word="evil")
    assert only(world.alone()).file == "refs/tags/rubric/tone@2.0.1-rc.1"


def test_words_for_people_need_a_patch_at_most_unless_a_setting_asks_for_more(world: World) -> None:
    bumped(world, "2.0.1", title="Other", word="kindly")
    assert rules(world.alone()) == []
    # Build metadata is not a bump at all.
    bumped(world, "2.0.1+1", title="Another", word="kindly")
    assert only(world.alone()).rule == "release-bump-too-small"
    world.git("tag", "-d", "rubric/tone@2.0.1+1")
    world.write("evalstore.yaml", "rules: {metadata-changed: minor}\n")
    world.commit("evalstore.yaml")
    bumped(world, "2.0.2", title="Yet another", word="kindly")
    assert "metadata-changed" in next(one for one in world.alone().findings if one.rule != "tag-missing").message


OVERRIDE = "rules: {phrase-reworded: patch}\n"


def test_an_override_of_its_own_commit_counts_and_is_shown(world: World) -> None:
    world.write("evalstore.yaml", OVERRIDE)
    world.commit("evalstore.yaml")
    bumped(world, "2.0.1", word="evil")
    finding = only(world.alone())
    assert (finding.rule, finding.severity, world.alone().ok) == ("release-bump-lowered", "info", True)
    assert "phrase-reworded from major to patch (override)" in finding.message
    # Overrides that came later, or that are only in the working tree, were not those of the release.
    world.write("evalstore.yaml", "")
    world.commit("evalstore.yaml")
    assert world.alone().ok
    bumped(world, "2.0.2", word="worse")
    world.write("evalstore.yaml", OVERRIDE)
    assert "release-bump-too-small" in rules(world.alone())


def accepted(world: World, fingerprint: str, more: str = "") -> None:
    world.write(
        ".evalstore/accepted.yaml",
        f"accepted:\n- {{artifact: rubric/tone, since: 2.0.0, fingerprint: {fingerprint}, rule: phrase-reworded, was: "
        f'major, level: patch, reason: same, by: Ada, day: "2025-10-09"{more}}}\n',
    )
    world.commit(".evalstore/accepted.yaml")


def test_an_acceptance_counts_while_it_lasts_and_may_come_later(world: World) -> None:
    bumped(world, "2.0.1", word="evil")
    assert not world.alone().ok
    compared = world.ask(
        lambda store: compare(store.read_artifact("rubric/tone@2.0.0"), store.read_artifact("rubric/tone@2.0.1"))
    )
    reworded = next(finding.fingerprint for finding in compared.findings if finding.rule == "phrase-reworded")
    accepted(world, reworded)
    assert (rules(world.alone()), world.alone().ok) == (["release-bump-lowered"], True)
    accepted(world, reworded, ', until: "2025-10-08"')  # the release is of the day after
    assert "release-bump-too-small" in rules(world.alone())


def test_a_branch_that_has_not_seen_the_last_release_goes_on_from_its_own(world: World) -> None:
    """Two branches raise a threshold and rename a title: against each other both changes are seen, which nobody made."""
    world.git("checkout", "-q", "-b", "maintenance", "rubric/tone@1.0.0")
    world.write("evalstore.yaml", OVERRIDE)
    world.commit("evalstore.yaml")
    bumped(world, "1.0.1", word="evil")
    world.git("checkout", "-q", "main")
    # 1.1.0 was made from 1.0.0, so that it needs no more than it says, although 1.0.1 counts another word.
    assert world.alone().ok
    # A number that no bump of its own branch gives is held against the last release before it.
    world.git("checkout", "-q", "-b", "fork", "rubric/tone@1.1.0")
    bumped(world, "2.0.1")
    world.git("checkout", "-q", "main")
    assert rules(world.alone()) == ["release-bump-lowered", "release-bump-too-small"]


def test_what_cannot_be_compared_is_said(world: World) -> None:
    world.write("evalstore.yaml", "rules: {no-such-rule: patch}\n")
    world.commit("evalstore.yaml")
    bumped(world, "2.0.1", word="evil")
    finding = only(world.alone())
    assert (finding.rule, finding.severity) == ("release-bump-unknown", "warning")
    assert "no-such-rule" in finding.message


def test_rows_beside_a_dataset_are_part_of_its_change(world: World) -> None:
    text = (world.path / "datasets/answers.yaml").read_text().replace('"1.0.0"', '"1.0.1"')
    rows = {"datasets/answers.jsonl": '{"id": "a", "input": "Another?", "rubric_ref": "rubric/tone@1.0.0"}\n'}
    world.release("dataset/answers", "1.0.1", text, beside=rows)
    assert "release-bump-too-small" in rules(world.alone())
