from __future__ import annotations

import hashlib
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import LoadError, RefError, RefusedError, UsageError
from evalstore.model import parse_ref
from evalstore.release.transactions.journal import ReleasedVersion
from evalstore.report.next_steps import find_next_steps
from evalstore.report.status import text
from evalstore.store import ArtifactStore
from evalstore.store.listing import read_history
from evalstore.store.repository import git as git_module
from evalstore.store.repository.environment import GitEnvironment
from evalstore.versions import Bump
from tests.release.shop import JUDGE, Shop, check_sound, judged, rubric
from tests.rows import thin


def test_the_first_release_has_the_version_of_the_file(shop: Shop) -> None:
    shop.write("rubrics/tone.yaml", rubric(version="0.3.0"))
    released = shop.bump()
    commit = shop.git("rev-parse", "main")
    assert released.released == (ReleasedVersion("rubric/tone@0.3.0", "rubric/tone@0.3.0", commit, None, Bump.NONE),)
    assert shop.committed() == [".evalstore/sums/rubric/tone", "rubrics/tone.yaml"]
    assert shop.git("rev-list", "--count", "HEAD") == "1"
    assert shop.git("status", "--porcelain") == ""
    check_sound(shop)


def test_what_moves_most_is_listed_first_and_first_releases_last(shop: Shop, cli: Callable[..., Any]) -> None:
    shop.bump("rubric/tone")
    shop.write("rubrics/tone.yaml", rubric(ban="just"))
    shop.write("rubrics/a_new_one.yaml", rubric("a_new_one"))
    lines = cli("-C", shop.root, "bump", "--all", "--dry-run").out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  rubric/")] == ["rubric/tone", "rubric/a_new_one"]


def test_the_tag_of_a_first_release_has_all_three_trailers(shop: Shop) -> None:
    shop.write("rubrics/tone.yaml", rubric())
    shop.bump()
    lines = shop.git("for-each-ref", "--format=%(contents:body)", "refs/tags/rubric/tone@1.0.0").splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "Evalstore-Digest",
        "Evalstore-Bump",
        "Evalstore-Previous",
    ]
    with ArtifactStore.open(shop.root) as store:
        assert read_history(store, parse_ref("rubric/tone")).releases[0].previous is None


def test_a_change_is_released_as_what_it_needs(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="simply, of course"))
    (one,) = released.bump("rubric/tone").released
    assert (one.ref, one.previous, one.bump) == ("rubric/tone@2.0.0", "1.0.0", Bump.MAJOR)
    assert released.read("rubrics/tone.yaml").decode() == rubric(ban="simply, of course", version="2.0.0")
    check_sound(released)


def test_the_tag_is_annotated_and_says_what_log_reads(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="simply, just"))
    released.bump(message="No filler words\n\nThey add nothing.")
    with ArtifactStore.open(released.root) as store:
        digest = store.resolve("rubric/tone@2.0.0").digest
    head, _, message = released.git("cat-file", "tag", "rubric/tone@2.0.0").partition("\n\n")
    commit = released.git("rev-parse", "HEAD")
    signed = released.git("show", "-s", "--format=%cn <%ce> %ct +0000")
    assert head == f"object {commit}\ntype commit\ntag rubric/tone@2.0.0\ntagger {signed}"
    trailers = f"Evalstore-Digest: {digest}\nEvalstore-Bump: major\nEvalstore-Previous: 1.0.0"
    assert message == f"No filler words\n\n{trailers}"
    assert released.git("show", "-s", "--format=%B") == "No filler words\n\nThey add nothing."


def test_the_ledger_has_a_line_a_release(released: Shop) -> None:
    first = hashlib.sha256(released.read("rubrics/tone.yaml")).hexdigest()
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    second = hashlib.sha256(released.read("rubrics/tone.yaml")).hexdigest()
    assert released.read(".evalstore/sums/rubric/tone").decode() == f"1.0.0 {first}\n2.0.0 {second}\n"


