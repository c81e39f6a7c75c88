"""Audits of judged runs: graded again from kept replies, else as recorded, else by asking, and never guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits import Audit
from evalstore.audits.wording.answer import write_answer
from evalstore.runs import Run
from evalstore.scoring.judging import Endpoint, Judges
from evalstore.store import ArtifactStore
from tests.audits.conftest import AT, JUDGE, Desk, Repo, factor
from tests.scoring.jobs import score

RUBRIC = """id: answer
version: {version}
checks:
  - {{id: kind, kind: llm_judge, judge_prompt_ref: judge/tone@{pin}}}
  - {{id: brief, kind: format, format: text, max_chars: {most}}}
scoring: {{combine: weighted_avg}}
"""
DATASET = """id: small
version: {version}
defaults: {{rubric_ref: rubric/answer@{version}}}
questions: [{{id: one, input: a}}, {{id: two, input: b}}]
"""
Scored = Callable[..., Run]


@pytest.fixture
def store(repo: Repo, judge_server: Any) -> Repo:
    judge_server.text = lambda prompt: json.dumps({"score": (len(prompt) % 4) / 4})
    repo.release("judges/tone", JUDGE.format(version="1.0.0", words="How kind?"))
    repo.release("judges/tone", JUDGE.format(version="2.0.0", words="How kind is it really?"), author="Jonas Brandt")
    repo.release("rubrics/answer", RUBRIC.format(version="1.0.0", pin="1.0.0", most=40))
    repo.release("rubrics/answer", RUBRIC.format(version="2.0.0", pin="2.0.0", most=20), author="Jonas Brandt")
    repo.release("datasets/small", DATASET.format(version="1.0.0"))
    repo.release("datasets/small", DATASET.format(version="2.0.0"))
    return repo


@pytest.fixture
def scored(store: Repo, judge_server: Any, tmp_path: Path) -> Scored:
    def run(version: str, *outputs: str, model: str | None = None) -> Run:
        path = tmp_path / f"{model or 'x'}-{version}.jsonl"
        ids = ("one", "two")
        path.write_text(
            "".join(json.dumps({"id": i, "output": text}) + "\n" for i, text in zip(ids, outputs, strict=True))
        )
        judges = Judges(Endpoint(judge_server.url), model={"id": model} if model else {})
        with ArtifactStore.open(store.root) as opened:
            return score(f"dataset/small@{version}", path, store=opened, out=tmp_path / "runs", at=AT, judges=judges)

    return run


def shares(found: Audit) -> dict[str, Any]:
    return {str(factor.name): factor.share for factor in found.factors}


def test_kept_replies_are_enough_where_only_the_outputs_differ(store: Repo, scored: Scored, judge_server: Any) -> None:
    a, b = scored("1.0.0", "thank you", "no"), scored("1.0.0", "thank you so", "no")
    asked = judge_server.calls
    found = store.audit(a, b)
    assert judge_server.calls == asked
    assert shares(found)["outputs"] == found.delta != 0
    assert found.notes == ()


def test_without_kept_replies_the_runs_own_records_serve(store: Repo, scored: Scored, judge_server: Any) -> None:
    a, b = scored("1.0.0", "thank you", "no"), scored("1.0.0", "thank you so", "no")
    kept = store.audit(a, b)
    store.forget()
    found = store.audit(a, b)
    assert shares(found) == shares(kept)
    assert "as recorded" in found.notes[0]


def test_what_no_run_has_asked_moves_together_or_is_asked(store: Repo, scored: Scored, judge_server: Any) -> None:
    a, b = scored("1.0.0", "thank you", "no"), scored("2.0.0", "thank you so", "no, never")
    joint = store.audit(a, b)
    assert (joint.price.calls, joint.price.steps) == (4, 4)
    assert shares(joint)["judge + outputs"] + shares(joint)["rubric"] == joint.delta
    assert joint.own.shapley is None
    assert "the judge and the outputs together did not move the score; 4 judge calls" in write_answer(joint)
    asked = judge_server.calls
    found = store.audit(a, b, judges=Judges(Endpoint(judge_server.url)))
    assert judge_server.calls == asked + 4  # each version of the judge on the two outputs of the other run
    assert sum(shares(found).values()) == found.delta
    judge = factor(found, "judge")
    assert [(cause.source.rule, cause.source.origin.author) for cause in judge.causes] == [
        ("judge-released", "Jonas Brandt")
    ]
    assert found.price.calls == 0
    assert store.audit(a, b) == found  # now everything is kept


def test_a_model_that_says_otherwise_now_does_not_change_what_was_recorded(
    store: Repo, scored: Scored, judge_server: Any
) -> None:
    store.release("rubrics/answer", RUBRIC.format(version="3.0.0", pin="1.0.0", most=40).replace("max", "min"))
    store.release("datasets/small", DATASET.format(version="3.0.0"))
    a, b = scored("1.0.0", "thank you", "no"), scored("3.0.0", "thank you so", "no, never")
    store.forget()
    judge_server.text = lambda _: '{"score": 0.5}'
    found = store.audit(a, b, judges=Judges(Endpoint(judge_server.url)))
    assert found.drift == ()
    assert sum(shares(found).values()) == found.delta
    store.forget()
    with ArtifactStore.open(store.root) as opened:  # the calls of both runs, asked anew
        for run in (a, b):
            score(
                run.dataset.ref,
                run.path,
                store=opened,
                out=run.path.parent,
                at=AT,
                judges=Judges(Endpoint(judge_server.url)),
            )
    again = store.audit(a, b)
    assert (again.drift, shares(again)) == ((), shares(found))
    assert again.notes == ("results taken as recorded, because their replies or engines are not available: 4",)
    assert again.assumption


def test_a_check_that_had_no_reply_stays_unscored_when_there_is_one(
    store: Repo, scored: Scored, judge_server: Any
) -> None:
    judge_server.play("400", prompt="no$")
    a = scored("1.0.0", "thank you", "no")
    assert a.checks["kind"].errors == 1
    judge_server.plays = {"": ["ok"]}
    assert scored("1.0.0", "thank you", "no").checks["kind"].errors == 0  # now its reply is kept
    found = store.audit(a, scored("1.0.0", "thank you", "never"))
    assert (found.drift, found.common, found.lines.errors) == ((), 1, ("two",))
    assert found.delta == found.lines.judge_errors.score != 0


def test_a_call_that_fails_in_a_mix_is_an_unscored_check_as_in_a_run(
    store: Repo, scored: Scored, judge_server: Any
) -> None:
    a, b = scored("1.0.0", "thank you", "no"), scored("2.0.0", "thank you so", "no, never")
    judge_server.play("400", prompt="no$")
    found = store.audit(a, b, judges=Judges(Endpoint(judge_server.url)))
    assert (found.price.calls, "judge + outputs" in shares(found), found.own.shapley is None) == (0, False, False)
    assert "judge calls that failed: 1" in found.notes[-1]
    judge_server.plays = {"": ["ok"]}
    asked = judge_server.calls
    assert store.audit(a, b, judges=Judges(Endpoint(judge_server.url))).drift == ()
    assert judge_server.calls == asked + 1


def test_an_answer_that_the_judge_refuses_in_both_runs_is_the_outputs(desk: Desk, judge_server: Any) -> None:
    """The rest of the rubric says what happened to it: here a banned word, while the judge is another one."""
    for version, words in (("1.0.0", "Rate"), ("2.0.0", "HARD")):
        desk.judge(version, words)
        judge = {"id": "j", "kind": "llm_judge", "judge_prompt_ref": f"judge/acc@{version}"}
        desk.rubric(version, judge, {"id": "ban", "kind": "must_not_contain", "values": ["foo"]}, errors="skip")
        desk.dataset(version, 4)
    judge_server.play("400", prompt="bad")
    a = desk.score("1.0.0", ["bad", "good", "good", "good"], "a")
    b = desk.score("2.0.0", ["bad foo", "good", "good", "good"], "b")
    found = desk.audit(a, b, asks=True)
    assert (shares(found)["outputs"], found.price.calls, found.drift) == (-0.25, 0, ())
    assert found.own.shapley == found.own.old == found.own.new == Fraction(-1, 4)


def release_without_model(store: Repo) -> None:
    """Release a judge that leaves its model to the run, and who asks it."""
    store.release("judges/tone", JUDGE.format(version="3.0.0", words="Kind?").replace("model: {id: m}\n", ""))
    store.release("rubrics/answer", RUBRIC.format(version="3.0.0", pin="3.0.0", most=20))
    store.release("datasets/small", DATASET.format(version="3.0.0"))


def test_judges_by_two_models_are_two_services(store: Repo, scored: Scored, judge_server: Any) -> None:
    release_without_model(store)
    judge_server.text = lambda _: '{"score": 1}'
    a = scored("3.0.0", "a", "b", model="one")
    judge_server.text = lambda _: '{"score": 0}'
    b = scored("3.0.0", "a", "b", model="three")
    found = store.audit(a, b)
    assert (shares(found)["judge_service"], factor(found, "judge").changed) == (found.delta, 0)
    assert found.delta < 0


def test_what_one_model_said_is_no_record_of_another(store: Repo, scored: Scored, judge_server: Any) -> None:
    release_without_model(store)
    judge_server.text = lambda _: '{"score": 1}'
    a = scored("3.0.0", "a", "b", model="one")
    judge_server.text = lambda _: '{"score": 0}'
    b = scored("3.0.0", "a", "c", model="three")
    # Nobody said what `one` gives the new answer: it moves together with the service, and calls would split them.
    found = store.audit(a, b)
    assert shares(found)["outputs + judge service"] < 0
    assert found.price.calls == 2
    (cause,) = factor(found, "judge_service").causes
    assert cause.source.message.startswith("three answered instead of one, since run B")


def test_a_floating_judge_that_moved_between_the_runs_is_another_service(store: Repo, scored: Scored) -> None:
    store.release("rubrics/answer", RUBRIC.format(version="3.0.0", pin='">=1"', most=20).replace('@">=1"', "@>=1"))
    store.release("datasets/small", DATASET.format(version="3.0.0"))
    a = scored("3.0.0", "a", "b")
    store.release("judges/tone", JUDGE.format(version="2.1.0", words="Kind?"))
    b = scored("3.0.0", "a", "b")
    found = store.audit(a, b)
    assert (shares(found)["judge_service"], factor(found, "rubric").share) == (found.delta, 0)


def test_a_history_prices_the_calls_that_it_lacks_and_makes_them_only_when_asked(
    store: Repo, scored: Scored, judge_server: Any, cli: Callable
) -> None:
    run, asked = str(scored("1.0.0", "thank you", "no").path), judge_server.calls
    argv = ("history", "judge/tone", "--run", run, "--format", "json")
    lacking = json.loads(cli(*argv, cwd=store.root).out)
    assert (judge_server.calls, lacking["calls"], lacking["not_graded"]) == (asked, 2, [[0, 2]])
    assert (lacking["cells"][0][1], lacking["recorded"]) == (None, ["1.0.0"])
    found = cli(*argv, "--judge-url", judge_server.url, cwd=store.root)
    # The plan comes before the calls.
    assert found.err.startswith("judge calls to make: 2")
    filled = json.loads(found.out)
    assert (judge_server.calls, filled["calls"], filled["not_graded"]) == (asked + 2, 0, [[0, 0]])
    assert filled["cells"][0][1] is not None
    replay = json.loads(cli("history", run, "--rubric", "rubric/answer@2.0.0", "--format", "json", cwd=store.root).out)
    assert (replay["calls"], replay["not_graded"], judge_server.calls) == (0, [], asked + 2)
    view = cli("audit", run, run, "--question", "one", cwd=store.root)
    assert (view.code, "of A    of B" in view.out) == (0, True)


@pytest.mark.parametrize(
    ("served", "texts", "names"),
    [
        ("", ("thank you", "no"), {"judge"}),
        ("moved", ("thank you", "no"), {"judge + judge service"}),
        ("moved", ("thank you so", "no, never"), {"judge + outputs + judge service"}),
    ],
)
def test_who_edits_a_judge_is_not_told_what_its_model_did_meanwhile(
    store: Repo, scored: Scored, judge_server: Any, served: str, texts: tuple[str, str], names: set[str]
) -> None:
    store.release("rubrics/answer", RUBRIC.format(version="4.0.0", pin="2.0.0", most=40))
    store.release("datasets/small", DATASET.format(version="4.0.0"))
    a = scored("1.0.0", "thank you", "no")
    judge_server.served = served
    judge_server.text = lambda _: '{"score": 0.25}'
    found = store.audit(a, scored("4.0.0", *texts))
    assert {name for name, share in shares(found).items() if share} == names
    # No call can be made to a service that is gone, so none is said to help.
    assert found.price.calls == 0 or not served
    assert ("holds if the judge service did not change" in write_answer(found)) is not bool(served)
    three = "the judge, the outputs, and the judge service together"
    assert (three in found.sentence) is any("outputs" in name for name in names)


def _release_composites(desk: Desk, *, bans: str = "foo") -> None:
    """Release two versions of a rubric that asks a judge itself and in a composite, whose inner ban becomes `bans`."""
    for version, words, banned in (("1.0.0", "Rate", ["foo"]), ("2.0.0", "HARD", bans.split())):
        desk.judge(version, words)
        judge = {"id": "j", "kind": "llm_judge", "judge_prompt_ref": f"judge/acc@{version}"}
        ban = {"id": "ban", "kind": "must_not_contain", "values": banned}
        desk.rubric(version, judge, ban, name="inner")
        desk.rubric(version, judge, {"id": "c", "kind": "composite", "rubric_ref": f"rubric/inner@{version}"})
        desk.dataset(version, 4)


def test_a_judge_that_is_asked_in_a_composite_as_well_is_one_factor(desk: Desk, judge_server: Any) -> None:
    """Its edit moves the composite's score, which says nothing of the service behind the judge."""
    judge_server.text = lambda prompt: json.dumps({"score": 0 if "HARD" in prompt else 1})
    _release_composites(desk)
    outputs = ["good", "foo", "x", "good good"]
    found = desk.audit(desk.score("1.0.0", outputs, "a"), desk.score("2.0.0", outputs, "b"))
    assert ({name: share for name, share in shares(found).items() if share}, found.drift) == ({"judge": -0.75}, ())


