"""A new kind of check is one file in each of two rooms and a schema; it then works everywhere, or does not load."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evalstore.checks.kinds import CheckKind
from evalstore.lazy_names import KindTable
from tests.schema.generate import rendered

ROOT = Path(__file__).resolve().parents[2]
GRADING = '''"""max_words: the output has no more than so many words."""

from evalstore.checks.context import CheckContext, GradeFunction
from evalstore.checks.kinds import CheckKind, Params
from evalstore.model import Grade, Sample
from evalstore.model.outcome import grade_binary


def prepare_grading(params: Params, _: CheckContext) -> GradeFunction:
    """Count what white space divides."""

    def grade(sample: Sample) -> Grade:
        count = len(sample.text.split())
        return grade_binary(count <= params["limit"], f"{count} words")

    return grade


KIND = CheckKind(prepare_grading=prepare_grading, word="short", is_binary=True)
'''
COMPARED = '''"""max_words: a limit of words."""

from evalstore.diff.kinds import (
    REQUIRED,
    ComparedKind,
    Param,
    at_most,
    read_count,
    read_no_question,
    say_always,
    say_never,
)

KIND = ComparedKind(
    params={"limit": Param(REQUIRED, read_count, rule="markdown-bound-changed", limit=at_most("limit"))},
    is_binary=say_always,
    may_miss=say_never,
    may_err=say_never,
    question_parts=read_no_question,
    sample_texts=lambda params: iter(["x " * params["limit"], "x " * (params["limit"] + 1)]),
)
'''
RUBRIC = """id: short
version: 1.0.0
checks:
  - {{kind: max_words, limit: {limit}}}
  - {{id: polite, kind: must_not_contain, values: [damn]}}
scoring: {{combine: weighted_avg, threshold: 0.5, weights: {{polite: 0.1}}}}
examples:
  - {{output: one two three, verdict: pass}}
"""
DATASET = """id: answers
version: 1.0.0
defaults: {rubric_ref: rubric/short@1.0.0}
questions:
  - {id: q1, input: a}
  - {id: q2, input: b}
"""
OUTPUTS = ("one two three", "one two three four five six")
# Adds the new files to the two rooms, as if they had always been there. Then each line of stdin is a
# command, run in a child that has all imports; `cp` copies a file.
RUNNER = """
import os, shutil, sys
from pathlib import Path
import evalstore.places
new = Path(sys.argv[1])
evalstore.places._PACKAGE = new / "evalstore"
import evalstore.checks.kinds, evalstore.diff.kinds
for room in (evalstore.checks.kinds, evalstore.diff.kinds):
    room.__path__.append(str(new / room.__name__.replace(".", "/")))
    room.KINDS.__init__(room.__name__, room.__path__, room.KINDS._type)
import evalstore.audits.explain, evalstore.diff.comparison, evalstore.release.publishing.bump, evalstore.scoring.job
import evalstore.diff.witness, evalstore.lint.run, evalstore.report.audit
from evalstore.cli.main import main
for line in sys.stdin:
    program, *words = line.split()
    if program == "cp":
        shutil.copy(*words)
        continue
    print(f"\\n$ {line.strip()}", flush=True)
    child = os.fork()
    if not child:
        os.dup2(1, 2)
        main(words)
    print(f"exit {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}", flush=True)
"""


def write_kind(folder: Path) -> None:
    """Write the files of the kind, and the one that is generated."""
    for room, text in (("checks", GRADING), ("diff", COMPARED)):
        (folder / f"evalstore/{room}/kinds").mkdir(parents=True)
        (folder / f"evalstore/{room}/kinds/max_words.py").write_text(text)
    (folder / "pyproject.toml").touch()
    shutil.copytree(ROOT / "schema", folder / "schema")
    schema = json.loads((ROOT / "schema/checks/php_lint.schema.json").read_text("utf-8"))
    params = {key: value for key, value in schema["properties"].items() if key not in {"on_no_code", "dialect"}}
    schema |= {
        "$id": "urn:evalstore:schema:checks:max_words",
        "title": "max_words check",
        "description": "Passes when the output has few words.",
        "required": ["kind", "limit"],
        "examples": [{"kind": "max_words", "limit": 50}],
        "properties": {
            **params,
            "kind": {"description": "The kind of this check.", "const": "max_words"},
            "limit": {"description": "At most this many words.", "type": "integer", "minimum": 0},
        },
    }
    (folder / "schema/checks/max_words.schema.json").write_text(json.dumps(schema))
    (folder / "schema/rubric.schema.json").write_text(rendered(folder / "schema"))


@pytest.mark.process
def test_a_new_kind_works_everywhere(tmp_path: Path, git: Callable[..., str]) -> None:
    write_kind(tmp_path / "new")
    store = Path(git("rev-parse", "--show-toplevel").strip())
    for folder, name, text in (("rubrics", "short", RUBRIC.format(limit=50)), ("datasets", "answers", DATASET)):
        (store / folder).mkdir()
        (store / folder / f"{name}.yaml").write_text(text)
    rows = [{"id": f"q{number}", "output": text} for number, text in enumerate(OUTPUTS, 1)]
    (store / "outputs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (store / "evalstore.yaml").write_text("{}\n")
    git("add", "-A")
    git("commit", "-q", "-m", "a store")
    for limit in (4, -1):
        (tmp_path / f"short{limit}.yaml").write_text(RUBRIC.format(limit=limit))
    steps = f"""
        evalstore validate
        evalstore explain max_words
        evalstore bump --all
        evalstore score dataset/answers outputs.jsonl --out runs
        cp {tmp_path}/short4.yaml rubrics/short.yaml
        evalstore diff rubric/short
        evalstore bump --all --dependents
        evalstore score dataset/answers outputs.jsonl --out runs
        evalstore audit runs/answers-1.0.0-outputs.json runs/answers-2.0.0-outputs.json
        cp {tmp_path}/short-1.yaml rubrics/short.yaml
        evalstore validate
    """
    ran = subprocess.run(
        [sys.executable, "-c", RUNNER, str(tmp_path / "new")],
        cwd=store,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"},
        input=steps.strip(),
        text=True,
        capture_output=True,
        check=True,
    )
    valid, explained, _, scored, compared, _, again, audited, invalid = ran.stdout.split("\n$ ")[1:]
    assert "never turns the verdict" in valid  # `polite`: both are known to be 0 or 1
    assert "At most this many words" in explained
    assert "100.00   mean of 2 scored questions" in scored
    assert "max_words has limit 4 (was 50)" in compared
    assert "scores can only fall" in compared
    assert 'the output "x x x x x "' in compared
    assert "q2  max_words: 6 words" in again
    assert "max_words has limit 4 (was 50)" in audited
    assert "limit" in invalid
    assert "exit 1" in invalid


def test_a_module_without_its_kind_does_not_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_kinds").mkdir()
    (tmp_path / "some_kinds/empty.py").write_text('KIND = "empty"\n')
    monkeypatch.syspath_prepend(tmp_path)
    table = KindTable("some_kinds", [str(tmp_path / "some_kinds")], CheckKind)
    assert list(table) == ["empty"]
    with pytest.raises(ImportError, match=r"some_kinds\.empty has no KIND that is a CheckKind"):
        table["empty"]
