"""Judges, proved with the real check: what is called patch or minor sends the same prompt and reads each reply the same."""

from __future__ import annotations

import json
import zlib
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st

from evalstore.checks import CheckContext, evaluate
from evalstore.diff import Direction, compare
from evalstore.diff.direction import join_directions
from evalstore.documents import read_yaml
from evalstore.model import Artifact, JudgeCall, JudgeReply, Kind, RubricResult, UnscoredReason
from evalstore.versions import Bump

Mapping = dict[str, Any]
REPLIES = ['{"score": 0}', '{"score": 1}', '{"score": 3}', '{"score": 0.5}', '{"level": "a"}', '{"level": "b"}', "b"]
REPLIES += ['{"level": "c"}', "score: 1", "score: 3 of 5", "yes", "I know", '{"verdict": "yes"}', "score: a", "1", ""]
REPLIES += ["score: 1 score: 3", "SCORE: 1", "a\nb", "3 or 1"]
REPLIES += ['a {"score": 0.5}', 'I know: {"verdict": "yes"}', 'score: high {"level": "b"}']
PIECES = [
    "{{ output }}",
    "{{output}}",
    "{{{ output }}}",
    "{{! a }}",
    "\n",
    " ",
    "b",
    "{{ kind }}",
    "{{{kind}}}",
    "{{mood}}",
]
PIECES += ["{{#kind}}", "{{/kind}}", "{{^kind}}", "{{# kind }}", "\n{{! a }}\n", "\r\n", "{{ expected }}"]
TEMPLATES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)
PATTERNS = st.sampled_from(
    [
        *(
            "([0-9])",
            "(?P<score>[0-9])",
            "([0-9]+)",
            r"(\d)",
            "score: ([0-9])",
            "(?:score: )([0-9])",
            "(score): ([0-9])",
        ),
        *(
            "(a|b|c)",
            "(c|b|a)",
            "((?:a|b|c))",
            "(yes|no)",
            r"\b(yes|no)\b",
            "(?i)score: ([0-9])",
            "(?i:score: )([0-9])",
        ),
        *("(.*)", "(.*?)", "(.+)", "([0-9]) of", "(a{e<=1})", "(", "a", "([a-c])", "([cba])", "[0-9]"),
    ]
)
SCALES = st.sampled_from([{}, {"max": 1}, {"max": 5}, {"min": 0, "max": 5}, {"min": 1, "max": 5}, {"min": -1}])
NAMES = st.lists(st.sampled_from("abc"), min_size=2, max_size=3, unique=True)
VALUES = st.sampled_from([0, 0.25, 0.5, 1])


def optional(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[Mapping]:
    return st.fixed_dictionaries({}, optional=values)


@st.composite
def levels(draw: st.DrawFn) -> Mapping:
    names = draw(NAMES)
    given_too = draw(st.sampled_from([True, True, False]))
    values = {"level_scores": {name: draw(VALUES) for name in names}} if given_too else {}
    return {"score_type": "levels", "level_names": names, **values}


TYPED = st.one_of(
    st.just({}),
    st.just({"score_type": "binary"}),
    levels(),
    levels(),
    st.builds(lambda scale: {"score_type": "continuous", "scale": scale}, SCALES),
)
PARTS = optional(
    variables=st.lists(st.sampled_from(["kind", "mood", "output"]), unique=True, max_size=3),
    reply_pattern=PATTERNS,
    model=optional(id=st.sampled_from(["m", "n"]), temperature=st.sampled_from([0, 0.0, 1, None]), x_note=st.just(1)),
    validation=st.sampled_from([{"tpr": 1, "tnr": 1}, {"tpr": 1, "tnr": 0.5, "sample_size": 9}]),
    applicable_to=st.sampled_from([["x"], ["x", "y"]]),
)


@st.composite
def judges(draw: st.DrawFn) -> Mapping:
    return {"id": "a", "version": "1.0.0", "template": draw(TEMPLATES), **draw(TYPED), **draw(PARTS)}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Mapping, Mapping]:
    old, other = draw(judges()), draw(judges())
    new = dict(old)
    for keys in draw(st.lists(st.sampled_from([("variables",), ("model",), ("reply_pattern",), _TYPE]), max_size=1)):
        for key in keys:
            new.pop(key, None)
        new.update({key: other[key] for key in keys if key in other})
    for edit in draw(st.lists(st.sampled_from([_said_otherwise, _turned, _grouped]), max_size=2)):
        edit(draw, new)
    return old, draw(st.sampled_from([new, new, new, other]))