@pytest.mark.parametrize("served", ["m", "m-next"])
def test_edits_within_a_composite_need_no_reply_at_either_end(desk: Desk, judge_server: Any, served: str) -> None:
    """What a run recorded of it serves where replies are gone, and where another service gave other ones."""
    _release_composites(desk, bans="foo good")
    a = desk.score("1.0.0", ["good", "foo", "x", "good good"], "a")
    judge_server.served = served
    b = desk.score("2.0.0", ["good foo", "foo", "xx", "good good"], "b")
    kept = desk.audit(a, b, asks=True)
    desk.repo.forget()
    again = desk.audit(a, b)
    assert (kept.drift, again.drift, kept.delta) == ((), (), again.delta)
    judge_server.served = "m"
    if served == "m":
        assert shares(desk.audit(a, b, asks=True)) == shares(kept)


def test_a_judges_release_is_described_edit_by_edit_with_its_people(store: Repo, scored: Scored) -> None:
    """Two people edit one judge before a third releases it: each edit has its commit, and all of it one share."""
    path, text = store.root / "judges/tone.yaml", JUDGE.format(version="2.0.0", words="How kind is it really?")
    for author, old, new in (("Bob", "{id: m}", "{id: n, temperature: 1}"), ("Cyd", "really", "truly")):
        text = text.replace(old, new)
        path.write_text(text)
        store.git("commit", "-qam", f"{author} edits", author=author)
    store.release("judges/tone", text.replace("2.0.0", "3.0.0"), author="Releasebot")
    store.release("rubrics/answer", RUBRIC.format(version="3.0.0", pin="3.0.0", most=20))
    store.release("datasets/small", DATASET.format(version="3.0.0"))
    a, b = scored("2.0.0", "thank you", "no"), scored("3.0.0", "thank you", "no")
    (cause,) = factor(store.audit(a, b), "judge").causes
    pattern = (
        r"judge: template edited \(Cyd \w{7}\); model m → n \(Bob \w{7}\); model.temperature none → 1 \(Bob \w{7}\)"
    )
    assert re.fullmatch(pattern, cause.source.message), cause.source.message


def test_a_statement_of_a_question_that_a_judge_grades_is_an_edit_of_the_dataset(desk: Desk) -> None:
    judge = {"id": "acc", "version": "1.0.0", "template": "{{ output }} {{ statement }}", "variables": ["statement"]}
    desk.put("judge", {**judge, "model": {"id": "m"}})
    points = {"id": "points", "kind": "llm_judge", "judge_prompt_ref": "judge/acc@1.0.0", "each": {"from": "wants"}}
    desk.rubric("1.0.0", {**points, "aggregate": "mean"})
    questions = [{"id": f"q{number}", "input": "x", "wants": ["kind", "short"]} for number in range(4)]
    desk.dataset("1.0.0", questions)
    desk.dataset("2.0.0", [{**questions[0], "wants": ["kind", "HARD"]}, *questions[1:]], "1.0.0")
    a, b = (desk.score(version, ["good good good"] * 4, version[0]) for version in ("1.0.0", "2.0.0"))
    found = desk.audit(a, b)
    # One of two statements of one question loses a fifth.
    assert {name: share for name, share in shares(found).items() if share} == {"dataset": Fraction(-1, 40)}
    assert found.delta == Fraction(-1, 40)
