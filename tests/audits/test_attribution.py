"""Attribution on random rubrics and outputs, graded for real: what must hold whatever the rubrics are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from evalstore.audits.attribution import Attribution, Coalition, attribute_change, find_blocks
from evalstore.audits.edits.rubric_edits import find_edits
from evalstore.checks import evaluate
from evalstore.diff import Certainty, Direction, compare
from evalstore.model import Combine, read_rubric
from tests.audits.test_rubric_edits import build_hybrid

WORDS = ["a", "b", "ab", "c"]
IDS = ["one", "two", "three"]
# The last kind does not exist: such a check is unscored, as one whose judge cannot be reached.
KINDS = ["must_contain_any", "must_not_contain", "must_contain_any", "no_such_kind"]
outputs = st.text("abc ", max_size=5)
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True)
weights = st.integers(0, 3)


@st.composite
def rubrics(draw: st.DrawFn, kinds: list[str] = KINDS) -> dict[str, Any]:
    ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True))
    checks = [{"id": id_, "kind": draw(st.sampled_from(kinds)), "values": draw(words)} for id_ in ids]
    for check in checks:
        if draw(st.booleans()):
            check["negate"] = True
    scoring = {
        "combine": draw(st.sampled_from([str(mode) for mode in Combine])),
        "weights": {id_: draw(weights) for id_ in ids} | {ids[0]: 1},
        "required": draw(st.lists(st.sampled_from(ids), max_size=1)),
        "errors": draw(st.sampled_from(["skip", "zero", "fail"])),
    }
    return {"checks": checks, "scoring": scoring}


def attributed(old: dict[str, Any], new: dict[str, Any], a: str, b: str) -> Attribution | None:
    """Attribute a change of rubric and output; the rubric is player 0, the output player 1."""
    found = find_edits(read_rubric(old), read_rubric(new))
    size = len(found.edits)
    players = [Coalition(tuple(range(size))), Coalition((size,))]

    def cell(mask: int) -> Fraction | None:
        return evaluate(build_hybrid(found, mask & found.all_edits), (a, b)[mask >> size]).score

    blocks = find_blocks(players, cell)
    return blocks and attribute_change(players, blocks, cell) if blocks and len(blocks) == len(players) else None


def edits(found: Attribution) -> Fraction:
    """Return the sum of the rubric's edits; the last one is the output."""
    return sum((found.edits[edit].share for edit in sorted(found.edits)[:-1]), Fraction(0))


many = settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])


@many
@given(rubrics(), rubrics(), outputs, outputs)
def test_everything_adds_up_between_the_recorded_ends(old: dict[str, Any], new: dict[str, Any], a: str, b: str) -> None:
    found = attributed(old, new, a, b)
    assume(found is not None)
    assert (found.old, found.new) == (evaluate(old, a).score, evaluate(new, b).score)
    assert sum(found.shares.values()) == found.new - found.old
    assert edits(found) == found.shares[0,]


@many
@given(rubrics(), rubrics(), outputs, outputs)
def test_a_question_is_inseparable_only_when_a_whole_mix_has_no_score(
    old: dict[str, Any], new: dict[str, Any], a: str, b: str
) -> None:
    corners = [evaluate(rubric, text).score for rubric in (old, new) for text in (a, b)]
    assert (attributed(old, new, a, b) is None) == (None in corners)


@settings(many, max_examples=40)
@given(rubrics(), rubrics(), outputs)
def test_unchanged_factors_get_nothing(old: dict[str, Any], new: dict[str, Any], text: str) -> None:
    same_output = attributed(old, new, text, text)
    if same_output is not None:
        assert same_output.shares[1,] == 0
    same_rubric = attributed(old, old, text, text + "a")
    if same_rubric is not None:
        assert same_rubric.shares[0,] == 0


@many
@given(rubrics(), rubrics(), outputs, outputs)
def test_taking_everything_back_turns_every_sign(old: dict[str, Any], new: dict[str, Any], a: str, b: str) -> None:
    there, back = attributed(old, new, a, b), attributed(new, old, b, a)
    assume(there is not None)
    assert back is not None
    assert back.shares == {block: -share for block, share in there.shares.items()}


@many
@given(rubrics(), outputs, outputs)
def test_an_edit_that_nothing_reads_gets_nothing(old: dict[str, Any], a: str, b: str) -> None:
    watching = {"id": "advisory", "kind": "must_contain_any", "values": ["a"]}
    scoring = {**old["scoring"], "combine": "weighted_avg"}
    old = {**old, "scoring": scoring}
    new = {"checks": [*old["checks"], watching],
           "scoring": {**scoring, "weights": {**scoring["weights"], "advisory": 0}}}  # fmt: skip
    found = attributed(old, new, a, b)
    assume(found is not None)
    assert found.shares[0,] == 0 == found.edits[0].share


@many
@given(rubrics(kinds=KINDS[:3]), rubrics(kinds=KINDS[:3]), outputs, outputs)
def test_a_rubric_gains_nothing_by_a_diff_that_is_stricter_throughout(
    old: dict[str, Any], new: dict[str, Any], a: str, b: str
) -> None:
    found = attributed(old, new, a, b)
    findings = compare(old, new).findings
    assume(found is not None and all(finding.certainty is not Certainty.ASSUMED for finding in findings))
    ways = {finding.direction for finding in findings}
    if ways <= {Direction.NONE, Direction.STRICTER}:
        assert found.shares[0,] <= 0
    if ways <= {Direction.NONE, Direction.LOOSER}:
        assert found.shares[0,] >= 0


@many
@given(rubrics(kinds=KINDS[:3]), st.sampled_from(["word", "gate"]), outputs, outputs)
def test_a_stricter_edit_made_on_purpose_takes_from_every_question(
    old: dict[str, Any], how: str, a: str, b: str
) -> None:
    old["checks"] = [{key: item for key, item in check.items() if key != "negate"} for check in old["checks"]]
    ban = {"id": "ban", "kind": "must_not_contain", "values": ["b"]}
    old = {**old, "checks": [*old["checks"], ban]}
    if how == "word":
        new = {**old, "checks": [*old["checks"][:-1], {**ban, "values": ["b", "c"]}]}
    else:
        new = {**old, "scoring": {**old["scoring"], "required": [*old["scoring"]["required"], "ban"]}}
    assert {finding.direction for finding in compare(old, new).findings} <= {Direction.STRICTER, Direction.NONE}
    found = attributed(old, new, a, b)
    assume(found is not None)
    assert found.shares[0,] <= 0
