"""The same forty edits on a check with its own values and on one that takes them from the question: one table for both."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from evalstore.diff import Diff, compare
from evalstore.documents import Document
from evalstore.model import Artifact, parse_ref
from evalstore.versions import Bump

REF = "rubric/r@1.0.0"
CONTAIN = {"kind": "must_contain_any", "values": ["cache", "tag"]}
BANS = {"kind": "must_not_contain", "values": ["TODO", "fixme"]}
REGEX = {"kind": "regex", "pattern": "cim|cex"}
TOOLS = {"kind": "tool_usage", "tools": [{"name": "search"}, {"name": "read"}]}
FORMAT = {"kind": "format", "min_chars": 10, "max_chars": 100}
FACTS = {"kind": "fact_match", "facts": ["8 MB", "9 MB"]}
SCHEMA = {"kind": "json_schema", "schema": {"type": "object", "required": ["a"]}}
MARKDOWN = {"kind": "markdown_structure", "required_sections": ["Usage", "Limits"]}


class Edit(NamedTuple):
    """An edit of one parameter, and where it moves a score; `source` is what the question gives in the second form."""

    check: dict[str, Any]
    source: str
    name: str
    old: Any
    new: Any
    direction: str = "none"


UNSET = None
TABLE = [
    # What means the same.
    Edit(CONTAIN, "values", "case_sensitive", UNSET, False),
    Edit(CONTAIN, "values", "case_sensitive", False, UNSET),
    Edit(CONTAIN, "values", "min_matches", UNSET, 1),
    Edit(CONTAIN, "values", "threshold", UNSET, 1),
    Edit(CONTAIN, "values", "negate", UNSET, False),
    Edit(CONTAIN, "values", "values", ["cache", "tag"], ["tag", "cache"]),
    Edit(CONTAIN, "values", "values", ["cache", "tag"], ["cache", "tag", "cache tag"]),
    Edit(CONTAIN, "values", "values", ["cache", "tag"], ["Cache", "tag"]),
    Edit(CONTAIN, "values", "values", ["cache", "tag"], ["cache", "tag", "tag"]),
    Edit(BANS, "values", "case_sensitive", UNSET, False),
    Edit(BANS, "values", "values", ["TODO", "fixme"], ["fixme", "TODO"]),
    Edit(BANS, "values", "values", ["TODO", "fixme"], ["TODO", "fixme", "TODO: x"]),
    Edit(REGEX, "pattern", "mode", UNSET, "search"),
    Edit(REGEX, "pattern", "flags", UNSET, ""),
    Edit(REGEX, "pattern", "flags", "im", "mi"),
    Edit(REGEX, "pattern", "pattern", "cim|cex", "c(?:im|ex)"),
    Edit(REGEX, "pattern", "pattern", "cim|cex", "cex|cim"),
    Edit(TOOLS, "tools", "mode", UNSET, "any_order"),
    Edit(TOOLS, "tools", "partial", UNSET, False),
    Edit(TOOLS, "tools", "forbidden", UNSET, []),
    Edit(TOOLS, "tools", "forbidden", ["drop", "delete"], ["delete", "drop"]),
    Edit(TOOLS, "tools", "tools", [{"name": "search"}, {"name": "read"}], [{"name": "read"}, {"name": "search"}]),
    Edit(TOOLS, "tools", "tools", [{"name": "search"}], [{"name": "search", "min": 1}]),
    Edit(FACTS, "facts", "case_sensitive", UNSET, False),
    Edit(FACTS, "facts", "facts", ["8 MB", "9 MB"], ["9 MB", "8 MB"]),
    Edit(SCHEMA, "schema", "extract", UNSET, "auto"),
    Edit(SCHEMA, "schema", "schema", {"type": "object"}, {"type": "object", "title": "An answer"}),
    Edit(MARKDOWN, "required_sections", "min_headings", UNSET, 1),
    Edit(MARKDOWN, "required_sections", "dialect", UNSET, "commonmark"),
    # What moves.
    Edit(CONTAIN, "values", "case_sensitive", True, False, "looser"),
    Edit(CONTAIN, "values", "min_matches", 1, 2, "stricter"),
    Edit(CONTAIN, "values", "values", ["cache"], ["cache", "tag"], "looser"),
    Edit(BANS, "values", "case_sensitive", False, True, "looser"),
    Edit(BANS, "values", "values", ["TODO"], ["TODO", "fixme"], "stricter"),
    Edit(REGEX, "pattern", "mode", "search", "fullmatch", "stricter"),
    Edit(REGEX, "pattern", "pattern", "cim|cex", "cim", "stricter"),
    Edit(TOOLS, "tools", "mode", "any_order", "in_order", "stricter"),
    Edit(TOOLS, "tools", "partial", False, True, "looser"),
    Edit(FORMAT, "min_chars", "max_chars", 100, 200, "looser"),
    Edit(FACTS, "facts", "case_sensitive", True, False, "looser"),
]


def rubric(check: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    edited = {key: item for key, item in {**check, name: value}.items() if item is not UNSET}
    return {"id": "r", "version": "1.0.0", "checks": [{"id": "a", **edited}], "scoring": {"combine": "weighted_avg"}}


def compare_own(edit: Edit) -> Diff:
    return compare(*(rubric(edit.check, edit.name, value) for value in (edit.old, edit.new)))


def compare_taken(edit: Edit) -> Diff:
    """Compare the rubric whose values are the question's; of an edit of these the dataset."""
    check = {**edit.check, edit.source: {"from": "wanted"}}
    if edit.name != edit.source:
        return compare(*(rubric(check, edit.name, value) for value in (edit.old, edit.new)))

    def load(ref: str) -> Artifact:
        value = rubric(check, edit.name, {"from": "wanted"})
        return Artifact(parse_ref(ref).kind, "r", "1.0.0", Document(ref, "", value, {}, {}))

    rows = ([{"id": "q", "input": "i", "wanted": value}] for value in (edit.old, edit.new))
    sides = ({"id": "d", "version": "1.0.0", "defaults": {"rubric_ref": REF}, "questions": row} for row in rows)
    return compare(*sides, load=load)


