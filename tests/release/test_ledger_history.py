"""The history of the ledgers: no commit takes away what was released, and merges, squashes and rebases are not an attack."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from evalstore.diff import compare
from tests.release.shop import TONE, Shop, mixed, only, rules

SUMS = ".evalstore/sums/rubric/tone"
EVIL = mixed(word="evil")
EVIL_LINE = f"1.0.0 {hashlib.sha256(EVIL.encode()).hexdigest()}"


def rewrite(stocked: Shop, *lines: str) -> str:
    """Commit another ledger, and a release beside it that agrees with it."""
    stocked.write(SUMS, "".join(f"{line}\n" for line in lines))
    commit = stocked.commit(SUMS)
    stocked.git("tag", "-f", "-a", "-m", "x", TONE, stocked.commit_evil())
    return commit


def test_a_line_and_a_tag_that_are_rewritten_together(stocked: Shop) -> None:
    commit = rewrite(stocked, EVIL_LINE, *stocked.read_ledger("rubric/tone")[1:])
    # And 1.1.0 says too little for what 1.0.0 is said to have been.
    finding, second = stocked.verify_without_lock().findings
    assert (finding.rule, finding.severity, finding.file) == ("ledger-history-rewritten", "error", SUMS)
    assert second.rule == "release-bump-too-small"
    assert finding.message.startswith(f"commit {commit[:12]} removed releases from the ledger of rubric/tone")
    assert "1.0.0 " in finding.message
    shown = stocked.git(*finding.hint.removeprefix("git ").partition(" shows them")[0].split(" "))
    assert "-1.0.0 " in shown
    # Later commits hide nothing.
    stocked.release("rubric/tone", "2.1.0", mixed(version="2.1.0", word="kindly", title="Other"))
    assert "ledger-history-rewritten" in rules(stocked.verify_without_lock())


def test_a_ledger_that_is_removed_with_a_tag_made_again(stocked: Shop) -> None:
    stocked.git("rm", "-q", SUMS)
    stocked.git("commit", "-q", "-m", "x")
    stocked.git("tag", "-f", "-a", "-m", "x", TONE, stocked.commit_evil())
    assert "ledger-history-rewritten" in rules(stocked.verify_without_lock())
    assert "ledger-history-rewritten" in rules(stocked.verify(TONE))
    assert "ledger-history-rewritten" not in rules(stocked.verify("judge/accuracy"))


def test_lines_that_were_put_back_are_as_they_were(stocked: Shop) -> None:
    lines = stocked.read_ledger("rubric/tone")
    stocked.write(SUMS, "")
    stocked.commit(SUMS)
    assert "ledger-history-rewritten" in rules(stocked.verify_without_lock())
    stocked.write(SUMS, "".join(f"{line}\n" for line in lines))
    stocked.commit(SUMS)
    assert rules(stocked.verify_without_lock()) == []


def branch_off(stocked: Shop) -> None:
    """Release on two branches: 2.0.1 on main, 1.1.1 on `maintenance`."""
    stocked.git("checkout", "-q", "-b", "maintenance", "rubric/tone@1.1.0")
    stocked.release("rubric/tone", "1.1.1", mixed(version="1.1.1"))
    stocked.git("checkout", "-q", "main")
    stocked.release("rubric/tone", "2.0.1", mixed(version="2.0.1", word="kindly"))


def merge(stocked: Shop, *options: str) -> None:
    stocked.git("merge", "-q", "--no-commit", *options, "maintenance", check=False)
    lines = stocked.read_ledger("rubric/tone")
    entries = sorted({line for line in lines if not line.startswith(("<<<", "===", ">>>"))})
    stocked.write("rubrics/tone.yaml", mixed(version="2.0.1", word="kindly"))
    stocked.write(SUMS, "".join(f"{line}\n" for line in entries))
    stocked.commit(SUMS, "rubrics")


@pytest.mark.parametrize("options", [(), ("--squash",)], ids=["merged", "squashed"])
def test_a_merge_that_keeps_the_lines_of_both_sides_is_none(stocked: Shop, options: tuple[str, ...]) -> None:
    branch_off(stocked)
    merge(stocked, *options)
    assert [line.partition(" ")[0] for line in stocked.read_ledger("rubric/tone")] == [
        "1.0.0",
        "1.1.0",
        "1.1.1",
        "2.0.0",
        "2.0.1",
    ]
    assert rules(stocked.verify_without_lock()) == []


def test_a_rebase_makes_the_commits_again_and_takes_nothing(stocked: Shop) -> None:
    stocked.git("checkout", "-q", "-b", "feature")
    stocked.release("rubric/second", "1.0.0", mixed("second"))
    stocked.git("checkout", "-q", "main")
    stocked.release("rubric/tone", "2.0.1", mixed(version="2.0.1", word="kindly"))
    stocked.git("checkout", "-q", "feature")
    stocked.git("rebase", "-q", "main")
    assert rules(stocked.verify_without_lock()) == []


def test_a_merge_that_drops_what_the_other_side_released(stocked: Shop) -> None:
    branch_off(stocked)
    stocked.git("merge", "-q", "-s", "ours", "-m", "ours", "maintenance")
    stocked.git("branch", "-q", "-D", "maintenance")
    stocked.git("tag", "-d", "rubric/tone@1.1.1")
    finding = only(stocked.verify_without_lock())
    assert (finding.rule, "1.1.1 " in finding.message) == ("ledger-history-rewritten", True)


def test_a_graft_and_a_setting_tell_no_other_history(stocked: Shop) -> None:
    commit = rewrite(stocked, EVIL_LINE, *stocked.read_ledger("rubric/tone")[1:])
    stocked.write(".git/info/grafts", f"{commit}\n")
    stocked.git("config", "log.follow", "true")
    stocked.git("config", "log.diffMerges", "off")
    stocked.git("config", "core.abbrev", "5")
    stocked.git("replace", "--graft", commit)
    assert "ledger-history-rewritten" in rules(stocked.verify_without_lock())


def test_in_a_shallow_clone_the_missing_history_is_said(stocked: Shop, clone: Callable[..., Shop]) -> None:
    mine = clone(stocked, "--depth=1", "--no-tags")
    mine.git("fetch", "-q", "--depth=1", "origin", "refs/tags/*:refs/tags/*")
    finding = only(mine.verify_without_lock())
    assert (finding.rule, finding.severity) == ("history-missing", "warning")
    mine.git("remote", "rename", "origin", "team")
    finding = only(mine.verify_without_lock())
    assert finding.hint == "git fetch team --unshallow --tags; then run evalstore verify again"
    mine.git(*finding.hint.removeprefix("git ").partition(";")[0].split(" "))
    assert rules(mine.verify_without_lock()) == []


def test_a_store_in_a_subfolder_has_the_history_of_its_own_ledgers(git: Callable[..., str], stocked: Shop) -> None:
    """Paths in git are those of the repository, whatever characters they have."""
    store = stocked.at(stocked.top / 'a "b" ü')
    store.top.mkdir()
    store.write("evalstore.yaml", "tag_prefix: web/\n")
    for lines in (f"1.0.0 {'a' * 64}\n", ""):
        store.write(SUMS, lines)
        store.commit("evalstore.yaml", SUMS)
    assert rules(store.verify_without_lock()) == ["ledger-history-rewritten"]
    assert rules(stocked.verify()) == []


# Versions against what changed.


def bumped(stocked: Shop, version: str, **changes: str) -> None:
    stocked.release("rubric/tone", version, mixed(version=version, **changes))


def test_a_major_change_that_a_hand_published_as_a_patch(stocked: Shop) -> None:
    bumped(stocked, "2.0.1", word="evil")
    finding = only(stocked.verify_without_lock())
    assert (finding.rule, finding.severity, finding.file) == (
        "release-bump-too-small", "error", "refs/tags/rubric/tone@2.0.1"
    )  # fmt: skip
    assert "rubric/tone@2.0.1 is a patch bump, but the changes since rubric/tone@2.0.0 need major" in finding.message
    assert "phrase-reworded" in finding.message
    assert "release it as 3.0.0" in finding.hint
    assert rules(stocked.verify("rubric/tone@2.0.1")) == ["release-bump-too-small"]
    assert rules(stocked.verify("rubric/tone@^1")) == []


def test_a_pre_release_says_what_its_final_version_will_say(stocked: Shop) -> None:
    bumped(stocked, "2.0.1-rc.1", word="evil")
    bumped(stocked, "3.0.0-rc.1", word="evil")
    assert only(stocked.verify_without_lock()).file == "refs/tags/rubric/tone@2.0.1-rc.1"
    bumped(stocked, "3.0.0", word="evil")
    assert only(stocked.verify_without_lock()).file == "refs/tags/rubric/tone@2.0.1-rc.1"


def test_words_for_people_need_a_patch_at_most_unless_a_setting_asks_for_more(stocked: Shop) -> None:
    bumped(stocked, "2.0.1", title="Other", word="kindly")
    assert rules(stocked.verify_without_lock()) == []
    # Build metadata is not a bump at all.
    bumped(stocked, "2.0.1+1", title="Another", word="kindly")
    assert only(stocked.verify_without_lock()).rule == "release-bump-too-small"
    stocked.git("tag", "-d", "rubric/tone@2.0.1+1")
    stocked.write("evalstore.yaml", "rules: {metadata-changed: minor}\n")
    stocked.commit("evalstore.yaml")
    bumped(stocked, "2.0.2", title="Yet another", word="kindly")
    assert (
        "metadata-changed"
        in next(one for one in stocked.verify_without_lock().findings if one.rule != "tag-missing").message
    )


OVERRIDE = "rules: {phrase-reworded: patch}\n"


def test_an_override_of_its_own_commit_counts_and_is_shown(stocked: Shop) -> None:
    stocked.write("evalstore.yaml", OVERRIDE)
    stocked.commit("evalstore.yaml")
    bumped(stocked, "2.0.1", word="evil")
    finding = only(stocked.verify_without_lock())
    assert (finding.rule, finding.severity, stocked.verify_without_lock().ok) == ("release-bump-lowered", "info", True)
    assert "phrase-reworded from major to patch (override)" in finding.message
    # Overrides that came later, or that are only in the working tree, were not those of the release.
    stocked.write("evalstore.yaml", "")
    stocked.commit("evalstore.yaml")
    assert stocked.verify_without_lock().ok
    bumped(stocked, "2.0.2", word="worse")
    stocked.write("evalstore.yaml", OVERRIDE)
    assert "release-bump-too-small" in rules(stocked.verify_without_lock())


def accepted(stocked: Shop, fingerprint: str, more: str = "") -> None:
    stocked.write(
        ".evalstore/accepted.yaml",
        f"accepted:\n- {{artifact: rubric/tone, since: 2.0.0, fingerprint: {fingerprint}, rule: phrase-reworded, was: "
        f'major, level: patch, reason: same, by: Ada, day: "2025-10-09"{more}}}\n',
    )
    stocked.commit(".evalstore/accepted.yaml")


def test_an_acceptance_counts_while_it_lasts_and_may_come_later(stocked: Shop) -> None:
    bumped(stocked, "2.0.1", word="evil")
    assert not stocked.verify_without_lock().ok
    compared = stocked.ask(
        lambda store: compare(store.read_artifact("rubric/tone@2.0.0"), store.read_artifact("rubric/tone@2.0.1"))
    )
    reworded = next(finding.fingerprint for finding in compared.findings if finding.rule == "phrase-reworded")
    accepted(stocked, reworded)
    assert (rules(stocked.verify_without_lock()), stocked.verify_without_lock().ok) == (["release-bump-lowered"], True)
    accepted(stocked, reworded, ', until: "2025-10-08"')  # the release is of the day after
    assert "release-bump-too-small" in rules(stocked.verify_without_lock())


def test_a_branch_that_has_not_seen_the_last_release_goes_on_from_its_own(stocked: Shop) -> None:
    """Two branches raise a threshold and rename a title: against each other both changes are seen, which nobody made."""
    stocked.git("checkout", "-q", "-b", "maintenance", "rubric/tone@1.0.0")
    stocked.write("evalstore.yaml", OVERRIDE)
    stocked.commit("evalstore.yaml")
    bumped(stocked, "1.0.1", word="evil")
    stocked.git("checkout", "-q", "main")
    # 1.1.0 was made from 1.0.0, so that it needs no more than it says, although 1.0.1 counts another word.
    assert stocked.verify_without_lock().ok
    # A number that no bump of its own branch gives is held against the last release before it.
    stocked.git("checkout", "-q", "-b", "fork", "rubric/tone@1.1.0")
    bumped(stocked, "2.0.1")
    stocked.git("checkout", "-q", "main")
    assert rules(stocked.verify_without_lock()) == ["release-bump-lowered", "release-bump-too-small"]


def test_what_cannot_be_compared_is_said(stocked: Shop) -> None:
    stocked.write("evalstore.yaml", "rules: {no-such-rule: patch}\n")
    stocked.commit("evalstore.yaml")
    bumped(stocked, "2.0.1", word="evil")
    finding = only(stocked.verify_without_lock())
    assert (finding.rule, finding.severity) == ("release-bump-unknown", "warning")
    assert "no-such-rule" in finding.message


def test_rows_beside_a_dataset_are_part_of_its_change(stocked: Shop) -> None:
    text = (stocked.top / "datasets/answers.yaml").read_text().replace('"1.0.0"', '"1.0.1"')
    rows = {"datasets/answers.jsonl": '{"id": "a", "input": "Another?", "rubric_ref": "rubric/tone@1.0.0"}\n'}
    stocked.release("dataset/answers", "1.0.1", text, beside=rows)
    assert "release-bump-too-small" in rules(stocked.verify_without_lock())
