"""Every measured verdict of promptfoo: the migrated rubric gives it, or the migration says why it does not."""

from __future__ import annotations

import csv
import json
from collections import Counter
from io import StringIO
from typing import Any

import pytest

from evalstore.migration import MigrationOutcome
from evalstore.migration.extraction import Extraction
from evalstore.migration.javascript.values import trim_space
from evalstore.migration.readers.promptfoo.templates import fill_known
from tests.migrate.promptfoo_grading import grade_case, read_config
from tests.shared_data import SHARED

VECTORS = SHARED / "vectors/promptfoo_vectors.json"
PROMPTS = ["Ask {{ q }}"]
MEASURES = {"latencyMs": "latency_ms", "cost": "cost_usd"}
# Vectors by kind: how many come out equal in pass and score, and how many are declared not to.
COUNTED = {
    "Contains": (0, 1),
    "None": (0, 1),
    "assert-set": (9, 0),
    "bleu": (0, 3),
    "contains": (22, 16),
    "contains-all": (12, 1),
    "contains-any": (25, 6),
    "contains-json": (0, 20),
    "cost": (3, 1),
    "ends-with": (0, 1),
    "equals": (52, 2),
    "factuality": (24, 0),
    "g-eval": (7, 1),
    "gleu": (0, 1),
    "guardrails": (0, 1),
    "human": (0, 1),
    "icontains": (22, 3),
    "icontains-all": (6, 0),
    "icontains-any": (7, 0),
    "in csv": (22, 4),
    "in json": (6, 6),
    "in yaml": (19, 3),
    "is-json": (48, 10),
    "is-refusal": (0, 8),
    "is-valid-openai-tools-call": (0, 6),
    "javascript": (5, 23),
    "latency": (3, 1),
    "levenshtein": (5, 16),
    "llm-rubric": (22, 19),
    "model-graded-closedqa": (11, 0),
    "model-graded-factuality": (1, 0),
    "not-contains": (0, 1),
    "regex": (58, 6),
    "rouge-n": (0, 6),
    "select-best": (0, 1),
    "several": (35, 21),
    "similar": (0, 5),
    "starts-with": (4, 4),
    "tool-call-f1": (0, 2),
    "word-count": (12, 3),
}

pytestmark = pytest.mark.skipif(not VECTORS.is_file(), reason="the vectors are not here")


def read_vector(vector: dict[str, Any]) -> Extraction:
    """Return what the configuration of a vector is extracted to."""
    if vector.get("file") == "csv":
        table = StringIO()
        rows = csv.DictWriter(table, vector["csv_row"])
        rows.writeheader()
        rows.writerow(vector["csv_row"])
        config = {"prompts": PROMPTS, "tests": "file://tests.csv"}
        return read_config(json.dumps(config), "config.json", {"tests.csv": table.getvalue()})
    if vector.get("file") == "yaml":
        context = vector["context"]
        head = {"prompts": PROMPTS, "assertionTemplates": context["assertionTemplates"]}
        config = "\n".join(f"{key}: {json.dumps(item)}" for key, item in head.items())
        return read_config(f"{config}\ntests:\n- {vector['test_yaml']}\n", "config.yaml", context["files"])
    test = {"vars": vector["vars"], **vector.get("test", {})}
    test |= {"assert": as_list(vector["assert"])} if "assert" in vector else {}
    config = {"prompts": PROMPTS, "defaultTest": vector.get("defaultTest", {}), "tests": [test]}
    text = json.dumps(config).replace('{"$number": "NaN"}', "NaN").replace('{"$number": "-0"}', "-0")
    return read_config(text, "config.json", {})


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def compare(vector: dict[str, Any]) -> str:
    """Return `equal`, `declared`, or how the migrated rubric differs from what was measured."""
    expect, extraction = vector["expect"], read_vector(vector)
    case = extraction.cases[-1 if vector["name"].endswith("row2") else 0] if extraction.cases else None
    if case is None or case.rubric is None:
        return "declared" if extraction.notes or (case and case.reasons) else "says nothing"
    output, reply = vector["output"], vector.get("grader_reply", "")
    recorded = {name: vector[key] for key, name in MEASURES.items() if key in vector}
    if expect.get("error") or expect.get("refused"):
        if output is None or case.reasons:
            return "declared"
        _, score = grade_case(case, extraction.drafts, output, **recorded)
        return "equal" if score is None else "is graded, and was an error"
    if vector.get("file") == "yaml":  # the provider echoed its prompt, a variable, which the program trims
        output = trim_space(fill_known(output, case.question["metadata"]["vars"]))
    text = output if isinstance(output, str) else json.dumps(output, separators=(",", ":"), ensure_ascii=False)
    found = grade_case(case, extraction.drafts, text, reply, **recorded)
    if found == (expect["pass"], pytest.approx(expect["score"], abs=1e-12)):
        return "equal"
    is_said = case.outcome is MigrationOutcome.LOSSY or (
        found[0] == expect["pass"] and any("score" in remark for remark in case.remarks)
    )
    return "declared" if is_said else f"gives {found}, and not {expect}"


def name_kind(vector: dict[str, Any]) -> str:
    if "file" in vector:
        return f"in {vector['file']}"
    asserts = as_list(vector.get("assert", []))
    if "test" in vector or "defaultTest" in vector or len(asserts) != 1:
        return "several"
    return str(asserts[0].get("type")).removeprefix("not-") if isinstance(asserts[0], dict) else "odd"


def test_every_measured_verdict_is_given_or_declared() -> None:
    vectors = json.loads(VECTORS.read_text("utf-8"))["vectors"]
    counts: dict[str, Counter[str]] = {}
    differ: dict[str, str] = {}
    for vector in vectors:
        said = compare(vector)
        counts.setdefault(name_kind(vector), Counter())[said if said in {"equal", "declared"} else "differ"] += 1
        if said not in {"equal", "declared"}:
            differ[vector["name"]] = said
    assert differ == {}
    assert {kind: (found["equal"], found["declared"]) for kind, found in counts.items()} == COUNTED