@pytest.mark.parametrize("compare_edit", [compare_own, compare_taken])
def test_an_edit_is_decided_wherever_the_values_come_from(compare_edit: Any) -> None:
    needless, without_direction = [], []
    for edit in TABLE:
        diff = compare_edit(edit)
        if edit.direction == "none":
            needless += [edit] if diff.required_bump is Bump.MAJOR else []
            continue
        assert diff.required_bump is Bump.MAJOR, edit
        assert {str(one.direction) for one in diff.findings} == {str(diff.total.direction)}
        without_direction += [edit] if str(diff.total.direction) != edit.direction else []
        assert all(one.is_certain and one.witness for one in diff.findings), edit
    assert (len(TABLE), needless, without_direction) == (40, [], [])


def compare_rows(old: list[dict[str, Any]], new: list[dict[str, Any]], *rubrics: dict[str, Any]) -> Diff:
    """Compare two datasets whose default rubric is the first of some on the old side, and the last on the new one."""
    held = {f"rubric/r@{number}.0.0": value for number, value in enumerate(rubrics, 1)}

    def load(ref: str) -> Artifact:
        return Artifact(parse_ref(ref).kind, "r", ref[-5:], Document(ref, "", held[ref], {}, {}))

    refs = next(iter(held)), f"rubric/r@{len(held)}.0.0"
    sides = (
        {"id": "d", "version": "1.0.0", "defaults": {"rubric_ref": ref}, "questions": rows}
        for ref, rows in zip(refs, (old, new), strict=True)
    )
    return compare(*sides, load=load)


def list_rows(**values: Any) -> list[dict[str, Any]]:
    return [{"id": f"q{number}", "input": "i", **values} for number in range(5)]


def take_names(key: str = "names", **more: Any) -> dict[str, Any]:
    return rubric({**CONTAIN, **more}, "values", {"from": key})


