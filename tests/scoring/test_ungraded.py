"""No number without its graders: every way in which a judge or PHP can fail, and what `score` answers then."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft7Validator

import evalstore.api
from evalstore.api import Judges, Store
from evalstore.checks import php
from evalstore.errors import RefusedError
from evalstore.model import has_failed_check
from evalstore.runs import CheckSummary, Run, read_run
from evalstore.runs.values import withhold_score
from tests.shared_data import find_shared

Cli = Callable[..., Any]
Score = Callable[..., Any]

RUBRICS = {
    "rubrics/jury.yaml": """\
id: jury
version: 1.0.0
checks:
  - id: both
    kind: llm_judge
    jury: {aggregate: mean, members: [{judge_prompt_ref: judge/accuracy@1.0.0}, {judge_prompt_ref: judge/own@1.0.0}]}
  - {id: polite, kind: must_contain_any, values: [please]}
scoring: {combine: weighted_avg}
""",
    "rubrics/twice.yaml": """\
id: twice
version: 1.0.0
checks:
  - {id: both, kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0, samples: 2}
  - {id: polite, kind: must_contain_any, values: [please]}
scoring: {combine: weighted_avg, errors: skip}
""",
    "rubrics/alone.yaml": """\
id: alone
version: 1.0.0
checks: [{id: sound, kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0}]
scoring: {combine: weighted_avg}
""",
    "rubrics/outer.yaml": """\
id: outer
version: 1.0.0
checks: [{id: inner, kind: composite, rubric_ref: rubric/sound@1.0.0}]
scoring: {combine: weighted_avg}
""",
    "rubrics/zero.yaml": """\
id: zero
version: 1.0.0
checks:
  - {id: sound, kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0}
  - {id: polite, kind: must_contain_any, values: [please]}
scoring: {combine: weighted_avg, errors: zero}
""",
    "rubrics/parsed.yaml": """\
id: parsed
version: 1.0.0
checks:
  - {id: parses, kind: php_lint}
  - {id: polite, kind: must_contain_any, values: [please]}
