"""A migrated OpenRubricRL rubric gives the share of the scale that the program's reward gives, reply by reply."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import read_json, write_json
from evalstore.migration import MigrationOutcome
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacySource
from evalstore.migration.prompts.program_prompts import ProgramFolder, find_prompts
from evalstore.migration.readers import run_reader
from evalstore.migration.table import load_tables
from evalstore.model import Artifact, JudgeCall, JudgeReply

OUR_WORDS = "another prompt: it is evalstore's own"
TABLE = load_tables("openrubricrl")[0]
CRITERION = {"name": "kind", "description": "Kind?", "weight": 1}
ENDS = st.sampled_from([(0, 10), (0, 1), (0, 100), (1, 5), (Decimal("0.5"), Decimal("2.5")), (-1, 1)])
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(
    ["{{", "{{ input }}", "{x}"]
)


def reward(scale: dict[str, Any], reply: Any) -> Fraction:
    """Model the program: the model's own overall score, 0 where there is none, and its place on the scale."""
    grade = reply if isinstance(reply, int | Decimal) else 0
    low, high = (Fraction(scale[end]) for end in ("min", "max"))
    return (Fraction(grade) - low) / (high - low)


def taken(root: dict[str, Any], dialect: str | None = None) -> Extraction:
    document = read_json(write_json(root), "r.json")
    return run_reader(LegacySource(document, "r.json", "", lambda _: None, dialect), TABLE)


def score(said: Extraction, ask: Any) -> Fraction | None:
    (case,) = said.cases
    (judge,) = said.drafts
    assert case.rubric
    context = CheckContext(load=lambda _: artifact(judge), ask=ask, model={"id": "m"})
    return evaluate(
        case.rubric.value | {"id": "r", "version": "1.0.0"},
        "an answer",
        {"id": "q", "input": "a task"},
        context=context,
    ).score


def artifact(draft: ArtifactDraft) -> Artifact:
    value = {"id": draft.id, "version": draft.version} | draft.value
    return Artifact(draft.kind, draft.id, draft.version, read_json(write_json(value), "judge"))


@st.composite
def rubrics(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(TEXT, min_size=1, max_size=3))
    parts = [Decimal(1) / len(names)] * (len(names) - 1) if len(names) != 3 else [Decimal("0.25"), Decimal("0.5")]
    weights = [*parts, 1 - sum(parts)]
    low, high = draw(ENDS)
    return {
        "name": draw(st.sampled_from(["a", "Some Rubric", "ß"])),
        "version": "1.0.0",
        **draw(
            st.fixed_dictionaries({}, optional={"description": TEXT, "domain": TEXT, "metadata": st.just({"a": 1})})
        ),
        "scale": {"min": low, "max": high},
        "criteria": [
            {"name": name, "description": draw(TEXT), "weight": weight}
            for name, weight in zip(names, weights, strict=True)
        ],
    }


@settings(max_examples=150)
@given(rubrics(), st.integers(0, 20) | st.sampled_from(["no number", None]), st.data())
def test_the_score_is_the_reward(root: dict[str, Any], step: Any, data: st.DataObject) -> None:
    low, high = (Fraction(root["scale"][end]) for end in ("min", "max"))
    grade = Decimal(float(low + (high - low) * step / 20)) if isinstance(step, int) else step
    text = json.dumps({"score": float(grade)}) if isinstance(grade, Decimal) else "I would rather not say."
    said = taken(root)
    found = score(said, lambda _: JudgeReply(text))
    if isinstance(grade, Decimal):
        assert found == reward(root["scale"], Decimal(str(float(grade))))
    else:
        lossless = said.cases[0].reasons == (OUR_WORDS,)
        assert found == 0
        assert lossless == (low == 0) == (reward(root["scale"], grade) == 0)


@settings(max_examples=100)
@given(rubrics())
def test_the_judge_is_asked_once_and_reads_every_word(root: dict[str, Any]) -> None:
    prompts: list[str] = []

    def ask(call: JudgeCall) -> JudgeReply:
        prompts.append(call.prompt)
        return JudgeReply('{"score": 1}')

    score(taken(root), ask)
    (prompt,) = prompts
    for criterion in root["criteria"]:
        assert f"{criterion['name']} (weight {criterion['weight']}): {criterion['description']}" in prompt
    assert "a task" in prompt
    assert "an answer" in prompt