@pytest.mark.parametrize(
    ("before", "after", "dress"),
    thin(
        [
            (b"version: 1.0.0", b"version: 2.0.0", "plain"),
            (b"version:   1.0.0   # the first", b"version:   2.0.0   # the first", "plain"),
            (b'version: "1.0.0"', b'version: "2.0.0"', "bom"),
            (b"version: '1.0.0'", b"version: '2.0.0'", "no final newline"),
            (b"version: '1.0'", b"version: '2.0.0'", "plain"),
            (b'"version": 1.0.0', b'"version": 2.0.0', "plain"),
            (b"version: 1.0.0", b"version: 2.0.0", "crlf"),
            (b"version: 1.0.0 # x", b"version: 2.0.0 # x", "crlf"),
        ],
        2,
    ),
)
def test_every_byte_but_the_version_stays(shop: Shop, before: bytes, after: bytes, dress: str) -> None:
    def dressed(version: bytes, word: bytes) -> bytes:
        text = rubric(ban="simply,   'of course'", title="'Tone'  # ours").encode()
        text = text.replace(b"version: 1.0.0", version).replace(b"simply", word)
        return {
            "plain": text,
            "crlf": text.replace(b"\n", b"\r\n"),
            "bom": b"\xef\xbb\xbf" + text,
            "no final newline": text.rstrip(b"\n"),
        }[dress]

    shop.write("rubrics/tone.yaml", dressed(before, b"simply"))
    shop.bump()
    shop.write("rubrics/tone.yaml", dressed(before, b"just"))
    shop.bump()
    assert shop.read("rubrics/tone.yaml") == dressed(after, b"just")
    check_sound_bytes(shop, "rubric/tone@2.0.0", dressed(after, b"just"))


def check_sound_bytes(shop: Shop, tag: str, expected: bytes) -> None:
    with ArtifactStore.open(shop.root) as store:
        blob = store.resolve(tag).blob
        assert blob
        assert store.objects.read(blob).data == expected


def test_a_version_that_says_enough_is_kept(released: Shop) -> None:
    text = rubric(ban="just", version="4.0.0")
    released.write("rubrics/tone.yaml", text)
    (one,) = released.bump().released
    assert (one.ref, one.bump, released.read("rubrics/tone.yaml").decode()) == ("rubric/tone@4.0.0", Bump.MAJOR, text)


@pytest.mark.parametrize("written", ["1.0.1", "1.1.0", "0.9.0"])
def test_a_version_that_says_too_little_is_raised(released: Shop, written: str) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just", version=written))
    assert released.bump().released[0].ref == "rubric/tone@2.0.0"


def test_a_new_version_without_a_change_is_released_when_the_file_says_so(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(version="1.1.0"))
    assert released.bump().released[0].ref == "rubric/tone@1.1.0"


def test_a_lower_version_without_a_change_is_refused(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(version="0.9.0"))
    with pytest.raises(RefusedError, match=r"the version 0\.9\.0 is below the released 1\.0\.0") as error:
        released.bump()
    assert str(error.value.place) == "rubrics/tone.yaml:3:10"
    # `status` sends nobody to what is refused, and says what helps.
    said = " ".join(text(released.status()).split())
    assert find_next_steps(released.status()) == []
    assert "0.9.0 is below the released 1.0.0, and nothing else changed: write 1.0.0 there again" in said
    released.write("rubrics/tone.yaml", rubric(ban="just", version="0.9.0"))
    assert find_next_steps(released.status()) == ["evalstore bump --all"]


def test_in_zero_versions_y_carries_major(shop: Shop) -> None:
    shop.write("rubrics/tone.yaml", rubric(version="0.1.0"))
    shop.bump()
    shop.write("rubrics/tone.yaml", rubric(version="0.1.0", ban="just"))
    assert shop.bump().released[0].ref == "rubric/tone@0.2.0"
    shop.write("rubrics/tone.yaml", rubric(version="0.2.0", ban="just", title="Voice"))
    assert shop.bump().released[0].ref == "rubric/tone@0.2.1"


def test_level_asks_for_more_and_never_for_less(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(title="Voice"))
    (one,) = released.bump(level=Bump.MINOR).released
    assert (one.ref, one.bump) == ("rubric/tone@1.1.0", Bump.MINOR)
    released.write("rubrics/tone.yaml", rubric(version="1.1.0", ban="just"))
    before = released.snapshot()
    with pytest.raises(RefusedError, match=r"--level patch is too small: the change needs 2\.0\.0"):
        released.bump(level=Bump.PATCH)
    assert released.snapshot() == before


def test_level_does_not_release_what_did_not_change(released: Shop) -> None:
    assert released.bump(level=Bump.MAJOR).released == ()


