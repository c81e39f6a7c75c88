"""A migrated rubric says of every output what the legacy grader said, or the entry was refused."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.checks import evaluate
from evalstore.documents import read_json, read_yaml
from evalstore.migration import MigrationOutcome, migrate
from evalstore.migration.extraction import LegacyCase, LegacySource
from evalstore.migration.readers import run_reader
from evalstore.migration.table import FormatTable, load_tables
from tests.shared_data import SHARED, find_shared

VECTORS = SHARED / "vectors/legacy_grader_vectors.json"
SAMPLES = SHARED / "samples/ai_best_practices"
MEASURED = json.loads(VECTORS.read_text("utf-8"))["vectors"] if VECTORS.is_file() else []
HAS_PHP = shutil.which("php") is not None
TABLE = load_tables("ai_best_practices")[0]

needs_php = pytest.mark.skipif(not HAS_PHP, reason="the legacy grader asks `php -l`")


def migrated(case: dict[str, Any], table: FormatTable = TABLE) -> LegacyCase:
    document = read_json(json.dumps({"evals": [{"id": 1, "prompt": "?", **case}]}), "evals.json")
    return run_reader(LegacySource(document, "evals.json", "", lambda _: None), table).cases[0]


def passes(case: LegacyCase, response: str) -> bool:
    assert case.rubric
    score = evaluate(case.rubric.value, response).score
    assert score in {Fraction(0), Fraction(1)}
    return score == 1


def asks(case: LegacyCase) -> bool:
    return bool(case.rubric and case.rubric.value["checks"] != TABLE.no_check["checks"])


def crashes(legacy: ModuleType, response: str, case: dict[str, Any]) -> bool:
    try:
        legacy.grade_case(response, case)
    except (TypeError, AttributeError):
        return True
    return False


@needs_php
@pytest.mark.parametrize("vector", MEASURED, ids=lambda vector: str(vector["name"]))
def test_the_model_agrees_with_what_was_measured(legacy: ModuleType, vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises((TypeError, AttributeError)) as raised:
            legacy.grade_case(vector["response"], vector["case"])
        assert raised.typename == vector["error"]
    else:
        assert legacy.grade_case(vector["response"], vector["case"]) == vector["outcome"]


@needs_php
@pytest.mark.parametrize("vector", MEASURED, ids=lambda vector: str(vector["name"]))
def test_every_measured_case_keeps_its_verdict_or_is_refused(vector: dict[str, Any]) -> None:
    case = migrated(vector["case"])
    assert (case.outcome is MigrationOutcome.REFUSED) == ("error" in vector)
    if "outcome" in vector:
        assert passes(case, vector["response"]) == vector["outcome"]["passed"]
        assert case.rubric
        told = {check["kind"]: check for check in case.rubric.value["checks"]}
        for key in ("must_contain_any", "must_not_contain", "php_lint", "markdown_structure"):
            if key in told:
                rubric = {"checks": [told[key]], "scoring": {"combine": "all_pass"}}
                assert (evaluate(rubric, vector["response"]).score == 1) == vector["outcome"][key]


WORDS = [
    "",
    "a",
    "A",
    "foo",
    "FOO",
    "straße",
    "STRASSE",
    "İ",
    "i",
    "é",
    "e\u0301",
    "use ",
    " 0",
    "{{ ",
    "a\nb",
    "#",
    ".",
]
WORD = st.sampled_from(WORDS) | st.text(max_size=3)
ODD = st.sampled_from([None, True, False, 0, 1, -1, 1.5, 2.0, "", "2", "xyz", [], [""], [5], [None], {}, {"a": 1}])
TEXTS = st.lists(WORD, max_size=4) | ODD
COUNT = st.integers(-1, 4) | ODD
RULES = st.fixed_dictionaries(
    {},
    optional={
        "min_headings": COUNT,
        "max_heading_level": st.integers(-1, 7) | ODD,
        "no_h1": st.booleans() | ODD,
        "required_sections": TEXTS,
        "forbidden_patterns": TEXTS,
        "min_code_blocks": COUNT,
        "min_paragraphs": COUNT,
        "min_heading": COUNT,
    },
)
CASES = st.fixed_dictionaries(
    {},
    optional={
        "must_contain_any": TEXTS,
        "must_not_contain": TEXTS,
        "check_markdown_structure": RULES | ODD,
        "expectations": st.lists(WORD, max_size=2),
    },
)
PIECES = [
    *WORDS, "\n", "\r\n", "\u2028", "\x85", "# A\n", "## foo\n", "###### deep ##\n", "####### no\n", "#tag\n",
    "T\n===\n", "```\nx\n```\n", "```", "~~~\n", "- item\n", " # a\n", "\x0c", "For brevity",
]  # fmt: skip
RESPONSES = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=30)


@settings(max_examples=600)
@given(case=CASES, response=RESPONSES)
def test_any_case_and_any_output(legacy: ModuleType, case: dict[str, Any], response: str) -> None:
    read = migrated(case)
    # Some values crash only when there is a heading to compare them with.
    assert (read.outcome is MigrationOutcome.REFUSED) == (
        crashes(legacy, response, case) or crashes(legacy, "# a", case)
    )
    if read.outcome is MigrationOutcome.REFUSED:
        return
    graded = legacy.grade_case(response, case)["passed"] if asks(read) else legacy.run_case(response, case)
    assert passes(read, response) == graded


PHP = [
    "echo 1;",
    "echo (;",
    "<?php echo 1;",
    "<?= 1 ?>",
    "  <?php\necho 1;",
    "class A { function f() {} }",
    "",
    "prose",
]
FENCES = ["```php\n", "```phpt\n", '```php title="x"\n', "```PHP\n", "```\n", "~~~php\n", "  ```php\n", "```php\r\n"]
BLOCKS = st.tuples(st.sampled_from(FENCES), st.sampled_from(PHP), st.sampled_from(["\n```\n", "\n", "```", "\r\n```"]))


@needs_php
@settings(max_examples=60)
@given(blocks=st.lists(BLOCKS.map("".join), max_size=3), flag=st.sampled_from([True, "false", 1, [0], 0, "", None]))
def test_any_php_blocks(legacy: ModuleType, blocks: list[str], flag: Any) -> None:
    case, response = {"check_php_lint": flag}, "\n".join(["answer", *blocks])
    read = migrated(case)
    assert asks(read) == bool(flag)
    assert passes(read, response) == legacy.grade_case(response, case)["passed"]


@pytest.mark.heavy
@needs_php
def test_the_samples_keep_their_verdicts(legacy: ModuleType, tmp_path: Path) -> None:
    migrate([find_shared("samples/ai_best_practices")], into=tmp_path)
    compared = 0
    for path in sorted((tmp_path / "datasets").glob("*.yaml")):
        dataset = read_yaml(path.read_text("utf-8"), path.name).value
        source = json.loads((SHARED / "samples" / dataset["x_source"]["file"]).read_text("utf-8"))
        answers = [case["expected_output"] for case in source["evals"]] + ["", "x", "```php\necho (;\n```", "# A"]
        for question, case in zip(dataset["questions"], source["evals"], strict=True):
            id_ = question["rubric_ref"].removeprefix("rubric/").removesuffix("@1.0.0")
            rubric = read_yaml((tmp_path / f"rubrics/{id_}.yaml").read_text("utf-8"), id_).value
            for answer in [*answers, *case["must_contain_any"], *map(str.upper, case["must_not_contain"])]:
                assert (evaluate(rubric, answer, question).score == 1) == legacy.grade_case(answer, case)["passed"]
                compared += 1
    assert compared > 1000
