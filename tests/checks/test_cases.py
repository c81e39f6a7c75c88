"""Every file of tests/cases/checks/<kind>: a check, and what it answers for each output.

A file may hold `artifacts` by the reference that names them and the run's `model`. A case may hold `replies`: a list,
given in the order of the calls, or a mapping by prompt; each is a text, or a mapping of the fields of a `JudgeReply`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.checks import CheckContext, evaluate
from evalstore.checks.question_values import find_value_problems
from evalstore.documents import Document, read_yaml
from evalstore.errors import RefError
from evalstore.model import Artifact, JudgeCall, JudgeReply, parse_ref
from evalstore.model.question_params import QUESTION_PARAMS
from tests.rows import each

ROOT = Path(__file__).resolve().parents[1] / "cases" / "checks"
FILES = sorted(ROOT.glob("*/*.yaml"))


LONG = {"commonmark_beyond_its_budget"}  # five seconds; tests/checks/test_markdown.py has a smaller budget
LONG_AGAIN = {*LONG, "spaces"}  # three seconds, and once is enough


def _cases(long: set[str]) -> list[Any]:
    """Return the cases of each file together; those that need a program are by themselves."""
    groups: list[Any] = []
    for path in FILES:
        document = read_yaml(path.read_bytes(), path.name).value
        numbered = [{**case, "number": number} for number, case in enumerate(document["cases"], 1)]
        marks = [pytest.mark.heavy] if "out_of" in path.stem else []
        marks += [pytest.mark.slow] if path.stem in long else []
        for needs in {case.get("needs"): None for case in numbered}:
            cases = [case for case in numbered if case.get("needs") == needs]
            name = "-".join(filter(None, (path.parent.name, path.stem, needs)))
            groups.append(pytest.param(document, cases, id=name, marks=marks))
    return groups


@pytest.mark.parametrize(("document", "cases"), _cases(LONG))
def test_the_check_answers_as_the_file_says(document: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    if cases[0].get("needs") == "php" and shutil.which("php") is None:
        pytest.skip("no php here")
    each(cases, name=lambda case: f"case {case['number']}")(lambda case: hold_case(document, case))()


def hold_case(document: dict[str, Any], case: dict[str, Any]) -> None:
    rubric = {"checks": [document["check"]], "scoring": {"combine": "weighted_avg"}}
    output = {"output": case.get("output", "") * case.get("times", 1), "tool_calls": case.get("tool_calls")}
    output |= case.get("measures", {})
    heard: list[tuple[str, JudgeReply]] = []
    load, ask = _shelf(document.get("artifacts", {})), _asker(case.get("replies", []), heard)
    context = CheckContext(load, ask, document.get("model", {}))
    (answer,) = evaluate(rubric, output, case.get("question"), context=context).checks
    score = None if case["score"] is None else Fraction(case["score"])
    assert (answer.score, answer.verdict, answer.unscored) == (score, case["verdict"], case.get("unscored"))
    assert case.get("reason", "") in answer.reason
    assert answer.reason
    assert answer.engine == case.get("engine", answer.engine)
    assert bool(answer.replies) is any(reply.text for _, reply in heard)
    prompts = [prompt for prompt, _ in heard]
    assert prompts == case.get("prompts", prompts)


@pytest.mark.parametrize(("document", "cases"), _cases(LONG_AGAIN))
def test_the_values_of_a_check_may_be_the_questions(document: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    """With every list, pattern, schema and number moved to the question, a check answers what it answered."""
    moved = {f"own_{name}": item for name, item in document["check"].items() if _is_movable(document["check"], name)}
    if not moved or (cases[0].get("needs") == "php" and shutil.which("php") is None):
        return
    sources = {key.removeprefix("own_"): {"from": key} for key in moved}
    filled = {**document, "check": {**document["check"], **sources}}
    for case in cases:
        hold_case(filled, {**case, "question": {**(case.get("question") or {}), **moved}})


def _is_movable(check: dict[str, Any], name: str) -> bool:
    kind, value = check["kind"], check[name]
    return name in QUESTION_PARAMS and value not in ("", [], {}) and not any(find_value_problems(kind, (name,), value))


@each(FILES)
def test_a_file_is_about_the_kind_of_its_folder(path: Path) -> None:
    document = read_yaml(path.read_bytes(), path.name).value
    assert document["check"]["kind"] == path.parent.name
    assert set(document) <= {"about", "check", "cases", "artifacts", "model"}


def _shelf(artifacts: dict[str, Any]) -> Callable[[str], Artifact]:
    def load(ref: str) -> Artifact:
        if ref not in artifacts:
            raise RefError(f"{ref} is not there")
        parsed = parse_ref(ref)
        return Artifact(parsed.kind, parsed.id, parsed.pin, Document(ref, "", artifacts[ref], {}, {}))

    return load


def _asker(replies: Any, heard: list[tuple[str, JudgeReply]]) -> Callable[[JudgeCall], JudgeReply]:
    left = iter(replies)

    def ask(call: JudgeCall) -> JudgeReply:
        found = replies.get(call.prompt) if isinstance(replies, dict) else next(left, None)
        fields = found if isinstance(found, dict) else {"problem": "no reply"} if found is None else {"text": found}
        heard.append((call.prompt, JudgeReply(**fields)))
        return heard[-1][1]

    return ask
