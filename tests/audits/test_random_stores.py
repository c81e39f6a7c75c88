"""Random stores against a brute force that shares no attribution: every factor by plain enumeration of orders."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from itertools import combinations, permutations
from math import factorial
from typing import Any

import pytest

from evalstore.checks import CheckContext, evaluate
from evalstore.model import Artifact, JudgeReply, Verdict
from evalstore.report import render
from evalstore.store import ArtifactStore
from tests.audits.conftest import Desk, rate
from tests.rows import mark_slow

FACTORS = ("rubric", "judge", "dataset", "outputs")
WORDS = ("ok", "simply", "foo", "good", "alpha", "beta")
Value = tuple[Fraction, Fraction]
JUDGES = {0: "Rate", 1: "HARD"}


def make_checks(chance: random.Random, version: int) -> list[dict[str, Any]]:
    """Return checks of one version; their ids are the same in both, what they demand is not."""
    return [
        {"id": "ban", "kind": "must_not_contain", "values": chance.sample(WORDS, chance.randint(1, 3))},
        {"id": "any", "kind": "must_contain_any", "values": chance.sample(WORDS, 2), "negate": chance.random() < 0.3},
        {"id": "facts", "kind": "fact_match"},
        {"id": "own", "kind": "must_contain_any", "values": {"from": "names"}, "negate": chance.random() < 0.3},
        {"id": "brief", "kind": "format", "format": "text", "max_chars": chance.choice([8, 14, 20])},
        {"id": "j", "kind": "llm_judge", "judge_prompt_ref": f"judge/acc@{version}.0.0"},
        {"id": "c", "kind": "composite", "rubric_ref": f"rubric/inner@{version}.0.0"},
    ]


def make_scoring(chance: random.Random, ids: Sequence[str]) -> dict[str, Any]:
    combine = chance.choice(["weighted_avg", "weighted_avg", "median", "min", "all_pass"])
    return {
        "combine": combine,
        "weights": {id_: chance.randint(1, 3) for id_ in ids},
        "required": chance.sample(ids, chance.randint(0, 1)),
        "threshold": chance.choice([0.4, 0.5, 0.7]),
    }


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.mark.heavy
@pytest.mark.sampling
@pytest.mark.parametrize(("seed", "size"), [(10, 2), *(mark_slow((seed, 6)) for seed in range(12))])
@pytest.mark.parametrize("second", ["style", mark_slow("r")])
def test_every_share_is_that_of_the_brute_force(
    desk: Desk, stack: ExitStack, second: str, seed: int, size: int
) -> None:
    """The dataset moves to another version of its rubric, or to a rubric of another id, which lacks checks of it."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    outer: dict[int, Mapping[str, Any]] = {}
    questions: dict[int, list[dict[str, Any]]] = {}
    for version in (1, 2):
        desk.judge(f"{version}.0.0", JUDGES[version - 1])
        # The judge is asked by the rubric itself, and by the one inside.
        inner_checks = [check for check in make_checks(chance, version) if check["id"] in {"ban", "any", "brief", "j"}]
        desk.rubric(f"{version}.0.0", *inner_checks, name="inner", **make_scoring(chance, ["ban", "any", "brief", "j"]))
        checks = make_checks(chance, version)
        name = {1: "r", 2: second}[version]
        if second != "r":
            gone = chance.sample(["ban", "any", "facts", "own", "brief"], 2)
            checks = [check for check in checks if check["id"] not in gone]
        chance.shuffle(checks)
        outer[version] = {"checks": checks, "scoring": make_scoring(chance, [check["id"] for check in checks])}
        desk.rubric(f"{version}.0.0", *checks, name=name, **outer[version]["scoring"])
        questions[version] = [
            {"id": f"q{i}", "input": "x", "expected_facts": chance.sample(WORDS, 2), "names": chance.sample(WORDS, 2)}
            | ({} if name == "r" else {"rubric_ref": f"rubric/{name}@{version}.0.0"})
            for i in range(size)
        ]
        desk.dataset(f"{version}.0.0", questions[version], "1.0.0" if name != "r" else None)
    lines = [
        [
            {"id": f"q{i}", "sample": k, "output": " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))}
            for i in range(size)
            if (i, version) != (size - 1, 2)  # which B did not answer
            for k in range(1 + (seed % 3 == 0))
        ]
        for version in (1, 2)
    ]
    runs = [desk.score_lines(f"{version}.0.0", lines[version - 1], f"run{version}") for version in (1, 2)]
    if seed % 2:
        desk.repo.forget()
    found = desk.audit(*runs, asks=True)
    assert (found.common, found.price.calls, found.drift) == (size - 1, 0, ())
    expected = {name: [Fraction(0), Fraction(0)] for name in FACTORS}
    store = stack.enter_context(ArtifactStore.open(desk.repo.root))
    for number in range(size - 1):
        outputs = [[line["output"] for line in side if line["id"] == f"q{number}"] for side in lines]

        def value(entered: frozenset[str], number: int = number, outputs: Any = outputs) -> Value:
            side = {name: 1 + (name in entered) for name in FACTORS}
            question = questions[side["dataset"]][number]
            context = make_context(store, side["rubric"], side["judge"])
            results = [
                evaluate(outer[side["rubric"]], text, question, context=context)
                for text in outputs[side["outputs"] - 1]
            ]
            scores = [result.score for result in results if result.score is not None]
            passed = sum(result.verdict is Verdict.PASS for result in results)
            return sum(scores, Fraction(0)) / len(scores), Fraction(passed, len(results))

        for name, share in enumerate_orders(value).items():
            for channel in (0, 1):
                expected[name][channel] += share[channel] / (size - 1)
    factors = {factor.name: [factor.share, factor.passes] for factor in found.factors}
    assert {name: factors[name] for name in FACTORS} == expected
    assert [name for name, shares in factors.items() if any(shares) and name not in FACTORS] == []
    assert found.passes_delta == sum(factor.passes for factor in found.factors) + found.lines.total.passes
    assert render(found, "text")


def make_context(store: ArtifactStore, rubric: int, judge: int) -> CheckContext:
    versions = {"judge/acc": judge, "rubric/inner": rubric}

    def load(ref: str) -> Artifact:
        name = ref.partition("@")[0]
        return store.read_artifact(f"{name}@{versions[name]}.0.0")

    return CheckContext(load, lambda call: JudgeReply(text=rate(call.prompt)))


def enumerate_orders(value: Callable[[frozenset[str]], Value]) -> dict[str, list[Fraction]]:
    known: dict[frozenset[str], Value] = {}
    shares = {name: [Fraction(0), Fraction(0)] for name in FACTORS}
    for order in permutations(FACTORS):
        entered: frozenset[str] = frozenset()
        for name in order:
            for held in (entered, entered | {name}):
                if held not in known:
                    known[held] = value(held)
            for channel in (0, 1):
                gain = known[entered | {name}][channel] - known[entered][channel]
                shares[name][channel] += gain / factorial(len(FACTORS))
            entered |= {name}
    return shares


@pytest.mark.sampling
@pytest.mark.parametrize("seed", [0, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 4))])
@pytest.mark.parametrize("second", ["r", "style"])
def test_phrases_samples_errors_and_missing_answers_are_those_of_the_brute_force(
    desk: Desk, second: str, seed: int
) -> None:
    """Phrases come and go, one check cannot be graded at all, and either run lacks answers; so, too, by another id."""
    chance, size = random.Random(seed), 6  # noqa: S311  # no secret
    banned = [set(chance.sample(WORDS, 3)) for _ in range(2)]
    policy = chance.choice(["skip", "zero", "fail"]) if seed else "skip"
    scoring = {"combine": "weighted_avg", "threshold": 0.6, "errors": policy}
    shared = [
        {"id": "wants", "kind": "must_contain_any", "values": ["good", "alpha"], "min_matches": 1 + seed % 2},
        {"id": "lost", "kind": "no_such_kind"},
    ]

    def build(words: set[str]) -> dict[str, Any]:
        ban = {"id": "ban", "kind": "must_not_contain", "values": sorted(words)}
        return {"checks": [ban, *shared], "scoring": scoring}

    for version in (1, 2):
        name = {1: "r", 2: second}[version]
        desk.rubric(f"{version}.0.0", *build(banned[version - 1])["checks"], name=name, **scoring)
        pin = {"rubric_ref": f"rubric/{name}@{version}.0.0"}
        desk.dataset(f"{version}.0.0", [{"id": f"q{i}", "input": "x", **pin} for i in range(size)], "1.0.0")
    absent = chance.randrange(size), chance.randrange(size)
    texts = [
        {
            f"q{i}": [" ".join(chance.choices(WORDS, k=3)) for _ in range(chance.randint(1, 3))]
            for i in range(size)
            if i != absent[side]
        }
        for side in (0, 1)
    ]
    runs = [
        desk.score_lines(f"{side + 1}.0.0", [
            {"id": id_, "sample": k, "output": text} for id_, several in texts[side].items() for k, text in enumerate(several)
        ], f"run{side}")
        for side in (0, 1)
    ]  # fmt: skip
    found = desk.audit(*runs)

    def value(words: set[str], outputs: Sequence[str]) -> Value:
        results = [evaluate(build(words), text) for text in outputs]
        scores = [result.score or Fraction(0) for result in results]
        passed = sum(result.verdict is Verdict.PASS for result in results)
        return sum(scores, Fraction(0)) / len(scores), Fraction(passed, len(results))

    edits = sorted(banned[0] ^ banned[1])
    orders = [order for edited in permutations(edits) for order in ((*edited, "outputs"), ("outputs", *edited))]
    gains = {name: [Fraction(0), Fraction(0)] for name in (*edits, "outputs")}
    common = sorted(texts[0].keys() & texts[1].keys())
    for id_ in common:
        known = {
            (made, side): value(banned[0] ^ {*made}, texts[side][id_])
            for length in range(len(edits) + 1)
            for made in combinations(edits, length)
            for side in (0, 1)
        }
        for order in orders:
            held, side = set[str](), 0
            for name in order:
                before = known[tuple(sorted(held)), side]
                held, side = (held, 1) if name == "outputs" else (held | {name}, side)
                after = known[tuple(sorted(held)), side]
                for channel in (0, 1):
                    gains[name][channel] += (after[channel] - before[channel]) / len(orders) / len(common)
    factors = {factor.name: factor for factor in found.factors}
    causes = [[cause.share, cause.passes] for cause in factors["rubric"].causes]
    # A phrase that moved nothing need not be named.
    assert sorted(one for one in causes if any(one)) == sorted(gains[name] for name in edits if any(gains[name]))
    assert [factors["outputs"].share, factors["outputs"].passes] == gains["outputs"]
    means = [
        [sum(column, Fraction(0)) / len(side) for column in zip(*(value(banned[at], one) for one in side.values()), strict=True)]
        for at, side in enumerate(texts)
    ]  # fmt: skip
    assert [found.delta, found.passes_delta] == [new - old for old, new in zip(*means, strict=True)]
    rest = [
        change - sum(gain[channel] for gain in gains.values())
        for channel, change in enumerate((found.delta, found.passes_delta))
    ]
    assert [found.lines.no_answer.score, found.lines.no_answer.passes] == rest
    assert (found.common, found.drift, found.lines.mix.score, found.lines.judge_errors.score) == (len(common), (), 0, 0)


