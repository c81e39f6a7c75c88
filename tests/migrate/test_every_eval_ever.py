"""A run of others that is migrated stays what it is: the same bytes, scores and verdicts; its samples are questions."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import read_json, read_yaml, write_json
from evalstore.errors import RefError, RefusedError
from evalstore.files import move_below
from evalstore.migration import MigrationOutcome, export, migrate
from evalstore.migration import staging as write
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacySource
from evalstore.migration.readers import run_reader
from evalstore.migration.table import load_tables
from evalstore.model import Artifact, JudgeCall, JudgeReply, Verdict
from evalstore.runs import read_outputs, read_rows, read_run
from evalstore.runs.run_names import decode_path, encode_name, encode_whole_name

TABLE = load_tables("every_eval_ever")[0]
VERSIONS = Path(__file__).resolve().parents[1] / "runs/versions"
FOLDERS = sorted(path for path in VERSIONS.iterdir())
UNKNOWN = -1


def row(id_: Any = "a", **more: Any) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "e/m/1",
        "model_id": "o/m",
        "evaluation_name": "e",
        "sample_id": id_,
        "interaction_type": "single_turn",
        "input": {"raw": f"Question {id_}?", "reference": ["yes"]},
        "output": {"raw": ["yes"]},
        "answer_attribution": [],
        "evaluation": {"score": 1.0, "is_correct": True},
    } | more


def judged(metric: dict[str, Any], **scoring: Any) -> dict[str, Any]:
    metric = {"lower_is_better": False, **metric, "llm_scoring": {"input_prompt": "Grade it.", **scoring}}
    return {
        "evaluation_id": "e/m/1",
        "model_info": {"id": "o/m"},
        "evaluation_results": [{"evaluation_name": "e", "metric_config": metric, "score_details": {"score": 1}}],
    }


def taken(root: Any) -> Extraction:
    return run_reader(LegacySource(read_json(write_json(root), "run.json"), "run.json", "", lambda _: None), TABLE)


def artifact(draft: ArtifactDraft) -> Artifact:
    value = {"id": draft.id, "version": draft.version} | draft.value
    return Artifact(draft.kind, draft.id, draft.version, read_json(write_json(value), "judge"))


def score(said: Extraction, ask: Callable[[JudgeCall], JudgeReply]) -> Fraction | None:
    (case,) = said.cases
    assert case.rubric
    judges = {draft.ref: artifact(draft) for draft in said.drafts}
    context = CheckContext(load=judges.__getitem__, ask=ask, model={})
    rubric = case.rubric.value | {"id": "r", "version": "1.0.0"}
    return evaluate(rubric, "an answer", {"id": "q", "input": "a task", "expected": "gold"}, context=context).score


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: Any, name: str = "run_samples.jsonl") -> Path:
        path = tmp_path / "legacy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in rows))
        return path

    return write


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_version_keeps_its_bytes_scores_and_verdicts(folder: Path, tmp_path: Path) -> None:
    # Copied out of this repository, from whose top its files would be named.
    report = migrate([shutil.copytree(folder, tmp_path / folder.name)], into=tmp_path / "store")
    assert {entry.outcome for entry in report.entries} <= {MigrationOutcome.MIGRATED, MigrationOutcome.UNMAPPED}
    for path in sorted(folder.iterdir()):
        kept = tmp_path / "store/runs" / folder.name / path.name
        assert kept.read_bytes() == path.read_bytes()
    kept = tmp_path / "store/runs" / folder.name / "run.json"
    before, after = read_run(folder / "run.json"), read_run(kept)
    assert (after.score, after.model, after.notes) == (before.score, before.model, before.notes)
    if not before.samples.exists():
        return
    graded = list(read_rows(after))
    assert graded == list(read_rows(before))
    for found, (told, correct) in zip(graded, _told(folder), strict=True):
        grade = None if told == UNKNOWN else told
        assert found.score == grade
        assert found.verdict is (Verdict.UNSCORED if grade is None else Verdict.PASS if correct else Verdict.FAIL)


def _told(folder: Path) -> list[tuple[Any, Any]]:
    """Return the score of each row and whether it was correct, read without evalstore."""
    rows = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text("utf-8").splitlines()]
    held = json.loads((folder / "run.json").read_text("utf-8")).get("detailed_evaluation_results_per_samples")
    if held is not None:
        return [(UNKNOWN, False) for _ in held]
    return [(row["evaluation"]["score"], row["evaluation"]["is_correct"]) for row in rows]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_outputs_of_a_kept_run_answer_its_questions(folder: Path, tmp_path: Path) -> None:
    migrate([folder], into=tmp_path)
    for path in (tmp_path / "datasets").glob("*.yaml"):
        value = read_yaml(path.read_bytes(), "").value
        asked = [question["id"] for question in value["questions"]]
        run = tmp_path / value["x_source"]["run"]
        assert [one.id for one in read_outputs(run)] == asked


def test_a_kept_run_is_scored_against_the_questions_that_were_taken_from_it(
    lines: Callable[..., Path], tmp_path: Path, git: Any, cli: Any
) -> None:
    git()
    (tmp_path / "repo").mkdir(exist_ok=True)
    migrate([lines(row("a"), row("b"))], into=tmp_path / "repo")
    store = tmp_path / "repo"
    (store / "rubrics").mkdir(exist_ok=True)
    (store / "rubrics/yes.yaml").write_text(
        'id: yes_\nversion: "1.0.0"\nchecks: [{kind: regex, pattern: "yes"}]\nscoring: {combine: all_pass}\n'
    )
    (store / "rubrics/yes.yaml").rename(store / "rubrics/yes_.yaml")
    dataset = store / "datasets/run.yaml"
    dataset.write_text(dataset.read_text() + "defaults: {rubric_ref: rubric/yes_@worktree}\n")
    run = "runs/legacy/run_samples.jsonl"
    done = cli("-C", store, "score", "dataset/run@worktree", store / run, "--format", "json")
    assert json.loads(done.out)["score"] == 1, done


@settings(max_examples=150)
@given(
    st.sampled_from(["average", "weighted_average", "median"]),
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3)), min_size=2, max_size=4),
    st.sampled_from([False, True]),
)
def test_a_jury_makes_of_its_replies_what_the_record_says(
    method: str,
    votes: list[tuple[int, int]],
    lower: bool,  # noqa: FBT001  # Hypothesis gives it by place
) -> None:
    judges = [{"model_info": {"id": f"o/j{n}"}, "weight": weight} for n, (_, weight) in enumerate(votes)]
    metric = {"score_type": "continuous", "min_score": 1, "max_score": 5, "lower_is_better": lower}
    said = taken(judged(metric, judges=judges, aggregation_method=method))
    if method == "weighted_average" and not any(weight for _, weight in votes):
        assert said.cases == ()
        assert "above 0" in said.notes[0].reason
        return
    replies = {f"o/j{n}": grade for n, (grade, _) in enumerate(votes)}
    found = score(said, lambda call: JudgeReply(json.dumps({"score": replies[call.model["id"]]})))
    share = (_aggregate(method, votes) - 1) / 4
    assert found == (1 - share if lower else share)


def _aggregate(method: str, votes: list[tuple[int, int]]) -> Fraction:
    """Model the three ways in which the format makes one score of several."""
    if method == "weighted_average":
        return Fraction(sum(grade * weight for grade, weight in votes), sum(weight for _, weight in votes))
    grades = sorted(grade for grade, _ in votes)
    if method == "average":
        return Fraction(sum(grades), len(grades))
    return Fraction(grades[(len(grades) - 1) // 2] + grades[len(grades) // 2], 2)


@pytest.mark.parametrize(("votes", "passes"), [("right right wrong", 1), ("right partly partly", 0)])
def test_a_majority_is_of_those_that_reach_the_bar(votes: str, passes: int) -> None:
    names = votes.split()
    judges = [{"model_info": {"id": f"o/j{n}"}} for n in range(len(names))]
    metric = {"score_type": "levels", "level_names": ["wrong", "partly", "right"]}
    said = taken(judged(metric, judges=judges, aggregation_method="majority_vote"))
    replies = {f"o/j{n}": name for n, name in enumerate(names)}
    assert score(said, lambda call: JudgeReply(json.dumps({"level": replies[call.model["id"]]}))) == passes


@settings(max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip))
def test_a_judge_is_told_the_prompt_letter_by_letter(prompt: str) -> None:
    prompts: list[str] = []

    def ask(call: JudgeCall) -> JudgeReply:
        prompts.append(call.prompt)
        return JudgeReply('{"verdict": "yes"}')

    said = taken(judged({"score_type": "binary"}, judges=[{"model_info": {"id": "j"}}], input_prompt=prompt))
    assert score(said, ask) == 1
    assert prompts[0].startswith(prompt)
    assert all(part in prompts[0].removeprefix(prompt) for part in ("a task", "gold", "an answer"))


@pytest.mark.parametrize(
    ("scoring", "word"),
    [
        ("no object", "llm_scoring is a text"),
        ({"judges": [{}]}, "no input_prompt"),
        ({"input_prompt": "?", "judges": {}}, "no list of judges"),
        ({"input_prompt": "?", "judges": [7]}, "no list of judges"),
        (
            {"input_prompt": "?", "judges": [{"model_info": {"id": n}} for n in "ab"], "aggregation_method": ["x"]},
            "is not one of the format",
        ),
        ({"input_prompt": "?", "judges": [{"weight": "2"}, {"model_info": 7}]}, "two of its judges are the same"),
    ],
)
def test_what_cannot_be_a_judge_is_set_aside_and_stays_in_the_run(scoring: Any, word: str) -> None:
    root = judged({"score_type": "binary"})
    root["evaluation_results"][0]["metric_config"]["llm_scoring"] = scoring
    said = taken(root)
    assert said.is_run
    assert [(note.outcome, word in note.reason) for note in said.notes] == [(MigrationOutcome.UNMAPPED, True)]


@pytest.mark.parametrize(
    "metric",
    [
        {"score_type": "continuous", "min_score": 0, "max_score": 0},
        {"score_type": "continuous", "min_score": None, "max_score": "Infinity"},
        {"score_type": "continuous", "min_score": True, "max_score": 2},
        {"score_type": "levels", "level_names": 5},
        {"score_type": "levels", "level_names": ["a", "a"]},
        {"score_type": "levels", "level_names": ["a", None]},
        {"score_type": ["binary"]},
        {},
    ],
)
def test_an_answer_without_a_scale_is_no_judge(metric: dict[str, Any]) -> None:
    said = taken(judged(metric, judges=[{"model_info": {"id": "j"}}]))
    assert (said.cases, said.drafts) == ((), ())
    assert said.notes[0].outcome is MigrationOutcome.UNMAPPED


@pytest.mark.parametrize(
    ("name", "reference", "said"),
    [
        ("helm or inspect", ["Tejo"], "Which?Tejo"),
        ("helm", ["Tejo", "Tagus"], "Which?Tejo"),
        ("inspect", ["Tejo", "Tagus"], "Which?TejoTagus"),
        ("lm_eval", ["Tejo"], '{"raw": "Which?", "reference": "Tejo"}'),
        ("openeval", ["Tejo", "Tagus"], '{"raw":"Which?","reference":["Tejo","Tagus"]}'),
        ("unknown", ["Tejo"], "something else"),
    ],
)
def test_the_recipe_of_a_hash_is_named(
    lines: Callable[..., Path], tmp_path: Path, name: str, reference: list[str], said: str
) -> None:
    hashed = hashlib.sha256(said.encode()).hexdigest()
    migrate([lines(row(input={"raw": "Which?", "reference": reference}, sample_hash=hashed))], into=tmp_path)
    (question,) = read_yaml((tmp_path / "datasets/run.yaml").read_bytes(), "").value["questions"]
    assert (question["x_source"]["recipe"], question["x_source"]["sample_hash"]) == (name, hashed)


def test_lines_that_cannot_be_read_are_entries_and_stay_in_the_run(lines: Callable[..., Path], tmp_path: Path) -> None:
    twice = b'{"sample_id": "x", "sample_id": "y"}\n'
    source = lines(row("a"), twice, b'{"sample_id": NaN}\n', b"\n", row("b"), row("c"), b"7\n")
    report = migrate([source], into=tmp_path / "store")
    assert [(entry.line, entry.outcome) for entry in report.entries] == [
        (1, MigrationOutcome.MIGRATED),
        (2, MigrationOutcome.REFUSED),
        (3, MigrationOutcome.REFUSED),
        (5, MigrationOutcome.MIGRATED),
        (6, MigrationOutcome.MIGRATED),
        (7, MigrationOutcome.REFUSED),
    ]
    (given,) = export(to="every_eval_ever", store=tmp_path / "store").files
    assert given.text.encode() == source.read_bytes()


@pytest.mark.parametrize("junk", [b"\xff\n", b'{"sample_id": "b", "input": {"raw": "\xe9"}}\n'])
def test_a_run_that_is_no_text_is_refused(lines: Callable[..., Path], tmp_path: Path, junk: bytes) -> None:
    report = migrate([lines(row("a"), row("b"), junk)], into=tmp_path / "store")
    # The line itself, and each question that is refused with it.
    assert [entry.outcome for entry in report.entries] == [MigrationOutcome.REFUSED] * 3
    assert "not UTF-8" in report.entries[0].reason
    assert not (tmp_path / "store").exists()


def test_nothing_is_kept_of_a_file_of_refusals(lines: Callable[..., Path], tmp_path: Path) -> None:
    report = migrate([lines(row(None), row(True), row(1.5), row(""))], into=tmp_path / "store")
    assert [entry.outcome for entry in report.entries] == [MigrationOutcome.REFUSED] * 4
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(("name", "value"), [("rows.json", [row()]), ("run.jsonl", [row(), 7]), ("x.json", {})])
def test_rows_stand_in_lines_and_an_aggregate_in_one_object(tmp_path: Path, name: str, value: Any) -> None:
    path = tmp_path / name
    text = json.dumps(value) if name.endswith(".json") else "".join(json.dumps(one) + "\n" for one in value)
    path.write_text(text)
    report = migrate([path], into=tmp_path / "store", dry_run=True)
    assert report.entries[-1].outcome is MigrationOutcome.REFUSED


@pytest.mark.parametrize("results", [None, "x", {}, [7], [None], [], [{"metric_config": 7, "score_details": []}]])
def test_an_odd_aggregate_ends_in_sentences(tmp_path: Path, results: Any) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"evaluation_id": 7, "model_info": [], "evaluation_results": results}))
    report = migrate([path], into=tmp_path / "store")
    assert report.entries
    assert all(entry.reason for entry in report.entries)
    assert (tmp_path / "store/runs").exists() == isinstance(results, list)


def test_odd_names_are_spelled_and_given_back(tmp_path: Path) -> None:
    names = ["nova-lite-v1:0/con.jsonl", "Oak/a.jsonl", "oak/a.jsonl", "x.json/%41_samples.jsonl", "_/-.jsonl"]
    for number, name in enumerate(names):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(row(number)) + "\n")
    report = migrate([tmp_path / "data"], into=tmp_path / "store")
    kept = [path for path in report.written if path.startswith("runs/")]
    assert len({path.casefold() for path in kept}) == len(names)
    assert all(set(path) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%._-/") for path in kept)
    export(to="every_eval_ever", store=tmp_path / "store", out=tmp_path / "out")
    for name in names:
        assert (tmp_path / "out/data" / name).read_bytes() == (tmp_path / "data" / name).read_bytes()


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1))
def test_a_kept_name_says_the_one_it_came_with(name: str) -> None:
    for spelled in (encode_name(name), encode_whole_name(f"{name}.json")):
        assert decode_path(f"runs/{spelled}") in {name, f"{name}.json"}
        assert spelled[0] not in "._-"


def test_two_sources_of_one_name_are_not_one_run(tmp_path: Path) -> None:
    paths = [tmp_path / part / "data/run.jsonl" for part in "ab"]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(row(path.parts[-3])) + "\n")
    report = migrate(paths, into=tmp_path / "store")
    assert [entry.outcome for entry in report.entries] == [MigrationOutcome.MIGRATED, MigrationOutcome.REFUSED]
    assert "another source is called data/run.jsonl, too" in report.entries[1].reason


REQUIRED = [
    *(key for key in row() if key != "output"),
    "input.raw",
    "input.reference",
    "evaluation.score",
    "evaluation.is_correct",
]
LACKING = {
    "token_usage.total_tokens": {"input_tokens": 1, "output_tokens": 1},
    "answer_attribution.extraction_method": [
        {"turn_idx": 0, "source": "output.raw", "extracted_value": "A", "is_terminal": True}
    ],
    "messages.turn_idx": [{"role": "user", "content": "?"}],
    "messages.tool_calls.id": [{"turn_idx": 1, "role": "assistant", "tool_calls": [{"name": "find"}]}],
    "interactions or messages": "multi_turn",
    "output": "single_turn",
}


@pytest.mark.parametrize("key", REQUIRED)
def test_a_row_says_which_required_key_it_lacks(key: str) -> None:
    name, _, inner = key.partition(".")
    written = row()
    del (written[name] if inner else written)[inner or name]
    source = LegacySource(read_json(write_json([written]), "rows.jsonl"), "rows.jsonl", "", lambda _: None)
    (case,) = run_reader(source, TABLE).cases
    # Without a name or a text there is no question, and the row is refused for that.
    refused = {"sample_id": "sample_id", "input": "input.raw", "input.raw": "input.raw"}
    said = "; ".join(case.reasons)
    assert (case.outcome is MigrationOutcome.REFUSED) is (key in refused)
    assert (refused.get(key, f"it lacks {key}, which every published schema requires")) in said


@pytest.mark.parametrize("key", LACKING)
def test_a_row_says_which_required_key_a_part_of_it_lacks(key: str) -> None:
    part = LACKING[key]
    name = "interaction_type" if isinstance(part, str) else key.partition(".")[0]
    written = row() | {name: part}
    if isinstance(part, str):
        del written["output"]
    source = LegacySource(read_json(write_json([written]), "rows.jsonl"), "rows.jsonl", "", lambda _: None)
    (case,) = run_reader(source, TABLE).cases
    assert f"it lacks {key}, which every published schema requires" in "; ".join(case.reasons)


def test_a_row_that_lacks_nothing_says_nothing() -> None:
    source = LegacySource(read_json(write_json([row()]), "rows.jsonl"), "rows.jsonl", "", lambda _: None)
    (case,) = run_reader(source, TABLE).cases
    assert case.reasons == ()


def test_a_run_that_lies_in_the_store_stays_where_it_is(lines: Callable[..., Path], tmp_path: Path) -> None:
    store = tmp_path / "store"
    migrate([lines(row())], into=store)
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*")}
    report = migrate([store], into=store)
    assert (report.written, report.count(MigrationOutcome.MIGRATED)) == ((), 1)
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*")} == before


def test_an_export_names_runs_by_what_came_of_them(
    lines: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    migrate([lines(row(), name="a.jsonl"), lines(row("b"), name="b.jsonl")], into=store)
    assert [file.file for file in export(to="every_eval_ever", store=store).files] == [
        "legacy/a.jsonl",
        "legacy/b.jsonl",
    ]
    for ref in ("dataset/b", "runs/legacy/b.jsonl"):
        (given,) = export(ref, to="every_eval_ever", store=store).files
        assert (given.file, given.ref) == ("legacy/b.jsonl", "runs/legacy/b.jsonl")
    # From a folder of the store, and by a path of the disk.
    monkeypatch.chdir(store / "runs/legacy")
    for ref in ("b.jsonl", "../legacy/b.jsonl", str(store / "runs/legacy/b.jsonl")):
        (given,) = export(ref, to="every_eval_ever", store=store).files
        assert given.ref == "runs/legacy/b.jsonl"
    with pytest.raises(RefError, match=r"\.\./\.\./b\.jsonl is not a run of this store"):
        export("../../b.jsonl", to="every_eval_ever", store=store)
    with pytest.raises(RefError, match=r"no run is here as runs/legacy/c\.json"):
        export("runs/legacy/c.jsonl", to="every_eval_ever", store=store)
    dataset = store / "datasets/b.yaml"
    dataset.write_text(dataset.read_text().replace("runs/legacy/b.jsonl", "../secret.json"))
    with pytest.raises(RefusedError, match="did not come from every_eval_ever"):
        export("dataset/b", to="every_eval_ever", store=store)


@pytest.mark.parametrize("name", ["runs/a/x.json", "./runs/a/x_samples.jsonl"])
def test_the_command_gives_back_a_run_with_its_rows(cli: Callable[..., Any], tmp_path: Path, name: str) -> None:
    for file in ("x.json", "x_samples.jsonl", "y.json"):
        (tmp_path / "runs/a").mkdir(parents=True, exist_ok=True)
        (tmp_path / "runs/a" / file).write_text(file)
    ran = cli("-C", tmp_path, "export", "--to", "every_eval_ever", name, "--out", "back")
    assert ran.code == 0, ran.err
    assert {path.name: path.read_text() for path in tmp_path.glob("back/a/*")} == {
        "x.json": "x.json",
        "x_samples.jsonl": "x_samples.jsonl",
    }


@pytest.mark.parametrize("name", ["%00.json", "%2E%2E/x.json", "%2Fetc.json", "a%2F%2E%2E%2F%2E%2E%2Fb.json"])
def test_a_run_of_a_stranger_is_given_back_nowhere_else(tmp_path: Path, name: str) -> None:
    path = tmp_path / "store/runs" / name
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(RefusedError, match="not a name that a migration gives"):
        export(to="every_eval_ever", store=tmp_path / "store", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_every_byte_stays(tmp_path: Path) -> None:
    path = tmp_path / "legacy/run.json"
    path.parent.mkdir()
    data = b"\xef\xbb\xbf" + json.dumps(judged({}), indent=1).replace("\n", "\r\n").encode() + b"\n\n  "
    path.write_bytes(data)
    migrate([path], into=tmp_path / "store")
    assert (tmp_path / "store/runs/legacy/run.json").read_bytes() == data
    export(to="every_eval_ever", store=tmp_path / "store", out=tmp_path / "out")
    assert (tmp_path / "out/legacy/run.json").read_bytes() == data


def test_a_migration_that_fails_half_way_leaves_no_folder_of_runs(
    lines: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def move(root: Path, old: str, target_root: Path, new: str) -> None:
        if new == "runs/legacy/b.jsonl":
            assert (target_root / "runs/legacy/a.jsonl").exists()
            raise OSError(28, "no space left on device")
        move_below(root, old, target_root, new)

    store = tmp_path / "store"
    (store / "judges").mkdir(parents=True)
    monkeypatch.setattr(write, "move_below", move)
    with pytest.raises(RefusedError, match="no space left"):
        migrate([lines(row(), name="a.jsonl"), lines(row(), name="b.jsonl")], into=store)
    assert [path.name for path in store.rglob("*")] == ["judges"]


def test_an_aggregate_finds_its_rows_under_the_name_that_they_are_kept_by(
    lines: Callable[..., Path], tmp_path: Path
) -> None:
    lines(row(), name="oak:1.jsonl")
    aggregate = judged({}) | {
        "evaluation_timestamp": "1",
        "detailed_evaluation_results": {"file_path": "elsewhere/oak:1.jsonl"},
    }
    (tmp_path / "legacy/run.json").write_text(json.dumps(aggregate))
    migrate([tmp_path / "legacy"], into=tmp_path / "store")
    run = read_run(tmp_path / "store/runs/legacy/run.json")
    assert [found.id for found in read_rows(run)] == ["a"]


@pytest.mark.slow
def test_five_megabytes_of_rows_take_seconds_and_some_copies_of_the_file(
    lines: Callable[..., Path], tmp_path: Path
) -> None:
    text = "A question of some length, as benchmarks have them. " * 6
    source = lines(*(row(f"s{n}", input={"raw": f"{text}{n}", "reference": [str(n)]}) for n in range(9_000)))
    size = source.stat().st_size
    assert size > 5 << 20
    start = time.process_time()
    report = migrate([source], into=tmp_path / "store")
    assert time.process_time() - start < 60
    assert report.count(MigrationOutcome.MIGRATED) == 9_000
    tracemalloc.start()
    migrate([source], into=tmp_path / "store")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * size


def test_numbers_keep_their_digits() -> None:
    root = judged({"score_type": "continuous", "min_score": Decimal("0.10"), "max_score": 1}, judges=[{}])
    assert taken(root).drafts[0].value["scale"] == {"min": Decimal("0.10"), "max": 1}


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ({"model_info": {"name": ""}}, "a judge names no model; here the model of the run that scores is asked"),
        (
            {"model_info": {"id": "a/b"}, "temperature": "hot"},
            "the temperature of a judge is not a number of 0 or more; here none is sent",
        ),
    ],
)
def test_a_judge_that_is_asked_otherwise_is_said_to_be(judge: dict[str, Any], said: str) -> None:
    (case,) = taken(judged({"score_type": "binary"}, judges=[judge], input_prompt="Right?")).cases
    assert case.outcome is MigrationOutcome.LOSSY
    assert case.sentences[1:] == (said,)
