"""What `STEPS` says of each step is true of any text, and every step is quick on a long one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.checks.json_path import find_json_values, parse_json_path
from evalstore.checks.steps import STEPS, Step, apply_respelling, read_steps
from evalstore.diff.answers.read_parts import wrap_text
from evalstore.errors import LimitError
from evalstore.languages.patterns import OUTPUT_LIMIT
from evalstore.places import find_resource_folder

OPTIONS: dict[str, dict[str, Any]] = {
    "json_path": {"path": "$.a"},
    "regex_group": {"pattern": "a(.*)"},
    "remove": {"pattern": "a|\n"},
}
EVERY = [Step(name, OPTIONS.get(name, {})) for name in STEPS]
# Of what the steps look for, so that they find something.
PARTS = [
    "a",
    "The",
    " an ",
    "1,234",
    "-1.5",
    ".",
    "\n",
    "\r\n",
    "  ",
    "```",
    "~~~",
    "{",
    '"a": ',
    '"x"',
    "}",
    "**",
    "_",
]
PARTS += ["[a](b)", "<b>", "# ", "> ", "\u0130", "\u03a3", "\ufb01", "\u0301", "\u2028", "'", "2", "e9"]
TEXTS = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=8).map("".join)
# Texts on which a careless step takes the square of their length.
LONG = OUTPUT_LIMIT // 8
HOSTILE = ["_", "*", "[", "[a](", "<a", "1", "1,234", "a ", "the ", "```\n", " ", "\n", "# ", "'", "\u0130", "a\u0301"]


def run(step: Step, text: str) -> str | None:
    return step.kind.prepare(step.options)(text)


@pytest.mark.parametrize("step", EVERY, ids=lambda step: step.name)
@given(text=TEXTS)
def test_what_is_said_of_a_step_is_true(step: Step, text: str) -> None:
    try:
        found = run(step, text)
    except LimitError:
        assert step.kind.may_err(step.options)
        return
    assert found is not None or step.kind.may_find_nothing
    if found is not None and step.kind.picks:
        assert found in text
    if found is not None and len(found) > len(text):
        assert step.kind.may_err(step.options), "a text that may grow may grow too long"


@given(text=TEXTS)
def test_a_fence_is_taken_off_once_it_was_put_on(text: str) -> None:
    (step,) = read_steps(["strip_fence"])
    marks = "~~~~~~~~~~~"
    assert run(step, f"{marks}\n{text}\n{marks}") == text


@pytest.mark.parametrize("step", EVERY, ids=lambda step: step.name)
def test_a_step_finds_what_was_wrapped_for_it(step: Step) -> None:
    output = wrap_text("7", {"on": [{step.name: step.options} if step.options else step.name]})
    assert run(step, output) == "7" or step.name == "regex_group"


@pytest.mark.parametrize("step", EVERY, ids=lambda step: step.name)
def test_a_step_is_quick_on_a_long_output(step: Step) -> None:
    for part in HOSTILE:
        text = part * (LONG // len(part)) + "x"
        began = time.process_time()
        try:
            run(step, text)
        except LimitError:
            assert step.kind.may_err(step.options)
        assert time.process_time() - began < 3, repr(part)  # the square would take minutes


def test_only_respelling_steps_are_for_targets() -> None:
    steps = ["strip_fence", "lower", {"json_path": "$.a"}, "first_number", "no_thousands", "last_line", "strip"]
    assert apply_respelling(" A 1,234\n", steps) == "a 1234"


def test_the_schema_and_the_page_name_every_step() -> None:
    page = (Path(__file__).parents[2] / "docs" / "writing.md").read_text("utf-8")
    schema = (find_resource_folder("schema") / "rubric.schema.json").read_text("utf-8")
    for name in STEPS:
        assert f"`{name}" in page
        assert f'"{name}"' in schema


VALUE = {"a": {"b c": [1, {"": "x"}]}, "\u00e9_1": 2, "'": 3, '"': 4}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [VALUE]),
        ("$.a['b c'][0]", [1]),
        ('$["a"]["b c"][-1][""]', ["x"]),
        ("$.\u00e9_1", [2]),
        ("$['\\'']", [3]),
        ('$["\'"]', [3]),
        ("$['\"']", [4]),
        ("$[ 'a' ]['b c'][ 1 ]['']", ["x"]),
        ("$['\\u0061']['b c'][0]", [1]),
        ("$.a['b c'][2]", []),
        ("$.a['b c'][-3]", []),
        ("$.a[0]", []),
        ("$.b", []),
        ("$.a['b c'].length", []),
    ],
)
def test_a_singular_query_leads_to_one_value_or_none(path: str, found: list[Any]) -> None:
    steps = parse_json_path(path)
    assert steps is not None
    assert find_json_values(VALUE, steps) == found


@pytest.mark.parametrize(
    "path", ["", "a", "$.", "$..a", "$.*", "$[*]", "$[0:1]", "$[?@.a]", "$['a','b']", "$[01]", "$[-0]", "$.1", "$ .a b"]
)
def test_any_other_query_is_refused(path: str) -> None:
    assert parse_json_path(path) is None
