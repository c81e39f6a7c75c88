"""What promptfoo asks a real endpoint for its judged assertions: a migration asks the same, byte for byte, and so grades.

EVALSTORE_PROMPTFOO names the folders of the npm package, as for the random configurations.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import Document
from evalstore.migration.extraction import ArtifactDraft, LegacyCase
from evalstore.migration.prompts.program_prompts import ProgramFolder, find_prompts
from evalstore.model import Artifact, JudgeCall, JudgeReply
from evalstore.scoring.judging.request import build_body
from tests.integrations.test_programs import QUIET
from tests.integrations.test_promptfoo_verdicts import FOLDERS, SCRIPT
from tests.migrate.promptfoo_grading import TABLE, read_config

MODEL = {"id": "m", "temperature": 0.5, "max_tokens": 1024}
PROMPT = "Ask {{ q }}:\n  now"
STEPS = '{"steps": ["Read.", "Think  twice."]}'
# Types, what a model answers in turn, and further keys of the assertion.
REPLIES: dict[str, list[str]] = {
    "llm-rubric": ['{"pass": true, "score": 0.4}', 'So {"pass": false, "score": 0, "reason": "no"}', "none"],
    "factuality": ['{"category": "c", "reason": "a"}', "(D) It differs", "A"],
    "model-graded-closedqa": ["Because.\nY", "Y\n \n", "N", "NY", "Y.", "yes", "Y\ufeff\n"],
    "g-eval": [
        '{"score": 7, "reason": "Kind."}', '{"score": 6.9, "reason": "a"}', '```json\n{"score": "8", "reason": "a"}\n```',
        '{"score": 10,\n"reason": "a"}', "none", '{"score": 0, "reason": "a"}', '{"score": 7, "reason": "a {b}"} {',
    ],
}  # fmt: skip
FIRSTS = [STEPS, f"```json\n{STEPS}\n```", "So {x}: " + STEPS, '{"steps": []}', '{\n"steps": ["a"]}', "none"]
OUTPUTS = ["Plain.", "  Two\nlines {{ q }} {{{ \\ \"quoted\" <b>&amp;</b> $1 'it' 😀", "{# no comment #} {% raw %}"]


def list_tests() -> list[tuple[dict[str, Any], str, str]]:
    """Return tests, each with the model's reply and its reply to a first prompt."""
    found: list[tuple[dict[str, Any], str, str]] = []
    for type_, replies in REPLIES.items():
        firsts = [(reply, STEPS) for reply in replies]
        firsts += [(replies[0], first) for first in FIRSTS] if type_ == "g-eval" else []
        for number, (reply, first) in enumerate(firsts):
            name = f"{type_} {number} {{{{q}}}}"  # the criterion tells the server which test asks
            keys: list[dict[str, Any]] = [{}, {"threshold": 0.5}, {"threshold": 1}]
            extra = keys[number % 3] if type_ in {"llm-rubric", "g-eval"} else {}
            assertion = {"type": type_, "value": name, **extra}
            variables = {"q": "is <it>?", "out": OUTPUTS[number % len(OUTPUTS)]}
            found.append(({"vars": variables, "assert": [assertion]}, reply, first))
    return found


def make_answer(tests: Sequence[tuple[dict[str, Any], str, str]]) -> Callable[[str], str]:
    replies = {test["assert"][0]["value"].partition(" {{")[0]: (reply, first) for test, reply, first in tests}

    def answer(prompt: str) -> str:
        name = next(name for name in sorted(replies, key=len, reverse=True) if f"{name} is" in prompt)
        reply, first = replies[name]
        is_first = name.startswith("g-eval") and "generate 3-4" in prompt
        return first if is_first else reply

    return answer


def grade(
    case: LegacyCase, drafts: Sequence[ArtifactDraft], output: str, ask: Callable[[JudgeCall], JudgeReply]
) -> Any:
    found = {draft.ref: draft for draft in drafts}

    def load(ref: object) -> Artifact:
        draft = found[str(ref)]
        return Artifact(draft.kind, draft.id, draft.version, Document("", "", draft.value, {}, {}))

    assert case.rubric
    context = CheckContext(load=load, ask=ask, model=MODEL)
    result = evaluate(case.rubric.value, {"output": output}, case.question, context=context)
    return result.verdict == "pass", None if result.score is None else float(result.score)


def is_unread(case: LegacyCase, drafts: Sequence[ArtifactDraft]) -> bool:
    assert case.rubric
    judges = {draft.ref: draft.facts for draft in drafts}
    facts = judges[case.rubric.value["checks"][0]["judge_prompt_ref"]]
    return facts is not None and any("its verdict is not read" in remark for remark in facts.remarks)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(not FOLDERS, reason="EVALSTORE_PROMPTFOO names no folder with promptfoo")
@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_judges_are_asked_as_the_program_asks_them(folder: Path, tmp_path: Path, judge_server: Any) -> None:
    node = shutil.which("node") or pytest.skip("Node.js is not installed")
    package = json.loads((folder / "node_modules/promptfoo/package.json").read_text("utf-8"))
    release = ".".join(package["version"].split(".")[:2])
    tests = list_tests()
    config = {"prompts": [PROMPT], "tests": [test for test, _, _ in tests]}
    judge_server.text = answer = make_answer(tests)
    (tmp_path / "in.json").write_text(json.dumps([config]), "utf-8")
    own = {"PROMPTFOO_CONFIG_DIR": str(tmp_path / "promptfoo"), "HOME": str(tmp_path), "LOG_LEVEL": "error"}
    script = SCRIPT.with_name("promptfoo_judges.mjs")
    argv = [node, str(script), str(folder), str(tmp_path / "in.json"), str(tmp_path / "out.json"), judge_server.url]
    done = subprocess.run(argv, env={**os.environ, **QUIET, **own}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (verdicts,) = json.loads((tmp_path / "out.json").read_text("utf-8"))

    prompts = find_prompts(ProgramFolder.open(folder / "node_modules/promptfoo"), tmp_path, TABLE)
    extraction = read_config(json.dumps(config), "config.json", {}, release, prompts)
    sent: list[str] = []

    def ask(call: JudgeCall) -> JudgeReply:
        sent.append(json.dumps(build_body(call), sort_keys=True))
        return JudgeReply(answer(call.prompt))

    differ = []
    for case, verdict in zip(extraction.cases, verdicts, strict=True):
        assert case.outcome == "migrated", case
        found = grade(case, extraction.drafts, verdict["output"], ask)
        # Without a threshold the score beside a verdict is not read, as the migration says.
        score = float(verdict["success"]) if is_unread(case, extraction.drafts) else pytest.approx(verdict["score"])
        if found != (verdict["success"], score):
            differ.append((case.raw["assert"], found, verdict))
    theirs = [json.dumps(body, sort_keys=True) for body in judge_server.bodies]
    print(release, len(verdicts), "tests,", len(theirs), "requests")  # noqa: T201  # what was measured
    assert differ == []
    assert sorted(set(theirs)) == sorted(set(sent))
