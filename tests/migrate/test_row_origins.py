"""What questions say alike of their source is said once; filled in, it is what it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from evalstore.documents import write_row, write_yaml
from evalstore.migration import export, migrate
from evalstore.migration.merging.artifact_merge import digest_content
from evalstore.migration.row_origins import fill_rows, fold_rows

LOAD = YAML(typ="safe").load


def make_dataset(*sources: Any, unmapped: Any = ()) -> dict[str, Any]:
    rows = [{"id": f"B{n:02}", **({} if source is None else {"x_source": source})} for n, source in enumerate(sources)]
    return {"questions": rows, "x_unmapped": [{"pointer": at} for at in unmapped], "x_source": {"suite": "s"}}


def list_sources(value: dict[str, Any]) -> list[Any]:
    return [row.get("x_source") for row in value["questions"]]


def test_what_is_alike_is_said_once() -> None:
    rows = [{"pointer": f"/evals/{n + (n > 1)}", "id": n, "kept": {"a": [], "b": n}} for n in range(4)]
    rows[3] = {**rows[3], "kept": {"b": 9}, "keys": ["x"], "renamed_from": "B09"}
    folded = fold_rows(make_dataset(*rows[:2], None, *rows[2:], unmapped=["/evals/2"]))
    assert folded["x_source"] == {
        "suite": "s",
        "questions": {"pointer": "/evals/*", "id": {"x_number": "id"}, "kept": {"a": [], "b": {"x_number": "id"}}},
    }
    # What was added here, as B02 was, says nothing of a source; those behind it have other numbers in their ids.
    assert list_sources(folded) == [
        {},
        {},
        None,
        {"id": 2, "kept": {"b": 2}},
        {"id": 3, "kept": {"b": 9}, "keys": ["x"], "renamed_from": "B09", "lacks": ["kept/a"]},
    ]


SOURCES = st.fixed_dictionaries(
    {},
    optional={
        "pointer": st.sampled_from(["/a/0", "/a/1", "/a/2", "/b/0", "/0", ""]),
        "id": st.sampled_from([0, 1, 2, "1", True, None]),
        "keys": st.sampled_from([["a", "b"], ["b", "a"]]),
        "kept": st.one_of(
            st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([0, 1, 2, [], {"x_number": "id"}, "t"]))).map(
                dict
            ),
            st.sampled_from(["text", None, []]),
        ),
        "lacks": st.just(["kept/a"]),
        "pin": st.sampled_from(["p", "q"]),
    },
)


@given(
    sources=st.lists(st.one_of(st.none(), SOURCES), max_size=6), unmapped=st.lists(st.sampled_from(["/a/0", "/a/1"]))
)
def test_filled_in_it_is_what_it_was(sources: list[Any], unmapped: list[str]) -> None:
    value = make_dataset(*sources, unmapped=unmapped)
    folded = fold_rows(value)
    filled = fill_rows(folded)
    assert [write_row(one) for one in map(sort, list_sources(filled))] == [
        write_row(one) for one in map(sort, list_sources(fill_rows(value)))
    ]
    assert fold_rows(folded) == folded
    assert len(write_row(folded)) <= len(write_row(value)) + 60 or folded == value
    assert digest_content(folded) == digest_content(value)


def sort(source: Any) -> Any:
    return source if source is None else dict(sorted(source.items()))


@pytest.mark.parametrize(
    "common", [[], {"pointer": 3}, {"pointer": "far"}, {"pointer": "/*"}, {"kept": [1]}, {"kept": {"a": 1}, "lacks": 1}]
)
@pytest.mark.parametrize("source", [{}, {"lacks": 3}, {"kept": 3}, {"lacks": [[]], "kept": {}}])
def test_what_somebody_wrote_there_by_hand_breaks_nothing(common: Any, source: Any) -> None:
    value = make_dataset(source, source, unmapped=["far", 3])
    value["x_source"]["questions"] = common
    assert len(fill_rows(value)["questions"]) == 2
    assert digest_content(value) == digest_content(fold_rows(value))


def test_a_store_with_a_pointer_for_each_row_stays_as_it_is(suite: Any, tmp_path: Path) -> None:
    source = suite(*({"must_contain_any": [word], "must_not_contain": []} for word in ("alpha", "beta", "gamma")))
    store = tmp_path / "store"
    migrate([source], into=store)
    path = store / "datasets/forms.yaml"
    value = LOAD(path.read_text())
    assert value["x_source"]["questions"]["pointer"] == "/evals/*"
    # As it is written where no pattern of pointers fits.
    for file in store.rglob("*.yaml"):
        file.write_text(write_yaml(fill_rows(LOAD(file.read_text()))))
    before = {file: file.read_bytes() for file in store.rglob("*.yaml")}
    assert b"pointer: /evals/2" in before[path]
    assert {str(file.state) for file in migrate([source], into=store).files} == {"unchanged"}
    assert {file: file.read_bytes() for file in store.rglob("*.yaml")} == before
    assert json.loads(export(to="ai_best_practices", store=store).files[0].text) == json.loads(source.read_text())
    # Where the source changes, it is written as of today.
    source.write_text(source.read_text().replace('"alpha"', '"alpha", "alfa"'))
    assert {str(file.state) for file in migrate([source], into=store).files} == {"updated", "unchanged"}
    assert b"pointer: /evals/2" not in path.read_bytes()
    assert json.loads(export(to="ai_best_practices", store=store).files[0].text) == json.loads(source.read_text())