def test_what_is_found_alike_of_many_questions_is_one_finding() -> None:
    rows = list_rows(names=["a"])
    edited = [*list_rows(names=["a", "b"])[:4], {**rows[4], "names": ["a", "c"]}]
    diff = compare_rows(rows, edited, take_names())
    assert [(one.message, one.questions) for one in diff.findings] == [
        ("q0, q1, q2 and 1 more: a also accepts 'b'", 4),
        ("q4: a also accepts 'c'", 1),
    ]
    assert len({one.fingerprint for one in diff.findings}) == len(diff.findings) == diff.certain
    assert (str(diff.total.direction), diff.total.max_shift) == ("looser", 1)


def test_a_key_that_is_renamed_in_rubric_and_rows_moves_nothing() -> None:
    old = list_rows(names=["a"])
    old[1].pop("names")  # and nothing where there was none
    new = [{"wanted" if key == "names" else key: value for key, value in row.items()} for row in old]
    assert compare_rows(old, new, take_names(), take_names("wanted")).required_bump is Bump.MINOR
    new[0]["wanted"] = ["b"]
    assert compare_rows(old, new, take_names(), take_names("wanted")).required_bump is Bump.MAJOR


def test_a_pin_moves_what_its_rubric_moves_with_the_values_of_the_questions() -> None:
    sides = take_names(), take_names(case_sensitive=True)
    assert compare_rows(list_rows(names=["#"]), list_rows(names=["#"]), *sides).required_bump is Bump.PATCH
    (finding,) = compare_rows(list_rows(names=["a"]), list_rows(names=["a"]), *sides).findings
    assert (finding.rule, str(finding.direction)) == ("question-rubric-ref-changed", "stricter")


def test_the_bound_of_a_value_is_the_share_of_its_check() -> None:
    check = {"kind": "must_contain_any", "values": {"from": "names"}}
    others = [{"id": f"c{number}", "kind": "must_not_contain", "values": {"from": "bans"}} for number in range(3)]
    four = {**take_names(), "checks": [{"id": "a", **check}, *others]}
    (finding,) = compare_rows(list_rows(names=["a"], bans=["x"]), list_rows(names=["b"], bans=["x"]), four).findings
    assert (finding.rule, finding.max_shift) == ("phrase-reworded", Fraction(1, 4))


def test_a_value_that_comes_or_goes_is_shown_by_an_output_that_wins_or_loses_its_score() -> None:
    lacking = [{key: value for key, value in row.items() if key != "names"} for row in list_rows(names=["a"])]
    other = {"id": "b", "kind": "must_contain_any", "values": ["y"]}
    two = {**take_names(), "checks": [*take_names()["checks"], other]}
    for rubric_, shown in ((take_names(), (None, 1)), (two, (1, Fraction(1, 2)))):
        for sides in ((lacking, list_rows(names=["a"])), (list_rows(names=["a"]), lacking)):
            (finding,) = compare_rows(*sides, rubric_).findings
            assert (finding.rule, finding.questions, finding.is_certain) == ("check-applicability-changed", 5, True)
            moved = finding.witness.old_score, finding.witness.new_score
            assert moved == (shown if sides[0] is lacking else shown[::-1])


def test_a_value_that_only_one_of_two_rubrics_reads_is_part_of_that_change() -> None:
    new = [{"id": row["id"], "input": "i", "bans": ["x"]} for row in list_rows()]
    bans = rubric(BANS, "values", {"from": "bans"})
    diff = compare_rows(list_rows(names=["a"]), new, take_names(), bans)
    assert {one.rule for one in diff.findings if one.level is Bump.MAJOR} == {"question-rubric-ref-changed"}
    assert all(one.witness for one in diff.findings if one.level is Bump.MAJOR)


def test_a_long_phrase_that_holds_a_shorter_one_is_removed_without_effect() -> None:
    # Each of them alone takes all the steps of a search.
    long = [
        f"{word} framework: Add SQL injection endpoints to {word}Controller.scala, or a new one" * 2 for word in "xyz"
    ]
    checks = [{**CONTAIN, "values": values} for values in ([*long, "z9"], [*(one[:11] for one in long), "z9"])]
    diff = compare(*(rubric(check, "threshold", UNSET) for check in checks))
    assert [one.rule for one in diff.findings] == [*["contain-phrase-added"] * 3, *["phrase-redundant"] * 3]
