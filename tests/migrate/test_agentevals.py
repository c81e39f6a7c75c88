"""A migrated AgentEvals case scores what its runner scored, and passes where it passed; elsewhere the report says lossy."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import Document, read_json, write_json
from evalstore.languages.patterns.engine import compile_pattern
from evalstore.languages.schemas import compile_shipped_schema
from evalstore.migration import MigrationOutcome
from evalstore.migration.detect import detect_format
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.migration.javascript.patterns import translate_pattern
from evalstore.migration.readers import run_reader
from evalstore.migration.table import load_tables
from evalstore.model import Artifact, JudgeCall, JudgeReply, Kind
from evalstore.places import find_resource_folder

TABLE = load_tables("agentevals")[0]
LISTS = {"D1": "evaluators", "D2": "assert", "D3": "assertions", "D4": "assert"}
CASES = {"D1": "evalcases", "D2": "tests", "D3": "tests", "D4": "tests"}
JUDGES = {"D1": "llm_judge", "D2": "llm-judge", "D3": "llm-grader", "D4": "llm-rubric"}
PROGRAMS = {"D1": "code_judge", "D2": "code-judge", "D3": "code_grader", "D4": "script"}
# What keeps a case from `migrated` although, given the same answers of a model, the score is the same.
ONLY_WORDS = (
    "another prompt: ",
    "each point is asked by itself",
    "before 4.16 the runner weighed",
    "a prompt does not show",
    "versions of the runner leave",
    "versions of the runner skip a check without a name",
)
PROMPTS = ["Is it good?", "Grade {{candidate_answer}}", "{{ question }} / {{answer}}: fair?", "{{#if}} {{ x.y }} odd"]


def _model() -> ModuleType:
    spec = spec_from_file_location("agentv_model", Path(__file__).parent / "agentv_model.py")
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODEL = _model()


def taken(root: Any, dialect: str | None = None, file: str = "s.eval.json", beside: Any = None) -> Extraction:
    document = read_json(write_json(root), file)
    return run_reader(LegacySource(document, file, "", (beside or {}).get, dialect), TABLE)


def only(evaluators: list[Any], dialect: str = "D3", **more: Any) -> LegacyCase:
    """The one case of a suite whose evaluators these are."""
    case = {"id": "q", "criteria": "be good", "input": "a task", LISTS[dialect]: evaluators, **more}
    return taken({CASES[dialect]: [case]}, dialect).cases[0]


def score(said: Extraction, case: LegacyCase, text: str, calls: list[Any], ask: Any) -> Any:
    artifacts = {draft.ref: artifact(draft) for draft in said.drafts}
    context = CheckContext(load=artifacts.__getitem__, ask=ask, model={"id": "m"})
    assert case.rubric
    value = case.rubric.value | {"id": "r", "version": "1.0.0"}
    return evaluate(value, {"output": text, "tool_calls": calls}, case.question, context=context)


def artifact(draft: ArtifactDraft) -> Artifact:
    value = {"id": draft.id, "version": draft.version, **draft.value}
    return Artifact(draft.kind, draft.id, draft.version, Document("", "", value, {}, {}))


def opinion(prompt: str) -> Fraction:
    """What a model says of a prompt: always the same, in tenths."""
    return Fraction(hashlib.sha256(prompt.encode()).digest()[0] % 11, 10)


def holds(point: str) -> bool:
    return hashlib.sha256(point.encode()).digest()[0] % 2 == 0


class Model:
    """One model for both: asked with a prompt of the file, a point, or the criteria of a test."""

    def __init__(self, *, down: bool) -> None:
        self.down = down

    def ask(self, prompt: str) -> Fraction | None:
        return None if self.down else opinion(prompt)

    def reply(self, call: JudgeCall) -> JudgeReply:
        if "agentv_rubric_item" in call.judge:
            point = call.prompt.split("The point:\n", 1)[1].split("\n\nReply with one JSON", 1)[0]
            return JudgeReply(json.dumps({"verdict": "pass" if holds(point) else "fail"}))
        if self.down:
            return JudgeReply(problem="nobody is there")
        if "agentv_criteria" in call.judge:
            criteria = call.prompt.split("What a good answer does:\n", 1)[1].split("\n\n", 1)[0]
            prompt = f"criteria: {criteria}"
        else:
            prompt = call.prompt.removesuffix(TABLE.form["reply"])
        return JudgeReply(json.dumps({"score": float(opinion(prompt))}))


def filled(prompt: str, text: str) -> str:
    for name, value in {"candidate_answer": text, "answer": text, "question": "a task"}.items():
        prompt = prompt.replace(f"{{{{{name}}}}}", value).replace(f"{{{{ {name} }}}}", value)
    return prompt


VALUES = st.sampled_from(["a", "b", "ok", "K", "é", " a ", "", "0", "\ufeffok", "ΑΣ", "a b"])
WEIGHTS = st.sampled_from([None, 0, 1, 2, Decimal("0.5"), Decimal("0.3"), Decimal("1.0")])
ODD = st.sampled_from(
    [{"type": "nope"}, {"type": 3}, {"name": "x"}, 7, {"type": "contains"}, {"type": "composite"}, None]
)


def texts() -> Any:
    kinds = [kind for kind in MODEL.KINDS if "contains" in kind]
    one = st.fixed_dictionaries(
        {"type": st.sampled_from(kinds), "value": VALUES | st.lists(VALUES, max_size=3) | st.lists(VALUES | st.just(3))}
    )
    trim = st.fixed_dictionaries({"type": st.sampled_from(["starts-with", "ends_with", "equals"]), "value": VALUES})
    patterns = st.sampled_from([{"type": "regex", "value": p, "flags": f} for p, f in MODEL.PATTERNS])
    return one | trim | patterns


def judges(dialect: str) -> Any:
    kind = st.just(JUDGES[dialect])
    points = st.fixed_dictionaries({"type": kind}, optional={"value": VALUES.filter(str.strip)})
    point = points if dialect == "D4" else st.nothing()
    return st.fixed_dictionaries({"type": kind, "prompt": st.sampled_from(PROMPTS)}) | point


def rubrics() -> Any:
    point = VALUES | st.fixed_dictionaries({"outcome": VALUES, "weight": WEIGHTS})
    return st.fixed_dictionaries({"type": st.just("rubrics"), "criteria": st.lists(point, max_size=3)})


def calls() -> Any:
    least = st.dictionaries(st.sampled_from(["find", "read", "write"]), st.integers(1, 2), max_size=3)
    return st.fixed_dictionaries(
        {"type": st.just("tool_trajectory"), "mode": st.sampled_from(["any_order", None]), "minimums": least}
    )


def programs(dialect: str) -> Any:
    return st.sampled_from([{"type": PROGRAMS[dialect]}, {"type": "latency"}])


def leaves(dialect: str) -> Any:
    graded = texts() | texts() | texts() | judges(dialect) | judges(dialect) | calls() | rubrics()
    return graded | graded | programs(dialect) | ODD


def composites(members: Any, dialect: str) -> Any:
    named = st.tuples(members, st.sampled_from(["x", "y"])).map(
        lambda pair: pair[0] | {"name": pair[1]} if isinstance(pair[0], dict) else pair[0]
    )
    weighted = st.fixed_dictionaries(
        {
            "type": st.just("weighted_average"),
            "weights": st.dictionaries(st.sampled_from(["x", "y"]), WEIGHTS, max_size=2),
        }
    )
    share = st.sampled_from([Decimal("0.5"), 1]).map(lambda bar: {"type": "threshold", "threshold": bar})
    how = weighted | share | st.sampled_from([None, {"type": "unheard_of"}, {}])
    return st.fixed_dictionaries(
        {"type": st.just("composite"), LISTS[dialect]: st.lists(named, max_size=3), "aggregator": how}
    )


def sets(members: Any, _: str) -> Any:
    weighed = st.tuples(members, WEIGHTS).map(
        lambda pair: pair[0] | {"weight": pair[1]} if isinstance(pair[0], dict) and pair[1] is not None else pair[0]
    )
    return st.fixed_dictionaries(
        {"type": st.just("assert-set"), "assert": st.lists(weighed | VALUES, max_size=3), "threshold": st.just(1)}
    )


@st.composite
def evaluators(draw: Any, dialect: str) -> list[Any]:
    groups = sets if dialect == "D4" else composites
    nested = st.recursive(leaves(dialect), lambda inner: groups(inner, dialect), max_leaves=6)
    plain = draw(st.lists(nested | (VALUES if dialect in MODEL.NEW else st.nothing()), max_size=4))
    more = {
        "weight": WEIGHTS,
        "negate": st.sampled_from([None, True, False]),
        "required": st.sampled_from([None, None, True, False, Decimal("0.6"), 2, -1, "true"]),
        "min_score": st.sampled_from([None, None, Decimal("0.3"), 0, 80]),
    }
    full = []
    for one in plain:
        added = {key: value for key, how in more.items() if (value := draw(how)) is not None}
        full.append({**one, **added} if isinstance(one, dict) else one)
    return full


@st.composite
def suites(draw: Any) -> tuple[str, dict[str, Any]]:
    dialect = draw(st.sampled_from(sorted(LISTS)))
    key = LISTS[dialect]
    wrap = (lambda given: {"execution": {"evaluators": given}}) if dialect == "D1" else (lambda given: {key: given})
    asked = {"vars": {"input": "a task"}} if dialect == "D4" else {"criteria": "be good", "input": "a task"}
    case = {"id": "q", **asked, **wrap(draw(evaluators(dialect)))}
    if draw(st.booleans()):
        case.setdefault("execution", {})["skip_defaults"] = draw(st.booleans())
    root = {CASES[dialect]: [case]} | (wrap(draw(evaluators(dialect))) if draw(st.booleans()) else {})
    if dialect in MODEL.NEW and draw(st.booleans()):
        root["threshold"] = Decimal("0.5")
    if dialect == "D4" and draw(st.booleans()):
        root["default_test"] = {"assert": draw(evaluators(dialect)), "threshold": Decimal("0.6")}
    return dialect, root


OUTPUTS = st.sampled_from(["", "ok", "a b", " ok\n", "a\nb", "K", "12", "\ufeffok", "é a 0", "k\u2028K", "ας", "{{a}}"])
CALLS = st.lists(st.sampled_from(["find", "read", "other"]).map(lambda name: {"name": name, "args": {}}), max_size=4)


@settings(max_examples=100)
@given(suites(), OUTPUTS, CALLS, st.booleans())
def test_a_migrated_case_scores_and_passes_as_in_its_runner(
    drawn: tuple[str, dict[str, Any]],
    text: str,
    made: list[Any],
    down: bool,  # noqa: FBT001  # drawn
) -> None:
    dialect, root = drawn
    said = taken(root, dialect)
    (case,) = said.cases
    model = Model(down=down and not {"composite", "assert-set"} & set(json.dumps(root, default=str).split('"')))
    answer = MODEL.Answer(text, made, lambda prompt: model.ask(filled(prompt, text)), holds)
    try:
        wanted = MODEL.grade(root, root[CASES[dialect]][0], dialect, answer)
    except MODEL.Crash:
        assert case.outcome is MigrationOutcome.REFUSED
        return
    assert wanted is not None
    assert case.outcome is not MigrationOutcome.REFUSED
    if case.outcome is MigrationOutcome.MIGRATED or all(reason.startswith(ONLY_WORDS) for reason in case.sentences):
        result = score(said, case, text, made, model.reply)
        assert (result.score, result.verdict == "pass") == wanted


def passes(case: LegacyCase, text: str, made: list[Any] | None = None) -> Any:
    return score(Extraction("D3"), case, text, made or [], lambda _: JudgeReply(problem="nobody")).score


@pytest.mark.parametrize(
    "value",
    [
        {"name": "chapters", "evaluations": [{"id": 1, "expectations": ["x"], "rubric": [{"level": 1}]}]},
        {"evals": [{"id": 1, "prompt": "?", "expectations": ["x"]}]},
        [{"query": "x", "should_trigger": True}],
        {"tests": "none", "suite": 1},
        {"test_id": "q", "scores": [1]},
        ["tests"],
        "tests",
        7,
        None,
    ],
)
def test_other_things_are_left_alone(value: Any) -> None:
    match = detect_format(value, [TABLE])
    assert match.table is None or match.confidence < 0.5


@pytest.mark.parametrize(
    ("root", "dialect"),
    [
        ({"evalcases": [{"id": "a", "outcome": "x", "input": "y"}]}, "D0"),
        ({"$schema": "agentv-eval-v2", "evalcases": [{"id": "a", "expected_outcome": "x"}]}, "D0"),
        ({"evalcases": [{"id": "a", "expected_outcome": "x", "input": "y"}]}, "D1"),
        ({"eval_cases": [{"id": "a", "criteria": "x", "input": "y"}]}, "D1"),
        ({"evalcases": [{"id": "a", "execution": {"evaluators": [{"type": "llm_judge"}]}}]}, "D1"),
        ({"tests": [{"id": "a", "criteria": "x", "input": "y", "assert": [{"type": "contains"}]}]}, "D2"),
        (
            {
                "tests": [
                    {"id": "a", "criteria": "x", "input": "y", "execution": {"evaluators": [{"type": "llm-judge"}]}}
                ]
            },
            "D2",
        ),
        ({"tests": [{"id": "a", "criteria": "x", "input": "y", "assert": [{"type": "rubric"}]}]}, "D2s"),
        ({"tests": [{"id": "a", "criteria": "x", "input": "y", "assertions": []}]}, "D3"),
        ({"tests": [{"id": "a", "criteria": "x", "input": "y"}], "assertions": ["b"]}, "D3"),
        ({"tests": [{"id": "a", "criteria": "x", "input": "y", "assert": [{"type": "skill-trigger"}]}]}, "D3"),
        ({"tests": [{"id": "a", "criteria": "x", "input": "y"}]}, "D3"),
        ({"prompts": ["{{ input }}"], "tests": [{"assert": ["b"], "vars": {}}]}, "D4"),
        ({"tests": [{"vars": {"input": "y"}, "assert": []}]}, "D4"),
        ({"tests": [{"id": "a", "assert": [{"type": "assert-set", "assert": []}]}]}, "D4"),
        ({"tests": [{"id": "a", "assert": [{"type": "trajectory:tool-used"}]}]}, "D4"),
        ([{"id": "a", "expected_outcome": "x", "input_messages": []}], "D1"),
        ([{"id": "a", "criteria": "x", "input": "y"}], "D3"),
    ],
)
def test_the_dialect_is_told_by_the_content(root: Any, dialect: str) -> None:
    assert detect_format(root, [TABLE]).confidence >= 0.5
    assert taken(root).dialect == dialect


def test_a_dialect_that_is_asked_for_wins_and_one_that_is_not_there_is_refused() -> None:
    root = {"tests": [{"id": "a", "criteria": "x", "input": "y", "assertions": [{"type": "contains", "value": "b"}]}]}
    assert taken(root).cases[0].outcome is MigrationOutcome.MIGRATED
    (note,) = [note for note in taken(root, "D2").notes if "assertions" in note.reason]
    assert "it is read as D2, but assertions speaks for D3" in note.reason
    assert [note.outcome for note in taken(root, "D5").notes] == [MigrationOutcome.REFUSED]


def test_up_to_d1_a_case_replaces_the_checks_of_its_suite_from_d2_it_adds_to_them() -> None:
    own, shared = [{"type": "rubrics", "criteria": ["own"]}], [{"type": "rubrics", "criteria": ["shared"]}]
    case = {"id": "a", "input": "y", "execution": {"evaluators": own}}

    def asked(root: Any, dialect: str) -> set[str]:
        rubrics = [draft.value for draft in taken(root, dialect).drafts] + [taken(root, dialect).cases[0].rubric.value]  # type: ignore[union-attr]
        return {
            check["variables"]["criterion"]
            for value in rubrics
            for check in value.get("checks", ())
            if "variables" in check
        }

    suite = {"execution": {"evaluators": shared}, "evalcases": [case]}
    assert asked(suite, "D0") == asked(suite, "D1") == {"own"}
    assert asked(suite, "D2") == asked(suite, "D3") == {"own", "shared"}
    skipping = suite | {"evalcases": [case | {"execution": {"evaluators": own, "skip_defaults": True}}]}
    assert asked(skipping, "D2") == {"own"}
    assert asked(suite | {"evalcases": [{"id": "a", "input": "y"}]}, "D1") == {"shared"}
    alone = suite | {"evalcases": [{"id": "a", "input": "y", "execution": {"target": "any"}}]}
    assert asked(alone, "D1") == {"shared"}
    assert any("without the checks of its suite" in reason for reason in taken(alone, "D1").cases[0].sentences)


@pytest.mark.parametrize(
    ("how", "texts", "wanted"),
    [
        ({"type": "minimum"}, "ab", 0),
        ({"type": "minimum"}, "abc", 1),
        ({"type": "maximum"}, "a", 1),
        ({"type": "maximum"}, "", 0),
        ({"type": "safety_gate", "required": ["a"]}, "a", Fraction(1, 3)),
        ({"type": "safety_gate", "required": ["a"]}, "bc", 0),
        ({"type": "safety_gate", "required": ["a"], "weights": {"a": 2}}, "a", Fraction(1, 2)),
        ({"type": "safety_gate"}, "ab", 0),
        ({"type": "all_or_nothing"}, "ab", 0),
        ({"type": "all_or_nothing", "threshold": 1}, "abc", 1),
    ],
)
def test_aggregators_that_exist_on_paper_are_read_as_the_paper_says(how: Any, texts: str, wanted: Any) -> None:
    members = [{"name": name, "type": "contains", "value": name} for name in "abc"]
    group = {"name": "g", "type": "composite", "aggregator": how, "assertions": members}
    root = {"tests": [{"id": "q", "criteria": "x", "input": "y", "assertions": [group]}]}
    said = taken(root, "D3")
    (case,) = said.cases
    assert case.outcome is MigrationOutcome.LOSSY
    assert f"never knew the aggregator {how['type']}" in case.sentences[0]
    assert score(said, case, texts, [], None).score == wanted


def test_averages_of_averages_are_one_average_and_other_groups_in_a_group_are_set_aside() -> None:
    share, least = {"type": "threshold", "threshold": Decimal("0.5")}, {"type": "minimum"}
    leaf, text = {"name": "leaf", "type": "contains", "value": "a"}, {"name": "text", "type": "ends-with", "value": "b"}

    def group(how: dict[str, Any], *members: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"name": "group", "type": "composite", "aggregator": how, "assertions": [*members], **more}

    average = {"type": "weighted_average"}
    shares = only([group(average, group(share, leaf, text), leaf, required=True), text])
    assert shares.outcome is MigrationOutcome.MIGRATED  # the share of what passes is an average, too
    plain = only([group(average, group(least, leaf, text), leaf), text])
    assert plain.rubric
    assert [check["kind"] for check in plain.rubric.value["checks"]] == ["composite", "must_contain_any", "regex"]
    assert plain.rubric.value["scoring"]["weights"] == {"group": Decimal("0.5"), "leaf": Decimal("0.5")}
    report = only([group(average, group(least, leaf, text), leaf, required=True), text])
    assert report.rubric
    assert "one level deep" in report.rubric.value["x_unmapped"][0]["reason"]
    assert "one level deep" in report.notes[0].reason


def test_a_group_in_which_nothing_weighs_keeps_its_own_weight_and_what_could_not_be_said() -> None:
    inner = {"type": "assert-set", "weight": 0, "assert": [{"type": "contains", "value": "a"}, {"type": "script"}]}
    for weight, wanted in ((0, 1), (1, Fraction(1, 2))):
        outer = {"type": "assert-set", "weight": weight, "assert": [inner]}
        case = only([outer, {"type": "contains", "value": "b"}], "D4")
        assert case.rubric
        assert case.rubric.value["x_unmapped"][0]["raw"] == {"type": "script"}
        assert passes(case, "ab") == wanted


def test_what_the_runner_skips_is_out_of_the_score_and_said() -> None:
    odd = [
        {"type": "contains"},
        {"type": "llm_judge", "prompt": "Is it good?"},
        {"type": "composite", "assertions": [{"type": "contains", "value": "b"}]},
        {"type": "tool-trajectory", "minimums": {"find": 1}},
        {"name": "nothing"},
    ]
    case = only([{"type": "contains", "value": "a"}, *odd])
    assert case.outcome is MigrationOutcome.MIGRATED
    assert case.rubric
    assert len(case.rubric.value["checks"]) == 1
    assert [note.outcome for note in case.notes] == [MigrationOutcome.UNMAPPED] * len(odd)
    assert all("the runner skips it" in note.reason for note in case.notes)
    assert passes(case, "a") == 1


def test_what_no_check_can_say_makes_the_rubric_partial_and_alone_leaves_it_unscored() -> None:
    code = {"type": "code-grader", "command": ["run", "it"], "weight": 2}
    case = only([{"type": "contains", "value": "a"}, code])
    assert case.outcome is MigrationOutcome.LOSSY
    assert case.rubric
    assert case.rubric.value["x_unmapped"][0]["raw"] == code
    alone = only([code])
    assert alone.outcome is MigrationOutcome.LOSSY
    assert passes(alone, "anything") is None


def test_a_failed_judge_counts_zero_and_keeps_its_weight() -> None:
    root = {"tests": [{"id": "q", "criteria": "x", "input": "y", "assertions": [
        {"type": "contains", "value": "a"}, {"type": "llm-grader", "prompt": "Is it good?", "negate": True}]}]}  # fmt: skip
    said = taken(root)
    assert score(said, said.cases[0], "a", [], lambda _: JudgeReply(problem="down")).score == Fraction(1, 2)
    assert score(said, said.cases[0], "a", [], lambda _: JudgeReply('{"score": 0.25}')).score == Fraction(7, 8)
    assert score(said, said.cases[0], "a", [], lambda _: JudgeReply('I say {"score": 0.25}, so')).score == Fraction(
        7, 8
    )


def test_the_threshold_is_that_of_the_test_then_that_of_the_suite_and_only_where_the_dialect_has_one() -> None:
    check = [{"type": "contains", "value": "a"}]
    root = {"threshold": Decimal("0.5"), "tests": [{"id": "q", "criteria": "x", "input": "y", "assert": check}]}

    def bar(root: Any, dialect: str) -> Any:
        return taken(root, dialect).cases[0].rubric.value["scoring"]["threshold"]  # type: ignore[union-attr]

    assert bar(root, "D3") == Decimal("0.5")
    assert bar(root, "D2") == Decimal("0.8")
    root["tests"][0]["threshold"] = 1  # type: ignore[index]
    assert bar(root, "D3") == 1
    root["tests"][0]["threshold"] = 80  # type: ignore[index]
    assert taken(root, "D3").cases[0].outcome is MigrationOutcome.REFUSED


def test_criteria_of_a_row_are_a_check_since_the_last_dialect_and_a_judge_of_their_own_before() -> None:
    row = {
        "id": "a",
        "criteria": "Is warm",
        "input": "y",
        "vars": {"input": "y"},
        "assert": [{"type": "contains", "value": "a"}],
    }

    def kinds(root: Any, dialect: str) -> list[str]:
        return [check["kind"] for check in taken(root, dialect).cases[0].rubric.value["checks"]]  # type: ignore[union-attr]

    assert kinds([row], "D4") == ["must_contain_any", "llm_judge"]
    assert kinds({"tests": [row]}, "D4") == ["must_contain_any"]
    assert kinds([row], "D3") == ["must_contain_any"]


def test_variables_of_a_test_fill_its_prompts_under_names_of_their_own() -> None:
    prompt = "{{ expected }} {{braces}} {{ x.y }} {{ é }} {{ who }} {{{{ output }}"
    variables = {"input": "y", "expected": "e", "braces": "b", "x.y": "z", "é": "f", "who": "w {{ output }}"}
    root = {
        "prompts": ["{{ input }}"],
        "tests": [{"vars": variables, "assert": [{"type": "llm-rubric", "prompt": prompt}]}],
    }
    said, asked = taken(root), []

    def ask(call: JudgeCall) -> JudgeReply:
        asked.append(call.prompt.removesuffix(TABLE.form["reply"]))
        return JudgeReply('{"score": 1}')

    assert score(said, said.cases[0], "the answer", [], ask).score == 1
    assert asked == ["e b {{ x.y }} {{ é }} w {{ output }} {{the answer"]


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        ("{{{answer}}}", "{OUT}"),
        ("{ {{answer}} }", "{ OUT }"),
        ("{{{raw}}}{{answer}}}", "{{{raw}}}OUT}"),
        ("{", f"{{{TABLE.form['answer'].replace('{{ output }}', 'OUT')}"),
    ],
)
def test_braces_around_a_placeholder_stay(prompt: str, asked: str) -> None:
    said, prompts = taken({"tests": [only([{"type": "llm-grader", "prompt": prompt}]).raw]}, "D3"), []

    def ask(call: JudgeCall) -> JudgeReply:
        prompts.append(call.prompt.removesuffix(TABLE.form["reply"]))
        return JudgeReply('{"score": 1}')

    assert score(said, said.cases[0], "OUT", [], ask).score == 1
    assert prompts == [asked]


@pytest.mark.parametrize(
    "value",
    [
        {"name": "a", "min": 0},
        {"name": "a", "max": 2},
        {"name": "a", "min": 3, "max": 2},
        {"name": "a*"},
        ["a", {"name": "b", "max": 0}],
        [],
    ],
)
def test_bounds_that_no_check_says_are_set_aside(value: Any) -> None:
    case = only([{"type": "trajectory:tool-used", "value": value}], "D4")
    assert case.outcome is MigrationOutcome.LOSSY
    assert [note.outcome for note in case.notes[:1]] == [MigrationOutcome.UNMAPPED]


@pytest.mark.parametrize(
    ("dialect", "member", "sure"),
    [
        ("D1", {"name": "x", "type": "llm_judge"}, True),
        ("D1", {"type": "llm_judge"}, False),
        ("D3", {"name": "x", "type": "llm-grader"}, True),
        ("D3", {"name": "x", "type": "llm_grader"}, False),
    ],
)
def test_members_that_versions_leave_out_make_a_case_lossy(dialect: str, member: Any, sure: bool) -> None:  # noqa: FBT001
    members = [member | {"prompt": "Grade {{answer}}"}]
    group = {"name": "g", "type": "composite", "aggregator": {"type": "weighted_average"}, LISTS[dialect]: members}
    case = only([group], dialect)
    assert case.outcome is MigrationOutcome.LOSSY  # by its judge in any case
    assert any(reason.startswith("versions of the runner leave out") for reason in case.sentences) != sure


def test_a_weight_of_0_of_a_member_is_said_to_be_unread() -> None:
    members = [{"name": "x", "type": "contains", "value": "a", "weight": 0, "negate": False}]
    case = only([{"name": "g", "type": "composite", "aggregator": {"type": "weighted_average"}, "assertions": members}])
    assert [note.pointer[-1] for note in case.notes] == ["weight"]
    assert passes(case, "a") == 1


@pytest.mark.parametrize("members", [[], None, [{"type": 3}]])
def test_a_group_without_members_is_said(members: Any) -> None:
    contains = {"type": "contains", "value": "a"}
    for group, dialect in (
        ({"type": "assert-set", "assert": members}, "D4"),
        ({"name": "g", "type": "composite", "aggregator": {"type": "minimum"}, "assertions": members}, "D3"),
    ):
        case = only([group, contains], dialect)
        assert any("no members that count" in note.reason for note in case.notes)


@pytest.mark.parametrize("dialect", ["D1", "D2", "D3"])
def test_what_was_borderline_does_not_pass(dialect: str) -> None:
    points = [{"type": "rubrics", "criteria": ["a", "b", "c"]}]
    wrap = {"execution": {"evaluators": points}} if dialect == "D1" else {LISTS[dialect]: points}
    said = taken({CASES[dialect]: [{"id": "a", "criteria": "x", "input": "y", **wrap}]}, dialect)

    def ask(call: JudgeCall) -> JudgeReply:
        return JudgeReply(json.dumps({"verdict": "fail" if "point:\nc" in call.prompt else "pass"}))

    result = score(said, said.cases[0], "text", [], ask)
    assert (result.score, result.verdict) == (Fraction(2, 3), "fail")
    assert said.dataset
    assert ("x_migration" in said.dataset.value) == (dialect != "D3")


def test_a_number_of_a_range_is_a_tenth_of_the_score_weighed_by_its_point() -> None:
    points = [
        {"id": "facts", "weight": 3, "score_ranges": {"0": "None", "5": "Some", "10": "All"}},
        {"id": "style", "outcome": "Reads well", "score_ranges": [{"score_range": [0, 10], "outcome": "Any"}]},
    ]
    said = taken(
        {"tests": [{"id": "a", "criteria": "x", "input": "y", "assertions": [{"type": "rubrics", "criteria": points}]}]}
    )

    def ask(call: JudgeCall) -> JudgeReply:
        assert ("0 to 4: None\n5 to 9: Some\n10: All" in call.prompt) != ("0 to 10: Any" in call.prompt)
        return JudgeReply(json.dumps({"score": 7 if "None" in call.prompt else 4}))

    assert score(said, said.cases[0], "text", [], ask).score == (3 * Fraction(7, 10) + Fraction(4, 10)) / 4


RANGES = [
    {"1": "a"},
    {"0": "a", "11": "b"},
    {"x": "a"},
    [{"score_range": [0, 9], "outcome": "a"}],
    ["0"],
    7,
    {"0.5": "a"},
]
RANGES += [
    [{"score_range": [0, 5], "outcome": "a"}, {"score_range": [5, 10], "outcome": "b"}],
    [{"score_range": [0], "outcome": "a"}],
]


@pytest.mark.parametrize("ranges", RANGES, ids=str)
def test_ranges_at_which_the_runner_stops_are_refused(ranges: Any) -> None:
    assert (
        only([{"type": "rubrics", "criteria": [{"outcome": "x", "score_ranges": ranges}]}]).outcome
        is MigrationOutcome.REFUSED
    )


FIELDS = [
    {"path": "sum", "match": "exact", "weight": 2},
    {"path": "lines[1].price", "match": "numeric_tolerance", "tolerance": Decimal("0.5")},
    {"path": "lines[0].price", "match": "numeric_tolerance", "tolerance": Decimal("0.1"), "relative": True},
    {"path": "note", "match": "exact", "required": False},
]
EXPECTED = {"sum": "four", "lines": [{"price": 10}, {"price": 20}]}


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        (EXPECTED, 1),
        ({"sum": "Four", "lines": EXPECTED["lines"]}, Fraction(3, 5)),
        ({"sum": "four", "lines": [{"price": 11}, {"price": 20.5}]}, 1),
        ({"sum": "four", "lines": [{"price": 9}, {"price": 21}]}, Fraction(4, 5)),
        ({"sum": "four"}, Fraction(3, 5)),
        ([1], Fraction(1, 5)),
    ],
)
def test_fields_are_weighed_where_nothing_is_left_out(output: Any, wanted: Any) -> None:
    said = taken({"tests": [{"id": "a", "criteria": "x", "input": "y", "expected_output": EXPECTED,
                             "assertions": [{"type": "field-accuracy", "fields": FIELDS}]}]})  # fmt: skip
    assert said.cases[0].outcome is MigrationOutcome.LOSSY
    assert score(said, said.cases[0], json.dumps(output), [], None).score == wanted


ODD_PATTERNS = ["a.b", "(a)\\1", "(?<=a)b", "\\cA", "[\\B]"]


@pytest.mark.parametrize("pattern", ODD_PATTERNS)
def test_a_pattern_that_the_languages_read_otherwise_is_never_called_migrated(pattern: str) -> None:
    assert only([{"type": "regex", "value": pattern}]).outcome is MigrationOutcome.LOSSY


@pytest.mark.parametrize(
    ("pattern", "wanted"), [("(?i)a", 0), ("[", 0), ("(a|[b", 0), ("[(?i)]", 1), ("\\[|a", 1), ("[[]|a", 1)]
)
@pytest.mark.parametrize("negate", [False, True])
def test_a_pattern_that_does_not_compile_there_never_matches(pattern: str, wanted: int, *, negate: bool) -> None:
    said = taken({"tests": [{"id": "a", "criteria": "x", "input": "y",
                             "assertions": [{"type": "regex", "value": pattern, "negate": negate}]}]})  # fmt: skip
    assert said.cases[0].outcome is MigrationOutcome.MIGRATED
    assert score(said, said.cases[0], "a (i)", [], None).score == (1 - wanted if negate else wanted)
    assert any("does not compile" in note.reason for note in said.cases[0].notes) is (wanted == 0)


@pytest.mark.parametrize(
    ("value", "flags", "text", "wanted"),
    [
        ("a", "gi", "bA", 1),  # g and d change no answer
        ("a", "y", "ba", 0),  # y tries the beginning alone
        ("a|b", "y", "bc", 1),
        ("a", "x", "a", 0),  # these do not compile there
        ("a", "ii", "a", 0),
        ("a", "uv", "a", 0),
        ("a{,3}", "", "a", 0),  # and these are plain text there
        ("a{,3}", "", "a{,3}", 1),
        ("a\\Z", "", "a", 0),
        ("\\p{L}", "", "p{L}", 1),
    ],
)
def test_flags_and_plain_text_are_as_in_javascript(value: str, flags: str, text: str, wanted: int) -> None:
    said = taken({"tests": [{"id": "a", "criteria": "x", "input": "y",
                             "assertions": [{"type": "regex", "value": value, "flags": flags}]}]})  # fmt: skip
    assert said.cases[0].outcome is MigrationOutcome.MIGRATED
    assert score(said, said.cases[0], text, [], None).score == wanted


def test_a_flag_that_gives_words_another_meaning_is_said() -> None:
    assert only([{"type": "regex", "value": "a", "flags": "u"}]).outcome is MigrationOutcome.LOSSY


ATOMS = [
    *"aks1_ -",
    "\\u00e9",
    "[\\xe0-\\xff]",
    ".",
    "^",
    "$",
    "\\d",
    "\\w",
    "\\s",
    "\\b",
    "\\S",
    "\\.",
    "\\Z",
    "[\\e_]",
    "[a-z]",
    "[^a-z]",
    "[\\s\\d]",
    "(?:a|b)",
    "(?=a)",
    "|",
    "(",
    ")",
]
SUBJECTS = [*"aksAK1_ -\n\r", "\u2028", "\xa0", "\ufeff", "\u017f", "\u212a", "\u0661", *"éÉ", "\U0001f600", "\x1c"]
REPEATS = ["", "", "*", "+", "?", "{2}"]
IN_NODE = """
const rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(rows.map(([p, f, t]) => t.map((one) => new RegExp(p, f).test(one)))));
"""


@pytest.mark.process
@pytest.mark.skipif(shutil.which("node") is None, reason="JavaScript itself is asked what its patterns match")
def test_translated_patterns_match_what_javascript_matches() -> None:
    chance = random.Random(5)  # noqa: S311  # a draw, no secret
    drawn = (
        (
            "".join(chance.choice(ATOMS) + chance.choice(REPEATS) for _ in range(chance.randrange(5))),
            chance.choice(["", "i", "m", "s"]),
            ["".join(chance.choices(SUBJECTS, k=chance.randrange(6))) for _ in range(10)],
        )
        for _ in range(6000)
    )
    said = [(*row, words) for row in drawn if (words := translate_pattern(row[0], row[1]))]
    assert len(said) > 1000
    asked = json.dumps([row[:3] for row in said])
    done = subprocess.run(["node", "-e", IN_NODE], input=asked, text=True, capture_output=True, check=True, timeout=60)
    for (pattern, flags, subjects, words), wanted in zip(said, json.loads(done.stdout), strict=True):
        compiled = compile_pattern(*words)
        assert not isinstance(compiled, str)
        assert [compiled.search(one) is not None for one in subjects] == wanted, (pattern, flags)


KEYS = [
    *("tests", "evalcases", "cases", "id", "input", "input_messages", "criteria", "expected_output", "vars", "prompts"),
    *("assert", "assertions", "execution", "evaluators", "rubrics", "type", "value", "flags", "weight", "required"),
    *(
        "min_score",
        "negate",
        "aggregator",
        "weights",
        "threshold",
        "fields",
        "path",
        "match",
        "tolerance",
        "score_ranges",
    ),
    *("score_range", "outcome", "mode", "minimums", "expected", "tool", "args", "prompt", "role", "content", "turns"),
    *("default_test", "include", "metadata", "name", "raw", "skill", "steps", "aggregation", "operator", "scenarios"),
]
TYPES = [*TABLE.form["types"], "weighted_average", "safety_gate", "minimum", "any_order", "in_order", "exact", "date"]
SCHEMAS = {
    kind: compile_shipped_schema(
        json.loads((find_resource_folder("schema") / f"{kind}.schema.json").read_text("utf-8"))
    )
    for kind in Kind
}
SCALARS = st.sampled_from(
    [*TYPES, "", "{{ x }}", "a.b[0]", "file://x.md", None, True, 0, 1, -1, 10, Decimal("0.5"), 10**30]
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
)


@st.composite
def wild(draw: Any) -> Any:
    """A suite with the right keys and arbitrary values."""
    checks = st.lists(
        st.builds(
            lambda type_, more: {"type": type_, **more},
            st.sampled_from(TYPES),
            st.dictionaries(st.sampled_from(KEYS[17:]), ANYTHING, max_size=5),
        ),
        max_size=3,
    )
    case = {"id": "a", "input": draw(ANYTHING), **draw(st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=4))}
    case[draw(st.sampled_from(["assert", "assertions", "rubrics"]))] = draw(checks | ANYTHING)
    return {"tests": [case, draw(ANYTHING)], **draw(st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=3))}


@settings(max_examples=100)
@given(wild(), st.sampled_from([None, "D0", "D1", "D2", "D2s", "D3", "D4"]))
def test_no_file_ends_in_a_traceback_or_in_a_rubric_that_cannot_be_graded(root: Any, dialect: str | None) -> None:
    said = taken(root, dialect)
    for draft in (*said.drafts, *(case.rubric for case in said.cases if case.rubric)):
        assert [*SCHEMAS[draft.kind].find_violations(artifact(draft).value)] == []
    for case in said.cases:
        assert [*SCHEMAS[Kind.DATASET].find_violations({"questions": [case.question] if case.rubric else []})] == []
        assert (case.rubric is None) == (case.outcome in {MigrationOutcome.UNMAPPED, MigrationOutcome.REFUSED})
        assert case.sentences or case.outcome is MigrationOutcome.MIGRATED
        if case.rubric:
            score(said, case, "an answer", [{"name": "Skill", "args": {}}], lambda _: JudgeReply('{"score": 1}'))
