"""Old and new of a change: on one line, under each other, or the lines of a text that differ, safe and short."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from evalstore.diff import compare
from evalstore.diff.findings import DiffFinding
from evalstore.errors import Place
from evalstore.report.diff import text
from evalstore.report.diff_words import describe_places, format_exchange
from evalstore.report.text_layout import COLOURS, Screen
from evalstore.report.value_diff import Mark, compare_values, format_one_line


def shown(old: object, new: object, width: int = 80) -> list[str]:
    return [f"{line.mark} {line.text}".rstrip() for line in compare_values(old, new, width)]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (1, 2, "1 → 2"),
        ("a", "b", '"a" → "b"'),
        ("1", 1, '"1" → 1'),
        ([], ["a"], "[] → [a]"),
        ({"a": 1}, {"a": "true"}, '{a: 1} → {a: "true"}'),
        (None, "b", None),
        ("a\nb", "a", None),
        ("a" * 50, "b" * 50, None),
    ],
)
def test_short_values_stand_side_by_side(old: object, new: object, told: str | None) -> None:
    assert format_one_line(old, new, 80) == told


def test_a_text_of_many_lines_shows_what_differs_with_a_line_around_it() -> None:
    old = "".join(f"line {number}\n" for number in range(40))
    assert shown(old, old.replace("line 9\n", "line nine\n")) == [
        "  line 8",
        "- line 9",
        "+ line nine",
        "  line 10",
    ]
    assert "…" in shown(old, old.replace("line 9\n", "").replace("line 30\n", ""))


def test_what_came_and_what_went_stands_on_its_side() -> None:
    assert shown(None, {"id": "a", "kind": "regex", "pattern": "x" * 30}) == [
        "+ id: a",
        "+ kind: regex",
        "+ pattern: " + "x" * 30,
    ]
    assert shown(["x"], None) == ["- [x]"]
    assert shown("same", "same") == []


def test_two_long_lines_are_cut_to_where_they_part() -> None:
    old, new = (f"{'word ' * 40}{end} {'more ' * 40}" for end in ("here", "there"))
    before, after = shown(old, new)
    assert before.startswith("- …")
    assert "here more" in before
    assert "there more" in after
    assert max(map(len, (before, after))) <= 82


def test_long_lines_within_a_text_are_cut_as_well() -> None:
    same = "word " * 40
    told = shown(f"a\n{same}here\n{same}one\nb\n", f"a\n{same}there\n{same}two\nb\n")
    assert [line[:3] for line in told] == ["  a", "- …", "- …", "+ …", "+ …", "  b"]
    assert [line.rpartition(" ")[2] for line in told[1:5]] == ["here", "one", "there", "two"]
    uneven = shown(f"{same}\n{same}here\n", f"{same}there\n")
    assert all(line.startswith(("- word", "+ word")) for line in uneven)


def test_much_is_told_in_few_lines_and_at_once() -> None:
    start = time.process_time()
    lines = compare_values("a\nb\n" * 200_000, "b\na\n" * 150_000, 80)
    assert time.process_time() - start < 5
    assert len(lines) == 13
    assert lines[-1].mark is Mark.MORE


def test_no_line_acts_on_a_terminal() -> None:
    lines = shown("a\n\x1b[2J\r\u202e\x9b1m\n", {"\x1b]0;x\x07": ["\x1b[1m" * 30]})
    assert all(line.isprintable() for line in lines)


RUBRIC = {
    "id": "r",
    "version": "1.0.0",
    "checks": [{"kind": "must_contain_any", "values": ["a"]}],
    "scoring": {"combine": "all_pass"},
}


def judge(template: str) -> dict[str, object]:
    return {"id": "j", "version": "1.0.0", "template": template, "score_type": "binary"}


def test_what_the_sentence_says_is_not_said_again() -> None:
    more = {**RUBRIC, "checks": [{"kind": "must_contain_any", "values": ["a", "b"]}]}
    (finding,) = compare(RUBRIC, more).findings
    assert (finding.before, finding.after) == (None, "b")
    assert format_exchange(finding, 80) == ""


def test_a_template_is_compared_word_by_word_old_before_new() -> None:
    told = text(compare(judge("Right? {{ output }}"), judge("Wrong? {{ output }}")))
    assert 'MAJOR  the template: "[-Right?-] {+Wrong?+} {{ output }}"\n' in told
    assert "changed  " not in told


def test_what_differs_far_behind_a_common_beginning_is_shown() -> None:
    start = "word " * 3_000
    for old, new in ((f"{start}old end", f"{start}new end"), (f"old {start}", f"new {start}")):
        assert "[-old-] {+new+}" in compare(judge(old), judge(new)).findings[0].message


def test_no_line_says_that_a_value_changes_to_itself() -> None:
    long = "a" * 90
    sides = [{**RUBRIC, "x_note": f"{long}{end}"} for end in ("b", "c")]
    (finding,) = compare(*sides).findings
    old, new = finding.message.removeprefix("x_note: ").split(" → ")
    assert (old[-1], new[-1]) == ("b", "c")


def test_of_other_white_space_it_is_said_that_it_is_all() -> None:
    told = text(compare(judge("Is it right? {{ output }}"), judge("Is it right?\n{{ output }}")))
    assert "(other white space)" in told


def test_many_notes_are_one_line_until_somebody_asks() -> None:
    sides = [{**RUBRIC, "title": word, "tags": [word], "x_source": {"sha256": word}} for word in "ab"]
    diff = compare(*sides)
    assert "patch  3 notes for people: title, tags and x_source\n" in text(diff)
    assert text(diff, Screen(80, whole=True)).count("metadata-changed") == 3


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    old, new = (
        judge(f"{'word ' * 60}\n{end}\n{'more ' * 3}\n") for end in ("one {{ output }}", "two {{ output }}" * 9)
    )
    told = text(compare(old, new), Screen(width))
    assert max(map(len, told.splitlines())) <= width


def test_colours_change_no_word() -> None:
    diff = compare(judge("a\nb {{ output }}\n"), judge("a\nc {{ output }}\n"))
    coloured = text(diff, Screen(100, COLOURS))
    assert "\x1b[1;31mMAJOR\x1b[0m" in coloured
    for code in COLOURS.values():
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured.replace("\x1b[0m", "") == text(diff)


def test_one_weight_is_compared_by_itself_whether_it_was_written_or_not() -> None:
    checks = [{"id": "a", "kind": "format", "format": "text"}, {"id": "b", "kind": "format", "format": "json"}]
    unwritten = {"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": "weighted_avg"}}
    written = {**unwritten, "scoring": {"combine": "weighted_avg", "weights": {"a": 3}}}
    for old, new, ends in ((unwritten, written, (1, 3)), (written, unwritten, (3, 1))):
        (finding,) = compare(old, new).findings
        assert (finding.before, finding.after) == ends


def test_edits_of_a_validation_are_whole_and_the_others_counted() -> None:
    judge = {"id": "j", "version": "1.0.0", "template": "{{ output }}"}
    old = {"tpr": 0.9, "tnr": 0.8, "validated_at": "2026-08-28", "sample_size": 60}
    for more, told in (
        ({"tpr": 0.95}, "tpr 0.9 to 0.95"),
        ({"tpr": 0.95, "validated_at": "2026-10-13", "sample_size": 200, "digest": "0" * 64},
         "tpr 0.9 to 0.95 and 3 more"),
    ):  # fmt: skip
        (finding,) = compare({**judge, "validation": old}, {**judge, "validation": {**old, **more}}).findings
        assert finding.message == f"the validation changes: {told}"


def test_one_file_has_one_name_wherever_its_store_is() -> None:
    old, new = Place("rubric/r@1.0.0:evals/rubrics/r.yaml", 7), Place("rubrics/r.yaml", 7)
    for line, told in ((7, "rubrics/r.yaml:7"), (9, "rubrics/r.yaml:9 → 7")):
        assert describe_places(build_finding(old._replace(line=line), new)) == told
    moved = Place("rubric/r@2.0.0:rubrics/r.yaml", 7)
    assert describe_places(build_finding(old, moved)) == "evals/rubrics/r.yaml:7 → rubrics/r.yaml:7"


def build_finding(old: Place, new: Place) -> DiffFinding:
    (finding,) = compare(dict(RUBRIC, title="a"), dict(RUBRIC, title="b")).findings
    return replace(finding, old=old, new=new)
