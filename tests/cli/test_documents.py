"""Every command's JSON document, real output over the demo's store, against its published schema."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.cli.main import COMMANDS
from evalstore.places import find_resource_folder

LABELS = "labels/accuracy.jsonl"
LEGACY = "legacy/drupal-forms/evals.json"
RUNS = ("runs/model_a/web_answers-1.0.0-model_a.json", "runs/model_b/web_answers-2.0.0-model_b.json")
STYLE = "rubric/answer_style"

# Each stands by itself: workers take them in any order.
CASES = [
    (["init"], 0),
    (["migrate", LEGACY], 0),
    (["migrate", LEGACY, "--dry-run"], 0),
    (["export", "--to", "ai_best_practices", "--out", "back"], 0),
    (["validate"], 0),
    (["validate", "--strict", "rubrics", "datasets"], 0),
    (["list"], 0),
    (["show", f"{STYLE}@1.0"], 0),
    (["show", "dataset/web_answers@worktree"], 0),
    (["resolve", f"{STYLE}@1.0"], 0),
    (["resolve", STYLE, f"{STYLE}@git:HEAD", "judge/tone@worktree", "dataset/web_answers@latest"], 0),
    (["log", STYLE], 0),
    (["blame", STYLE], 0),
    (["blame", f"{STYLE}@worktree"], 0),
    (["diff", f"{STYLE}@1.0.0", f"{STYLE}@2.0.0"], 0),
    (["diff", "dataset/web_answers@1.0.0", "dataset/web_answers@2.0.0"], 0),
    (["diff", STYLE], 0),
    (["impact", "judge/accuracy"], 0),
    (["impact", "rubric/cache_metadata@1.1.0"], 0),
    (["verify"], 0),
    (["gate", "--base", "HEAD"], 1),
    (["status"], 0),
    (["bump", "--all", "--dry-run"], 0),
    (["score", "dataset/web_answers@2.0.0", "outputs/model_a.jsonl", "--out", "again"], 0),
    (["explain", "--rules"], 0),
    (["explain", "check-added"], 0),
    (["explain", "judge-unvalidated"], 0),
    (["audit", *RUNS], 0),
    (["history", RUNS[0], "--rubric", f"{STYLE}@2.0.0"], 0),
    (["history", STYLE, "--run", RUNS[0], "--run", RUNS[1]], 0),
    (["history", STYLE, "--run", RUNS[0], "--bisect"], 0),
    (["comparable", f"{STYLE}@1.0.0", f"{STYLE}@2.0.0"], 1),
    (["comparable", *RUNS], 1),
    (["comparable", "git:HEAD", "git:HEAD"], 0),
    (["site", "public"], 0),
    (["judge", "validate", "judge/accuracy", "--labels", LABELS], 0),
    (["explain", "regex"], 0),
    (["explain", "--schema"], 0),
    (["explain"], 0),
    (["new", "rubric", "brand_new", "--kind", "regex"], 0),
]
# Read from top to bottom: what is locked, accepted and released shows in what comes after.
STORY = [
    (["lock", "--check"], 1),
    (["lock"], 0),
    (["lock", "--check"], 0),
    (["verify"], 0),
    (["status", "--check"], 1),
    (["accept", "b3e80742ca544ae6", "--reason", "nobody writes it"], 0),
    (["diff", STYLE], 0),
    (["status"], 0),
    (["validate"], 0),
    (["bump", STYLE], 0),
]
# The commands whose documents go by the name of what is done.
VIEWS = {
    "explain": "explain_topics",
    "explain --rules": "explain_rules",
    "explain --schema": "explain_schemas",
    f"history {RUNS[0]} --rubric {STYLE}@2.0.0": "history_flips",
    f"history {STYLE} --run {RUNS[0]} --bisect": "history_bisect",
}
GROUPS = {"judge": ["judge_examples", "judge_noise", "judge_replace", "judge_validate"]}


@pytest.fixture(scope="module")
def told(demo: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Return a demo's folder, with one working file that nobody has released, and the document of that demo."""
    target = Path(shutil.copytree(demo.folder, tmp_path_factory.mktemp("documents") / "store", symlinks=True))
    (target / LABELS).parent.mkdir(exist_ok=True)
    (target / LABELS).write_text('{"id": "a", "label": "pass", "verdict": "pass"}\n', "utf-8")
    path = target / "rubrics/answer_style.yaml"
    path.write_text(path.read_text("utf-8").replace("which means", "which is why"), "utf-8")
    return target, json.loads(demo.document)