def test_twice_is_once(released: Shop) -> None:
    head = released.git("rev-parse", "HEAD")
    again = released.bump()
    assert (again.released, again.unchanged) == ((), ("rubric/tone",))
    assert (released.git("rev-parse", "HEAD"), released.tags()) == (head, ["rubric/tone@1.0.0"])


def test_a_comment_needs_no_release(released: Shop) -> None:
    released.write("rubrics/tone.yaml", "# seen by nobody\n" + rubric())
    assert released.bump().released == ()
    assert released.git("status", "--porcelain") == "M rubrics/tone.yaml"


def test_a_pre_release_is_released_as_written_and_once(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(version="2.0.0-rc.1", ban="just"))
    assert released.bump().released[0].ref == "rubric/tone@2.0.0-rc.1"
    assert released.bump().released == ()
    assert released.status().ok is True  # what the candidate is, it says
    released.write("rubrics/tone.yaml", rubric(version="2.0.0-rc.1", ban="only"))
    with pytest.raises(RefusedError, match=r"rubric/tone@2\.0\.0-rc\.1 is already released, with other content"):
        released.bump()
    released.write("rubrics/tone.yaml", rubric(version="2.0.0", ban="only"))
    assert released.bump().released[0].previous == "1.0.0"
    check_sound(released)


def test_many_artifacts_share_a_commit(shop: Shop) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged())
    released = shop.bump()
    assert [one.ref for one in released.released] == [
        "rubric/reviewed@1.0.0",
        "rubric/tone@1.0.0",
        "judge/accuracy@1.0.0",
    ]
    assert {one.commit for one in released.released} == {shop.git("rev-parse", "HEAD")}
    assert shop.git("show", "-s", "--format=%s") == "Release 3 artifacts"
    check_sound(shop)


def test_only_what_is_named_is_released(released: Shop) -> None:
    released.write("rubrics/other.yaml", rubric("other"))
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    assert [one.ref for one in released.bump("rubric/other").released] == ["rubric/other@1.0.0"]
    assert released.committed() == [".evalstore/sums/rubric/other", "rubrics/other.yaml"]
    assert released.git("status", "--porcelain") == "M rubrics/tone.yaml"


def test_a_pin_may_name_what_the_same_bump_releases(shop: Shop) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged())
    shop.bump()
    shop.write("judges/accuracy.yaml", JUDGE.replace("right?", "quite right?"))
    shop.write("rubrics/reviewed.yaml", judged(pin="judge/accuracy@2.0.0"))
    with pytest.raises(
        RefusedError, match=r"yaml:5:23: judge/accuracy@2\.0\.0 is not released and not part of this bump"
    ):
        shop.bump("rubric/reviewed")
    assert {one.ref for one in shop.bump().released} == {"judge/accuracy@2.0.0", "rubric/reviewed@2.0.0"}


@pytest.mark.parametrize("pin", ["judge/accuracy@1.0.1", "judge/accuracy@^2"])
def test_a_dangling_pin_is_refused_at_its_place(shop: Shop, pin: str) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged(pin=f'"{pin}"'))
    with pytest.raises(RefusedError, match="is not released and not part of this bump") as error:
        shop.bump()
    assert str(error.value.place) == "rubrics/reviewed.yaml:5:23"
    hint = "pin judge/accuracy@1.0.0 or an earlier release; or take in others' releases: git pull --tags"
    assert error.value.hint == hint
    assert shop.tags() == []


@pytest.mark.parametrize("pin", ["judge/acuracy@1.0.0", "judge/acuracy"])
def test_a_pin_of_what_there_is_not_names_the_nearest(shop: Shop, pin: str) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged(pin=f'"{pin}"'))
    with pytest.raises(RefusedError, match="there is no judge/acuracy") as error:
        shop.bump()
    assert str(error.value.place) == "rubrics/reviewed.yaml:5:23"
    assert (error.value.hint or "").startswith("did you mean judge/accuracy?")


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (rubric("other"), LoadError, "the id is 'other'"),
        (rubric(version="1.10"), LoadError, "quote it"),
        (rubric() + "  combine: all_pass\n", LoadError, "duplicate key"),
        (rubric().replace("all_pass", "some_pass"), RefusedError, "combine"),
        (rubric().replace("must_not_contain", "must_contain_all"), RefusedError, "unknown check kind"),
        (rubric(version="1.0.0-rc.lock"), RefusedError, "git allows no tag that ends in .lock"),
        (rubric(version="1.0.0-" + "a" * 200), RefusedError, "a tag has at most 200 bytes"),
    ],
)
def test_what_is_no_artifact_is_not_released(shop: Shop, text: str, error: type[Exception], said: str) -> None:
    shop.write("rubrics/tone.yaml", text)
    with pytest.raises(error) as raised:
        shop.bump()
    assert said in f"{raised.value} {getattr(raised.value, 'hint', '')}"
    assert shop.tags() == []


