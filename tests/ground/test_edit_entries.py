"""Entries of one mapping are set in any layout, and not a byte beside them changes."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from evalstore.documents import encode_document, read_yaml
from evalstore.documents.edit_entries import set_entries, set_root_entry
from evalstore.errors import RefusedError

NEW = {
    "tpr": Decimal("0.95"),
    "tnr": Decimal("1.0"),
    "validated_against": "dataset/gold@2.0.0",
    "validated_at": "2026-11-09",
    "sample_size": 200,
}
HEAD, TAIL = "id: a  # why\ntemplate: |\n  Is it: {{ output }}\n\n", "x_end: [1,  2]\n# the end\n"


def edited(text: str, entries: dict[str, Any] | None = None) -> str:
    return set_entries(read_yaml(text, "f.yaml"), "validation", NEW if entries is None else entries).text


LAYOUTS = {
    "block": (
        "validation:\n  tpr: 0.9  # by hand\n  tnr: 0.8\n\n  # when\n  validated_at: '2026-01-01'\n  sample_size: 10\n  validated_against: dataset/gold@1.0.0\n",
        "validation:\n  tpr: 0.95  # by hand\n  tnr: 1.0\n\n  # when\n  validated_at: '2026-11-09'\n  sample_size: 200\n  validated_against: dataset/gold@2.0.0\n",
    ),
    "flow": (
        "validation: {tpr: 0.9,tnr: 0.8, sample_size: 10}   # six\n",
        'validation: {tpr: 0.95,tnr: 1.0, sample_size: 200, validated_against: dataset/gold@2.0.0, validated_at: "2026-11-09"}   # six\n'.replace(
            '"', ""
        ),
    ),
    "flow over lines": (
        "validation: {\n  tpr: 0.9, # a\n  note: kept,\n}\n",
        "validation: {\n  tpr: 0.95, # a\n  note: kept, tnr: 1.0, validated_against: dataset/gold@2.0.0, validated_at: 2026-11-09, sample_size: 200,\n}\n",
    ),
    "missing entries": (
        "validation:\n    tnr: 1.00\n    by:\n      - Ada\n    # the end of it\n",
        "validation:\n    tnr: 1.00\n    by:\n      - Ada\n    tpr: 0.95\n    validated_against: dataset/gold@2.0.0\n    validated_at: 2026-11-09\n    sample_size: 200\n    # the end of it\n",
    ),
    "empty": (
        "validation:  # nobody yet\n",
        "validation:  # nobody yet\n  tpr: 0.95\n  tnr: 1.0\n  validated_against: dataset/gold@2.0.0\n  validated_at: 2026-11-09\n  sample_size: 200\n",
    ),
    "null": (
        "validation: ~ # nobody yet\n",
        "validation: {tpr: 0.95, tnr: 1.0, validated_against: dataset/gold@2.0.0, validated_at: 2026-11-09, sample_size: 200} # nobody yet\n",
    ),
    "no entry": (
        "validation: {}\n",
        "validation: {tpr: 0.95, tnr: 1.0, validated_against: dataset/gold@2.0.0, validated_at: 2026-11-09, sample_size: 200}\n",
    ),
}


@pytest.mark.parametrize("break_", ["\n", "\r\n"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_stays_what_it_was(name: str, break_: str) -> None:
    before, after = ((HEAD + words + TAIL).replace("\n", break_) for words in LAYOUTS[name])
    assert edited(before) == after
    assert edited(after) == after


def test_a_mapping_that_is_missing_is_added_at_the_end() -> None:
    lines = "validation:\n  tpr: 0.95\n  tnr: 1.0\n  validated_against: dataset/gold@2.0.0\n  validated_at: 2026-11-09\n  sample_size: 200"
    assert edited(HEAD + TAIL) == f"{HEAD}{TAIL}{lines}\n"
    assert edited("id: a\nscale: {max: 5}") == f"id: a\nscale: {{max: 5}}\n{lines}"
    assert edited("template: |\n  x") == f"{lines}\ntemplate: |\n  x"
    # A block of text that ends without a line break would get one: the mapping goes before it.
    assert edited("id: a\ntemplate: |\n  x") == f"id: a\n{lines}\ntemplate: |\n  x"
    assert edited("---\nid: a # b\n...\n") == f"---\nid: a # b\n{lines}\n...\n"


def test_json_stays_json() -> None:
    assert edited('{"id": "a", "validation": {"tpr": 0.5}}', {"tnr": 1, "validated_at": "2026-11-09"}) == (
        '{"id": "a", "validation": {"tpr": 0.5, "tnr": 1, "validated_at": "2026-11-09"}}'
    )
    assert edited('{"id": "a"}\n', {"tnr": 1}) == '{"id": "a", "validation": {"tnr": 1}}\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("validation:\n  tpr: 1  # gone with it\n  # stays\n  tnr: 1\n", "validation:\n  # stays\n  tnr: 1\n"),
        ("validation: {tpr: 1, tnr: 1}\n", "validation: {tnr: 1}\n"),
        ("validation: {tnr: 1, tpr: 1}\n", "validation: {tnr: 1}\n"),
        ("validation: {tpr: 1, at: x, tnr: 1}\n", "validation: {tnr: 1}\n"),
        ("validation: {tnr: 1,\n  tpr: 1,  # c\n  at: x }\n", "validation: {tnr: 1,  # c\n   }\n"),
        ("validation: {tnr: 1 # a\n , tpr: 1 # b\n , at: x\n}\n", "validation: {tnr: 1 # a\n ,  # b\n  \n}\n"),
        ("validation:\n  at: >-\n    x\n    y\n  tnr: 1", "validation:\n  tnr: 1"),
        ("validation:\n  tpr: 1\n  at: x", "validation:\n  tnr: 1\n"),
    ],
)
def test_an_entry_is_removed_with_its_line_or_its_comma(before: str, after: str) -> None:
    assert edited(before, {"tpr": None, "at": None, "tnr": 1}) == after


@pytest.mark.parametrize(
    "text",
    [
        "x_old: &v {tpr: 0.5}\nvalidation: *v\n",
        "validation: &v {tpr: 0.5}\nx_old: *v\n",
        "validation: {tpr: &r 0.5}\nx_old: *r\n",
        "validation: high\n",
        "validation: [1]\n",
    ],
)
def test_what_cannot_be_edited_alone_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(RefusedError, match="without changing more of the file") as refused:
        edited(text, {"tpr": Decimal("0.75")})
    assert refused.value.hint == "write by hand: validation: {tpr: 0.75}"
    assert str(refused.value.place).startswith("f.yaml:")


# --- random layouts: what stands before and after the mapping is known, so it can be looked for afterwards ---

SCALARS = {
    "tpr": ["0.9", "1", "!!float 0.5", "&rate 0.25", '"0.9"', "", "true"],
    "tnr": ["0.8", "0", "  0.80"],
    "validated_against": ["dataset/gold@1.0.0", "'dataset/gold@1.0.0'", '"dataset/gold@1.0.0"', "null"],
    "validated_at": ["2026-01-01", "'2026-01-01'", '"2026-01-01"', "!!str 2026-01-01"],
    "sample_size": ["6", "200", "0x10"],
    "note": ["a #b", "'it''s'", "{a: 1}", "[x, {y: 2}]"],
}
BLOCKS = {
    "validated_at": [">-\n{0}  2026-01-01"],
    "note": ["|\n{0}  two\n{0}  lines", "\n{0}  a: 1\n{0}  b: [1]", "\n{0}- a\n{0}- b"],
}
ROOT = [
    "version: 1.0.0", "title:   'x: y'  # c", "template: |\n  {{ output }}\n   more", "template: >\n  folded\n    - bullet\n\n  end",
    "model: {id: m,\n  temperature: 0}", "model:\n  # c\n  id: m", "applicable_to:\n- a\n- b # c", "x_note: &n |+\n  kept\n\n", "# a comment\n\nowner:", "scale: {}",
]  # fmt: skip


def layout(chance: random.Random) -> tuple[str, str, str]:
    """Return what stands before the mapping, the mapping with its key ("" for none), and what stands behind it."""
    lines = chance.sample(ROOT, chance.randint(1, 4))
    lines = list({line.partition(":")[0]: line for line in lines}.values())
    cut = chance.randint(0, len(lines))
    head = chance.choice(["", "---\n", "# yaml-language-server: x\n"]) + "".join(f"{line}\n" for line in lines[:cut])
    tail = "".join(f"{line}\n" for line in lines[cut:]) + chance.choice(["", "# last\n", "\n", "...\n"])
    own = chance.choice(["", *[mapping(chance)] * 6])
    indent = chance.choice(["", "", "", "  "]) if not head.startswith("---") and "\n-" not in head + tail else ""
    parts = [indented(part, indent) for part in (head, own, tail)]
    break_ = chance.choice(["\n", "\n", "\n", "\r\n"])
    parts = [part.replace("\n", break_) for part in parts]
    if chance.random() < 0.2 and "|+" not in "".join(parts):
        last = max(index for index, part in enumerate(parts) if part)
        parts[last] = parts[last].removesuffix(break_)
    return parts[0], parts[1], parts[2]


def indented(text: str, indent: str) -> str:
    return "".join(
        indent + line if line.strip() not in {"", "..."} else line for line in text.splitlines(keepends=True)
    )


def mapping(chance: random.Random) -> str:
    names = chance.sample(list(SCALARS), chance.randint(0, len(SCALARS)))
    if not names:
        return chance.choice(["validation:\n", "validation: {}\n", "validation: null  # c\n", "validation: ~\n"])
    anchor = chance.choice(["", "", "", " &v", " !!map"])
    if chance.random() < 0.4:
        comma = chance.choice([", ", ",", ",\n  ", " ,\n    # between\n    ", ", # after\n  ", "  # before\n  , "])
        end = chance.choice(["}", " }", ",\n  }", "\n  }"])
        quote = chance.choice(["", "", '"', "'"])
        pairs = [f"{quote}{name}{quote}: {chance.choice(SCALARS[name]) or 'null'}".replace("#", "") for name in names]
        return f"validation:{anchor} {{{comma.join(pairs)}{end}{chance.choice(['', '  # c'])}\n"
    indent = " " * chance.randint(1, 5)
    lines = []
    for name in names:
        value = chance.choice(SCALARS[name] + BLOCKS.get(name, [])).replace("{0}", indent)
        comment = "" if "\n" in value else chance.choice(["", "", "  # why"])
        before = chance.choice(["", "", f"{indent}# about it\n", "\n"])
        key = chance.choice([name, name, f'"{name}"'])
        lines.append(f"{before}{indent}{key}:{'' if value.startswith(chr(10)) else ' '}{value}{comment}\n")
    return f"validation:{anchor}{chance.choice(['', '  # c'])}\n{''.join(lines)}"


def entries(chance: random.Random) -> dict[str, Any]:
    new: dict[str, Any] = {
        "tpr": chance.choice([None, Decimal("0.933"), Decimal("1.0")]),
        "tnr": chance.choice([Decimal("0.88"), Decimal("0.0")]),
        "validated_against": chance.choice(
            [None, "dataset/gold@1.0.0", f"dataset/gold@git:{'0a' * 20}", "dataset/x@1.0"]
        ),
        "validated_at": "2026-11-09",
        "sample_size": chance.choice([6, 1234]),
    }
    return new


def check(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # repeatable on purpose
    before, own, behind = layout(chance)
    text, new = before + own + behind, entries(chance)
    document = read_yaml(text, "f.yaml")
    after = set_entries(document, "validation", new)
    old = document.value.get("validation") or {}
    written = {name: entry for name, entry in new.items() if entry is not None}
    assert after.value == document.value | {"validation": {**{k: v for k, v in old.items() if k not in new}, **written}}
    assert read_yaml(encode_document(after), "f.yaml").value == after.value
    assert set_entries(after, "validation", new).text == after.text
    if own:
        assert after.text.startswith(before)
        assert after.text.endswith(behind)
        block = after.text[len(before) : len(after.text) - len(behind)]
        assert comments(own, new) <= comments(block, new)
        if "{" not in own.split("\n")[0] and own.count("\n") > 1:
            assert others(own, new) == others(block, new)
    else:
        assert any(
            after.text.startswith(text[:cut]) and after.text.endswith(text[cut:]) for cut in range(len(text) + 1)
        )
    assert ("\r\n" in text) == ("\r\n" in after.text) or "\n" not in text
    assert not ("\r\n" in text and after.text.replace("\r\n", "").count("\n"))


def others(block: str, new: dict[str, Any]) -> list[str]:
    """Return the lines that hold nothing of the entries that are set."""
    lines = [line.rstrip("\r") for line in block.split("\n")]
    return [line for line in lines if line.strip() and not any(word in line for word in (*new, "2026"))]


def comments(block: str, new: dict[str, Any]) -> set[str]:
    """Return the comments of the mapping, but for those on the lines of entries that go."""
    gone = [name for name, entry in new.items() if entry is None]
    lines = [line for line in block.split("\n") if not any(name in line for name in gone)]
    return {line.partition(" #")[2].rstrip("\r") for line in lines if " #" in line}


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(0, 400, 100))
def test_nothing_beside_the_mapping_changes_in_any_layout(start: int) -> None:
    for seed in range(start, start + 100):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 11_000, 500))
def test_nothing_beside_the_mapping_changes_in_ten_thousand_layouts(start: int) -> None:
    for seed in range(start, start + 500):
        check(seed)


def test_the_random_layouts_are_many() -> None:
    texts = ["".join(layout(random.Random(seed))) for seed in range(400)]  # noqa: S311  # repeatable on purpose
    assert len(set(texts)) > 380
    for mark in ("\r\n", "{", "&v", "validation:\n", ">-", "# between"):
        assert sum(mark in text for text in texts) > 10, mark
    assert sum("validation" not in text for text in texts) > 30


@pytest.mark.parametrize(
    ("before", "entry", "after"),
    [
        ("id: a\nretires: 2027-01-14  # or so\nmodel: {id: m}\n", None, "id: a\nmodel: {id: m}\n"),
        ("id: a\nretires: 2027-01-14  # or so\n", "2028-03-01", "id: a\nretires: 2028-03-01  # or so\n"),
        ("id: a\nmodel:\n  id: m\n", "2028-03-01", "id: a\nmodel:\n  id: m\nretires: 2028-03-01\n"),
        ("{id: a, retires: '2027-01-14', model: {id: m}}\n", None, "{id: a, model: {id: m}}\n"),
        (
            "id: a\nvalidation:\n  noise_sd: 0.1\nx_1: b\n",
            "none",
            "id: a\nvalidation:\n  noise_sd: 0.1\nx_1: b\nretires: none\n",
        ),
    ],
)
def test_an_entry_of_the_root_comes_changes_and_goes(before: str, entry: str | None, after: str) -> None:
    assert set_root_entry(read_yaml(before, "j.yaml"), "retires", entry).text == after


def test_a_whole_mapping_goes_with_its_key() -> None:
    text = "id: a\nvalidation:\n  noise_sd: 0.1\n  noise_repeats: 5\nx_1: b\n"
    assert set_root_entry(read_yaml(text, "j.yaml"), "validation", None).text == "id: a\nx_1: b\n"
    with pytest.raises(RefusedError, match="cannot be written without changing more"):
        set_root_entry(read_yaml("id: &a b\nx_1: *a\n", "j.yaml"), "id", None)