def schema(name: str) -> Any:
    return json.loads((find_resource_folder("schema") / "output" / f"{name}.schema.json").read_text("utf-8"))


@pytest.mark.parametrize(("argv", "code"), CASES, ids=[" ".join(argv[:2]) for argv, _ in CASES])
def test_a_document_is_what_its_schema_says(told: tuple[Path, Any], cli: Callable, argv: list[str], code: int) -> None:
    hold_document(cli(*argv, "--format", "json", cwd=told[0]), argv, code)


def test_documents_of_what_changes_the_store_are_what_their_schemas_say(
    told: tuple[Path, Any], cli: Callable, tmp_path: Path
) -> None:
    folder = shutil.copytree(told[0], tmp_path / "store", symlinks=True)
    for argv, code in STORY:
        hold_document(cli(*argv, "--format", "json", cwd=folder), argv, code)


def hold_document(ran: Any, argv: list[str], code: int) -> None:
    assert ran.code == code, (argv, ran.err)
    name = "_".join(argv[:2]) if argv[0] in GROUPS else VIEWS.get(" ".join(argv), argv[0])
    Draft202012Validator(schema(name)).validate(json.loads(ran.out))


def test_the_story_is_a_document_too(demo: Any) -> None:
    document = json.loads(demo.document)
    Draft202012Validator(schema("demo")).validate(document)
    assert Path(document["folder"]) == demo.folder
    assert "audit" in [one["command"][0] for step in document["steps"] for one in step["commands"]]


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["resolve"], 2),
        (["frobnicate"], 2),
        (["list", "--frobnicate"], 2),
        (["bump"], 2),
        (["judge", "validate", "judge/accuracy"], 2),
        (["judge", "validate", "judge/accuracy@1.0.0", "--labels", LABELS], 3),
        (["resolve", f"{STYLE}@9.9.9"], 3),
        (["show", "rubric/answer_stile"], 3),
        (["log", "judge/nobody"], 3),
        (["blame", "judge/nobody"], 3),
        (["impact", "judge/nobody"], 3),
        (["accept", "0000000000000000", "--reason", "x"], 3),
        (["diff", "rubric/../x"], 2),
        (["explain", "check-aded"], 3),
        (["score", "dataset/web_answers@9.9.9", "outputs/model_a.jsonl"], 3),
        (["audit", "runs/none.json", RUNS[1]], 3),
        (["migrate", "none.json"], 3),
        (["demo", "."], 3),
        (["-C", "nowhere", "status"], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_failure_is_one_document_too(told: tuple[Path, Any], cli: Callable, argv: list[str], code: int) -> None:
    ran = cli(*argv, "--format", "json", cwd=told[0])
    document = json.loads(ran.out)
    Draft202012Validator(schema("error")).validate(document)
    assert ran.code == document["error"]["exit_code"] == code


@pytest.mark.heavy
def test_every_command_has_a_schema_and_every_schema_a_command() -> None:
    names = {path.name.removesuffix(".schema.json") for path in (find_resource_folder("schema") / "output").iterdir()}
    of_groups = {name for group in GROUPS.values() for name in group}
    assert names == {
        *COMMANDS,
        *of_groups,
        "audit_question",
        "audit_records",
        "diff_all",
        "explain_rules",
        "explain_schemas",
        "explain_topics",
        "history_bisect",
        "history_flips",
        "plan",
        "show_pairs",
        "show_run",
        "error",
    } - set(GROUPS)
    assert {argv[0] for argv, _ in (*CASES, *STORY)} | {"demo"} == set(COMMANDS)
    for name in names:
        Draft202012Validator.check_schema(schema(name))
        assert schema(name)["$id"] == f"urn:evalstore:schema:output:{name}"


def test_without_a_command_the_help_is_the_answer(cli: Callable) -> None:
    ran = cli()
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == cli("--help").out
