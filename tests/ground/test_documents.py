"""Documents: strict in, proved out, and every value with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from evalstore.documents import (
    compute_digest,
    encode_document,
    read_json,
    read_row,
    read_value,
    read_yaml,
    replace_scalar,
    replace_scalars,
    write_canonical,
    write_json,
    write_row,
    write_yaml,
)
from evalstore.errors import LoadError, RefusedError
from tests.rows import mark_slow

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
AWKWARD = st.sampled_from(
    [
        "no",
        "1:30",
        "1e3",
        "012",
        "2001-01-01",
        "use ",
        " 0",
        "{{ ",
        ", ",
        "a\n",
        "\n",
        "a\n\nb",
        "x: y",
        "a #b",
        "",
        "~",
        "=",
        "a\u0085b",
        "\u2028",
        "\ufeff",
        "'",
        '"',
        "\\",
        "- a",
        "? b",
        "|",
        ">",
        "%x",
        "@x",
        "`x",
        "!x",
        "&x",
        "*x",
        "[",
        "}",
        "0x1F",
        "1_000",
        "+1",
        ".5",
        "é",
        "e\u0301",
    ]
)
LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9),
    TEXT,
    AWKWARD,
)
TREE = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT | AWKWARD, inner, max_size=4), max_leaves=12
)


@given(TREE)
@example("0\n")
def test_what_is_written_reads_back_equal(value: Any) -> None:
    assert read_yaml(write_yaml(value), "f").value == value


@given(
    st.recursive(
        TEXT | AWKWARD, lambda tree: st.lists(tree, max_size=3) | st.dictionaries(TEXT | AWKWARD, tree, max_size=3)
    )
)
def test_a_reader_of_yaml_1_1_reads_the_same_texts(value: Any) -> None:
    assert yaml.safe_load(write_yaml(value)) == value


def test_written_lines_stay_lines_and_long_keys_stay_keys() -> None:
    assert write_yaml({"a": {"b": "x\n  y\n\nz", "c": ["p\n\n", " q\nr"]}}) == (
        'a:\n  b: |-\n    x\n      y\n\n    z\n  c:\n    - |+\n      p\n\n    - " q\\nr"\n'
    )
    long = {"k" * 2000: {"m" * 2000: ["v"]}}
    assert read_yaml(write_yaml({"a": long}), "f").value == {"a": long}


@given(TREE)
def test_written_json_reads_back_with_the_same_numbers(value: Any) -> None:
    assert repr(read_json(write_json(value), "f").value) == repr(value)
    assert write_row(value).count("\n") == 1
    assert repr(read_row(write_row(value).encode(), "f", 1)) == repr(value)


@given(TREE)
def test_json_agrees_with_the_standard_library(value: Any) -> None:
    text = json.dumps(value, default=float)
    assert read_json(text, "f").value == json.loads(text, parse_float=Decimal)
    assert read_row(text.encode(), "f", 1) == json.loads(text, parse_float=Decimal)


PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", " ", "\n", '"a"', '"b"', '"\\ud800"', '"\\ud83d\\ude00"', "\ud800", '"\x01"', '"\u2028"', "1", "01", "-0",
     "1.", "1.0", "1e5", "1E+400", "1e401", "NaN", "-Infinity", "null", "true", "tru", "\ufeff", "\u00a0", "9" * 401]
)  # fmt: skip


def _answer(read: Callable[[], Any]) -> tuple[str, str, str]:
    try:
        return "", "", repr(read())
    except LoadError as error:
        return type(error).__name__, str(error), ""


@given(st.lists(PIECES, max_size=8).map("".join) | TREE.map(lambda value: json.dumps(value, default=float)))
def test_a_value_is_read_or_refused_as_a_document_is(text: str) -> None:
    assert _answer(lambda: read_value(text, "f")) == _answer(lambda: read_json(text, "f").value)


AT_THE_LIMITS = {
    "as_deep_as_can_be": "[" * 64 + "]" * 64,
    "a_value_as_deep": "[" * 63 + "1" + "]" * 63,
    "a_value_too_deep": "[" * 64 + "1" + "]" * 64,
    "too_deep": "[" * 65 + "]" * 65,
    "far_too_deep": "[" * 5000,
    "brackets_in_a_text": '["' + "[" * 100 + '"]',
    "as_many_as_can_be": "[" + "1," * 199_998 + "1]",
    "too_many": "[" + "1," * 199_999 + "1]",
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", [mark_slow(name) if name == "as_many_as_can_be" else name for name in AT_THE_LIMITS])
def test_a_value_meets_the_limits_of_a_document(name: str) -> None:
    text = AT_THE_LIMITS[name]
    alike = _answer(lambda: read_value(text, "f")) == _answer(lambda: read_json(text, "f").value)
    assert alike


@pytest.mark.heavy
def test_a_key_that_stands_twice_is_found_in_one_pass() -> None:
    text = json.dumps(dict.fromkeys(map(str, range(200_000))))[:-1] + ', "199999": 1}'
    with pytest.raises(LoadError, match="duplicate key '199999'"):
        read_row(text.encode(), "f", 1)


@given(TREE)
def test_a_digest_ignores_key_order_and_number_spelling(value: Any) -> None:
    assert compute_digest({"a": value, "b": 1}) == compute_digest({"b": Decimal("1.0"), "a": value})


def test_canonical_json_is_one_text() -> None:
    assert write_canonical({"b": [Decimal("0.10"), Decimal("1E+2"), Decimal("-0.0"), True, None], "a": "é\n"}) == (
        '{"a":"é\\n","b":[0.1,100,0,true,null]}'
    )


def test_a_float_is_the_number_that_its_shortest_literal_says() -> None:
    assert (
        write_canonical([0.1, 1.0, 1e22, -0.0])
        == write_canonical([Decimal("0.1"), 1, 10**22, 0])
        == f"[0.1,1,{10**22},0]"
    )


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda b: b.decode("latin-1")))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    for read in (read_yaml, read_json):
        try:
            read(text, "f")
        except LoadError as error:
            assert error.place is not None
            assert error.place.file == "f"


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key"),
        ("a: *x\n", 1, 4, "has no anchor"),
        ("a: &x [*x]\n", 1, 8, "contains itself"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", 3, 3, "merge keys"),
        ("a: !!python/object:os.system x\n", 1, 4, "is not supported"),
        ("a: .nan\n", 1, 4, "finite"),
        ("a: 1e999\n", 1, 4, "out of range"),
        (f"a: {'9' * 401}\n", 1, 4, "digits"),
        ("a: 1\n---\nb: 2\n", 2, 1, "second document"),
        ("a: b\x00\n", 1, 5, "U+0000"),
        ("a: b\u2028\n", 1, 5, "U+2028"),
        ("a: [1, 2\n", 1, 4, "not YAML"),
        ("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> side\n", 2, 1, "holds a merge conflict"),
        ("[" * 65, 1, 65, "deeper than 64"),
        ("{[1]: 2}\n", 1, 2, "a key is"),
    ],
)
def test_yaml_that_is_no_plain_data_is_refused_at_its_place(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(LoadError, match=re.escape(words)) as refused:
        read_yaml(text, "f.yaml")
    assert (refused.value.place.line, refused.value.place.column) == (line, column)


def test_an_alias_bomb_ends_in_one_sentence() -> None:
    bomb = "a0: &a0 [1, 1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    with pytest.raises(LoadError, match="200,000 values"):
        read_yaml(bomb, "f")


def test_aliases_are_expanded_within_the_budget() -> None:
    assert read_yaml("a: &x {k: [1]}\nb: *x\n", "f").value == {"a": {"k": [1]}, "b": {"k": [1]}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("012", 12),
        ("0o17", 15),
        ("1e3", Decimal("1e3")),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("yes", "yes"),
        ("True", True),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("! 1", "1"),
        ("1.10", Decimal("1.10")),
        ("- a\n- b", ["a", "b"]),
    ],
)
def test_the_core_schema_of_yaml_1_2(text: str, value: Any) -> None:
    read = read_yaml(text, "f").value
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize("data", [b"\xff\xfea\x00", b"a: \xe9\n"])
def test_only_utf8(data: bytes) -> None:
    with pytest.raises(LoadError, match="UTF-8"):
        read_yaml(data, "f")


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,}',
        "[1 2]",
        "[NaN]",
        '"x',
        "[1]x",
        "",
        "[01]",
        '["\\ud800"]',
        "nul",
        '{"a":1,"a":2}',
        "[1e999]",
        "-",
        "'a'",
    ],
)
def test_json_is_strict(text: str) -> None:
    with pytest.raises(LoadError):
        read_json(text, "f")
    with pytest.raises(LoadError):
        read_row(text.encode(), "f", 7)


def test_places_point_at_values_and_keys() -> None:
    text = "id: x\nchecks:\n  - kind: regex\n    pattern: a\n"
    document = read_yaml(text, "f.yaml")
    assert str(document.locate(("checks", 0, "pattern"))) == "f.yaml:4:14"
    assert str(document.locate(("checks", 0, "pattern"), of_key=True)) == "f.yaml:4:5"
    assert str(document.locate(("checks", 0, "absent"))) == "f.yaml:3:5"
    assert str(read_json('{"a":\n [1, {"b": 2}]}', "f").locate(("a", 1, "b"))) == "f:2:12"


LAYOUTS = [
    "version: {}",
    "version:   {}   # why",
    "'version': '{}'",
    'version: "{}"',
    "version:\n    {}",
    "? version\n: {}",
    "version: !!str {}",
    "version: &v {}",
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_edit_changes_one_scalar_and_no_other_byte(layout: str, end: str) -> None:
    head, tail = "# top\nid: a\n", "\ntemplate: >\n  folded\n    - bullet\n\nz: [1,  2]  # end\n"
    before = (head + layout.format("1.9.9") + tail).replace("\n", end).encode()
    after = encode_document(replace_scalar(read_yaml(b"\xef\xbb\xbf" + before, "f"), ("version",), "1.10.0"))
    assert after == b"\xef\xbb\xbf" + before.replace(b"1.9.9", b"1.10.0")


def test_an_edit_that_would_touch_more_is_refused() -> None:
    document = read_yaml("version: &v 1.0.0\nother: *v\n", "f")
    with pytest.raises(RefusedError, match="without changing more"):
        replace_scalar(document, ("version",), "2.0.0")


def test_an_edit_of_many_scalars_changes_them_at_once() -> None:
    before = "a: {ref: one, also: 'one'}\nb: &r !!str one  # shared\nc: [*r, two, \"one\"]\n"
    pointers = [("a", "ref"), ("a", "also"), ("b",), ("c", 0), ("c", 2)]
    after = encode_document(replace_scalars(read_yaml(before, "f"), dict.fromkeys(pointers, "judge/x@2.0.0")))
    assert after.decode() == before.replace("one", "judge/x@2.0.0")
    with pytest.raises(RefusedError, match="/b cannot be changed without changing more of the file"):
        replace_scalars(read_yaml(before, "f"), {("b",): "judge/x@2.0.0"})
