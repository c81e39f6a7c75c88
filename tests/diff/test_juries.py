"""Who judges, proved with the real checks: no proof moves a score, and every direction and bound holds, whatever is replied."""

from __future__ import annotations

import copy
import json
import zlib
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from evalstore.checks import CheckContext, evaluate
from evalstore.checks.votes import AGGREGATES, JudgeVote
from evalstore.diff import Diff, Direction, compare
from evalstore.diff.change import Change
from evalstore.diff.changes.rubric import find_rubric_changes
from evalstore.diff.classify import classify
from evalstore.diff.deciders.juries import (
    Jury,
    bound_jury_shift,
    find_aggregate_direction,
    find_jury_weights_direction,
    prove_jury_equivalent,
    read_jury,
)
from evalstore.diff.direction import join_directions
from evalstore.diff.pairing import pair_checks
from evalstore.diff.plain_data import make_plain
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import read_rubric_state
from evalstore.documents import read_yaml
from evalstore.errors import RefError
from evalstore.model import Artifact, JudgeCall, JudgeReply, Kind, RubricResult, UnscoredReason, parse_ref
from evalstore.versions import Bump
from tests.diff.case_pairs import make_rubric

Mapping = dict[str, Any]

# Judges by reference: two spellings of one, one whose second level is worth more, one that reads a variable, and those
# that are asked about statements.
LEVELS = {"score_type": "levels", "level_names": ["low", "half", "high"]}
JUDGES: Mapping = {
    "judge/a@1.0.0": {"template": "a {{ output }}"},
    "judge/a@1.0.1": {"template": "a {{output}}{{! the same }}"},
    "judge/a@2.0.0": {"template": "a again {{ output }}"},
    "judge/b@1.0.0": {"template": "b {{ output }}"},
    "judge/c@1.0.0": {"template": "c {{ output }}", **LEVELS},
    "judge/c@2.0.0": {"template": "c {{ output }}", **LEVELS, "level_scores": {"low": 0, "half": 0.75, "high": 1}},
    "judge/d@1.0.0": {"template": "d {{ output }} {{ kind }}", "variables": ["kind", "mood"]},
    "judge/e@1.0.0": {"template": "e {{ output }} {{ statement }}", "variables": ["statement"], **LEVELS},
    "judge/e@2.0.0": {
        "template": "e {{ output }} {{ statement }}",
        "variables": ["statement"],
        **LEVELS,
        "level_scores": {"low": 0, "half": 0.75, "high": 1},
    },
    "judge/f@1.0.0": {
        "template": "f {{ output }} {{ statement }}",
        "variables": ["statement"],
        "score_type": "binary",
        "reply_pattern": 'level": "(low|high)',
    },
}
ASKED_REFS = ["judge/e@1.0.0", "judge/e@2.0.0"]
REFS = st.sampled_from(sorted(JUDGES))
SCORES = ["0", "0.25", "0.5", "0.7", "0.75", "1"]
ALL_SCORED = [*(f'{{"score": {score}, "level": "{level}"}}' for score in SCORES for level in LEVELS["level_names"])]
IDLE = ['{"verdict": "n/a"}', '{"score": null, "rationale": "no tool was called"}']
SOME_IDLE = [*ALL_SCORED, *(IDLE * 5)]
SOME_LOST = [*ALL_SCORED, *IDLE, "I cannot say", ""]
WEIGHTS = st.sampled_from([0, 1, 1, 2, 0.5, 3])
WAYS = st.sampled_from(["mean", "median", "min", "max", "majority"])
NUMBERS = st.sampled_from([0, 0.3, 0.5, 0.7, 1])
COMBINES = st.sampled_from(["all_pass", "any_pass", "weighted_avg", "weighted_avg", "min", "max", "median"])
OUTPUTS: list[Any] = ["", "x", {"output": "y", "tool_calls": []}, {"output": "x y", "tool_calls": [{"name": "t"}]}]
_SALTS = range(6)


def load(ref: str) -> Artifact:
    value = JUDGES.get(ref)
    if value is None:
        raise RefError(f"{ref} is not there")
    name = parse_ref(ref)
    text = json.dumps({"id": name.id, "version": str(name.version), **value})
    return Artifact(Kind(name.kind), name.id, str(name.version), read_yaml(text.encode(), "x.yaml"))


