"""The scorer by itself, and the shapes of the sockets on it; test_programs.py has the programs themselves."""

from __future__ import annotations

import asyncio
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalstore import Endpoint, Judges, Store, evaluate
from evalstore.errors import RefError, UsageError
from evalstore.integrations import scorer
from evalstore.integrations.promptfoo import get_assert
from evalstore.integrations.pytest_plugin import PytestGrader, PytestRubric
from evalstore.integrations.rewards import make_trl_reward, make_verifiers_reward

OUTPUTS = ["please", "moreover! thanks", "", "thanks, please!"]


def test_a_grade_is_that_of_the_store_and_names_its_ruler(repo: Path) -> None:
    grade = scorer("rubric/tone@^1", store=repo)
    with Store.open(repo) as store:
        wanted = [evaluate("rubric/tone@1.0.0", output, store=store) for output in OUTPUTS]
        digest = store.resolve("rubric/tone@1.0.0").digest
    graded = [grade(output) for output in OUTPUTS]
    assert [(one.score, one.checks) for one in graded] == [(one.score, one.checks) for one in wanted]
    assert [one.passed for one in graded] == [True, False, True, True]
    assert {(one.ref, one.digest) for one in graded} == {("rubric/tone@1.0.0", digest)}
    assert graded[1].reason == "fail (33.33)\n- calm failed (0): found '!'\n- short failed (0): found 'moreover'"


def test_a_scorer_goes_through_pickle_and_threads_and_needs_its_store_no_more(repo: Path) -> None:
    grade = scorer("rubric/whole@1.0.0", store=repo)
    tone = scorer("rubric/tone@1.0.0", store=repo)
    tone("please")
    frozen = pickle.dumps((grade, tone))
    assert len(frozen) < 20_000
    shutil.rmtree(repo / "rubrics")
    again, calm = pickle.loads(frozen)  # noqa: S301  # made above
    # Without replies nothing of this rubric can be graded: unscored, never 0.
    assert (again("x").score, again("x").passed) == (None, None)
    assert "unscored (error)" in again("x").reason
    with ThreadPoolExecutor(4) as pool:
        many = list(pool.map(calm, OUTPUTS * 25))
    assert many == [tone(output) for output in OUTPUTS] * 25


def test_what_a_check_reads_of_a_question_and_of_calls_is_given_by_name(repo: Path) -> None:
    assert scorer("rubric/form@1.0.0", store=repo)("[1]", expected={"format": "json"}).passed
    tools = scorer("rubric/tools@1.0.0", store=repo)
    # 0.1 is the decimal that it is written as, as in the rubric's file.
    assert tools("", tool_calls=[{"name": "search", "args": {"share": 0.1}}]).passed
    assert not tools("", tool_calls=[]).passed
    assert tools("").score is None


def test_every_program_hands_over_what_a_rubric_takes_from_the_question(repo: Path) -> None:
    # A key may be called like an argument, and be read by a rubric within the rubric.
    keys: dict[str, Any] = {"output": ["please"], "said_as": "thanks?$"}
    grade = scorer("rubric/asked@1.0.0", store=repo)
    wanted = [grade.grade(output, {"input": "q", **keys}).score for output in OUTPUTS]
    assert wanted == [Fraction(1, 2), Fraction(1, 2), 0, Fraction(1, 2)]
    config = {"rubric": "rubric/asked@1.0.0", "store": str(repo)}
    variables = {**keys, "id": "a variable of this name is not the question's id"}
    context = {"prompt": "q", "vars": variables, "config": config}
    assert [get_assert(output, context)["score"] for output in OUTPUTS] == wanted
    # TRL hands over further things, which are no columns.
    columns = {key: [value] * 4 for key, value in keys.items()} | {"trainer_state": None, "completion_ids": [[1]] * 4}
    trl = make_trl_reward("rubric/asked@1.0.0", store=repo)
    assert trl(prompts=["q"] * 4, completions=OUTPUTS, **columns) == wanted
    verifiers = make_verifiers_reward("rubric/asked@1.0.0", store=repo)
    task = SimpleNamespace(prompt_text="q", answer="", **keys)
    traces = [SimpleNamespace(last_reply=output) for output in OUTPUTS]
    assert [asyncio.run(verifiers(task=task, trace=trace)) for trace in traces] == wanted
    grader = PytestGrader(repo, None)
    shared: dict[str, Any] = {"question": None, "tool_calls": None, "keys": keys}
    assert [grader.grade("rubric/asked@1.0.0", output, **shared).score for output in OUTPUTS] == wanted


def test_judges_are_asked_and_their_replies_kept(repo: Path, judge_server: Any) -> None:
    judge_server.text = lambda *_: '{"score": 3}'
    judges = Judges(Endpoint(judge_server.url), model={"id": "m"})
    graded = scorer("rubric/judged@1.0.0", store=repo, judges=judges)("x", input="q", expected="x")
    assert (graded.score, calls := judge_server.calls) == (1, 2)
    assert graded == scorer("rubric/judged@1.0.0", store=repo, judges=judges)("x", input="q", expected="x")
    assert judge_server.calls == calls


