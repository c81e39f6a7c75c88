"""A fingerprint names one edit: it stays while the file around the edit changes, and another edit has another one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import pytest

from evalstore.diff import compare
from evalstore.documents import read_yaml
from evalstore.model import Artifact, parse_ref
from evalstore.versions import Bump
from tests.diff.fuzz.draw import another, draw, randomness
from tests.rows import each, thin

OLD = """\
id: tone
version: 1.0.0
title: Tone
checks:
  - {id: polite, kind: must_contain_any, values: [please, thank you]}
  - {id: calm, kind: must_not_contain, values: ["!!"]}
  - {kind: regex, pattern: a}
scoring: {combine: weighted_avg, weights: {polite: 2}}
"""
EDITS = {
    "a phrase more": ("[please, thank you]", "[please, thank you, kindly]"),
    "a phrase less": ("[please, thank you]", "[please]"),
    "a weight": ("polite: 2", "polite: 3"),
    "a gate": ("polite: 2}", "polite: 2}, required: [calm]"),
    "a mode": ("weighted_avg", "min"),
    "a title": ("title: Tone", "title: The tone"),
    "a pattern": ("pattern: a", "pattern: ab"),
    "a check": ("  - {kind: regex", "  - {id: long, kind: format, min_chars: 9}\n  - {kind: regex"),
}
AROUND = {
    "a comment": ("title: Tone", "# spoken\ntitle: Tone"),
    "the order of keys": ("id: tone\nversion: 1.0.0\n", "version: 1.0.0\nid: tone\n"),
    "the version": ("1.0.0", "2.0.0"),
    "a check before it": ("checks:\n", "checks:\n  - {id: first, kind: format}\n"),
    "the order of checks": (
        '  - {id: calm, kind: must_not_contain, values: ["!!"]}\n  - {kind: regex, pattern: a}\n',
        '  - {kind: regex, pattern: a}\n  - {id: calm, kind: must_not_contain, values: ["!!"]}\n',
    ),
    "another ban": ('["!!"]', '["!", "!!"]'),
}


def edited(*edits: tuple[str, str]) -> dict[str, Any]:
    text = OLD
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    value: dict[str, Any] = read_yaml(text, "tone.yaml").value
    return value


def prints(new: Any, old: Any = None, **options: Any) -> list[str]:
    old = edited() if old is None else old
    return [finding.fingerprint for finding in compare(old, new, **options).findings]


@cache
def print_alone(edit: str) -> str:
    (alone,) = prints(edited(EDITS[edit]))
    return alone


def hold_beside(row: tuple[str, str]) -> None:
    edit, around = row
    assert print_alone(edit) in prints(edited(AROUND[around], EDITS[edit]))


BESIDE = list(product(EDITS, AROUND))
# Five steps meet every edit, and everything around them.
test_it_stays_while_the_file_around_it_changes = each(BESIDE[::5])(hold_beside)
test_it_stays_whatever_changes_around_it = pytest.mark.slow(each(BESIDE)(hold_beside))


def test_each_edit_has_its_own() -> None:
    found = [fingerprint for edit in EDITS.values() for fingerprint in prints(edited(edit))]
    assert len(set(found)) == len(EDITS)


ANOTHER = {
    "another phrase": (EDITS["a phrase more"], ("[please, thank you]", "[please, thank you, gladly]")),
    "another check": (("[please, thank you]", '[please, thank you, "x"]'), ('["!!"]', '["!!", "x"]')),
    "another gate": (EDITS["a gate"], ("polite: 2}", "polite: 2}, required: [polite]")),
    "the weight of a new check": (
        (("  - {kind: regex", "  - {id: long, kind: format}\n  - {kind: regex")),
        (
            "  - {kind: regex, pattern: a}\nscoring: {combine: weighted_avg, weights: {",
            "  - {id: long, kind: format}\n  - {kind: regex, pattern: a}\nscoring: {combine: weighted_avg, weights: {long: 9, ",
        ),
    ),
    "what a check of another kind demands": (
        ('kind: must_not_contain, values: ["!!"]', "kind: format"),
        ('kind: must_not_contain, values: ["!!"]', "kind: format, min_chars: 9"),
    ),
    "the weights that a new mode ignores": (
        ("weighted_avg, weights: {polite: 2}", "min"),
        ("weighted_avg, weights: {polite: 2}", "min, weights: {polite: 3}"),
    ),
}


@pytest.mark.parametrize("pair", ANOTHER.values(), ids=ANOTHER)
def test_another_edit_has_another(pair: tuple[tuple[str, str], tuple[str, str]]) -> None:
    one, other = (prints(edited(edit)) for edit in pair)
    assert set(one).isdisjoint(other)


def test_another_artifact_has_another() -> None:
    new = edited(EDITS["a phrase more"])
    assert set(prints({**new, "id": "b"}, {**edited(), "id": "b"})).isdisjoint(prints(new))


def test_the_same_edit_made_twice_has_two() -> None:
    twice = prints(edited(("[please, thank you]", "[please, thank you, kindly, kindly]")))
    assert len(set(twice)) == len(twice) == 2


def test_a_moved_pin_stands_for_all_that_it_brings() -> None:
    def load(draft: str) -> Any:
        def artifact(ref: str) -> Artifact:
            template = {"1.0.0": "Is it right? {{ output }}", "1.1.0": draft}[ref.partition("@")[2]]
            text = f'id: accuracy\nversion: 1.0.0\ntemplate: "{template}"\nscore_type: binary\n'
            return Artifact(parse_ref(ref).kind, "accuracy", "1.0.0", read_yaml(text, ref))

        return artifact

    sides = [
        {
            "id": "r",
            "checks": [{"kind": "llm_judge", "judge_prompt_ref": f"judge/accuracy@{pin}"}],
            "scoring": {"combine": "min"},
        }
        for pin in ("1.0.0", "1.1.0")
    ]
    # A working file may stand for the version to come: what is accepted is this template, and no later one.
    drafts = ["Is it good? {{ output }}", "Is it fine? {{ output }}"]
    one, other = (prints(sides[1], sides[0], load=load(draft)) for draft in drafts)
    assert one == prints(sides[1], sides[0], load=load(drafts[0]))
    assert set(one).isdisjoint(other)


def test_rows_in_a_file_are_named_by_their_questions() -> None:
    dataset = {"id": "d", "rows": "d.jsonl"}
    old = [{"id": "a", "input": "x"}, {"id": "b", "input": "y", "note": "1"}]
    new = [{"id": "c", "input": "z"}, {"id": "b", "input": "y", "note": "2"}, {"id": "a", "input": "x"}]
    (alone,) = prints(dataset, dataset, rows=(old, [old[0], {**old[1], "note": "2"}]))
    assert alone in prints(dataset, dataset, rows=(old, new))
    (other,) = prints(dataset, dataset, rows=(old, [{**old[0], "note": "2"}, old[1]]))
    assert other != alone


@pytest.mark.heavy
@pytest.mark.parametrize("part", thin(range(4), 4))
def test_who_knows_all_prints_knows_the_new_artifact(part: int, samples: Callable[[int], int]) -> None:
    for index in range(part * 150, part * 150 + samples(150)):
        random = randomness(20261121, index)
        pair = draw(random)
        again = another(random, pair)
        if prints(pair.new, pair.old, load=pair.load) == prints(again, pair.old, load=pair.load):
            assert compare(pair.new, again, load=pair.load).required_bump <= Bump.PATCH, index