def test_one_check_a_criterion_where_that_is_asked_for() -> None:
    root = {
        "name": "r",
        "version": "1.0.0",
        "scale": {"min": 0, "max": 4},
        "criteria": [
            {"name": "kind", "description": "Kind?", "weight": Decimal("0.75")},
            {"name": "short", "description": "Short?", "weight": Decimal("0.25")},
        ],
    }
    said = taken(root, "exploded")
    assert said.cases[0].outcome is MigrationOutcome.LOSSY
    assert score(
        said, lambda call: JudgeReply('{"score": 4}' if "Kind?" in call.prompt else '{"score": 2}')
    ) == Fraction(7, 8)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"metadata": "of last year"}, "metadata is a text"),
        ({"domain": 5}, "domain is a number"),
        ({"version": f"{'9' * 5000}.0.0"}, "the version '999"),
        ({"hybrid_metrics": 5}, "hybrid_metrics is a number"),
        ({"hybrid_metrics": {"a": 1}}, "hybrid_metrics is an object"),
        ({"hybrid_metrics": [0]}, "a metric has no name"),
        ({"hybrid_metrics": [{"name": "m", "type": ["bleu"], "weight": 1}]}, "a metric has no name"),
        ({"hybrid_metrics": [{"name": "m", "type": "meteor", "weight": 1}]}, "a metric has no name"),
        ({"hybrid_metrics": [{"name": "m", "type": "bleu", "weight": Decimal("1.5")}]}, "a metric has no name"),
        ({"name": None}, "name is null"),
        ({"criteria": []}, "the weights add up to 0"),
        ({"criteria": [{"name": "kind", "weight": 1}]}, "a criterion has no name and description"),
        ({"criteria": [CRITERION | {"examples": []}]}, "examples is a list"),
        (
            {"criteria": [CRITERION | {"examples": {"good": [{"input": "i", "output": "o", "score": 1}]}}]},
            "good is not a list of objects with explanation",
        ),
        ({"criteria": [CRITERION | {"examples": {"good": [{"input": "i"}]}}]}, "good is not a list of objects with"),
        ({"criteria": [CRITERION | {"subcriteria": ["a"]}]}, "subcriteria is not a list of objects with"),
    ],
)
def test_what_the_program_would_not_load_is_refused(more: dict[str, Any], said: str) -> None:
    root = {"name": "r", "version": "1.0.0", "scale": {"min": 0, "max": 4}, "criteria": [CRITERION]}
    assert taken(root).cases[0].reasons == (OUR_WORDS,)
    refused = taken(root | more)
    assert not refused.cases
    assert [note.outcome for note in refused.notes] == [MigrationOutcome.REFUSED]
    assert refused.notes[0].reason.startswith(said)


def test_zeros_that_lead_a_version_are_no_part_of_it() -> None:
    said = taken({"name": "r", "version": "01.0.00", "scale": {"min": 0, "max": 4}, "criteria": [CRITERION]})
    rubric = said.cases[0].rubric
    assert rubric
    assert {rubric.version, said.drafts[0].version} == {"1.0.0"}
    assert rubric.value["checks"][0]["judge_prompt_ref"] == "judge/judge@1.0.0"


def test_it_is_asked_for_by_an_option(cli: Any, tmp_path: Path) -> None:
    legacy = Path(__file__).resolve().parents[1] / "cases/migrations/openrubricrl/one_judge/legacy"
    ran = cli("migrate", legacy, "--into", tmp_path, "--explode", "--format", "json")
    assert ran.code == 0
    assert [source["dialect"] for source in json.loads(ran.out)["sources"]] == ["exploded"]
    assert "shortness: 0.25" in (tmp_path / "rubrics/letter_quality.yaml").read_text("utf-8")


def test_a_discrete_scale_has_whole_grades_alone() -> None:
    root = {"name": "r", "version": "1.0.0", "criteria": [CRITERION], "scale": {"min": 1, "max": 5, "type": "discrete"}}
    said = taken(root)
    assert said.cases[0].outcome is MigrationOutcome.LOSSY
    assert score(said, lambda _: JudgeReply('{"level": "4"}')) == Fraction(3, 4)
    # A grade that is none counts as the program counts a reply without one.
    assert score(said, lambda _: JudgeReply('{"level": "3.7"}')) == 0