scoring: {combine: weighted_avg}
""",
}
ASKED = 12
SAID = "sound graded 0 of 12; the rest: 91.67"


class Way(NamedTuple):
    """A way to fail: what the endpoint does, and what `score` answers: its code, and its headline or its error."""

    name: str
    code: int
    said: str
    behaviour: str = "ok"
    text: str = '{"score": 5}'
    options: tuple[str, ...] = ()
    rubric: str = "sound"


NO_MODEL = "sound graded 0 of 12: no model is named for judge/accuracy@1.0.0: "
NO_REPLY = "judge/accuracy@1.0.0: there is no stored reply, and no judge was asked"
WAYS = (
    Way("no model", 3, NO_MODEL, options=("--judge-model=",)),
    Way("no URL", 3, f"sound graded 0 of 12: {NO_REPLY}", options=("--judge-url=",)),
    Way("no URL, for a composite", 3, "inner graded 0 of 12: ", options=("--judge-url=",), rubric="outer"),
    Way("no key", 3, "the endpoint refuses the key (401: ", "401"),
    Way("a key that is refused", 3, "the endpoint refuses the key (401: ", "401", options=("--judge-key=sk-x",)),
    Way("an empty account", 3, "the endpoint has no quota left for this account (429: ", "quota"),
    Way("a model that nobody knows", 3, "the endpoint knows no such model or path (404: ", "404"),
    Way("nobody at that port", 3, "the endpoint cannot be reached: ", options=("--judge-url=http://127.0.0.1:9",)),
    Way("never an answer", 3, "did not answer within 0.2 seconds", "never", options=("--judge-timeout=0.2",)),
    Way(
        "no PHP under strict",
        3,
        "parses graded 0 of 12: tree-sitter-php (approximate) is not an exact",
        rubric="parsed",
    ),
    Way("answers that never end", 1, SAID, "drip", options=("--judge-timeout=0.2",)),
    Way("429 for ever", 1, SAID, "429"),
    Way("500 for ever", 1, SAID, "500"),
    Way("prompts that are too long", 1, SAID, "413"),
    Way("the page of a proxy", 1, SAID, "not JSON"),
    Way("empty bodies", 1, SAID, "nothing"),
    Way("empty replies", 1, SAID, text=""),
    Way("prose for JSON", 1, SAID, text="I think that it is good."),
    Way("a wrong key in the JSON", 1, SAID, text='{"scores": 5}'),
    Way("a score beyond the scale", 1, SAID, text='{"score": 50}'),
    Way("replies that are cut", 1, SAID, "length"),
    Way("refusals", 1, SAID, "refusal"),
    Way("a juror who only talks", 1, SAID.replace("sound", "both"), text='{"score": 1.5}', rubric="jury"),
    Way("one sample of two", 1, SAID.replace("sound", "both"), text="twice", rubric="twice"),
    Way("a judge within a composite", 1, SAID.replace("sound", "inner"), text="Good.", rubric="outer"),
    Way("a rubric that counts errors as 0", 1, "sound graded 0 of 12; the rest: 45.83", text="Good.", rubric="zero"),
)


@pytest.fixture
def scored(cli: Cli, judged: Path, many: Callable[..., Path], release: Any, judge_server: Any) -> Iterator[Score]:
    """Score twelve outputs, of which one is impolite, with a cache of its own each time."""
    release(RUBRICS)
    outputs = many(ASKED)
    rows = [json.loads(line) for line in outputs.read_text().splitlines()]
    rows[0]["output"] = "no"
    lines = (json.dumps({**row, "output": f"{row['output']}\n```php\n1;\n```\n"}) + "\n" for row in rows)
    outputs.write_text("".join(lines))
    argv = ("score", "dataset/many@worktree", outputs, "--judge-url", judge_server.url, "--judge-retries=0")

    def run(*options: str, rubric: str = "sound") -> Any:
        name = f"{len([*judged.parent.glob('*.db')])}.db"
        return cli(*argv, "--rubric", f"rubric/{rubric}@1.0.0", "--cache", judged.parent / name, *options, cwd=judged)

    yield run
    php.find_php_engine.cache_clear()


def remove_php(judged: Path, patch: pytest.MonkeyPatch) -> None:
    """Leave the approximation alone in a store that takes none."""
    (judged / "evalstore.yaml").write_text("strict: true\nrules: {judge-unvalidated: off}\n")
    patch.setattr("evalstore.checks.php.find_php", lambda: None)
    php.find_php_engine.cache_clear()


def read_headline(out: str) -> str:
    return next(line.split(maxsplit=1)[1] for line in out.splitlines() if line.startswith("score "))


def test_no_way_to_fail_leaves_a_number(
    scored: Score, judged: Path, judge_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = judged / "runs"
    for way in WAYS:
        judge_server.asked.clear()
        judge_server.play(way.behaviour)
        replies = {
            "jury": lambda prompt: "Good." if "kind" in prompt else '{"score": 4}',
            "twice": lambda prompt: "Good." if judge_server.asked[prompt] > 1 else '{"score": 4}',
        }
        judge_server.text = replies.get(way.rubric, lambda _, way=way: way.text)
        before = set(runs.glob("*"))
        if way.rubric == "parsed":
            remove_php(judged, monkeypatch)
        ran = scored(*way.options, rubric=way.rubric)
        assert ran.code == way.code, (way, ran)
        if way.code == 1:
            assert read_headline(ran.out) == f"-   {way.said}", way
            assert "no score: 12 of " in ran.err.splitlines()[-1], way
        else:
            error, hint = ran.err.splitlines()[-2:]
            assert error.startswith("error: "), way
            assert way.said in error, way
            assert hint.startswith("hint: "), way
            assert hint.endswith(("; --offline scores without", "or continue with --offline")), way
            assert (ran.out, set(runs.glob("*"))) == ("", before), way


SETTINGS = {
    "--judge-model=": "name the model with --judge-model NAME or EVALSTORE_JUDGE_MODEL",
    "--judge-url=": "name the endpoint to ask with --judge-url URL or EVALSTORE_JUDGE_URL",
    "": "install PHP, so that `php` is on the PATH",
}


@pytest.mark.parametrize("option", SETTINGS)
def test_a_missing_setting_is_named_and_offline_goes_on_without_it(
    option: str, scored: Score, judged: Path, judge_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, rubric, name = ([option], "sound", "sound") if option else ([], "parsed", "parses")
    if not option:
        remove_php(judged, monkeypatch)
    ran = scored(*options, rubric=rubric)
    assert (ran.code, ran.err.splitlines()[-1]) == (3, f"hint: {SETTINGS[option]}; --offline scores without")
    ran = scored(*options, "--offline", rubric=rubric)
    assert (ran.code, judge_server.calls) == (1, 0)
    assert read_headline(ran.out) == f"-   {name} graded 0 of 12; the rest: 91.67"
    # Who says that all of it may be missing gets the number, which still says what it lacks.
    ran = scored(*options, "--offline", "--max-ungraded=1", rubric=rubric)
    assert ran.code == 0
    assert read_headline(ran.out) == f"91.67   mean of 12 scored questions, in points of 100; {name} graded 0 of 12"
    assert read_run(judged / "runs/many-worktree-many-2.json").harness["max_ungraded"] == "1"


def test_without_a_key_it_is_said_that_none_was_given(scored: Score, judge_server: Any) -> None:
    judge_server.play("401")
    assert "hint: none was given: set EVALSTORE_JUDGE_KEY; " in scored().err
    assert "hint: look at EVALSTORE_JUDGE_KEY; " in scored("--judge-key=sk-x").err


@pytest.mark.parametrize("options", [(), ("--offline",)])
def test_a_dry_run_without_a_model_does_not_say_that_nothing_is_asked(options: tuple[str, ...], scored: Score) -> None:
    ran = scored("--dry-run", "--judge-model=", *options)
    assert (ran.code, ran.out) == (3, "")
    assert NO_MODEL in ran.err
    ran = scored("--dry-run", "--judge-url=", *options)
    assert (ran.code, ran.out.partition("\n")[0]) == (0, "judge calls to make: 12")


def test_below_the_limit_the_headline_counts_what_failed(scored: Score, judge_server: Any) -> None:
    judge_server.play("413", prompt="please 3")
    ran = scored("--max-ungraded=0.05")
    said = "42.92   mean of 12 scored questions, in points of 100; sound graded 11 of 12"
    assert (ran.code, read_headline(ran.out)) == (0, said)
    ran = scored("--max-ungraded=0.04")
    assert (ran.code, read_headline(ran.out)) == (1, "-   sound graded 11 of 12; the rest: 42.92")
    run = json.loads(scored("--format=json", "--max-ungraded=0.04").out)
    assert (run["score"], run["pass_rate"], run["ungraded"]) == (None, None, "sound graded 11 of 12")
    assert (run["gradings"], run["failed_gradings"], run["rest_pass_rate"]) == (24, 1, 0.083333333333)


def test_questions_without_an_answer_stand_in_the_headline(scored: Score, judged: Path) -> None:
    outputs = judged.parent / "many.jsonl"
    lines = outputs.read_text().splitlines(keepends=True)
    outputs.write_text("".join(lines[1:]))
    said = "40.00   mean of 11 scored questions, in points of 100; 1 question has no answer"
    assert read_headline(scored().out) == said
    outputs.write_text("".join(lines[3:]))
    assert (
        read_headline(scored("--offline").out)
        == "-   sound graded 0 of 9; the rest: 100.00; 3 questions have no answer"
    )


def summarize(scored: int, errors: int, **counts: int) -> CheckSummary:
    return CheckSummary(None, scored, 0, errors, errors, **counts)


@pytest.mark.parametrize(
    ("checks", "withheld"),
    [
        ({"a": summarize(98, 2)}, False),
        ({"a": summarize(97, 3)}, True),
        ({"a": summarize(97, 3), "b": summarize(100, 0)}, False),
        ({"a": summarize(97, 0, partial=3)}, True),
        # A judge that graded nothing is not outvoted by checks that need nobody, however many.
        ({"judge": summarize(0, 100), **{f"c{n}": summarize(100, 0) for n in range(99)}}, True),
        ({"judge": summarize(0, 1), **{f"c{n}": summarize(100, 0) for n in range(99)}}, False),
        # What had nothing to grade did not fail.
        ({"a": CheckSummary(None, 50, 0, 50)}, False),
    ],
)
def test_a_score_is_withheld_by_the_share_of_gradings_that_failed(
    checks: dict[str, CheckSummary], *, withheld: bool, run_of: Callable[..., Run]
) -> None:
    run = withhold_score(run_of(checks), Fraction(2, 100))
    assert run.is_withheld is withheld
    pair = (None, Fraction(8, 9)) if withheld else (Fraction(8, 9), None)
    assert (run.score, run.rest_score) == pair
    assert withhold_score(run_of(checks), Fraction(1)).score == Fraction(8, 9)


@pytest.fixture
def run_of() -> Callable[..., Run]:
    def make(checks: dict[str, CheckSummary]) -> Run:
        shown: dict[str, Any] = {"id": "x", "name": "x", "at": "0", "model": "m", "harness": {}, "rubrics": ()}
        counts = {"scored": 100, "unscored": 0, "outputs": 100, "score": Fraction(8, 9), "pass_rate": Fraction(1)}
        place = {"path": Path("x.json"), "samples": Path("x.jsonl"), "dataset": None, "outputs_sha256": ""}
        return Run(**shown, **counts, **place, checks=checks)

    return make


@pytest.fixture
def marked(scored: Score, judged: Path) -> Path:
    """A stored run without a score."""
    assert scored("--offline", rubric="zero").code == 1
    return judged / "runs/many-worktree-many.json"


def test_the_mark_is_in_the_file_of_the_run(marked: Path) -> None:
    run = read_run(marked)
    assert (run.score, run.pass_rate, run.is_withheld) == (None, None, True)
    assert (run.rest_score, run.rest_pass_rate) == (Fraction(11, 24), Fraction(0))
    assert "no score (sound graded 0 of 12)" in repr(run)
    results = json.loads(marked.read_text())["evaluation_results"]
    assert [result["score_details"]["score"] for result in results] == [-1, -1]
    assert results[0]["score_details"]["details"]["evalstore_ungraded"] == "sound graded 0 of 12"


@pytest.mark.parametrize("version", ["0.3.0", "0.2.2"])
def test_such_a_run_is_valid_where_it_goes(version: str, scored: Score, judged: Path) -> None:
    schemas = find_shared("samples/every_eval_ever/schemas")
    assert scored("--offline", "--eee-version", version).code == 1
    aggregate = (judged / "runs/many-worktree-many.json").read_text()
    rows = (judged / "runs/many-worktree-many_samples.jsonl").read_text().splitlines()
    for name, text in (("eval", aggregate), *(("instance_level_eval", row) for row in rows)):
        schema = json.loads((schemas / f"{name}.schema.{version}.json").read_text("utf-8"))
        assert list(Draft7Validator(schema).iter_errors(json.loads(text))) == []


def test_what_shows_a_run_shows_the_mark(marked: Path, judged: Path, cli: Cli) -> None:
    shown = cli("show", marked, cwd=judged)
    said = "It has no score, because gradings failed: sound graded 0 of 12; the rest: 45.83."
    assert shown.out.splitlines()[1].strip() == said
    document = json.loads(cli("show", marked, "--format=json", cwd=judged).out)
    assert (document["score"], document["ungraded"], document["rest_pass_rate"]) == (None, "sound graded 0 of 12", 0)
    assert said in cli("show", marked, "--format=html", cwd=judged).out


def test_history_says_it_on_the_line(marked: Path, judged: Path, cli: Cli) -> None:
    argv = ("history", "rubric/zero", "--run", marked, "--run", marked)
    ran = cli(*argv, cwd=judged)
    (line, *_) = (line for line in ran.out.splitlines() if line.startswith("no score: many"))
    assert line.split()[-1] in {"(45.83)*", "(-)*"}
    assert "sound graded 0 of 12; the numbers in parentheses are what the rest comes to" in " ".join(ran.out.split())
    assert json.loads(cli(*argv, "--format=json", cwd=judged).out)["ungraded"] == ["sound graded 0 of 12"] * 2
    assert cli(*argv, "--format=html", cwd=judged).out.count("no score") > 1


def test_a_site_compares_it_with_no_other_run(
    marked: Path, scored: Score, judged: Path, cli: Cli, tmp_path: Path
) -> None:
    for _ in range(2):
        assert scored(rubric="zero").code == 0
    assert scored("--offline", rubric="zero").code == 1
    assert cli("site", tmp_path / "site", "--runs", marked.parent, cwd=judged).code == 0
    page = (tmp_path / "site/index.html").read_text()
    assert page.count("no score") == 2
    assert page.count("sound graded 0 of 12") == 2
    assert len([*(tmp_path / "site/audits").iterdir()]) == 1


def test_an_audit_of_such_a_run_says_so(scored: Score, judged: Path, judge_server: Any, cli: Cli) -> None:
    judge_server.play("413", prompt="please [34]")
    for code, plays in ((1, {"": ["413"]}), (1, {"": ["ok"], "please 3": ["413"]}), (0, {"": ["ok"]})):
        judge_server.plays = dict(reversed(plays.items()))
        assert scored().code == code
    nothing, most, all_ = (judged / f"runs/many-worktree-many{end}.json" for end in ("", "-2", "-3"))
    ran = cli("audit", most, all_, cwd=judged)
    assert ran.code == 1, ran.err
    assert ran.out.startswith("Not comparable: A has no score (sound graded 11 of 12). ")
    said = "run A has no score, because gradings failed: sound graded 11 of 12; its mean here is that of the rest"
    assert said in " ".join(ran.out.split())
    assert "run B has no score" not in ran.out
    ran = cli("audit", nothing, all_, cwd=judged)
    said = "Not comparable: A has no score (sound graded 0 of 12). The score fell by 53.75 points: judge errors"
    assert (ran.code, " ".join(ran.out.split()).startswith(said)) == (1, True)


def test_python_has_it_as_well(scored: Score, judged: Path, tmp_path: Path) -> None:
    outputs, at = judged.parent / "many.jsonl", datetime(2026, 9, 14, tzinfo=UTC)
    cache = tmp_path / "none.db"

    def score(judges: Judges, **options: Any) -> Run:
        with Store.open(judged) as store:
            dataset, out = "dataset/many@worktree", tmp_path / "runs"
            return evalstore.api.score(dataset, outputs, store=store, out=out, at=at, judges=judges, **options)

    model = {"id": "small"}
    with pytest.raises(RefusedError, match="sound graded 0 of 12") as caught:
        score(Judges(model=model, cache=cache))
    assert str(caught.value.hint).startswith("name the endpoint")
    run = score(Judges(model=model, cache=cache, offline=True))
    assert (run.score, run.ungraded, run.rest_score) == (None, "sound graded 0 of 12", Fraction(11, 12))
    run = score(Judges(model=model, cache=cache, offline=True), max_ungraded=1)
    assert (run.score, run.ungraded, run.rest_score) == (Fraction(11, 12), "sound graded 0 of 12", None)
    with Store.open(judged) as store:
        result = evalstore.api.evaluate("rubric/sound@1.0.0", "please", store=store, judges=Judges(cache=cache))
        outer = evalstore.api.evaluate("rubric/outer@1.0.0", "please", store=store, judges=Judges(cache=cache))
    assert (result.ungraded, outer.ungraded) == (("sound",), ("inner",))
    assert "not graded: sound" in repr(result)
    # A composite that passes without its judge passes no test.
    assert has_failed_check(outer.checks)


def test_a_check_that_graded_nothing_withholds_the_score_in_its_own_words(scored: Score) -> None:
    last = scored("--offline", "--max-ungraded", "0.5").err.splitlines()[-1]
    assert last == "no score: sound graded nothing at 12 of 12 outputs, more than --max-ungraded 0.5 allows"


def test_where_nothing_has_a_score_no_share_is_blamed(scored: Score) -> None:
    ran = scored("--offline", "--max-ungraded", "1", rubric="alone")
    assert (ran.code, ran.err.splitlines()[-1]) == (1, "nothing was scored")