def _said_otherwise(draw: st.DrawFn, judge: Mapping) -> None:
    piece = draw(st.sampled_from(PIECES))
    judge["template"] = judge["template"].replace(
        piece, draw(st.sampled_from([piece, *PIECES, f"{piece}{{{{! c }}}}"]))
    )


def _turned(draw: st.DrawFn, judge: Mapping) -> None:
    if "level_names" in judge:
        names = judge["level_names"]
        values = {name: place / (len(names) - 1) for place, name in enumerate(names)}
        judge["level_scores"] = {
            **values,
            **judge.get("level_scores", {}),
            **draw(st.dictionaries(st.sampled_from(names), VALUES, max_size=1)),
        }
        judge["level_names"] = draw(st.permutations(names))


def _grouped(draw: st.DrawFn, judge: Mapping) -> None:
    pattern = judge.get("reply_pattern", "(.)")
    start = draw(st.sampled_from(["(", "(?P<all>", "(?:", "((?:)", "(?i:"]))
    judge["reply_pattern"] = pattern.replace("(", start, 1)


_TYPE = ("score_type", "scale", "level_names", "level_scores")


def answers(judge: Mapping) -> list[RubricResult]:
    """Return what a check makes of a judge that replies as it likes, but always the same to the same call."""
    artifact = Artifact(Kind.JUDGE, "a", "1.0.0", read_yaml(json.dumps(judge).encode(), "a.yaml"))
    check = {"kind": "llm_judge", "judge_prompt_ref": "judge/a@1.0.0", "variables": {"kind": "u", "mood": "v"}}
    rubric = {"id": "r", "checks": [check], "scoring": {"combine": "min"}}

    def context(salt: int) -> CheckContext:
        def ask(call: JudgeCall) -> JudgeReply:
            return JudgeReply(REPLIES[zlib.crc32(f"{salt} {call.key}".encode()) % len(REPLIES)])

        return CheckContext(lambda _: artifact, ask, {"id": "m"})

    return [evaluate(rubric, text, context=context(salt)) for salt in range(40) for text in ("", "x")]


@seed(20261121)
@settings(
    max_examples=250,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@example(({"template": "{{output}}"}, {"template": "{{{ output }}}"}))
@example(({"template": "x", "reply_pattern": "(?P<n>[0-9])"}, {"template": "x", "reply_pattern": "([0-9])"}))
@example(({"template": "x", "reply_pattern": "(a|b|c)"}, {"template": "x"}))
@given(pairs())
def test_what_is_patch_or_minor_reads_every_reply_the_same(pair: tuple[Mapping, Mapping]) -> None:
    prove(*({"id": "a", "version": "1.0.0", **judge} for judge in pair))


def prove(old: Mapping, new: Mapping) -> None:
    diff = compare(old, new)
    total = Direction.NONE
    for finding in diff.findings:
        total = join_directions(total, finding.direction)
    shifts = [finding.max_shift for finding in diff.findings]
    for was, now in zip(answers(old), answers(new), strict=True):
        told = f"{[(str(one.level), one.rule, str(one.direction)) for one in diff.findings]}: {was} {now}"
        if diff.required_bump < Bump.MAJOR:
            assert (was.score, was.verdict) == (now.score, now.verdict), told
        if was.score is not None and now.score is not None and was.score != now.score:
            assert total in {Direction.EITHER, Direction.LOOSER if now.score > was.score else Direction.STRICTER}, told
            assert None in shifts or abs(now.score - was.score) <= sum(map(Fraction, shifts)), told
    assert compare(new, new).findings == ()


def test_the_model_is_asked_and_its_replies_are_read() -> None:
    judge = {"id": "a", "version": "1.0.0", "template": "{{ output }}"}
    found = answers(judge)
    assert len({result.score for result in found}) > 2
    assert any(check.unscored is UnscoredReason.ERROR for result in found for check in result.checks)
