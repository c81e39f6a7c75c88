"""Suites of module documentation keep the verdicts of their own runner, and what a script decides is kept and not run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.checks import evaluate
from evalstore.documents import read_json
from evalstore.migration import MigrationOutcome, export, migrate
from evalstore.migration.extraction import LegacyCase, LegacySource
from evalstore.migration.readers import run_reader
from evalstore.migration.table import load_tables

TABLE = load_tables("ai_best_practices")[0]
MODES = ["recipe", "introspection", "execution"]


def grade(response: str, case: Mapping[str, Any]) -> bool:
    """Model the runner's look at the text: false values ask nothing, only wanted texts are compared in lower case."""
    wanted, banned = case.get("must_contain_any"), case.get("must_not_contain")
    found = any(text.lower() in response.lower() for text in wanted) if wanted else True
    clean = all(text not in response for text in banned) if banned else True
    return found and clean


def by_script(case: Mapping[str, Any]) -> bool:
    """Whether the runner asks a script in the place of the text."""
    return case["mode"] == "execution" and bool(case.get("verify"))


def crashes(case: Mapping[str, Any], *responses: str) -> bool:
    try:
        for response in responses:
            grade(response, case)
    except (TypeError, AttributeError):
        return True
    return False


def migrated(case: dict[str, Any], dialect: str | None = None) -> LegacyCase:
    document = read_json(json.dumps({"evals": [{"id": "a", "prompt": "?", **case}]}), "evals.json")
    return run_reader(LegacySource(document, "evals.json", "", lambda _: None, dialect), TABLE).cases[0]


def passes(case: LegacyCase, response: str) -> bool:
    assert case.rubric
    return evaluate(case.rubric.value, response).score == 1


WORD = st.sampled_from(["", "a", "A", "foo", "FOO", "ß", "İ", "i", "use ", "{{ ", "a\nb", "."]) | st.text(max_size=3)
ODD = st.sampled_from([None, True, False, 0, 1, 1.5, "", "xyz", [], [""], [5], ["", 5], [None], {}, {"a": 1}])
TEXTS = st.lists(WORD, max_size=4) | ODD
CASES = st.fixed_dictionaries(
    {"mode": st.sampled_from(MODES)},
    optional={
        "must_contain_any": TEXTS,
        "must_not_contain": TEXTS,
        "verify": st.sampled_from(["", None, "eval/verify.sh", ["x"]]),
        "check_php_lint": st.booleans(),
        "difficulty": st.just("easy"),
    },
)
RESPONSES = st.lists(WORD | st.just("```php\necho (;\n```"), max_size=6).map("".join)


@settings(max_examples=600)
@given(CASES, RESPONSES)
def test_any_case_and_any_output(case: dict[str, Any], response: str) -> None:
    said = migrated(case)
    if by_script(case):
        assert (said.outcome, said.rubric, said.question) == (MigrationOutcome.UNMAPPED, None, {})
    elif said.outcome is MigrationOutcome.REFUSED:
        # It crashes on some answer, unless an empty text stands before what it cannot read.
        values = [case.get(key) for key in ("must_contain_any", "must_not_contain")]
        assert crashes(case, response, "") or ["", 5] in values
    else:
        assert not crashes(case, response, "")
        assert said.rubric
        if said.rubric.value["checks"] != TABLE.no_check["checks"]:
            assert passes(said, response) == grade(response, case)
        else:
            assert grade(response, case)
            assert passes(said, response) == bool(response.strip())
            assert said.outcome is MigrationOutcome.LOSSY


@pytest.mark.parametrize(("dialect", "banned"), [(None, False), ("module_docs", False), ("agentskills", True)])
def test_the_case_of_letters_counts_where_it_did(dialect: str | None, banned: bool) -> None:  # noqa: FBT001
    said = migrated({"mode": "recipe", "must_not_contain": ["Drush"]}, dialect)
    assert passes(said, "use drush") is not banned
    assert not passes(said, "use Drush")


def test_without_a_mode_it_is_another_dialect() -> None:
    assert not passes(migrated({"must_not_contain": ["Drush"]}), "use drush")
    assert passes(migrated({"must_not_contain": ["Drush"]}, "module_docs"), "use drush")


def test_no_script_is_run_and_all_come_back(tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"touch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    scripts = dict.fromkeys(["setup", "reset", "verify", "cleanup"], str(trap))
    value = {
        "skill_name": "s",
        "module": "m",
        "version": "1.x",
        "evals": [
            {"id": "e", "mode": "execution", "prompt": "Do it.", "must_contain_any": None, **scripts},
            {"id": "r", "mode": "recipe", "prompt": "Say it.", "must_not_contain": ["No"], **scripts},
        ],
    }
    source = tmp_path / "in/evals.json"
    source.parent.mkdir()
    source.write_text(json.dumps(value))
    report = migrate([source], into=tmp_path / "store")
    assert [entry.outcome for entry in report.entries] == [MigrationOutcome.UNMAPPED, MigrationOutcome.MIGRATED]
    given_back = export(to="ai_best_practices", store=tmp_path / "store").files[0].text
    assert json.loads(given_back) == value
    assert not (tmp_path / "sprung").exists()
