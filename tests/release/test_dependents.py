"""A judge moves, and what pins it moves along: judge -> rubric -> composite -> dataset, in one commit or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from evalstore.errors import RefusedError
from evalstore.release.changes.values import PinnedVersion
from evalstore.versions import Bump
from tests.release.shop import JUDGE, Shop, check_sound, judged, rubric

Cli = Callable[..., Any]

COMPOSITE = """\
id: whole
version: 1.0.0
checks:
  - kind: composite
    rubric_ref: 'rubric/reviewed@1.0'   # quoted, and exact
scoring: {combine: all_pass}
"""
DATASET = """\
id: web
version: 1.0.0
defaults: {rubric_ref: "rubric/whole@1.0.0"}
questions:
  - {id: one, input: Why?, rubric_ref: rubric/reviewed@1.0.0}
  - {id: two, input: How?, rubric_ref: rubric/tone@1.0.0}
"""
ROWS = (
    b'\xef\xbb\xbf{"id": "one",  "input": "Warum \\u00e4?", "rubric_ref" : "rubric\\/reviewed@1.0.0"}\r\n'
    b'{"id": "two", "input": "rubric/reviewed@1.0.0", "rubric_ref": "rubric/tone@1.0.0"}\n'
    b"\n"
    b'{"rubric_ref": "rubric/whole@1.0", "id": "three", "input": "x", "n": 1.50}'
)


@pytest.fixture
def chain(shop: Shop, template: Callable[..., Any]) -> Shop:
    """Everything released at 1.0.0: judge/accuracy, rubric/reviewed, rubric/whole, dataset/web, dataset/large."""

    def release() -> None:
        shop.write("judges/accuracy.yaml", JUDGE)
        shop.write("rubrics/reviewed.yaml", judged())
        shop.write("rubrics/whole.yaml", COMPOSITE)
        shop.write("datasets/web.yaml", DATASET)
        shop.write("datasets/large.yaml", "id: large\nversion: 1.0.0\nrows: large.jsonl\n")
        shop.write("datasets/large.jsonl", ROWS)
        shop.bump()

    template("a chain of five artifacts", release)
    return shop


def change_judge(shop: Shop, old: str = "right?", new: str = "quite right?") -> None:
    shop.write("judges/accuracy.yaml", shop.read("judges/accuracy.yaml").decode().replace(old, new))


def test_what_pins_a_judge_is_named_and_left_alone(chain: Shop) -> None:
    change_judge(chain)
    done = chain.bump("judge/accuracy")
    assert [one.ref for one in done.released] == ["judge/accuracy@2.0.0"]
    assert done.pinned == (PinnedVersion("judge/accuracy@1.0.0", ("rubric/reviewed",)),)
    assert chain.read("rubrics/reviewed.yaml").decode() == judged()
    assert chain.git("status", "--porcelain") == ""


def test_the_whole_chain_moves_in_one_commit(chain: Shop) -> None:
    change_judge(chain)
    done = chain.bump("judge/accuracy", dependents=True)
    assert {one.ref: one.bump for one in done.released} == dict.fromkeys(
        [
            "judge/accuracy@2.0.0",
            "rubric/reviewed@2.0.0",
            "rubric/whole@2.0.0",
            "dataset/web@2.0.0",
            "dataset/large@2.0.0",
        ],
        Bump.MAJOR,
    )
    assert done.released[0].ref == "judge/accuracy@2.0.0"
    assert {one.commit for one in done.released} == {chain.git("rev-parse", "HEAD")}
    assert (done.pinned, chain.git("status", "--porcelain")) == ((), "")
    why = "rubric/whole 1.0.0 -> 2.0.0 (major), with rubric/reviewed@2.0.0"
    assert chain.git("for-each-ref", "--format=%(contents:subject)", "refs/tags/rubric/whole@2.0.0") == why
    assert f"- {why}" in chain.git("show", "-s", "--format=%B").split("\n")
    moved = {one.ref: one.moved for one in done.released}
    assert moved["judge/accuracy@2.0.0"] == ()
    assert moved["dataset/web@2.0.0"] == (
        ("rubric/reviewed@1.0.0", "rubric/reviewed@2.0.0"),
        ("rubric/whole@1.0.0", "rubric/whole@2.0.0"),
    )
    check_sound(chain)


def test_only_the_bytes_of_versions_and_pins_change(chain: Shop) -> None:
    change_judge(chain)
    chain.bump("judge/accuracy", dependents=True)
    assert chain.read("rubrics/reviewed.yaml").decode() == judged(version="2.0.0", pin="judge/accuracy@2.0.0")
    assert chain.read("rubrics/whole.yaml").decode() == COMPOSITE.replace("1.0.0", "2.0.0").replace("@1.0'", "@2.0.0'")
    web = DATASET.replace("reviewed@1", "reviewed@2").replace("whole@1", "whole@2").replace("version: 1", "version: 2")
    assert chain.read("datasets/web.yaml").decode() == web
    rows = ROWS.replace(b'"rubric\\/reviewed@1.0.0"', b'"rubric/reviewed@2.0.0"')
    assert chain.read("datasets/large.jsonl") == rows.replace(b'"rubric/whole@1.0"', b'"rubric/whole@2.0.0"')


@pytest.mark.parametrize(
    ("old", "new", "judge", "rubric_"),
    [
        ("score_type: binary", "score_type: binary\ntitle: Accuracy", "1.0.1", "1.0.1"),
        ("right?", "so?", "2.0.0", "2.0.0"),
    ],
)
def test_a_dependent_is_bumped_by_what_its_own_diff_says(
    chain: Shop, old: str, new: str, judge: str, rubric_: str
) -> None:
    change_judge(chain, old, new)
    refs = {one.ref for one in chain.bump("judge/accuracy", dependents=True).released}
    assert {f"judge/accuracy@{judge}", f"rubric/reviewed@{rubric_}", f"dataset/web@{rubric_}"} <= refs
    check_sound(chain)


def test_level_is_asked_of_what_is_named_only(chain: Shop) -> None:
    change_judge(chain, "score_type: binary", "score_type: binary\ntitle: Accuracy")
    done = chain.bump("judge/accuracy", dependents=True, level=Bump.MINOR)
    assert [one.ref for one in done.released][:2] == ["judge/accuracy@1.1.0", "rubric/reviewed@1.0.1"]


def test_dependents_can_follow_later(chain: Shop) -> None:
    change_judge(chain)
    chain.bump("judge/accuracy")
    done = chain.bump("judge/accuracy", dependents=True)
    assert (done.unchanged, len(done.released)) == (("judge/accuracy",), 4)
    check_sound(chain)


def test_all_dependents_of_everything(chain: Shop) -> None:
    change_judge(chain)
    chain.bump("judge/accuracy")
    assert len(chain.bump(dependents=True).released) == 4
    assert chain.bump(dependents=True).released == ()
    check_sound(chain)


def test_a_dry_run_says_the_same_and_writes_nothing(chain: Shop) -> None:
    change_judge(chain)
    chain.git("status")
    before = chain.snapshot()
    foreseen = chain.bump("judge/accuracy", dependents=True, dry_run=True)
    assert chain.snapshot() == before
    done = chain.bump("judge/accuracy", dependents=True)
    assert [(one.ref, one.moved) for one in foreseen.released] == [(one.ref, one.moved) for one in done.released]


def test_without_a_commit_the_pins_are_written_too(chain: Shop) -> None:
    change_judge(chain)
    head = chain.git("rev-parse", "HEAD")
    chain.bump("judge/accuracy", dependents=True, commit=False)
    assert b"rubric/whole@2.0.0" in chain.read("datasets/large.jsonl")
    assert b"judge/accuracy@2.0.0" in chain.read("rubrics/reviewed.yaml")
    assert chain.git("rev-parse", "HEAD") == head
    assert len(chain.bump().released) == 5
    check_sound(chain)


def test_a_dependent_with_work_of_its_own_is_not_swept_in(chain: Shop) -> None:
    change_judge(chain)
    chain.write("rubrics/reviewed.yaml", judged().replace("all_pass", "any_pass"))
    before, refs = chain.snapshot(), chain.git("for-each-ref")
    with pytest.raises(
        RefusedError, match=r"rubric/reviewed pins judge/accuracy@1\.0\.0, and has unreleased changes of its own"
    ):
        chain.bump("judge/accuracy", dependents=True)
    assert chain.git("for-each-ref") == refs
    assert {path: data for path, data in chain.snapshot().items() if ".git/" not in path} == {
        path: data for path, data in before.items() if ".git/" not in path
    }
    done = chain.bump("judge/accuracy", "rubric/reviewed", dependents=True)
    assert len(done.released) == 5
    check_sound(chain)


def test_a_comment_in_a_dependent_goes_along(chain: Shop) -> None:
    change_judge(chain)
    chain.write("rubrics/reviewed.yaml", "# ours\n" + judged())
    chain.bump("judge/accuracy", dependents=True)
    assert chain.read("rubrics/reviewed.yaml").startswith(b"# ours\nid: reviewed\nversion: 2.0.0\n")


def test_a_draft_that_was_never_released_stays_a_draft(chain: Shop) -> None:
    change_judge(chain)
    chain.write("rubrics/draft.yaml", judged("draft"))
    done = chain.bump("judge/accuracy", dependents=True)
    assert done.pinned == (PinnedVersion("judge/accuracy@1.0.0", ("rubric/draft",)),)
    assert chain.read("rubrics/draft.yaml").decode() == judged("draft")
    assert chain.bump("rubric/draft", "judge/accuracy", dependents=True).released[0].ref == "rubric/draft@1.0.0"
    assert b"judge/accuracy@2.0.0" in chain.read("rubrics/draft.yaml")


@pytest.mark.parametrize("pin", ["judge/accuracy", "judge/accuracy@^1.0", "judge/accuracy@latest"])
def test_what_floats_has_no_pin_to_move(shop: Shop, pin: str) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged(pin=f'"{pin}"'))
    shop.bump()
    change_judge(shop)
    done = shop.bump("judge/accuracy", dependents=True)
    assert ([one.ref for one in done.released], done.pinned) == (["judge/accuracy@2.0.0"], ())


def test_what_a_judge_was_validated_against_is_a_record(shop: Shop) -> None:
    shop.write("datasets/gold.yaml", "id: gold\nversion: 1.0.0\nquestions: [{id: one, input: Why?}]\n")
    validation = "validation: {tpr: 0.9, tnr: 0.9, validated_against: dataset/gold@1.0.0, validated_at: '2026-09-01'}\n"
    shop.write("judges/accuracy.yaml", JUDGE + validation)
    shop.bump()
    shop.write("datasets/gold.yaml", "id: gold\nversion: 1.0.0\nquestions: [{id: two, input: Why?}]\n")
    done = shop.bump("dataset/gold", dependents=True)
    assert ([one.ref for one in done.released], done.pinned) == (["dataset/gold@2.0.0"], ())


def test_a_pin_written_ahead_is_not_moved_back(chain: Shop) -> None:
    chain.write("rubrics/ahead.yaml", judged("ahead", pin="judge/accuracy@3.0.0"))
    change_judge(chain)
    done = chain.bump("judge/accuracy", dependents=True)
    assert "rubric/ahead@1.0.0" not in {one.ref for one in done.released}
    assert b"accuracy@3.0.0" in chain.read("rubrics/ahead.yaml")


def test_a_shared_pin_moves_where_it_is_anchored(shop: Shop) -> None:
    text = (
        judged()
        .replace("judge_prompt_ref: ", "judge_prompt_ref: &j ")
        .replace("scoring", "  - {kind: llm_judge, judge_prompt_ref: *j, id: again}\nscoring")
    )
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", text)
    shop.bump()
    change_judge(shop)
    shop.bump("judge/accuracy", dependents=True)
    assert shop.read("rubrics/reviewed.yaml").decode() == text.replace("1.0.0", "2.0.0")


def test_a_broken_neighbour_is_no_reason_to_stop(chain: Shop) -> None:
    chain.write("rubrics/broken.yaml", "id: [")
    chain.write("datasets/lost.yaml", "id: lost\nversion: 1.0.0\nrows: lost.jsonl\n")
    change_judge(chain)
    assert len(chain.bump("judge/accuracy", dependents=True).released) == 5


def test_a_new_judge_is_pinned_by_nobody(chain: Shop) -> None:
    chain.write("judges/other.yaml", JUDGE.replace("accuracy", "other"))
    done = chain.bump("judge/other", dependents=True)
    assert ([one.ref for one in done.released], done.pinned) == (["judge/other@1.0.0"], ())


def test_pins_move_to_a_pre_release_only_when_it_is_asked_for(chain: Shop) -> None:
    change_judge(chain)
    chain.write("judges/accuracy.yaml", chain.read("judges/accuracy.yaml").replace(b"1.0.0", b"2.0.0-rc.1"))
    done = chain.bump("judge/accuracy", dependents=True)
    assert ([one.ref for one in done.released], done.pinned) == (["judge/accuracy@2.0.0-rc.1"], ())
    done = chain.bump("judge/accuracy", dependents=True, pre="rc")
    assert {one.ref.partition("@")[2] for one in done.released} == {"2.0.0-rc.1"}
    assert (done.unchanged, len(done.released)) == (("judge/accuracy",), 4)


def test_the_chain_as_pre_releases_and_then_for_good(chain: Shop) -> None:
    change_judge(chain)
    done = chain.bump("judge/accuracy", dependents=True, pre="rc")
    assert {one.ref.partition("@")[2] for one in done.released} == {"2.0.0-rc.1"}
    assert len(done.released) == 5
    change_judge(chain, "quite right?", "right and true?")
    done = chain.bump("judge/accuracy", dependents=True, pre="rc")
    assert {one.ref.partition("@")[2] for one in done.released} == {"2.0.0-rc.2"}
    done = chain.bump("judge/accuracy", dependents=True, level=Bump.MAJOR)
    assert {one.ref.partition("@")[2] for one in done.released} == {"2.0.0"}
    assert len(done.released) == 5
    assert {one.previous for one in done.released} == {"1.0.0"}
    check_sound(chain)


def test_rows_are_rewritten_over_many_blocks(shop: Shop) -> None:
    row = '{"id": "q%d", "input": "%s", "rubric_ref": "rubric/tone@1.0.0"}\n'
    shop.write("datasets/web.yaml", "id: web\nversion: 1.0.0\nrows: web.jsonl\n")
    text = "".join(row % (number, "x" * (number % 2_000)) for number in range(400))
    shop.write("datasets/web.jsonl", text)
    shop.bump()
    shop.write("rubrics/tone.yaml", rubric(title="Voice"))
    shop.bump("rubric/tone", dependents=True)
    assert shop.read("datasets/web.jsonl").decode() == text.replace("@1.0.0", "@1.0.1")
    check_sound(shop)


def test_what_the_command_offers_and_does(cli: Cli, chain: Shop) -> None:
    change_judge(chain)
    ran = cli("-C", chain.root, "bump", "judge/accuracy")
    assert "1 rubric pins judge/accuracy@1.0.0, the version before:" in ran.out.split("\n")
    assert f"next: evalstore -C {chain.root} bump judge/accuracy --dependents" in ran.next_steps.split("\n")
    ran = cli("-C", chain.root, "bump", "judge/accuracy", "--dependents")
    assert "    now pins judge/accuracy@2.0.0 instead of 1.0.0" in ran.out.split("\n")
    change_judge(chain, "quite right?", "so?")
    ran = cli("-C", chain.root, "bump", "judge/accuracy", "--format", "json")
    answer = json.loads(ran.out)
    assert answer["pinned"] == [{"ref": "judge/accuracy@2.0.0", "by": ["rubric/reviewed"]}]
    ran = cli("-C", chain.root, "bump", "judge/accuracy", "--dependents", "--format", "json")
    assert json.loads(ran.out)["released"][0]["moved"] == [
        {"from": "judge/accuracy@2.0.0", "to": "judge/accuracy@3.0.0"}
    ]


@pytest.mark.parametrize("pin", ["2.0.0", "^2.0"])
def test_a_pin_may_name_what_the_same_bump_makes(pin: str, shop: Shop, template: Callable[..., Any]) -> None:
    def release() -> None:
        shop.write("judges/accuracy.yaml", JUDGE)
        shop.write("rubrics/reviewed.yaml", judged())
        shop.bump()

    template("a judge and who pins it", release)
    change_judge(shop)
    shop.write("rubrics/reviewed.yaml", judged(pin=f"judge/accuracy@{pin}"))
    assert "no version" not in (said := "\n".join(shop.bump().findings))
    assert "no release" not in said
