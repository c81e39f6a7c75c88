"""P1, on random files: each value is somewhere in the store, and all of it comes back."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evalstore.documents import read_json, read_row, read_yaml, write_json
from evalstore.migration import MigrationOutcome, export, migrate
from evalstore.migration.remainder import is_same_data

KNOWN = [
    "skill_name", "skill_file", "evals", "behavioral_cases", "id", "prompt", "expected_output", "teaching",
    "expectations", "must_contain_any", "must_not_contain", "check_php_lint", "check_markdown_structure",
    "min_headings", "max_heading_level", "no_h1", "required_sections", "forbidden_patterns", "min_paragraphs",
]  # fmt: skip
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBER = st.sampled_from([Decimal("0.10"), Decimal("1E+2"), Decimal("-0.0"), Decimal("1.0"), 10**40, -1, 0, 1, 2])
LEAF = TEXT | NUMBER | st.sampled_from([None, True, False, "", [], {}])
TREE = st.recursive(
    LEAF, lambda tree: st.lists(tree, max_size=3) | st.dictionaries(TEXT | st.sampled_from(KNOWN), tree, max_size=3)
)
TEXTS = st.lists(TEXT, max_size=3)
RULES = st.dictionaries(st.sampled_from(KNOWN[-6:]), TEXTS | NUMBER | st.booleans(), max_size=4)
CASE = st.dictionaries(
    st.sampled_from(KNOWN[4:13]) | TEXT,
    TREE | TEXTS,
    max_size=4,
).flatmap(
    lambda some: st.fixed_dictionaries(
        {},
        optional={
            "id": NUMBER | TEXT,
            "prompt": TEXT,
            "must_contain_any": TEXTS | LEAF,
            "must_not_contain": TEXTS,
            "check_php_lint": LEAF,
            "check_markdown_structure": RULES | LEAF,
            "expectations": TEXTS,
        },
    ).map(lambda usual: some | usual)
)
FILE = st.builds(
    lambda root, key, cases: root | {key: cases},
    st.dictionaries(TEXT | st.sampled_from(KNOWN), TREE, max_size=4),
    st.sampled_from(["evals", "behavioral_cases"]),
    st.lists(CASE | LEAF, min_size=1, max_size=4),
)


def marked(value: Any, numbers: Iterator[int]) -> Any:
    """Make every text and every free key unique: a canary."""
    if isinstance(value, dict):
        return {
            key if key in KNOWN else f"{key}<{next(numbers)}>": marked(item, numbers) for key, item in value.items()
        }
    if isinstance(value, list):
        return [marked(item, numbers) for item in value]
    return f"{value}<{next(numbers)}>" if isinstance(value, str) else value


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


def kept(store: Path) -> set[str]:
    """Return every text and key of a store."""
    yaml = [read_yaml(path.read_bytes(), path.name).value for path in store.rglob("*.yaml")]
    rows = [read_row(line, "", 1) for path in store.rglob("*.jsonl") for line in path.read_bytes().splitlines()]
    return {text for value in yaml + rows for text in texts(value)}


@settings(max_examples=150)
@given(FILE, st.booleans())
def test_nothing_is_lost(raw: dict[str, Any], canaries: bool) -> None:  # noqa: FBT001  # hypothesis gives it
    value = marked(raw, count()) if canaries else raw
    with TemporaryDirectory() as folder:
        source, store = Path(folder) / "suite/evals.json", Path(folder) / "store"
        source.parent.mkdir()
        source.write_text(write_json(value), encoding="utf-8")
        report = migrate([source], into=store, format="ai_best_practices")
        assert not any("cannot be kept" in entry.reason for entry in report.entries)
        if not report.files:
            assert MigrationOutcome.REFUSED in {entry.outcome for entry in report.entries}
            return
        assert set(texts(value)) - {"evals", "behavioral_cases"} <= kept(store) | set(KNOWN)
        given_back = export(to="ai_best_practices", store=store).files[0].text
        assert is_same_data(read_json(given_back, "given").value, read_json(source.read_bytes(), "source").value)
        assert list(read_json(given_back, "given").value) == list(value)
        assert migrate([source], into=store, format="ai_best_practices").written == ()


def test_an_edited_store_gives_back_what_it_says_today(tmp_path: Path) -> None:
    source = tmp_path / "suite/evals.json"
    source.parent.mkdir()
    case = {"id": 1, "prompt": "?", "must_contain_any": ["a"], "must_not_contain": [], "check_php_lint": False}
    source.write_text(write_json({"evals": [case]}))
    store = tmp_path / "store"
    rubric = store / next(
        path for path in migrate([source], into=store, share="cases").written if path.startswith("rubrics")
    )
    text = rubric.read_text().replace("      - a\n", "      - a\n      - b\n")
    rubric.write_text(
        text.replace("scoring:", "  - kind: must_not_contain\n    values: [x]\n    case_sensitive: false\nscoring:")
    )
    dataset = store / "datasets/suite.yaml"
    dataset.write_text(dataset.read_text().replace('input: "?"', "input: Why?"))
    given_back = read_json(export(to="ai_best_practices", store=store).files[0].text, "").value
    assert given_back["evals"] == [
        {"id": 1, "prompt": "Why?", "must_contain_any": ["a", "b"], "must_not_contain": ["x"], "check_php_lint": False}
    ]
