"""Judges, facts and composites: the contract written a second time, and held against the scorer on random checks."""

from __future__ import annotations

from fractions import Fraction
from statistics import median
from typing import Any
from zlib import crc32

from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import Document
from evalstore.model import Artifact, JudgeCall, JudgeReply, parse_ref

Check = dict[str, Any]
Answer = Fraction | str  # a score, or why there is none

# What each text says to a judge of each score type; the scale is 0 to 5, the levels are bad, fair, good.
SAID: dict[str, dict[str, Fraction]] = {
    '{"score": 4}': {"continuous": Fraction(4, 5)},
    '{"score": 1.0}': {"continuous": Fraction(1, 5), "binary": Fraction(1)},
    ' ```json\n{"score": 0, "rationale": "{"}\n```\n': {"continuous": Fraction(0), "binary": Fraction(0)},
    '{"verdict": "Yes", "level": "fair"}': {"binary": Fraction(1), "levels": Fraction(1, 2)},
    '{"verdict": true, "level": "good", "score": 5}': {"continuous": Fraction(1), "levels": Fraction(1)},
    '{"level": "bad", "score": 6}': {"levels": Fraction(0)},
    '{"score": 4} {"score": 5}': {},
    "Score: 4": {},
    "": {},
}
TYPES = ("continuous", "binary", "levels")
JUDGES: dict[str, dict[str, Any]] = {
    f"judge/{type_}_{extra}@1.0.0": {
        "template": f"{extra} {{{{ output }}}} {{{{# {extra} }}}}and {{{{ {extra} }}}}{{{{/ {extra} }}}} {{{{ expected }}}}",
        "variables": [extra],
        "score_type": type_,
        "scale": {"min": 0, "max": 5},
        **({"level_names": ["bad", "fair", "good"]} if type_ == "levels" else {}),
    }
    for type_ in TYPES
    for extra in ("fact", "criterion")
}
for broken in [judge for judge in JUDGES.values() if judge["score_type"] != "continuous"]:
    del broken["scale"]

TEXTS = st.lists(st.sampled_from(("a", "B", "ß", " ", "\n", "{{ output }}")), max_size=4).map("".join)
NUMBERS = st.sampled_from((0, 0.3, 0.5, 0.7, 1))
FACTS = st.lists(
    TEXTS.filter(bool) | st.builds(lambda text: {"id": "f", "value": text + "a"}, TEXTS), min_size=1, max_size=3
)
ROWS = st.fixed_dictionaries(
    {},
    optional={"expected": st.none() | TEXTS | st.just({"b": [1.50], "a": True}), "expected_facts": FACTS | st.just([])},
)
COMMON = {"threshold": NUMBERS, "negate": st.booleans()}


def judges(extra: str) -> st.SearchStrategy[str]:
    return st.sampled_from([ref for ref in JUDGES if extra in ref])


def juries() -> st.SearchStrategy[Check]:
    member = st.fixed_dictionaries(
        {"judge_prompt_ref": judges("criterion")}, optional={"weight": st.sampled_from((0, 0.5, 1))}
    )
    aggregate = st.sampled_from(("mean", "median", "min", "max", "majority"))
    return st.fixed_dictionaries({"aggregate": aggregate, "members": st.lists(member, min_size=1, max_size=4)})


def of_kind(kind: str, given: dict[str, Any], **optional: Any) -> st.SearchStrategy[Check]:
    return st.fixed_dictionaries({"kind": st.just(kind), **given}, optional={**optional, **COMMON})


FILLED = {"variables": st.fixed_dictionaries({"criterion": TEXTS})}
MORE = {"samples": st.integers(1, 3)}
LEAVES = st.one_of(
    of_kind("must_contain_any", {"values": st.just(["a"])}),
    of_kind("fact_match", {}, facts=FACTS, case_sensitive=st.booleans()),
    of_kind("fact_match", {"judge_prompt_ref": judges("fact")}, facts=FACTS),
    of_kind("llm_judge", {"judge_prompt_ref": judges("criterion")}, **MORE),
    of_kind("llm_judge", {"judge_prompt_ref": judges("criterion"), **FILLED}, **MORE),
    of_kind("llm_judge", {"jury": juries(), **FILLED}, **MORE),
    of_kind("llm_judge", {"jury": juries(), **FILLED}, **MORE),
)
INNER = st.fixed_dictionaries(
    {
        "checks": st.lists(LEAVES, min_size=1, max_size=3),
        "scoring": st.fixed_dictionaries(
            {"combine": st.sampled_from(("min", "max", "median", "all_pass", "any_pass"))},
            optional={"threshold": NUMBERS},
        ),
    }
)
WHOLE = LEAVES | of_kind("composite", {"rubric_ref": st.just("rubric/inner@1.0.0")})


def exact(number: float) -> Fraction:
    return Fraction(str(number))


