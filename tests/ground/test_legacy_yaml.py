"""YAML that other tools wrote: merge keys, keys that are not texts, larger files; and the same values written again."""

from __future__ import annotations

import re
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from evalstore.documents import read_legacy_yaml, read_yaml, write_legacy_yaml, write_yaml
from evalstore.errors import LoadError
from evalstore.migration.remainder import is_same_data


def value(text: str) -> Any:
    return read_legacy_yaml(text, "f.yaml").value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3\n", {"k": 1, "l": 3}),
        ("a: &x {k: 1, l: 2}\nb:\n  l: 3\n  <<: *x\n", {"k": 1, "l": 3}),
        ("a: &x {k: 1}\nc: &y {k: 2, m: 4}\nb:\n  <<: [*x, *y]\n", {"k": 1, "m": 4}),
        ("b:\n  <<: {k: 1}\n  '<<': text\n", {"k": 1, "<<": "text"}),
        ("b:\n  <<: [{k: 1}, {k: 2}]\n", {"k": 1}),
        ("b:\n  <<: []\n  k: 1\n", {"k": 1}),
        ("a: &x {k: &z [1]}\nc: &y\n  <<: *x\n  l: *z\nb: *y\n", {"k": [1], "l": [1]}),
    ],
)
def test_merge_keys_are_expanded_and_what_is_written_out_wins(text: str, expected: Any) -> None:
    assert value(text)["b"] == expected


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("b:\n  <<: 1\n", 2, "<< needs a mapping or a list of mappings"),
        ("b:\n  <<: [{k: 1}, 2]\n", 2, "<< needs a mapping"),
        ("b: &x\n  <<: *x\n", 2, "the alias *x contains itself"),
        ("? [1]\n: b\n", 1, "a key is a mapping or a list"),
        (".nan: b\n", 1, "not a finite number"),
        ("a: 1\n---\nb: 2\n", 2, "a second document begins here"),
        ("a: !!python/name:os.system x\n", 1, "is not supported"),
    ],
)
def test_what_is_no_data_is_refused_at_its_place(text: str, line: int, words: str) -> None:
    with pytest.raises(LoadError, match=re.escape(words)) as refused:
        value(text)
    assert refused.value.place.line == line


def test_keys_stay_what_they_are() -> None:
    read = value("0: int\n'0': text\n1.10: decimal\n~: none\ntrue: bool\nno: no\n2024-01-01: day\n")
    assert [(key, type(key)) for key in read] == [
        (0, int), ("0", str), (Decimal("1.10"), Decimal), (None, type(None)), (True, bool), ("no", str), ("2024-01-01", str),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["no", "1e3", "2024-01-01", "1.0", "1.10", "1.", "5e0", ".5", "-0.0", "0x1F", "'1'", "~"]
)
def test_a_value_survives_being_written(text: str) -> None:
    for read, write in ((read_legacy_yaml, write_legacy_yaml), (read_yaml, write_yaml)):
        first = read(f"v: {text}\n", "f").value
        assert is_same_data(read(write(first), "f").value, first)
    assert "v: 1.10\n" in write_yaml({"v": Decimal("1.10")})


WORD = st.text(max_size=4) | st.sampled_from(["no", "1e3", "0", "<<", "~", "true", "a: b", "x\ny\n", "k" * 1200])
LEAF = WORD | st.integers(-3, 3) | st.none() | st.booleans() | st.decimals(-9, 9, places=2)
TREE = st.recursive(
    LEAF,
    lambda tree: st.lists(tree, max_size=3) | st.dictionaries(LEAF, tree, max_size=3),
    max_leaves=8,
)


@given(TREE)
def test_what_is_written_reads_back_the_same(tree: Any) -> None:
    assert is_same_data(value(write_legacy_yaml(tree)), tree)


@given(st.recursive(WORD, lambda tree: st.lists(tree, max_size=3) | st.dictionaries(WORD, tree, max_size=3)))
def test_a_reader_of_yaml_1_2_reads_the_same_texts(tree: Any) -> None:
    assert YAML(typ="safe", pure=True).load(write_yaml(tree)) == tree


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("1: a\n1: b\n", {1: "b"}),
        ("k: a\nj: c\nk: b\n", {"k": "b", "j": "c"}),
        ("a: &x {k: 1}\nb: &y {k: 2}\nc:\n  <<: *x\n  <<: *y\n", {"a": {"k": 1}, "b": {"k": 2}, "c": {"k": 2}}),
    ],
)
def test_of_a_key_that_stands_twice_the_last_counts(text: str, kept: Any) -> None:
    assert value(text) == kept


@pytest.mark.heavy
@pytest.mark.parametrize("bomb", ["merges of one mapping", "merges of merges", "many merges into many keys"])
def test_merges_cost_no_more_than_what_they_hold(bomb: str) -> None:
    text = {
        "merges of one mapping": "a: &a {" + ", ".join(f"k{n}: 1" for n in range(900)) + "}\nb:\n  <<: ["
        + ", ".join(["*a"] * 9000) + "]\n",
        "merges of merges": "a0: &a0 {k: 1}\n"
        + "".join(f"a{n}: &a{n}\n  <<: [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)),
        "many merges into many keys": "a: &a {k: 1}\nb:\n" + "".join(f"  k{n}: 1\n" for n in range(60_000))
        + "  <<: [" + ", ".join(["*a"] * 60_000) + "]\n",
    }[bomb]  # fmt: skip
    start = time.process_time()
    if bomb.startswith("many"):
        assert len(value(text)["b"]) == 60_001
    else:
        with pytest.raises(LoadError, match=r"2,000,000 values|an alias is nested deeper than 32 levels"):
            value(text)
    assert time.process_time() - start < 5


def test_the_limit_is_that_of_legacy_files() -> None:
    assert len(value("a: " + "x" * (2 << 20))["a"]) == 2 << 20
    with pytest.raises(LoadError, match="larger than 8,388,608 bytes"):
        value("a: " + "x" * (8 << 20))
