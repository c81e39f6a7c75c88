"""The function `compare`: sides, places, fingerprints, the next version, refusals, limits, and what a reference imports."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from evalstore.diff import Certainty, Direction, Witness, compare
from evalstore.documents import read_yaml
from evalstore.errors import LoadError, RefError
from evalstore.model import Artifact, Kind
from evalstore.store.rows import RowBlock, pair_row_lines, parse_row
from evalstore.versions import Bump

RUBRIC = """\
id: tone
version: "1.2.0"
checks:
  - id: kind
    kind: must_contain_any
    values:
      - please
scoring:
  combine: all_pass
"""


def artifact(text: str, file: str = "rubrics/tone.yaml", kind: Kind = Kind.RUBRIC) -> Artifact:
    document = read_yaml(text, file)
    return Artifact(kind, document.value["id"], document.value["version"], document)


def rubric(**scoring: Any) -> dict[str, Any]:
    check = {"id": "a", "kind": "must_contain_any", "values": ["foo"]}
    return {"id": "r", "version": "1.2.3", "checks": [check], "scoring": {"combine": "all_pass", **scoring}}


def test_artifacts_have_refs_digests_and_both_places() -> None:
    old = artifact(RUBRIC, "old.yaml")
    new = artifact("# a line more\n" + RUBRIC.replace("      - please\n", "      - please\n      - thanks\n"))
    diff = compare(old, new)
    (finding,) = diff.findings
    assert (diff.old.ref, diff.old.digest) == ("rubric/tone@1.2.0", old.digest)
    assert (diff.new.ref, diff.new.digest) == ("rubric/tone@1.2.0", new.digest)
    assert (str(diff.required_bump), diff.next_version) == ("major", "2.0.0")
    assert (finding.pointer, finding.old, str(finding.new)) == ("/checks/0/values/1", None, "rubrics/tone.yaml:9:9")
    assert finding.message == "kind also accepts 'thanks'"
    assert finding.witness is not None
    assert (finding.witness.output, finding.witness.old_score, finding.witness.new_score) == ("thanks", 0, 1)


def test_messages_say_weights_by_number_and_which_new_check_is_required() -> None:
    first = {"id": "b", "kind": "must_not_contain", "values": ["bar"]}
    old = rubric(combine="weighted_avg")
    both = {**rubric(combine="weighted_avg", required=["b"]), "checks": [*old["checks"], first]}
    heavy = {**both, "scoring": {**both["scoring"], "weights": {"a": 0.5, "b": 3}}}
    added, weighed = (
        compare(artifact(json.dumps(before)), artifact(json.dumps(after))).findings[0].message
        for before, after in ((old, both), (both, heavy))
    )
    assert added == "b is a new required must_not_contain check"
    assert weighed == "weight of a, b: 1, 1 → 0.5, 3"


def test_a_default_that_is_written_nowhere_is_placed_at_what_holds_it() -> None:
    (finding,) = compare(artifact(RUBRIC), artifact(RUBRIC + "  threshold: 0\n")).findings
    assert (finding.pointer, str(finding.old), str(finding.new)) == (
        "/scoring/threshold",
        "rubrics/tone.yaml:9:3",
        "rubrics/tone.yaml:10:14",
    )


def test_a_gate_is_placed_at_its_name() -> None:
    (finding,) = compare(artifact(RUBRIC), artifact(RUBRIC + "  required:\n    - kind\n")).findings
    assert (finding.rule, finding.pointer) == ("scoring-required-changed", "/scoring/required/0")
    assert str(finding.new) == "rubrics/tone.yaml:11:7"


def test_mappings_may_be_any_plain_python() -> None:
    assert compare(rubric(threshold=0.70), rubric(threshold=Decimal("0.7"))).findings == ()
    assert compare(rubric(required=("a",)), rubric(required=["a"])).findings == ()
    assert compare({"a": 1}, {"a": True}).required_bump is Bump.MAJOR
    assert compare({"a": 1}, {"a": 1.0}).required_bump is Bump.NONE


def test_the_inputs_stay_as_they_are() -> None:
    old, new = rubric(), rubric(threshold=0)
    kept = copy.deepcopy((old, new))
    compare(old, new)
    assert (old, new) == kept


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("1e401"), 10**401, {1: 2}, {2, 3}, "\ud800"])
def test_what_no_file_can_hold_is_refused(value: Any) -> None:
    with pytest.raises(LoadError):
        compare({"a": value}, {"a": value})


@pytest.mark.parametrize("side", [5, None, "id: x", [{}]])
def test_what_is_neither_artifact_nor_mapping_is_refused(side: Any) -> None:
    with pytest.raises(LoadError, match="compare takes an artifact or a mapping"):
        compare(rubric(), side)


def test_a_mapping_that_holds_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["a"] = [endless]
    with pytest.raises(LoadError, match="64 levels"):
        compare(endless, endless)


@pytest.mark.parametrize(
    ("version", "wanted"), [("1.2.3", "2.0.0"), ("0.3.1", "0.4.0"), ("1.4", "2.0.0"), ("soon", None), (None, None)]
)
def test_the_next_version_is_one_bump_above_the_old(version: str | None, wanted: str | None) -> None:
    old = {**rubric(), "version": version}
    new = {**rubric(), "version": "9.9.9", "scoring": {"combine": "all_pass", "threshold": 0}}
    assert compare(old, new).next_version == wanted
    assert compare(old, old).next_version is None


def test_the_fingerprint_names_the_edit_not_the_version() -> None:
    one, other = rubric(threshold=0), {**rubric(threshold=0), "version": "2.0.0", "title": "t"}
    first = {finding.rule: finding.fingerprint for finding in compare(rubric(), one).findings}
    second = {finding.rule: finding.fingerprint for finding in compare(rubric(), other).findings}
    assert first["scoring-threshold-changed"] == second["scoring-threshold-changed"]
    assert len(set(second.values())) == 2
    third = compare(rubric(), rubric(threshold=0.1)).findings
    assert all(finding.fingerprint not in first.values() for finding in third)


@pytest.mark.parametrize(
    "broken",
    [
        {"checks": "none"},
        {"checks": [{"kind": "unheard_of"}]},
        {"checks": [{"kind": "must_contain_any"}]},
        {"checks": [{"kind": "must_contain_any", "values": "abc"}]},
        {"checks": [{"kind": "must_contain_any", "values": ["a"], "min_matches": "2"}]},
        {"checks": [{"kind": "must_contain_any", "values": ["a"], "case_sensitive": 1}]},
        {"checks": [{"kind": "format", "min_chars": -1}]},
        {"checks": [{"kind": "php_lint", "id": "a"}, {"kind": "php_lint", "id": "a"}]},
        {"checks": [{"kind": "php_lint", "threshold": "1"}]},
        {"checks": [{"kind": "php_lint", "negate": None}]},
        {"scoring": {}},
        {"scoring": {"combine": "best"}},
        {"scoring": {"combine": "min", "missing": None}},
        {"scoring": {"combine": "min", "weights": {"a": -1}}},
        {"scoring": {"combine": "min", "weights": ["a"]}},
        {"scoring": {"combine": "min", "required": [1]}},
        {"scoring": {"combine": "min", "required": "kind"}},
        {"scoring": None},
    ],
)
def test_a_rubric_that_its_schema_refuses_fails_closed(broken: dict[str, Any]) -> None:
    bad = {**rubric(), **broken}
    for old, new in ((rubric(), bad), (bad, rubric())):
        diff = compare(old, new)
        assert {finding.rule for finding in diff.findings} == {"unclassified-change"}
        assert diff.required_bump is Bump.MAJOR
    assert compare(bad, bad).findings == ()


def test_too_many_checks_or_phrases_fail_closed() -> None:
    many = {**rubric(), "checks": [{"kind": "php_lint", "id": f"a{n}"} for n in range(401)]}
    assert [finding.rule for finding in compare(rubric(), many).findings] == ["unclassified-change"]
    wordy = rubric()
    wordy["checks"] = [{**wordy["checks"][0], "values": [f"foo{n}" for n in range(200)]}]
    (finding,) = compare(rubric(), wordy).findings
    # Each of them holds the old one, so an output that has one had it, too.
    assert (finding.rule, finding.direction) == ("unclassified-change", Direction.STRICTER)


# datasets


def dataset(*rows: dict[str, Any], **root: Any) -> dict[str, Any]:
    return {"id": "d", "version": "1.0.0", "questions": list(rows), **root}


def test_rows_beside_a_dataset_are_compared_when_they_are_handed_over() -> None:
    root = {"id": "d", "version": "1.0.0", "rows": "d.jsonl"}
    old, new = [{"id": "a", "input": "x"}, {"id": "b", "input": "y"}], [{"id": "a", "input": "z"}]
    diff = compare(root, root, rows=(iter(old), iter(new)))
    assert [(finding.rule, finding.pointer) for finding in diff.findings] == [
        ("question-removed", "/rows"),
        ("question-input-changed", "/rows"),
    ]
    assert compare(root, root, rows=(old, old)).findings == ()


@pytest.mark.parametrize("root", [{"id": "d", "rows": "d.jsonl"}, {"id": "d", "rows": "d.jsonl", "questions": []}])
def test_rows_that_nobody_can_tell_apart_are_compared_as_they_stand(root: dict[str, Any]) -> None:
    twins = [{"id": "q", "input": "a"}, {"id": "q", "input": "b"}]
    (finding,) = compare(root, root, rows=([], twins)).findings
    assert (finding.rule, finding.level, finding.pointer) == ("unclassified-change", Bump.MAJOR, "/rows")
    assert compare(root, root, rows=(twins, twins)).findings == ()


def test_questions_that_cannot_be_told_apart_fail_closed() -> None:
    twice = dataset({"id": "a", "input": "x"}, {"id": "a", "input": "y"})
    (finding,) = compare(dataset({"id": "a", "input": "x"}), twice).findings
    assert finding.rule == "unclassified-change"


# references


def judged(ref: str) -> dict[str, Any]:
    value = rubric(combine="weighted_avg")
    return {**value, "checks": [*value["checks"], {"id": "j", "kind": "llm_judge", "judge_prompt_ref": ref}]}


def test_a_reference_is_loaded_once_a_side_and_told_in_the_message_when_it_cannot_be() -> None:
    asked: list[str] = []

    def load(ref: str) -> Artifact:
        asked.append(ref)
        raise RefError("the archive burnt down")

    (finding,) = compare(judged("judge/a@1.0.0"), judged("judge/a@2.0.0"), load=load).findings
    assert asked == ["judge/a@1.0.0"]
    assert finding.message == "j is judged by judge/a@2.0.0 (was judge/a@1.0.0); the archive burnt down"
    assert (finding.certainty, finding.max_shift) == (Certainty.ASSUMED, Fraction(1, 2))


def test_composites_that_refer_in_a_circle_end() -> None:
    def load(ref: str) -> Artifact:
        version = ref.partition("@")[2]
        text = (
            f'id: loop\nversion: "{version}"\nchecks:\n  - kind: composite\n'
            f"    rubric_ref: rubric/loop@{int(version[0]) + 1}.0.0\nscoring:\n  combine: min\n"
        )
        return artifact(text)

    diff = compare(load("rubric/loop@1.0.0"), load("rubric/loop@2.0.0"), load=load)
    assert diff.required_bump is Bump.MAJOR


def test_a_bug_in_a_loader_is_not_hidden() -> None:
    def load(ref: str) -> Artifact:
        raise ZeroDivisionError(ref)

    with pytest.raises(ZeroDivisionError):
        compare(judged("judge/a@1.0.0"), judged("judge/a@2.0.0"), load=load)


# witnesses


def test_beside_a_judge_a_witness_says_what_it_scores_and_what_holds_whatever_it_scores() -> None:
    old, new = judged("judge/a@1.0.0"), judged("judge/a@1.0.0")
    new["checks"][0]["values"] = ["foo", "bar"]
    (finding,) = compare(old, new).findings
    witness = finding.witness
    assert isinstance(witness, Witness)
    assert (witness.output, witness.judged, witness.least_shift) == ("bar", (("j", 1, ""),), Fraction(1, 2))
    assert (witness.old_score, witness.new_score) == (Fraction(1, 2), 1)
    assert (finding.max_shift, finding.max_shift_scored) == (1, Fraction(1, 2))


def test_no_witness_is_sought_where_a_judge_is_asked_otherwise() -> None:
    (finding,) = compare(judged("judge/a@1.0.0"), judged("judge/b@1.0.0")).findings
    assert finding.witness is None


def test_each_witness_is_of_its_edit_alone_and_one_line_is_of_all() -> None:
    old, new = rubric(), rubric(combine="any_pass")
    old["checks"].append({"id": "b", "kind": "must_contain_any", "values": ["bar"]})
    new["checks"][0]["values"] = ["foo", "zip"]
    diff = compare(old, new)
    assert [finding.rule for finding in diff.findings] == [
        "check-removed",
        "contain-phrase-added",
        "scoring-combine-changed",
    ]
    first, second, third = (finding.witness for finding in diff.findings)
    assert isinstance(first, Witness)
    assert isinstance(second, Witness)
    assert isinstance(third, Witness)
    assert (first.output, second.output, third.output) == ("foo", "barzip", "foo")
    assert diff.total.direction is Direction.LOOSER
    assert diff.total.witness in {first, second}


def test_an_error_counts_in_a_bound() -> None:
    old, new = judged("judge/a@1.0.0"), judged("judge/a@1.0.0")
    new["checks"][0]["values"] = ["bar"]
    for policy, bound in (("skip", 1), ("zero", Fraction(1, 2)), ("fail", Fraction(1, 2))):
        for side in (old, new):
            side["scoring"] |= {"errors": policy, "missing": "zero"}
        assert compare(old, new).findings[0].max_shift == bound


@pytest.mark.heavy
def test_the_witness_passes_the_other_checks_where_that_is_needed_to_move() -> None:
    others = [
        {"id": "b", "kind": "must_contain_any", "values": ["one", "two"], "min_matches": 2},
        {"id": "c", "kind": "markdown_structure", "min_code_blocks": 1, "min_paragraphs": 2},
        {"id": "d", "kind": "format", "min_chars": 30},
    ]
    old, new = rubric(), rubric()
    old["checks"] = [*old["checks"], *others]
    new["checks"] = [{**new["checks"][0], "values": ["foo", "bar"]}, *others]
    (finding,) = compare(old, new).findings
    assert finding.witness is not None
    assert (finding.witness.old_verdict, finding.witness.new_verdict) == ("fail", "pass")


@pytest.mark.heavy
def test_a_pattern_that_an_engine_tries_in_many_ways_is_major_without_proof() -> None:
    def bomb(tail: str) -> dict[str, Any]:
        return {**rubric(), "checks": [{"id": "a", "kind": "regex", "pattern": f"(a+)+$|{'a' * 60}{tail}"}]}

    (finding,) = compare(bomb("b"), bomb("c")).findings
    assert (finding.rule, finding.level, finding.certainty) == ("regex-pattern-changed", Bump.MAJOR, Certainty.ASSUMED)


def test_the_worked_example_at_the_top_of_the_changes_of_a_rubric() -> None:
    asks, bans = (
        {"id": "a", "kind": "must_contain_any", "values": ["yes"]},
        {"id": "b", "kind": "regex", "pattern": "x"},
    )
    old = {"id": "r", "version": "1.0.0", "checks": [asks, bans], "scoring": {"combine": "all_pass"}}
    new = {**old, "checks": [{**asks, "values": ["yes", "ok"]}], "scoring": {"combine": "min"}}
    diff = compare(old, new)
    found = [
        (finding.rule, finding.level, finding.direction, finding.witness and finding.witness.output)
        for finding in diff.findings
    ]
    assert found == [
        ("check-removed", Bump.MAJOR, Direction.LOOSER, "yes"),
        ("contain-phrase-added", Bump.MAJOR, Direction.LOOSER, "okx"),
        ("scoring-combine-equivalent", Bump.PATCH, Direction.NONE, None),
    ]
    assert (diff.findings[-1].certainty, diff.required_bump) == (Certainty.PROVED, Bump.MAJOR)


EDITS = range(9)


def edit_rows(old: list[bytes], edits: list[int], drawn: random.Random) -> list[bytes]:
    """Return the lines of some rows after edits that a text editor or a generator makes."""
    new = [*old]
    for edit in edits:
        at = drawn.randrange(len(new))
        row = json.loads(new[at])
        match edit:
            case 0:
                new.insert((at + 2) % len(new), new.pop(at))  # the same bytes elsewhere
            case 1:
                new.append(new[at])  # an id twice, in equal lines
            case 2:
                new.append(json.dumps({**row, "input": "other"}).encode())  # an id twice, in different ones
            case 3:
                new[at] = json.dumps(dict(reversed(row.items()))).encode()
            case 4:
                new[at] += b"\r"
            case 5:
                new[at] = json.dumps({**row, "expected": drawn.choice(["x", 1.0, 1, True])}).encode()
            case 6:
                new[at] = json.dumps({**row, "id": "new"}).encode()
            case 7 if len(new) > 1:
                new.pop(at)
            case _:
                new[at] = b" " + new[at].replace(b'": ', b'":')
    return new


def test_lines_that_both_sides_have_are_parsed_once_and_the_findings_are_the_same(
    samples: Callable[[int], int],
) -> None:
    drawn = random.Random(5)  # noqa: S311  # edits for a test
    root = {"id": "d", "version": "1.0.0", "rows": "d.jsonl"}
    rules, cut = set(), 0
    several = [drawn.choices(EDITS, k=drawn.randrange(7)) for _ in range(samples(200))]
    for edits in [*([edit] for edit in EDITS), *several]:
        old = [json.dumps({"id": f"a{n}", "input": f"ask {n}", "expected": n, "x": [n]}).encode() for n in range(5)]
        new = edit_rows(old, edits, drawn)
        whole = [RowBlock(side, "d.jsonl", range(1, len(side) + 1)) for side in (old, new)]
        apart = compare(root, root, rows=tuple(map(parse_row, side.list_lines()) for side in whole))
        # The blocks of two files do not begin and end at the same lines.
        lines = [side.split(drawn.randrange(1, 5)) for side in whole]
        for keeps_whole in (True, False):
            rows = pair_row_lines(partial(iter, lines[0]), partial(iter, lines[1]), keeps_whole=keeps_whole)
            once = compare(root, root, rows=rows)
            # Rows that cannot be told apart are compared as data, of which only the ids are there.
            is_told = keeps_whole or "unclassified-change" not in {one.rule for one in apart.findings}
            assert once == apart if is_told else len(once.findings) == len(apart.findings)
            rows = pair_row_lines(partial(iter, lines[0]), partial(iter, lines[1]), keeps_whole=keeps_whole)
            if len(rows[0]) < len(old):
                cut += 1
                assert not keeps_whole
                assert [len(side) for side in rows] == [len({*old} - {*new}), len({*new} - {*old})]
            else:
                assert len({*map(id, rows[0])} & {*map(id, rows[1])}) == len({*old} & {*new})
        rules |= {finding.rule for finding in once.findings}
    assert rules >= {"list-reordered", "question-removed", "question-id-renamed", "question-reference-changed"}
    assert cut >= len(EDITS)


def test_in_json_a_message_has_lists_and_mappings_in_full() -> None:
    long = [f"{word} long tag of a list" for word in ("one", "another", "a third", "a fourth")]
    owner = {"name": "the team that answers for it", "where": "in a room at the end of the corridor"}
    old, new = rubric(), {**rubric(), "tags": long, "owner": owner}
    messages = " ".join(one["message"] for one in compare(old, new).to_dict()["findings"])
    assert all(text in messages for text in (*long, *owner.values()))
    shown = " ".join(one.message for one in compare(old, new).findings)
    assert long[-1] not in shown


def test_an_edit_says_what_its_kind_does() -> None:
    limits = [{"kind": "limits", "latency_ms": limit} for limit in ({"min": 0}, {"max": 5})]
    bans = [{"kind": "must_not_contain", "values": [word]} for word in ("x", "y")]
    for sides, said in (
        (limits, "latency_ms of a: any that is recorded → at most 5"),
        (bans, "a bans 'y' instead of 'x'"),
    ):
        old, new = ({**rubric(), "checks": [{"id": "a", **side}]} for side in sides)
        assert [finding.message for finding in compare(old, new).findings] == [said]
