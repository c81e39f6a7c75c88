"""What an artifact says already is stored once: references to it, from which an export gives equal data back."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.documents import read_yaml
from evalstore.migration import export, migrate
from evalstore.migration.folded_values import fold_value, has_references, restore_parts
from evalstore.migration.legacy_files import parse_whole
from evalstore.migration.remainder import decode_value, encode_value, is_same_data

LONG = "a statement that is longer than a reference to it would be"
TREE = st.recursive(
    st.sampled_from([None, True, 1, Decimal("1.0"), "", "x", LONG, f"{LONG} 2", f"{LONG} 3"]),
    lambda tree: (
        st.lists(tree, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "kind", "values", "title", "checks", "x_at", "x_each", "x_without", "a/b", LONG]),
            tree,
            max_size=4,
        )
    ),
    max_leaves=12,
)
CHECKS = st.lists(st.dictionaries(st.sampled_from(["id", "kind", "values", "variables", "title"]), TREE), max_size=3)
RUBRIC = {
    "id": "r",
    "version": "1.0",
    "description": LONG,
    "checks": [
        {"id": "names_the_tag", "kind": "must_contain_any", "values": ["cache tag", "#cache", "getCacheTags"],
         "case_sensitive": False, "metadata": {"why": LONG}},
        {"id": "no_debug", "kind": "must_not_contain", "values": ["var_dump(", "print_r(", "debug_backtrace("]},
    ],
    "scoring": {"combine": "weighted_avg", "weights": {"names_the_tag": 2, "no_debug": 1}, "threshold": 0.6},
}  # fmt: skip


@settings(max_examples=150)
@given(TREE, CHECKS, TREE)
def test_any_value_comes_back(value: Any, checks: list[dict[str, Any]], scoring: Any) -> None:
    rubric = {"checks": checks, "scoring": scoring, "question": {"input": LONG, "expected": scoring}}
    # What is looked for is often there.
    for item in (
        value,
        [value, checks],
        {"kept": scoring, "one": checks[:1]},
        [check.get("values") for check in checks],
    ):
        folded = fold_value(encode_value(item), rubric)
        assert is_same_data(decode_value(restore_parts(folded, rubric)), item)


def test_a_rubric_that_stands_for_its_file_says_nothing_twice(tmp_path: Path) -> None:
    source = tmp_path / "r.json"
    source.write_text(json.dumps(RUBRIC))
    migrate(source, into=tmp_path / "store", format="ai_eval")
    value = read_yaml((tmp_path / "store/rubrics/r.yaml").read_bytes(), "").value
    kept = value["x_source"]["kept"]
    assert kept["checks"] == [
        {"x_at": "/checks/0", "metadata": {"why": LONG}},
        {"x_at": "/checks/1", "x_without": ["case_sensitive"]},
    ]
    assert kept["scoring"] == {"x_at": "/scoring"}
    assert kept["description"] == LONG  # people edit it, and the file stays as it was


def test_statements_are_one_reference(tmp_path: Path) -> None:
    suite = {"evals": [{"id": 1, "prompt": "?", "expectations": [LONG, f"{LONG} 2"], "expected_output": "a"}]}
    source = tmp_path / "evals.json"
    source.write_text(json.dumps(suite))
    report = migrate(source, into=tmp_path / "store")
    dataset = read_yaml((tmp_path / "store" / str(report.sources[0].target)).read_bytes(), "").value
    kept = dataset["questions"][0]["x_source"]["kept"]
    assert kept == {"id": 1, "expectations": {"x_each": "/checks/*/variables/statement"}}
    assert has_references(kept)


EDITS = {
    "cosmetic": ("description: a statement", "description: another statement", "as it was"),
    "of a check, cosmetic": ("why: a statement", "why: another statement", "as it was"),
    "of a value": ("- print_r(", "- print_s(", "with the edit"),
    "of a kind": ("kind: must_not_contain", "kond: must_not_contain", "refused"),
    "of a name": ("id: no_debug", "id: no_debugging", "refused"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_left_out_given_back_or_refused_but_never_half_done(name: str, tmp_path: Path) -> None:
    old, new, becomes = EDITS[name]
    source, store = tmp_path / "r.json", tmp_path / "store"
    source.write_text(json.dumps(RUBRIC))
    migrate(source, into=store, format="ai_eval")
    path = store / "rubrics/r.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    if becomes == "refused":
        assert export(to="ai_eval", store=store).refused
        return
    (given_,) = export(to="ai_eval", store=store).files
    text = json.dumps(RUBRIC)
    wanted = text.replace("print_r(", "print_s(") if becomes == "with the edit" else text
    assert is_same_data(parse_whole(given_.text.encode(), "r.json").value, parse_whole(wanted.encode(), "r").value)
