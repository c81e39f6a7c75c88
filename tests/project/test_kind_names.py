"""No module outside a kind's own files knows a check kind by its name: what others ask, the kind answers (`CheckKind`)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache

from evalstore.checks import KINDS
from tests.project.sources import list_nodes, parse_modules

# Where checks are written, of a kind that the writer chooses: from another tool's format, and for a beginner.
WRITERS = (
    "migration/readers/",
    "migration/javascript/conditions.py",
    "runs/imports/skill_creator.py",
    "catalogue/starters.py",
)
# Names of kinds that mean something else: a key of a file, of a schema or of a judge's request, a topic of `explain`.
OTHER_MEANINGS = {
    "format": {
        "diff/candidates/invented_questions.py",
        "diff/candidates/texts.py",
        "diff/changes/dataset.py",
        "diff/direction_rules.py",
        "languages/schemas/keywords.py",
        "languages/schemas/known_keywords.py",
        "languages/schemas/subschemas.py",
        "lint/wording.py",
        "migration/dataset_draft.py",
        "migration/export.py",
        "migration/exporting/artifact_source.py",
        "migration/plan.py",
        "migration/prompts/judge_prompts.py",
        "migration/shared_rubrics.py",
        "migration/table.py",
        "model/artifact.py",
        "report/migrate_summary.py",
    },
    "json_schema": {"checks/reply_schema.py", "integrations/inspect/__init__.py"},
    "regex": {"report/next_steps.py"},
}
# Whoever needs a function of one kind: the grade of a rubric within a rubric, a check that has nothing to grade, the
# check that a judge's examples and measurements are made of, and the count of required calls.
USERS = {
    "checks.kinds.composite": {"audits/questions/question_cells.py", "diff/witness.py"},
    "checks.kinds.fact_match": {"diff/changes/check.py", "diff/question_rubrics.py", "diff/witness.py"},
    "checks.kinds.llm_judge": {"agreement/measurement.py", "checks/examples.py"},
    "diff.kinds.tool_usage": {"diff/deciders/unmoved.py", "diff/tool_directions.py"},
}


@cache
def list_other_modules() -> tuple[str, ...]:
    """List the modules that are no kind's own."""
    own = {f"{room}/kinds/{kind}.py" for room in ("checks", "diff") for kind in KINDS}
    return tuple(path for path in parse_modules() if path not in own)


def find_named_kinds(constants: Iterable[ast.Constant]) -> Iterator[str]:
    """Yield the kinds that are texts of a module."""
    return (node.value for node in constants if isinstance(node.value, str) and node.value in KINDS)


def test_only_its_own_files_name_a_kind() -> None:
    named: dict[str, set[str]] = {}
    for path in list_other_modules():
        if not path.startswith(WRITERS):
            for kind in find_named_kinds(list_nodes(path, ast.Constant)):
                named.setdefault(kind, set()).add(path)
    assert named == OTHER_MEANINGS


def test_the_name_of_a_kind_is_found_however_it_stands() -> None:
    tree = ast.parse('a == "regex"; b = {"format": 1}; frozenset({"composite"}); "a regex"; check.get("php_lint")')
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    assert sorted(find_named_kinds(constants)) == ["composite", "format", "php_lint", "regex"]


def test_few_modules_need_a_function_of_one_kind() -> None:
    users: dict[str, set[str]] = {}
    for path in list_other_modules():
        for node in list_nodes(path, ast.ImportFrom):
            module = (node.module or "").removeprefix("evalstore.")
            if ".kinds." in module:
                users.setdefault(module, set()).add(path)
    assert users == USERS