# A program of the same build as theirs, with words of ours.
CODE = """
class PromptBuilder:
    def _build_header(self):
        "Words."
        return f"You judge by {self.rubric.name}."

    def _build_rubric_description(self):
        "Words."
        parts = [f"## {self.rubric.name}"]
        parts.append(f"About: {self.rubric.description}")
        parts.append(f"Of: {self.rubric.domain}")
        parts.append(f"From {self.rubric.scale.min} up to {self.rubric.scale.max}")
        return "\\n".join(parts)

    def _build_criteria_section(self):
        "Words."
        parts = ["## Criteria"]
        one = [f"{i}) {criterion.name.title()}, {criterion.weight:.1%}", f"{criterion.description}"]
        one.append("Parts:")
        one.append(f"* {sub.name}: {sub.description}")
        parts.append("\\n".join(one))
        return "\\n\\n".join(parts)

    def _build_examples_section(self):
        "Words."
        if not criterion.examples:
            return ""
        parts = ["Such as:"]
        for level in ["excellent", "good", "poor"]:
            parts.append(f"{level.title()}, {examples[0].score:.1f} of {self.rubric.scale.max}")
            parts.append(f"in {example.input}")
            parts.append(f"out {example.output}")
            parts.append(f"for {example.score}")
            parts.append(f"as {example.explanation}")
        return "\\n".join(parts)

    def _build_scoring_instructions(self):
        "Words."
        return f"Use {self.rubric.scale.min} to {self.rubric.scale.max}."

    def _build_task_section(self):
        "Words."
        return f"The task: {task_input}\\nThe answer: {model_output}"

    def _build_output_format(self):
        "Words."
        one = [f"{criterion.name}: <score>,", f"{criterion.name}: <why>,"]
        return f"Answer {{{chr(10).join(one)}}} from {self.rubric.scale.min} to {self.rubric.scale.max}."
"""
DIGEST = "b30bc0e7371d032ace8d25eb70b4ae230cb27f5574deb7545ca86fc277a84192"  # of its texts
PROMPT = """You judge by Some {{Rubric}}.

## Some {{Rubric}}
Of: code
From 0.0 up to 10.0

## Criteria

1) It Works, 100.0%
Runs?
Parts:
* a: b
Such as:
Good, 7.5 of 10.0
in i
out {{ output }}
for 7.5
as e

Use 0.0 to 10.0.

The task: a task
The answer: an answer

Answer {it works: <score>,
it works: <why>,} from 0.0 to 10.0."""
SHOWN: dict[str, Any] = {
    "name": "Some {{Rubric}}",
    "version": "1.0.0",
    "description": "",
    "domain": "code",
    "scale": {"min": 0, "max": 10},
    "criteria": [
        {
            "name": "it works",
            "description": "Runs?",
            "weight": 1,
            "subcriteria": [{"name": "a", "description": "b"}],
            "examples": {
                "good": [{"input": "i", "output": "{{ output }}", "score": Decimal("7.5"), "explanation": "e"}],
                "odd": [],
            },
        }
    ],
}


def test_the_prompt_is_the_programs_word_for_word_where_it_is_installed(tmp_path: Path) -> None:
    file = tmp_path / "openrubricrl/core/prompt_builder.py"
    file.parent.mkdir(parents=True)
    file.write_text(CODE)
    program = ProgramFolder.open(tmp_path)
    unknown = find_prompts(program, tmp_path / "store", TABLE)
    assert unknown.frame is None
    assert unknown.problem.endswith("is of no release that is known")
    assert TABLE.frame
    table = replace(TABLE, frame=replace(TABLE.frame, digests=(DIGEST,)))
    prompts = find_prompts(program, tmp_path / "store", table)
    document = read_json(write_json(SHOWN), "r.json")
    said = run_reader(LegacySource(document, "r.json", "", lambda _: None, prompts=prompts), table)
    assert "another prompt" not in str(said.cases[0].reasons)
    asked: list[JudgeCall] = []

    def ask(call: JudgeCall) -> JudgeReply:
        asked.append(call)
        return JudgeReply('So: {"kind_score": 1, "overall_score": 7}')

    assert score(said, ask) == Fraction(7, 10)
    assert asked[0].prompt == PROMPT
    assert asked[0].model == {"id": "m", "temperature": Decimal("0.1"), "max_tokens": 2000}
    # A discrete scale is none to the program, which asks for an average.
    scale = {"min": 1, "max": 5, "type": "discrete"}
    document = read_json(write_json(SHOWN | {"scale": scale}), "r.json")
    discrete = run_reader(LegacySource(document, "r.json", "", lambda _: None, prompts=prompts), table)
    assert score(discrete, lambda _: JudgeReply('{"overall_score": 3.8}')) == Fraction(7, 10)
    # The judge keeps the texts, for migrations where the program is not installed.
    (judge,) = said.drafts
    path = tmp_path / "store/judges/some_rubric.yaml"
    path.parent.mkdir(parents=True)
    source = {"format": "openrubricrl", **judge.value["x_source"]}
    path.write_text(json.dumps({"id": "some_rubric", "version": "1.0.0", "x_source": source}))
    assert find_prompts(None, tmp_path / "store", table).frame == prompts.frame
    assert find_prompts(None, tmp_path / "store", TABLE).frame is None