def test_build_metadata_is_no_part_of_a_release(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(version="1.0.1+linux", ban="just"))
    with pytest.raises(RefusedError, match=r"yaml:3:10: the version 1\.0\.1\+linux has build metadata") as error:
        released.bump()
    assert error.value.hint == "write 1.0.1 there"
    assert released.status().ok is False


def test_versions_of_equal_precedence_are_one(released: Shop) -> None:
    released.git("tag", "rubric/tone@1.1.0-rc.1+linux")
    released.write("rubrics/tone.yaml", rubric(version="1.1.0-rc.1"))
    with pytest.raises(RefusedError, match=r"same precedence as the released 1\.1\.0-rc\.1\+linux"):
        released.bump()


@pytest.mark.parametrize(
    ("refs", "error", "said"),
    [
        (("rubric/tune",), RefError, "did you mean rubric/tone"),
        (("tone",), RefError, "is not a reference"),
        (("rubric/tone@1.0.0",), RefError, "evalstore bump rubric/tone"),
        (("rubric/../tone",), RefError, "is not a valid id"),
        (("--all",), RefError, "is not a reference"),
    ],
)
def test_what_cannot_be_bumped_is_said(shop: Shop, refs: tuple[str, ...], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as raised:
        shop.bump(*refs)
    assert said in f"{raised.value} {getattr(raised.value, 'hint', '')}"


def test_names_or_all_and_not_both(shop: Shop) -> None:
    from evalstore.release.publishing.bump import bump
    from evalstore.release.publishing.step import BumpOptions

    with ArtifactStore.open(shop.root) as store:
        for refs, all_ in ((["rubric/tone"], True), ([], False)):
            with pytest.raises(UsageError, match="name the artifacts to release, or say --all"):
                bump(store, BumpOptions(refs, all_=all_))


def test_a_worktree_pin_is_the_working_file(shop: Shop) -> None:
    assert shop.bump("rubric/tone@worktree", "rubric/tone").released[0].ref == "rubric/tone@1.0.0"


def test_dry_run_writes_nothing(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.git("status")
    before = released.snapshot()
    foreseen = released.bump(dry_run=True)
    assert released.snapshot() == before
    assert foreseen.released == (ReleasedVersion("rubric/tone@2.0.0", "rubric/tone@2.0.0", None, "1.0.0", Bump.MAJOR),)
    assert foreseen.dry_run


def test_no_commit_writes_the_version_only(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    head, index = released.git("rev-parse", "HEAD"), released.read(".git/index")
    (one,) = released.bump(commit=False).released
    assert (one.tag, one.commit) == (None, None)
    assert released.read("rubrics/tone.yaml").decode() == rubric(ban="just", version="2.0.0")
    assert (released.git("rev-parse", "HEAD"), released.read(".git/index")) == (head, index)
    assert released.read(".evalstore/sums/rubric/tone").count(b"\n") == 1


def test_no_tag_commits_a_version_that_a_later_bump_releases(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    (one,) = released.bump(tag=False).released
    assert (one.tag, one.commit) == (None, released.git("rev-parse", "HEAD"))
    assert (released.committed(), released.tags()) == (["rubrics/tone.yaml"], ["rubric/tone@1.0.0"])
    assert released.bump().released[0].tag == "rubric/tone@2.0.0"
    assert released.committed() == [".evalstore/sums/rubric/tone"]
    check_sound(released)


def test_a_dataset_takes_its_rows_along(released: Shop) -> None:
    row = '{"id": "%s", "input": "Why?", "rubric_ref": "rubric/tone@1.0.0"}\n'
    released.write("datasets/web.yaml", "id: web\nversion: 1.0.0\nrows: web.jsonl\n")
    released.write("datasets/web.jsonl", row % "one")
    released.write("datasets/notes.jsonl", "not ours\n")
    released.bump()
    assert released.committed() == [".evalstore/sums/dataset/web", "datasets/web.jsonl", "datasets/web.yaml"]
    assert released.bump().released == ()
    released.write("datasets/web.jsonl", row % "one" + row % "two")
    (one,) = released.bump().released
    assert (one.ref, one.bump) == ("dataset/web@1.1.0", Bump.MINOR)
    assert released.git("status", "--porcelain") == "?? datasets/notes.jsonl"
    released.write("datasets/web.jsonl", (row % "one").replace("1.0.0", "9.0.0"))
    with pytest.raises(RefusedError, match=r"datasets/web.jsonl:1: rubric/tone@9\.0\.0 is not released"):
        released.bump()


def test_a_dataset_without_a_version_is_refused(released: Shop) -> None:
    released.write("datasets/web.yaml", "questions:\n  - {id: one, input: Why?}\n")
    with pytest.raises(RefusedError, match="has no version, so it cannot be released") as error:
        released.bump()
    assert str(error.value.place) == "datasets/web.yaml:1:1"


def test_a_link_in_place_of_the_file_is_refused(released: Shop, tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text(rubric(ban="just"))
    (released.top / "rubrics/tone.yaml").unlink()
    (released.top / "rubrics/tone.yaml").symlink_to(outside)
    with pytest.raises(RefError, match="no rubric/tone in the working tree"):
        released.bump("rubric/tone")
    assert outside.read_text() == rubric(ban="just")


def test_a_committed_link_is_not_replaced(shop: Shop, tmp_path: Path) -> None:
    (shop.top / "rubrics").rename(tmp_path / "moved")
    (shop.top / "rubrics").symlink_to(tmp_path / "moved")
    shop.git("add", "rubrics")
    shop.git("commit", "-q", "-m", "link")
    (shop.top / "rubrics").unlink()
    shop.write("rubrics/tone.yaml", rubric())
    with pytest.raises(RefusedError, match="is a symbolic link, where a folder should be"):
        shop.bump()
    assert shop.tags() == []


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("name", ["tone", "new"])
def test_an_edited_ledger_is_refused_until_it_is_as_it_was(released: Shop, name: str, *, staged: bool) -> None:
    released.write(f"rubrics/{name}.yaml", rubric(name, ban="just"))
    released.write(f".evalstore/sums/rubric/{name}", "9.0.0 abc\n")
    if staged:
        released.git("add", ".evalstore")
    with pytest.raises(RefusedError, match="the ledger differs from the committed one") as caught:
        released.bump()
    assert caught.value.hint
    for command in caught.value.hint.removeprefix("remove it: ").split("; "):
        subprocess.run(shlex.split(command), cwd=released.top, check=True)
    assert len(released.bump().released) == 1
    check_sound(released)


@pytest.mark.parametrize(
    "where", [".evalstore", ".evalstore/sums", ".evalstore/sums/rubric", ".evalstore/sums/rubric/new"]
)
@pytest.mark.parametrize("what", ["link", "dangling", "file"])
def test_what_stands_in_the_way_of_a_ledger_is_said_before_anything_is_done(
    shop: Shop, tmp_path: Path, where: str, what: str
) -> None:
    shop.write("rubrics/new.yaml", rubric("new"))
    (tmp_path / "outside").mkdir()
    path = shop.top / where
    path.parent.mkdir(parents=True, exist_ok=True)
    if what == "file":
        path.mkdir() if where.endswith("new") else path.write_text("")
    else:
        path.symlink_to(tmp_path / ("outside" if what == "link" else "nowhere"))
    with pytest.raises(LoadError, match=r"^.evalstore/sums/rubric/new: (cannot be read: a link or a file|is a folder)"):
        shop.bump("rubric/new")
    assert shop.tags() == []
    assert list((tmp_path / "outside").iterdir()) == []
    assert not list((shop.top / ".git/evalstore").glob("journal*"))


def test_a_clone_without_its_tags_is_no_place_to_release(released: Shop) -> None:
    released.git("tag", "-d", "rubric/tone@1.0.0")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    with pytest.raises(RefusedError, match=r"rubric/tone@1\.0\.0 was released, but its tag is not in this clone"):
        released.bump()
    assert released.tags() == []


def test_a_bump_asks_git_each_question_once(released: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    real = git_module._start_process

    def count(environment: GitEnvironment, argv: Sequence[str], *args: Any, **options: Any) -> Any:
        started.append(" ".join(argv[1:]))
        return real(environment, argv, *args, **options)

    monkeypatch.setattr(git_module, "_start_process", count)
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump("rubric/tone")
    assert len(started) <= 14, "\n".join(started)