def said(type_: str, prompt: str, sample: int) -> str:
    """Draw a reply; most can be read."""
    texts = [text for text, means in SAID.items() for _ in range(9 if type_ in means else 1)]
    return texts[crc32(f"{prompt}|{sample}".encode()) % len(texts)]


def asked(ref: str, extra: dict[str, str], text: str, row: Check, times: int = 1) -> list[Fraction | None]:
    """What one judge says, each time that it is asked."""
    ((name, value),) = extra.items()
    expected = row.get("expected") or ""
    expected = expected if isinstance(expected, str) else '{"a":true,"b":[1.5]}'
    prompt = f"{name} {text} {f'and {value}' if value else ''} {expected}"
    type_ = JUDGES[ref]["score_type"]
    return [SAID[said(type_, prompt, number)].get(type_) for number in range(times)]


def answer(check: Check, text: str, row: Check, inner: Check) -> Answer:
    match check["kind"]:
        case "must_contain_any":
            return Fraction("a" in text.lower())
        case "fact_match":
            listed = check.get("facts", row.get("expected_facts", []))
            facts = [fact["value"] if isinstance(fact, dict) else fact for fact in listed]
            if any(not fact.strip() for fact in facts):
                return "error"
            return of_facts(check, facts, text, row) if facts else "missing"
        case "llm_judge":
            return of_judges(check, text, row)
    results = [graded(one, text, row, inner) for one in inner["checks"]]
    scored = [(score, passed) for score, passed in results if isinstance(score, Fraction)]
    if not scored:
        return "missing" if {score for score, _ in results} == {"missing"} else "error"
    scores, passed = [score for score, _ in scored], [passed for _, passed in scored]
    return {
        "min": min(scores),
        "max": max(scores),
        "median": Fraction(median(scores)),
        "all_pass": Fraction(all(passed)),
        "any_pass": Fraction(any(passed)),
    }[inner["scoring"]["combine"]]


def of_facts(check: Check, facts: list[str], text: str, row: Check) -> Answer:
    if ref := check.get("judge_prompt_ref"):
        scores = [score for fact in facts for score in asked(ref, {"fact": fact}, text, row)]
        return "error" if None in scores else Fraction(sum(scores), len(facts))
    folded = (lambda part: part) if check.get("case_sensitive") else str.lower
    whole = " ".join(folded(text).split())
    return Fraction(sum(" ".join(folded(fact).split()) in whole for fact in facts), len(facts))


def of_judges(check: Check, text: str, row: Check) -> Answer:
    members = check["jury"]["members"] if "jury" in check else [check]
    aggregate = check["jury"]["aggregate"] if "jury" in check else "mean"
    weights = [exact(member.get("weight", 1)) for member in members]
    if "variables" not in check or (aggregate in {"mean", "majority"} and not sum(weights)):
        return "error"
    times = check.get("samples", 1)
    heard = [asked(member["judge_prompt_ref"], check["variables"], text, row, times) for member in members]
    if any(None in scores for scores in heard):
        return "error"
    scores = [Fraction(sum(scores), times) for scores in heard]
    bar = exact(check.get("threshold", 0.7))
    for_it = sum(weight for score, weight in zip(scores, weights, strict=True) if score >= bar)
    match aggregate:
        case "mean":
            return Fraction(sum(map(Fraction.__mul__, scores, weights)), sum(weights))
        case "majority":
            return Fraction(for_it > sum(weights) / 2)
        case "median":
            return Fraction(median(scores))
    return min(scores) if aggregate == "min" else max(scores)


def graded(check: Check, text: str, row: Check, inner: Check) -> tuple[Answer, bool]:
    score = answer(check, text, row, inner)
    if isinstance(score, str):
        return score, False
    score = 1 - score if check.get("negate") else score
    of_inner = inner["scoring"].get("threshold", 0.7)
    bar = {"llm_judge": 0.7, "composite": of_inner}.get(check["kind"], 1)
    return score, score >= exact(check.get("threshold", bar))


@settings(max_examples=1500)
@given(WHOLE, TEXTS, ROWS, INNER)
def test_judges_facts_and_composites_score_as_the_contract_says(
    check: Check, text: str, row: Check, inner: Check
) -> None:
    def load(ref: str) -> Artifact:
        value = inner if ref.startswith("rubric") else JUDGES[ref]
        return Artifact(parse_ref(ref).kind, parse_ref(ref).id, "1.0.0", Document(ref, "", value, {}, {}))

    def ask(call: JudgeCall) -> JudgeReply:
        return JudgeReply(said(JUDGES[call.judge]["score_type"], call.prompt, call.sample))

    rubric = {"checks": [check], "scoring": {"combine": "max"}}
    (found,) = evaluate(
        rubric, text, {"id": "q", "input": "?", **row}, context=CheckContext(load, ask, {"id": "m"})
    ).checks
    score, passed = graded(check, text, row, inner)
    if isinstance(score, str):
        assert (found.score, str(found.unscored), str(found.verdict)) == (None, score, "unscored")
    else:
        assert (found.score, str(found.verdict)) == (score, "pass" if passed else "fail")