def asked(salt: int, replies: list[str]) -> Callable[[JudgeCall], JudgeReply]:
    """Return a model that replies as it likes, but always the same to the same call."""
    return lambda call: JudgeReply(replies[zlib.crc32(f"{salt} {call.key}".encode()) % len(replies)])


def answers(rubric: Any, find: ArtifactLoader = load) -> list[RubricResult]:
    """Return what a rubric makes of every output under every model, those that never fail first."""
    reaches = [
        CheckContext(find, asked(salt, replies), {"id": "m"})
        for replies in (ALL_SCORED, SOME_IDLE, SOME_LOST)
        for salt in _SALTS
    ]
    return [evaluate(rubric, output, context=context) for context in reaches for output in OUTPUTS]


def optional(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[Mapping]:
    return st.fixed_dictionaries({}, optional=values)


MEMBER = st.builds(lambda ref, rest: {"judge_prompt_ref": ref, **rest}, REFS, optional(weight=WEIGHTS))
JURY = st.builds(
    lambda members, way: {"jury": {"members": members, "aggregate": way}},
    st.lists(MEMBER, min_size=1, max_size=4),
    WAYS,
)
VARIABLES = st.dictionaries(st.sampled_from(["kind", "mood", "none"]), st.sampled_from(["u", "v"]), max_size=2)
MODELS = optional(id=st.sampled_from(["m", "n"]), temperature=st.sampled_from([0, 1, None]), x_note=st.just(1))
JUDGED = st.builds(
    lambda who, rest: {"kind": "llm_judge", **who, **rest},
    st.one_of(REFS.map(lambda ref: {"judge_prompt_ref": ref}), JURY, JURY, JURY),
    optional(
        threshold=NUMBERS, negate=st.booleans(), variables=VARIABLES, model=MODELS, samples=st.sampled_from([1, 1, 2])
    ),
)
SIGNED = st.sampled_from([1, 2, -1, -1, -2, 0])
EACH = st.lists(
    st.builds(lambda text, weight: {"text": text, "weight": weight}, st.sampled_from(["s", "t", "u"]), SIGNED)
    | st.sampled_from(["s", "t"]),
    min_size=1,
    max_size=3,
)
STATED = st.builds(
    lambda who, each, rest: {"kind": "llm_judge", **who, "each": each, **rest},
    st.one_of(
        st.sampled_from(ASKED_REFS).map(lambda ref: {"judge_prompt_ref": ref}),
        WAYS.map(
            lambda way: {"jury": {"members": [{"judge_prompt_ref": ref} for ref in ASKED_REFS], "aggregate": way}}
        ),
    ),
    EACH,
    optional(threshold=NUMBERS, negate=st.booleans(), aggregate=st.sampled_from(["mean", "points"])),
)
PLAIN = st.builds(
    lambda value, rest: {"kind": "must_contain_any", "values": [value], **rest},
    st.sampled_from(["x", "y"]),
    optional(threshold=NUMBERS, negate=st.booleans()),
)


@st.composite
def rubrics(draw: st.DrawFn) -> Mapping:
    checks = [draw(st.one_of(JUDGED, JUDGED, STATED)), *draw(st.lists(st.one_of(JUDGED, PLAIN, PLAIN), max_size=2))]
    ids = [f"c{index}" for index in range(len(checks))]
    scoring = draw(
        optional(
            weights=st.dictionaries(st.sampled_from(ids), WEIGHTS),
            required=st.lists(st.sampled_from(ids), unique=True, max_size=1),
            threshold=NUMBERS,
            errors=st.sampled_from(["skip", "zero", "fail"]),
        )
    )
    named = [{"id": id_, **check} for id_, check in zip(ids, checks, strict=True)]
    return {"id": "r", "version": "1.0.0", "checks": named, "scoring": {"combine": draw(COMBINES), **scoring}}


def _members(draw: st.DrawFn, jury: Mapping) -> None:
    members = jury["members"]
    refs = _list_like(members[0]["judge_prompt_ref"])
    at = draw(st.integers(0, len(members) - 1))
    how = draw(st.sampled_from(["add", "drop", "swap", "turn", "weigh", "double", "rescale", "way"]))
    if how == "add":
        members.insert(at, {"judge_prompt_ref": draw(refs), **draw(optional(weight=WEIGHTS))})
    elif how == "drop" and len(members) > 1:
        members.pop(at)
    elif how == "swap":
        members[at]["judge_prompt_ref"] = draw(refs)
    elif how == "turn":
        members.reverse()
    elif how == "weigh":
        members[at]["weight"] = draw(WEIGHTS)
    elif how == "double":
        members.append(dict(members[at]))
    elif how == "rescale":
        for member in members:
            member["weight"] = member.get("weight", 1) * 4
    elif how == "way":
        jury["aggregate"] = draw(WAYS)


def _list_like(ref: str) -> st.SearchStrategy[str]:
    """Return the judges that one may be exchanged for: those that read statements, for one that does."""
    return st.sampled_from(ASKED_REFS) if ref in ASKED_REFS else REFS


def _who(draw: st.DrawFn, check: Mapping) -> None:
    if "each" in check and "jury" not in check:
        check["judge_prompt_ref"] = draw(_list_like(check["judge_prompt_ref"]))
    elif "jury" not in check:
        ref = check.pop("judge_prompt_ref")
        alone = {"members": [{"judge_prompt_ref": ref, **draw(optional(weight=WEIGHTS))}], "aggregate": draw(WAYS)}
        check.update(draw(st.one_of(st.just({"jury": alone}), JURY, MEMBER.map(_alone))))
    elif draw(st.sampled_from([True, False, False, False])):
        check.update(_alone(draw(st.sampled_from(check.pop("jury")["members"]))))
    else:
        _members(draw, check["jury"])


def _alone(member: Mapping) -> Mapping:
    return {"judge_prompt_ref": member["judge_prompt_ref"]}


def _rest(draw: st.DrawFn, check: Mapping) -> None:
    edits = [("variables", VARIABLES), ("model", MODELS), ("negate", st.booleans())]
    edits += [("each", EACH), ("threshold", NUMBERS)] if "each" in check else []
    key, values = draw(st.sampled_from(edits))
    check[key] = draw(values)


@st.composite
def edited(draw: st.DrawFn) -> tuple[Mapping, Mapping]:
    old = draw(rubrics())
    new = copy.deepcopy(old)
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        check = draw(st.sampled_from([check for check in new["checks"] if check["kind"] == "llm_judge"]))
        draw(st.sampled_from([_who, _who, _who, _rest]))(draw, check)
    return old, new


def answer(result: RubricResult) -> tuple[object, object]:
    return result.score, result.verdict


def moved(old: Fraction | None, new: Fraction | None) -> Direction:
    if old is None or new is None or old == new:
        return Direction.NONE
    return Direction.LOOSER if new > old else Direction.STRICTER


def allows(claimed: Direction, seen: Direction) -> bool:
    return seen is Direction.NONE or claimed in {seen, Direction.EITHER}


def erred(*results: RubricResult) -> bool:
    return any(check.unscored is UnscoredReason.ERROR for result in results for check in result.checks)


def check_steps(old: Mapping, new: Mapping, find: ArtifactLoader = load) -> None:
    before, after = read_rubric_state(make_plain(old)), read_rubric_state(make_plain(new))
    assert before is not None
    assert after is not None
    for step in find_rubric_changes(before, pair_checks(before, after), find):
        claim = classify(step)
        for was, now in zip(*(answers(make_rubric(state), find) for state in step.states), strict=True):
            told = f"{claim.rule} {claim.level} {claim.directions}: {claim.message}: {answer(was)} {answer(now)}"
            if claim.level < Bump.MAJOR:
                assert answer(was) == answer(now), told
            assert allows(claim.directions[0], moved(was.score, now.score)), told
            passed = [None if one.score is None else Fraction(one.verdict == "pass") for one in (was, now)]
            assert allows(claim.directions[1], moved(*passed)), told
            if claim.max_shift is not None and not erred(was, now) and None not in {was.score, now.score}:
                assert abs((now.score or 0) - (was.score or 0)) <= claim.max_shift, told


def check_whole(diff: Diff, old: Mapping, new: Mapping, find: ArtifactLoader = load) -> None:
    total, shifts = Direction.NONE, [finding.max_shift for finding in diff.findings]
    for finding in diff.findings:
        total = join_directions(total, finding.direction)
    for was, now in zip(answers(old, find), answers(new, find), strict=True):
        told = f"{[(str(one.level), one.rule, one.message) for one in diff.findings]}: {answer(was)} {answer(now)}"
        if diff.required_bump < Bump.MAJOR:
            assert answer(was) == answer(now), told
        if not erred(was, now) and was.score is not None and now.score is not None:
            assert allows(total, moved(was.score, now.score)), told
            assert None in shifts or abs(now.score - was.score) <= sum(map(Fraction, shifts)), told


CAREFUL = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@seed(20261121)
@CAREFUL
@given(pair=edited())
def test_whatever_the_judges_reply_no_proof_moves_and_directions_hold(pair: tuple[Mapping, Mapping]) -> None:
    prove(*pair)


def prove(old: Mapping, new: Mapping, find: ArtifactLoader = load) -> None:
    check_steps(old, new, find)
    check_whole(compare(old, new, load=find), old, new, find)
    assert compare(new, new, load=find).findings == ()


TOOL = st.just({"kind": "tool_usage", "tools": [{"name": "t"}]})
PARTS = st.lists(st.one_of(JUDGED, PLAIN, TOOL), min_size=1, max_size=3)
POLICIES = st.sampled_from(
    [{}, {}, {"errors": "zero", "missing": "zero"}, {"errors": "zero"}, {"errors": "fail"}, {"missing": "zero"}]
)


@st.composite
def inlinings(draw: st.DrawFn) -> tuple[Mapping, Mapping, Mapping]:
    """Return an inner rubric, a rubric that refers to it, and one that has its checks instead, more or less."""
    mode, policies = draw(COMBINES), draw(POLICIES)
    parts, others = draw(PARTS), draw(st.lists(st.one_of(PLAIN, TOOL, JUDGED), max_size=2))
    same = st.just({"combine": mode, **policies})
    inside = draw(
        st.one_of(same, same, same, st.builds(lambda one, rest: {"combine": one, **rest}, COMBINES, POLICIES))
    )
    shares = [draw(st.sampled_from([1, 1, 2, 3, 0])) for _ in parts]
    gate = draw(st.sampled_from([*[{}] * 7, {"required": ["i0"]}]))
    inner = {
        "id": "inner",
        "version": "1.0.0",
        "checks": [{"id": f"i{index}", **part} for index, part in enumerate(parts)],
        "scoring": {**inside, "weights": {f"i{index}": share for index, share in enumerate(shares)}, **gate},
    }
    kept = [{"id": f"o{index}", **other} for index, other in enumerate(others)]
    weight, rest = draw(st.sampled_from([1, 1, 2, 0])), {f"o{index}": draw(WEIGHTS) for index in range(len(others))}
    bar = draw(st.sampled_from([*[{}] * 5, {"threshold": 0.5}, {"threshold": 0}, {"negate": True}]))
    old = {
        "id": "r",
        "version": "1.0.0",
        "checks": [*kept, {"id": "k", "kind": "composite", "rubric_ref": "rubric/inner@1.0.0", **bar}],
        "scoring": {"combine": mode, **policies, "weights": {**rest, "k": weight}, **draw(_GATES)},
    }
    split = {**{name: one * sum(shares) for name, one in rest.items()}, **_split(shares, weight)}
    scoring = {**old["scoring"], "weights": split, "required": []}
    new = {**old, "checks": [*kept, *copy.deepcopy(inner["checks"])], "scoring": scoring}
    if draw(st.sampled_from([True, False, False])):
        _rest_of(draw, new)
    return inner, old, new


_GATES = st.sampled_from([*[{}] * 7, {"required": ["k"]}])


def _split(shares: list[int], weight: int) -> Mapping:
    return {f"i{index}": share * weight for index, share in enumerate(shares)}


def _rest_of(draw: st.DrawFn, rubric: Mapping) -> None:
    judged = [check for check in rubric["checks"] if check["kind"] == "llm_judge"]
    if judged:
        _who(draw, draw(st.sampled_from(judged)))
    else:
        rubric["scoring"]["weights"]["i0"] = draw(WEIGHTS)


def beside(inner: Mapping) -> ArtifactLoader:
    found = Artifact(Kind.RUBRIC, "inner", "1.0.0", read_yaml(json.dumps(inner).encode(), "inner.yaml"))
    return lambda ref: found if ref == "rubric/inner@1.0.0" else load(ref)


@seed(20261121)
@CAREFUL
@given(case=inlinings(), back=st.booleans())
def test_a_rubric_inlined_scores_the_same_or_is_major(case: tuple[Mapping, Mapping, Mapping], back: bool) -> None:  # noqa: FBT001
    inner, *pair = case
    old, new = reversed(pair) if back else pair
    prove(old, new, beside(inner))


ABC = ["judge/a@1.0.0", "judge/b@1.0.0", "judge/c@1.0.0"]
PANELS = st.builds(
    lambda refs, way: {
        "members": [{"judge_prompt_ref": ref, "weight": weight} for ref, weight in refs],
        "aggregate": way,
    },
    st.lists(st.tuples(st.sampled_from(ABC), WEIGHTS), min_size=2, max_size=4),
    WAYS,
)
BAR = Fraction(7, 10)


def said(panel: Jury, scores: Mapping) -> Fraction:
    return AGGREGATES[panel.aggregate]([JudgeVote(scores[ref], weight) for ref, weight in panel.members], BAR)


@seed(20261121)
@settings(CAREFUL, max_examples=600)
@given(old=PANELS, new=PANELS, kept=st.sampled_from(["members", "aggregate", "judges", "judges", ""]))
def test_panels_of_one_voice_say_the_same_and_ways_are_ordered(old: Mapping, new: Mapping, kept: str) -> None:
    new = {**new, **({kept: old[kept]} if kept in old else {})}
    if kept == "judges":
        weights = [member["weight"] for member in new["members"] * 4]
        members = [{**member, "weight": weight} for member, weight in zip(old["members"], weights, strict=False)]
        new = {"members": members, "aggregate": old["aggregate"]}
    change = between(old, new)
    panels = [read_jury(state["c0"].params) for state in change.states]
    assert panels[0] is not None
    assert panels[1] is not None
    if panels[0].is_unscorable or panels[1].is_unscorable:
        assert prove_jury_equivalent(change) is None
        return
    bound = bound_jury_shift(change)
    ways = find_aggregate_direction(change) if kept == "members" else Direction.EITHER
    if kept == "judges" and sorted(panels[0].weight_by_judge) == sorted(panels[1].weight_by_judge):
        ways = find_jury_weights_direction(change)
    for values in product(map(Fraction, ["0", "0.5", "0.7", "1"]), repeat=3):
        scores = dict(zip(ABC, values, strict=True))
        was, now = (said(panel, scores) for panel in panels)
        assert prove_jury_equivalent(change) is None or was == now
        assert allows(ways, moved(was, now))
        assert bound is None or abs(now - was) <= bound


def between(old: Mapping, new: Mapping) -> Change:
    states = [read_rubric_state(make_plain(rubric({"jury": jury}))) for jury in (old, new)]
    return Change("jury-member-changed", before=states[0], after=states[1], token="c0")  # noqa: S106  # a check, no password


def rubric(who: Mapping) -> Mapping:
    return {"id": "r", "version": "1.0.0", "checks": [{"kind": "llm_judge", **who}], "scoring": {"combine": "min"}}


@pytest.mark.parametrize("way", ["mean", "median", "min", "max"])
def test_one_judge_is_a_jury_of_one(way: str) -> None:
    ref = {"judge_prompt_ref": "judge/a@1.0.0"}
    old, new = rubric(ref), rubric({"jury": {"members": [{**ref, "weight": 3}], "aggregate": way}})
    (finding,) = compare(old, new).findings
    assert (finding.rule, finding.level) == ("jury-aggregation-changed", Bump.PATCH)
    assert list(map(answer, answers(old))) == list(map(answer, answers(new)))


def test_one_judge_is_no_majority_of_one() -> None:
    ref = {"judge_prompt_ref": "judge/a@1.0.0"}
    old, new = rubric(ref), rubric({"jury": {"members": [ref], "aggregate": "majority"}})
    assert compare(old, new).required_bump is Bump.MAJOR
    assert list(map(answer, answers(old))) != list(map(answer, answers(new)))


@pytest.mark.parametrize("way", ["mean", "majority"])
def test_a_large_jury_is_compared_as_a_whole_and_at_once(way: str) -> None:
    members = [{"judge_prompt_ref": f"judge/j{number}@1.0.0"} for number in range(2000)]
    old, new = (rubric({"jury": {"members": some, "aggregate": way}}) for some in (members, members[1:]))
    (finding,) = compare(old, new).findings
    assert (finding.rule, finding.level) == ("unclassified-change", Bump.MAJOR)


@pytest.mark.heavy
def test_every_judge_of_a_jury_exchanged_is_told_one_by_one() -> None:
    juries = [[{"judge_prompt_ref": f"judge/{name}{at}@1.0.0"} for at in range(100)] for name in "ab"]
    old, new = (rubric({"jury": {"members": members, "aggregate": "majority"}}) for members in juries)
    found = compare(old, new).findings
    assert len(found) == 200
    assert {finding.rule for finding in found} == {"jury-member-changed"}


def stated(ref: str, each: Any, **more: Any) -> Mapping:
    scoring = {"combine": "weighted_avg", **more.pop("scoring", {})}
    check = {"id": "c0", "kind": "llm_judge", "judge_prompt_ref": ref, "each": each, **more}
    return {"id": "r", "version": "1.0.0", "checks": [check], "scoring": scoring}


@pytest.mark.parametrize(
    ("each", "more", "direction", "shift"),
    [
        (["s", "t"], {}, "looser", "1/4"),
        (["s", "t"], {"negate": True}, "stricter", "1/4"),
        ([{"text": "s", "weight": -1}], {}, "stricter", "1/4"),
        ([{"text": "s", "weight": -1}, {"text": "t", "weight": -2}], {"negate": True}, "looser", "1/4"),
        ([{"text": "s", "weight": -1}, {"text": "t", "weight": 0}], {}, "stricter", "1/4"),
        ([{"text": "s", "weight": -1}, "t"], {}, "either", "1/4"),
        ([{"text": "s", "weight": -3}, "t"], {"aggregate": "points"}, "either", "1"),
        ({"from": "statements"}, {}, "either", "1/4"),
        ({"from": "statements"}, {"aggregate": "points"}, "either", "1"),
    ],
)
def test_a_judge_that_rises_lowers_what_counts_against_an_output(
    each: Any, more: Mapping, direction: str, shift: str
) -> None:
    (finding,) = compare(*(stated(ref, each, **more) for ref in ASKED_REFS), load=load).findings
    told = finding.rule, str(finding.direction), str(finding.verdict_direction), str(finding.max_shift)
    assert told == ("judge-ref-changed", direction, direction, shift)


def test_an_inner_rubric_and_a_jury_turn_a_direction_round_as_a_check_does() -> None:
    against = [{"text": "s", "weight": -1}]
    inner = {f"rubric/inner@{ref[-5:]}": {**stated(ref, against), "version": ref[-5:]} for ref in ASKED_REFS}

    def find(ref: str) -> Artifact:
        if ref not in inner:
            return load(ref)
        return Artifact(Kind.RUBRIC, "inner", ref[-5:], read_yaml(json.dumps(inner[ref]).encode(), "x.yaml"))

    outer = ({"checks": [{"kind": "composite", "rubric_ref": ref}], "scoring": {"combine": "min"}} for ref in inner)
    (finding,) = compare(*outer, load=find).findings
    assert (finding.rule, str(finding.direction)) == ("composite-ref-changed", "stricter")
    juries = []
    for way in ("min", "max"):
        juries.append(stated("", against, jury={"members": [{"judge_prompt_ref": ref} for ref in ASKED_REFS]}))
        juries[-1]["checks"][0].pop("judge_prompt_ref")
        juries[-1]["checks"][0]["jury"]["aggregate"] = way
    (finding,) = compare(*juries, load=load).findings
    assert (finding.rule, str(finding.direction)) == ("jury-aggregation-changed", "stricter")


@pytest.mark.parametrize("where", ["check", "rubric"])
def test_statements_give_a_judge_of_two_answers_scores_between(where: str) -> None:
    each = ["s", "t", "u"]
    sides = [
        stated("judge/f@1.0.0", each, threshold=bar, scoring={"combine": "all_pass"})
        if where == "check"
        else stated("judge/f@1.0.0", each, scoring={"threshold": bar})
        for bar in (0.5, 0.9)
    ]
    diff = compare(*sides, load=load)
    assert (diff.required_bump, str(diff.total.verdict_direction)) == (Bump.MAJOR, "stricter")
    verdicts = {(str(was.verdict), str(now.verdict)) for was, now in zip(*map(answers, sides), strict=True)}
    assert ("pass", "fail") in verdicts
