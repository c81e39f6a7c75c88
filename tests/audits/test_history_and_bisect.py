"""`history`, `--bisect` and the search for releases over one story: a ban that comes, goes, and comes back with a limit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.audits.inference import ArtifactSearch, Inference
from evalstore.audits.side_replay import grade_with_judges
from evalstore.model import Artifact
from evalstore.places import find_resource_folder
from evalstore.runs import Run, read_run
from evalstore.store import ArtifactStore
from tests.audits.conftest import Desk, Repo

RELEASES = {
    "1.0.0": ((), 50, "Ann"),
    "1.1.0": ((), 50, "Ann"),  # a check of no weight
    "2.0.0": (("simply",), 50, "Bob"),
    "3.0.0": ((), 50, "Cyd"),
    "4.0.0": (("simply",), 20, "Dan"),
}
OUTPUTS = {
    "X": ["simply ok"] * 4 + ["ok " * 12] * 3 + ["ok"] * 3,
    "Y": ["ok"] * 10,
    "Z": ["simply ok"] * 10,
}


def rubric(version: str, words: tuple[str, ...], most: int) -> str:
    checks: list[dict[str, Any]] = [
        {"id": "ban", "kind": "must_not_contain", "values": ["foo", *words]},
        {"id": "brief", "kind": "format", "format": "text", "max_chars": most},
    ]
    scoring: dict[str, Any] = {"combine": "weighted_avg", "threshold": 0.7}
    if version == "1.1.0":
        checks.append({"id": "advice", "kind": "must_contain_any", "values": ["perhaps"]})
        scoring["weights"] = {"advice": 0}
    return f"id: r\nversion: {version}\nchecks: {json.dumps(checks)}\nscoring: {json.dumps(scoring)}\n"


def dataset(version: str) -> str:
    questions = [{"id": f"q{n}", "input": f"x{n}"} for n in range(10)]
    return (
        f"id: d\nversion: {version}\ndefaults: {{rubric_ref: rubric/r@{version}}}\nquestions: {json.dumps(questions)}\n"
    )


class Story:
    """The repository, its runs by name, and the commits by version."""

    def __init__(self, repo: Repo, runs: dict[str, Run], commits: dict[str, str]) -> None:
        self.repo, self.runs, self.commits = repo, runs, commits


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    root = tmp_path_factory.mktemp("story")
    (root / "store").mkdir()
    repo = Repo(root / "store")
    repo.git("init", "-q", "-b", "main")
    commits = {version: repo.release("rubrics/r", rubric(version, words, most), author=who)
               for version, (words, most, who) in RELEASES.items()}  # fmt: skip
    for version in ("1.0.0", "2.0.0"):
        repo.release("datasets/d", dataset(version))
    runs = {}
    for name, texts in OUTPUTS.items():
        path = root / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"id": f"q{n}", "output": text}) + "\n" for n, text in enumerate(texts)))
        for version in ("1.0.0", "2.0.0"):
            runs[f"{name}{version[0]}"] = repo.score(f"dataset/d@{version}", path, name)
            repo.minutes += 1
    return Story(repo, runs, commits)


@pytest.fixture
def answer(story: Story, cli: Callable) -> Callable[..., Any]:
    """Run a command, hold its document against its schema, and return it."""

    def run(*argv: str, code: int = 0) -> Any:
        ran = cli(*argv, "--format", "json", cwd=story.repo.root)
        assert ran.code == code, ran.err
        views = (mode for mode in ("bisect", "rubric") if argv[0] == "history" and f"--{mode}" in argv)
        view = {"bisect": "_bisect", "rubric": "_flips", "": ""}[next(views, "")]
        schema = find_resource_folder("schema") / "output" / f"{argv[0]}{view}.schema.json"
        Draft202012Validator(json.loads(schema.read_text())).validate(json.loads(ran.out))
        return json.loads(ran.out)

    return run


def foreign(story: Story, tmp_path: Path, run: Run) -> Path:
    """Write the run as a tool would that knows of no versions."""
    aggregate = json.loads(run.path.read_text())

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(one) for key, one in value.items() if not key.startswith("evalstore")}
        return [strip(one) for one in value] if isinstance(value, list) else value

    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(strip(aggregate)))
    rows = [strip(json.loads(line)) for line in run.samples.read_text().splitlines()]
    (tmp_path / "foreign_samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_matrix_has_a_row_for_each_run_and_a_column_for_each_release(story: Story, answer: Any) -> None:
    runs = [part for name in "XYZ" for part in ("--run", str(story.runs[f"{name}1"].path))]
    found = answer("history", "rubric/r", *runs)
    assert found["versions"] == list(RELEASES)
    assert found["cells"] == [[1, 1, 0.8, 1, 0.65], [1, 1, 1, 1, 1], [1, 1, 0.5, 1, 0.5]]
    assert found["passes"] == [[1, 1, 0.6, 1, 0.3], [1] * 5, [1, 1, 0, 1, 0]]
    assert (found["recorded"], found["calls"], found["models"]) == (["1.0.0"] * 3, 0, ["X", "Y", "Z"])
    some = answer("history", "rubric/r@>=2.0 <4", "--run", str(story.runs["X2"].samples))
    assert (some["versions"], some["cells"], some["recorded"]) == (["2.0.0", "3.0.0"], [[0.8, 1]], ["2.0.0"])
    # A dataset is searched for, too: what it pins grades the answers.
    pins = answer("history", "dataset/d", "--run", str(story.runs["X2"].path))
    assert (pins["versions"], pins["cells"]) == (["1.0.0", "2.0.0"], [[1, 0.8]])


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_matrix_fits_the_screen_and_marks_what_was_recorded(story: Story, width: int) -> None:
    from evalstore.audits.score_history import build_history
    from evalstore.report import render
    from evalstore.report.text_layout import Screen
    from evalstore.store import ArtifactStore

    with ArtifactStore.open(story.repo.root) as store:
        found = build_history("rubric/r", [story.runs["X2"].path], store)
    lines = render(found, "text", screen=Screen(width)).splitlines()
    assert max(map(len, lines)) <= width
    assert any("80.00*" in line and "60.00*" not in line for line in lines)
    assert sum(line.startswith("score, points of 100") for line in lines) == (2 if width == 60 else 1)


def test_runs_with_long_names_are_told_apart(story: Story) -> None:
    from evalstore.audits.score_history import build_history
    from evalstore.report import render
    from evalstore.report.text_layout import Screen
    from evalstore.store import ArtifactStore

    first = story.runs["X2"].path
    runs = [first.with_name(f"{'a_suite_with_a_long_name_' * 3}{seed}.json") for seed in (1, 2)]
    for run in runs:
        run.write_bytes(first.read_bytes())
    with ArtifactStore.open(story.repo.root) as store:
        found = build_history("rubric/r", runs, store)
    for width in (60, 80, 200):
        lines = render(found, "text", screen=Screen(width)).splitlines()
        assert max(map(len, lines)) <= width
        rows = [line for line in lines if "100.00" in line or "80.00" in line]
        assert len(rows) == len(set(rows)) > 1
        assert all(any(f"{seed}.json)" in line for line in rows) for seed in (1, 2))


def test_every_change_point_is_found_and_the_first_bad_one_since_the_last_good(story: Story, answer: Any) -> None:
    run = str(story.runs["X1"].path)
    q0 = answer("history", "rubric/r", "--bisect", "--run", run, "--question", "q0")
    assert [(one["version"], one["from"], one["to"], one["author"], one["commit"]) for one in q0["points"]] == [
        ("2.0.0", 1, 0.5, "Bob", story.commits["2.0.0"]),
        ("3.0.0", 0.5, 1, "Cyd", story.commits["3.0.0"]),
        ("4.0.0", 1, 0.5, "Dan", story.commits["4.0.0"]),
    ]
    assert (q0["last_good"], q0["first_bad"]["version"], q0["first_bad"]["author"]) == ("3.0.0", "4.0.0", "Dan")
    q4 = answer("history", "rubric/r", "--bisect", "--run", run, "--question", "q4")
    assert ([one["version"] for one in q4["points"]], q4["first_bad"]["version"]) == (["4.0.0"], "4.0.0")
    whole = answer("history", "rubric/r@3.0.0", "--bisect", "--run", run)
    assert [(one["version"], one["from"], one["to"]) for one in whole["points"]] == [
        ("2.0.0", 1, 0.8),
        ("3.0.0", 0.8, 1),
    ]
    assert whole["first_bad"] is None
    assert answer("history", "rubric/r", "--bisect", "--run", str(story.runs["Y1"].path))["points"] == []


def test_commits_within_a_release_and_after_the_last_one_have_their_own_people(
    repo: Repo, tmp_path: Path, cli: Any
) -> None:
    repo.release("rubrics/r", rubric("1.0.0", (), 50))
    repo.release("datasets/d", dataset("1.0.0"))
    by = {}
    for who, words, most in (("Bob", ("simply",), 50), ("Cyd", ("simply",), 20)):
        repo.write("rubrics/r.yaml", rubric("1.0.0", words, most))
        repo.git("commit", "-qam", "edit", author=who)
        by[who] = repo.git("rev-parse", "HEAD")
    repo.release("rubrics/r", rubric("2.0.0", ("simply",), 20), author="Releasebot")
    repo.write("rubrics/r.yaml", rubric("2.0.0", (), 20))
    repo.git("commit", "-qam", "no ban", author="Eve")
    answers = tmp_path / "X.jsonl"
    answers.write_text(
        "".join(json.dumps({"id": f"q{n}", "output": text}) + "\n" for n, text in enumerate(OUTPUTS["X"]))
    )
    run = repo.score("dataset/d@1.0.0", answers)

    def ask(*more: str) -> Any:
        return json.loads(
            cli("history", "rubric/r", "--bisect", "--run", str(run.path), *more, "--format", "json", cwd=repo.root).out
        )

    (point,) = ask()["points"]
    assert (point["version"], point["from"], point["to"], point["commit"], point["author"]) == (
        "2.0.0",
        1,
        0.65,
        by["Bob"],
        "Bob",
    )
    assert [(one["author"], one["from"], one["to"]) for one in point["commits"]] == [
        ("Bob", 1, 0.8),
        ("Cyd", 0.8, 0.65),
    ]
    assert ask("--question", "q4")["points"][0]["author"] == "Cyd"
    every = ask("--commits")
    assert [(one["version"], one["author"], one["to"]) for one in every["points"]] == [
        (None, "Bob", 0.8),
        (None, "Cyd", 0.65),
        (None, "Eve", 0.85),
    ]


def test_a_replay_is_a_table_of_flips(story: Story, answer: Any) -> None:
    found = answer("history", str(story.runs["X1"].samples), "--rubric", "rubric/r@4.0.0")
    assert (found["old"]["score"], found["new"]["score"], found["new"]["pass_rate"]) == (1, 0.65, 0.3)
    assert (found["recorded"], found["compared"], found["not_graded"]) == ("rubric/r@1.0.0", 10, [])
    assert found["flips"] == {"pass_to_fail": [f"q{n}" for n in range(7)], "fail_to_pass": []}
    assert found["moved"][0] == {
        "id": "q0",
        "old": {"score": 1, "verdict": "pass"},
        "new": {"score": 0.5, "verdict": "fail"},
    }
    assert answer("history", str(story.runs["X1"].path), "--rubric", "rubric/r@1.1.0")["moved"] == []


def search(store: Path, run: Path) -> Inference:
    """Return what the audit finds of a run that names no versions."""
    with ArtifactStore.open(store) as opened:
        return grade_with_judges(opened, None, lambda *using: ArtifactSearch(*using, read_run(run)).run())


def test_a_record_tells_the_releases_that_made_it(story: Story, tmp_path: Path) -> None:
    one = search(story.repo.root, foreign(story, tmp_path, story.runs["X2"]))
    assert [found.resolved.ref for found in one.rubrics if found.is_exact] == ["rubric/r@2.0.0"]
    assert one.rubrics[1].agree < one.rubrics[1].of == 10
    best = one.datasets[0]
    assert (best.resolved.ref, best.agree, best.of, best.not_graded) == ("dataset/d@2.0.0", 10, 10, 0)
    assert one.distinguish == ()


def test_the_search_reads_the_rubric_of_all_questions_once_a_release(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, load = Counter[str](), ArtifactStore.read_artifact

    def count_load(store: ArtifactStore, ref: str) -> Artifact:
        loaded[ref] += 1
        return load(store, ref)

    monkeypatch.setattr(ArtifactStore, "read_artifact", count_load)
    found = search(story.repo.root, foreign(story, tmp_path, story.runs["X2"]))
    assert found.datasets[0].is_exact
    assert loaded == {"rubric/r@1.0.0": 1, "rubric/r@2.0.0": 1}


def test_releases_that_a_record_cannot_tell_apart_are_all_named_with_what_would(
    story: Story, answer: Any, tmp_path: Path
) -> None:
    path = foreign(story, tmp_path, story.runs["X1"])
    found = search(story.repo.root, path)
    exact = [one.resolved.ref for one in found.rubrics if one.is_exact]
    assert sorted(exact) == ["rubric/r@1.0.0", "rubric/r@1.1.0", "rubric/r@3.0.0"]
    assert [(one.old.ref, one.new.ref) for one in found.distinguish] == [
        ("rubric/r@1.0.0", "rubric/r@1.1.0"),
        ("rubric/r@1.1.0", "rubric/r@3.0.0"),
    ]
    # Y says nothing that a ban finds; an output that nobody gave would, and the audit names it.
    silent = answer("history", "rubric/r", "--run", str(foreign(story, tmp_path, story.runs["Y1"])))
    assert any(note.startswith("an output such as ") and "simply" in note for note in silent["notes"])


def test_a_threshold_that_a_record_of_scores_cannot_show_tells_no_releases_apart(repo: Repo, tmp_path: Path) -> None:
    repo.git("init", "-q", "-b", "main")
    checks = [{"kind": "must_contain_any", "values": [word]} for word in ("ok", "simply")]
    for version, bar in (("1.0.0", 0.4), ("2.0.0", 0.6)):
        scoring = {"combine": "weighted_avg", "threshold": bar}
        text = f"id: r\nversion: {version}\nchecks: {json.dumps(checks)}\nscoring: {json.dumps(scoring)}\n"
        repo.release("rubrics/r", text)
        repo.release("datasets/d", dataset(version))
    outputs = tmp_path / "half.jsonl"
    outputs.write_text("".join(json.dumps({"id": f"q{n}", "output": "ok"}) + "\n" for n in range(10)))
    story = Story(repo, {"half": repo.score("dataset/d@1.0.0", outputs)}, {})
    whole = search(repo.root, story.runs["half"].path)
    assert [one.resolved.ref for one in whole.rubrics if one.is_exact] == ["rubric/r@1.0.0"]
    bare = search(repo.root, foreign(story, tmp_path, story.runs["half"]))
    assert sorted(one.resolved.ref for one in bare.rubrics if one.is_exact) == ["rubric/r@1.0.0", "rubric/r@2.0.0"]
    assert [(one.question, one.output) for one in bare.distinguish] == [(None, None)]


def test_a_record_that_no_release_gives_is_counted(story: Story, tmp_path: Path) -> None:
    path = foreign(story, tmp_path, story.runs["X1"])
    samples = path.with_name("foreign_samples.jsonl")
    samples.write_text(
        samples.read_text().replace('"score": 1.0', '"score": 0.25', 1).replace('"score": 1,', '"score": 0.25,', 1)
    )
    best = search(story.repo.root, path).rubrics[0]
    assert (best.agree, best.of) == (9, 10)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("history", "rubric/r", "--bisect", "--run", "{X1}", "--question", "q77"), "has no question q77"),
        (("history", "rubric/r@worktree", "--bisect", "--run", "{X1}"), "a file on disk has no history"),
        (("history", "{X1}", "--rubric", "rubric/none@1.0.0"), "there is no rubric/none"),
        (("history", "rubric/r@^9", "--run", "{X1}"), "no"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(story: Story, cli: Any, argv: tuple[str, ...], words: str) -> None:
    ran = cli(*(word.format(X1=story.runs["X1"].path) for word in argv), cwd=story.repo.root)
    assert (ran.code, ran.out) == (3, "")
    assert words in ran.err


def test_a_dataset_that_lacks_questions_is_named_with_what_to_do(story: Story, cli: Any, tmp_path: Path) -> None:
    path = foreign(story, tmp_path, story.runs["X2"])
    samples = tmp_path / "foreign_samples.jsonl"
    samples.write_text(samples.read_text().replace('"q9"', '"q10"'))
    ran = cli("history", "rubric/r", "--run", str(path), cwd=story.repo.root)
    said = " ".join(ran.err.split())
    assert ran.code == 3
    assert "no released dataset has all of the 10 scored questions" in said
    assert f"dataset/d@2.0.0 has 9 of them; to grade those: evalstore score dataset/d@2.0.0 {path}" in said


def test_a_run_that_names_no_versions_is_graded_with_those_that_reproduce_it(
    story: Story, answer: Any, tmp_path: Path
) -> None:
    path = str(foreign(story, tmp_path, story.runs["X2"]))
    found = answer("history", "rubric/r", "--run", path)
    assert (found["cells"], found["recorded"]) == ([[1, 1, 0.8, 1, 0.65]], ["2.0.0"])
    assert found["notes"] == ["foreign.json names no versions; dataset/d@2.0.0 reproduces all of its scores"]
    flips = answer("history", path, "--rubric", "rubric/r@3.0.0")["flips"]
    assert flips == {"pass_to_fail": [], "fail_to_pass": ["q0", "q1", "q2", "q3"]}
    assert answer("history", "rubric/r", "--bisect", "--run", path)["first_bad"]["version"] == "4.0.0"
    # Y's answers are the same to both datasets: the newest is taken, and the other one is named.
    silent = answer("history", "rubric/r", "--run", str(foreign(story, tmp_path, story.runs["Y1"])))
    assert "dataset/d@2.0.0 reproduces all of its scores; so does dataset/d@1.0.0" in silent["notes"][0]


def test_an_audit_takes_runs_that_name_no_versions(story: Story, answer: Any, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    found = answer("audit", str(story.runs["X1"].samples), str(foreign(story, tmp_path / "b", story.runs["X2"])))
    assert (found["delta"], found["factors"][0]["name"], found["factors"][0]["share"]) == (-0.2, "rubric", -0.2)
    assert found["factors"][0]["causes"][0]["author"] == "Bob"
    assert "foreign.json names no versions; dataset/d@2.0.0 reproduces all of its scores" in found["notes"]


def test_what_lacks_replies_is_not_told_of_what_could_be_graded(desk: Desk, cli: Callable[..., Any]) -> None:
    """Of three versions the second has a judge whose replies nobody kept."""
    desk.judge("1.0.0")
    desk.judge("2.0.0", "HARD")
    ban = {"id": "ban", "kind": "must_not_contain", "values": ["foo"]}
    judged = {"id": "j", "kind": "llm_judge", "judge_prompt_ref": "judge/acc@1.0.0"}
    desk.rubric("1.0.0", judged, ban)
    desk.rubric("2.0.0", {**judged, "judge_prompt_ref": "judge/acc@2.0.0"}, {**ban, "values": ["foo", "x"]}, author="B")
    desk.rubric("3.0.0", judged, {**ban, "values": ["foo", "x"]}, author="C")
    desk.dataset("1.0.0", 6)
    run = desk.score("1.0.0", ["good", "good good", "x", "ok", "good ok", "foo"]).path

    def say(*argv: Any) -> tuple[int, str]:
        ran = cli(*argv, cwd=desk.repo.root)
        return ran.code, " ".join(ran.out.split())

    code, told = say("history", run, "--rubric", "rubric/r@2.0.0")
    assert (code, told[:59]) == (1, "None of 6 outputs could be graded under rubric/r@2.0.0. rec")
    assert "6 outputs could not be graded: q0, q1, q2, q3, q4 and 1 more" in told
    code, told = say("history", "rubric/r", "--bisect", "--run", run)
    assert "The first to score lower than 1.0.0 is 3.0.0, or 2.0.0 before it, which could not be graded." in told
    assert "2.0.0 or 3.0.0" in told
    assert " C " not in told
    point = json.loads(
        cli("history", "rubric/r", "--bisect", "--run", run, "--format", "json", cwd=desk.repo.root).out
    )["points"][0]
    assert (point["passed_over"], point["commit"], point["author"]) == (["2.0.0"], None, None)


def test_a_version_that_lacks_a_question_is_named_where_it_has_no_score(desk: Desk, cli: Callable[..., Any]) -> None:
    desk.rubric("1.0.0", {"id": "ban", "kind": "must_not_contain", "values": ["foo"]})
    desk.dataset("1.0.0", 4)
    desk.dataset("2.0.0", 3, rubric="1.0.0")
    run = desk.score("1.0.0", ["good", "foo", "good", "good"]).path
    told = cli("history", "dataset/d", "--run", run, "--bisect", cwd=desk.repo.root).out
    assert told.startswith("The score is 75.00 under 1.0.0, the only version that was graded.\n")
    assert "note: dataset/d@2.0.0 was skipped, because it cannot grade 1 output" in told
    told = cli("history", "dataset/d", "--run", run, cwd=desk.repo.root).out
    assert told.endswith(" has outputs that 2.0.0 cannot grade\n")