FACTS, CODE = ["alpha", "beta"], "```php\n<?php echo 1;\n```"


@pytest.mark.sampling
@pytest.mark.parametrize("seed", [1, 4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2, 3, 5, 6, 7))])
def test_lost_calls_code_and_keys_are_those_of_the_brute_force(desk: Desk, seed: int) -> None:  # noqa: PLR0915  # one store
    """Either run may lose its record of calls, its code, or a key of its questions; both rubrics ask for all of it."""
    chance, size = random.Random(seed), 6  # noqa: S311  # no secret
    missing = chance.choice(["skip", "zero"])
    rubrics: list[list[dict[str, Any]]] = []
    weights: list[dict[str, int]] = []
    for version in (1, 2):
        rubrics.append([
            {"id": "ban", "kind": "must_not_contain", "values": chance.sample(WORDS, 2)},
            {"id": "tools", "kind": "tool_usage", "tools": [{"name": chance.choice(["find", "read"])}]},
            {"id": "lint", "kind": "php_lint", "on_no_code": "unscored"},
            {"id": "facts", "kind": "fact_match"},
            {"id": "own", "kind": "must_contain_any", "values": {"from": "names"}},
        ])  # fmt: skip
        weights.append({check["id"]: chance.randint(0, 3) for check in rubrics[-1]} | {"ban": seed % 2})
        desk.rubric(f"{version}.0.0", *rubrics[-1], weights=weights[-1], missing=missing, threshold=0.6)
    questions = [
        [
            {"id": f"q{i}", "input": "x"}
            | ({"expected_facts": chance.sample(FACTS, 1)} if chance.random() < 0.7 else {})
            | ({"names": chance.sample(WORDS, 2)} if chance.random() < 0.7 else {})
            for i in range(size)
        ]
        for _ in range(2)
    ]
    outputs: list[list[dict[str, Any]]] = []
    for version, rows in enumerate(questions, 1):
        desk.dataset(f"{version}.0.0", rows)
        lost = chance.choice([0.1, 0.9])
        outputs.append([
            {"id": f"q{i}", "output": " ".join([*chance.choices(WORDS, k=2), chance.choice(["", f"\n{CODE}\n"])])}
            | ({} if chance.random() < lost else {"tool_calls": [{"name": chance.choice(["find", "read"])}]})
            for i in range(size)
        ])  # fmt: skip
    runs = [desk.score_lines(f"{side + 1}.0.0", outputs[side], f"run{side}") for side in (0, 1)]
    found = desk.audit(*runs)

    def grade(number: int, rubric: int, dataset: int, answer: int) -> dict[str, Fraction | None]:
        value = {"checks": rubrics[rubric], "scoring": {"combine": "any_pass"}}
        result = evaluate(value, outputs[answer][number], questions[dataset][number])
        return {check.id: check.score for check in result.checks}

    def combine(scores: Mapping[str, Fraction | None], left_out: frozenset[str], rubric: int) -> Value | None:
        counted = {
            id_: (None if id_ in left_out else score) or Fraction(0)
            for id_, score in scores.items()
            if missing == "zero" or (score is not None and id_ not in left_out)
        }
        total = sum(weights[rubric][id_] for id_ in counted)
        if not total:
            return None
        score = sum((weights[rubric][id_] * one for id_, one in counted.items()), Fraction(0)) / total
        return score, Fraction(score >= Fraction(6, 10))

    names = ("rubric", "dataset", "outputs")
    expected = {name: [Fraction(0), Fraction(0)] for name in names}
    wholes: list[list[Value]] = [[], []]
    compared, emptied = 0, set[str]()
    for number in range(size):
        ends = [grade(number, side, side, side) for side in (0, 1)]
        left_out = frozenset(id_ for id_ in ends[0] if (ends[0][id_] is None) is not (ends[1][id_] is None))
        recorded = [combine(ends[side], frozenset(), side) for side in (0, 1)]
        for side in (0, 1):
            wholes[side] += [one for one in [recorded[side]] if one is not None]
        if recorded == [None, None]:
            continue
        if left_out or None in recorded:  # without a score, too, where all that was graded has weight 0
            emptied.add(f"q{number}")

        def value(entered: frozenset[str], number: int = number, left_out: frozenset[str] = left_out) -> Value | None:
            rubric, dataset, answer = (int(name in entered) for name in names)
            return combine(grade(number, rubric, dataset, answer), left_out, rubric)

        cells = {held: value(held) for size_ in range(4) for held in map(frozenset, combinations(names, size_))}
        if None in recorded or cells[frozenset()] is None or cells[frozenset(names)] is None:
            continue
        compared += 1
        if None in cells.values():  # factors that move together have a joint name
            pytest.skip("a mix without a score")
        for order in permutations(names):
            held = frozenset[str]()
            for name in order:
                for channel in (0, 1):
                    gain = cells[held | {name}][channel] - cells[held][channel]  # type: ignore[index]
                    expected[name][channel] += gain / 6
                held |= {name}
    factors = {factor.name: factor for factor in found.factors}
    assert found.common == compared
    assert {*found.lines.emptied} == emptied
    shares = {name: [factors[name].share, factors[name].passes] for name in names}
    assert shares == {name: [one / compared for one in both] for name, both in expected.items()}
    means = [[sum(column, Fraction(0)) / len(side) for column in zip(*side, strict=True)] for side in wholes]
    delta = [new - old for old, new in zip(*means, strict=True)]
    assert [found.delta, found.passes_delta] == delta
    rest = [delta[channel] - sum(both[channel] for both in shares.values()) for channel in (0, 1)]
    assert [found.lines.nothing_to_grade.score, found.lines.nothing_to_grade.passes] == rest
