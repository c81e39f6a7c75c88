"""Two prompts of one file of promptfoo: a run keeps the name of its prompt, and an audit says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits import Audit
from evalstore.audits.wording.answer import write_answer
from evalstore.report import render
from evalstore.runs import SeriesFilter, read_run
from evalstore.store import ArtifactStore
from tests.audits.conftest import AT, Desk, factor
from tests.audits.test_acceptance import BAN
from tests.scoring.jobs import score

SIZE = 12


def answer(number: int, prompt: str, place: int) -> dict[str, Any]:
    return {
        "promptIdx": place, "testIdx": number, "testCase": {"vars": {"q": f"What is {number}?"}},
        "vars": {"q": f"What is {number}?"}, "provider": {"id": "openai:small"},
        "prompt": {"raw": f"{prompt}: What is {number}?", "label": prompt},
        "response": {"output": f"{'foo' if place and number < 8 else 'fine'} {number}"}, "success": True,
    }  # fmt: skip


def compare(desk: Desk, tmp_path: Path, *prompts: str) -> Audit:
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", [{"id": f"{i}", "input": f"What is {i}?"} for i in range(SIZE)])
    rows = [answer(i, prompt, place) for place, prompt in enumerate(prompts) for i in range(SIZE)]
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "prompts": [1, 2], "results": rows}}))
    runs = []
    for prompt in prompts:
        with ArtifactStore.open(desk.repo.root) as store:
            made = score(
                "dataset/d@1.0.0", file, store=store, out=tmp_path / prompt.replace(" ", ""), at=AT,
                only=SeriesFilter({"prompt": prompt}).only,
            )  # fmt: skip
        runs.append(read_run(made.path))
    return desk.audit(*runs)


@pytest.mark.parametrize(
    ("prompts", "named"),
    [
        (("prompt 1", "prompt 2"), ("prompt 1", "prompt 2")),
        (("long", "short"), ("prompt long", "prompt short")),
        (("Answer: {{q}}", "Briefly: {{q}}"), ('prompt "Answer: {{q}}"', 'prompt "Briefly: {{q}}"')),
    ],
)
def test_two_prompts_of_a_file_are_named(
    desk: Desk, tmp_path: Path, prompts: tuple[str, str], named: tuple[str, str]
) -> None:
    found = compare(desk, tmp_path, *prompts)
    assert (found.a.prompt, found.b.prompt) == prompts
    (cause,) = factor(found, "outputs").causes
    assert cause.source.message == f"{named[1]} against {named[0]}"
    assert write_answer(found).startswith(f"Is {named[1]} better than {named[0]}? No, worse")
    shown = render(found, "text")
    assert "answered again" not in shown
    assert f"openai:small, {named[0]}" in shown