def test_what_is_not_there_is_refused_at_once(repo: Path) -> None:
    with pytest.raises(RefError):
        scorer("rubric/nobody@1.0.0", store=repo)


def test_promptfoo_gets_an_assertion_result(repo: Path) -> None:
    config = {"rubric": "rubric/tone@1.0.0", "store": str(repo)}
    found = get_assert("moreover! thanks", {"prompt": "Say two.", "vars": {}, "config": config})
    assert (found["pass"], found["score"], found["named_scores"]) == (
        False,
        pytest.approx(1 / 3),
        {"polite": 1, "calm": 0, "short": 0},
    )
    assert [part["pass"] for part in found["component_results"]] == [True, False, False]
    with pytest.raises(UsageError, match="names no rubric"):
        get_assert("x", {"config": {}})


def test_what_no_judge_was_asked_passes_no_assertion(repo: Path) -> None:
    checks = "{kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0}, {kind: must_not_contain, values: [nothing]}"
    text = f"id: half\nversion: 1.0.0\nchecks: [{checks}]\nscoring: {{combine: all_pass}}\n"
    (repo / "rubrics/half.yaml").write_text(text, "utf-8")
    graded = scorer("rubric/half@worktree", store=repo)("fine")
    assert (graded.passed, graded.is_complete) == (True, False)
    config = {"rubric": "rubric/half@worktree", "store": str(repo)}
    assert get_assert("fine", {"prompt": "?", "vars": {}, "config": config})["pass"] is False
    assert make_trl_reward("rubric/half@worktree", store=repo)(prompts=["?"], completions=["fine"]) == [None]
    rubric = PytestRubric("rubric/half@worktree", PytestGrader(repo, None))
    with pytest.raises(pytest.fail.Exception, match="not every check could be graded: pass"):
        rubric.check("fine")


def test_rewards_have_the_shapes_of_trl_and_verifiers(repo: Path) -> None:
    reward = make_trl_reward("rubric/tone@1.0.0", store=repo)
    said = [[{"role": "assistant", "content": output}] for output in OUTPUTS]
    shares: list[Any] = [1, Fraction(1, 3), Fraction(2, 3), Fraction(2, 3)]
    assert reward(prompts=["q"] * 4, completions=said, trainer_state=None) == pytest.approx(list(map(float, shares)))
    assert reward.__name__ == "rubric_tone"
    form = make_trl_reward("rubric/form@1.0.0", store=repo)
    assert form(prompts=["q", "q"], completions=["[1]", "x"], expected=[{"format": "json"}, {"format": "json"}]) == [
        1,
        0,
    ]
    tools = make_trl_reward("rubric/tools@1.0.0", store=repo)
    assert tools(prompts=["q"], completions=["x"]) == [None]
    one = make_verifiers_reward("rubric/tone@1.0.0", store=repo)
    trace, task = SimpleNamespace(last_reply="moreover! thanks"), SimpleNamespace(prompt_text="q", answer="")
    assert asyncio.run(one(task=task, trace=trace)) == pytest.approx(1 / 3)
    assert asyncio.run(make_verifiers_reward("rubric/tools@1.0.0", store=repo)(task=task, trace=trace)) == {}


TESTS = """
import pytest

@pytest.mark.parametrize(("question", "output"), [("one", "please"), ("two", "moreover! thanks")])
def test_answer(rubric, question, output):
    rubric("rubric/tone@1.0.0").check(output, question=question)


def test_misspelt(rubric):
    rubric("rubric/tune@1.0.0").check("please")
"""


@pytest.mark.process
def test_pytest_checks_outputs_and_writes_a_run_that_can_be_audited(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_it.py").write_text(TESTS, "utf-8")
    options = ["--evalstore-store", str(repo), "--evalstore-dataset", "dataset/small@1.0.0", "--evalstore-run", "runs"]
    ran = run_pytest("test_it.py", *options, cwd=tmp_path / "tests")
    assert ran.returncode == 1
    assert "rubric/tone@1.0.0: fail (33.33)" in ran.stdout
    assert "2 failed, 1 passed" in ran.stdout
    assert "\nthere is no rubric/tune; did you mean rubric/tone? released: 1.0.0\n" in ran.stdout
    run = ran.stdout.partition("\nrun ")[2].split("\n")[0]
    with Store.open(repo) as store:
        from evalstore import audit

        assert audit(run, run, store).common == 2
    alone = run_pytest("test_it.py", "--evalstore-run", "runs", cwd=tmp_path / "tests")
    assert (alone.returncode, "--evalstore-dataset REF" in alone.stderr) == (4, True)


def run_pytest(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    plugin = ["-p", "evalstore.integrations.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:evalstore"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *argv], cwd=cwd, capture_output=True, text=True, check=False
    )
