"""A judge's template against Mustache as far as the contract has it, and that no text is read twice (P16)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.checks.template import PROMPT_LIMIT, Template, compile_template, fill_template, find_tags
from evalstore.errors import LimitError

VALUES = {"a": "A", "b": "B", "code": '<?php & "q" {{ a }} {{! x }} {{# a }}', "none": "", "long_name": "L"}


def filled(template: str) -> str:
    compiled = compile_template(template)
    assert isinstance(compiled, Template), compiled
    return fill_template(compiled, VALUES)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        # Interpolation: what a name stands for, wherever it stands, and the white space around a tag.
        ("no tags at all\n", "no tags at all\n"),
        ("{{a}}", "A"),
        ("{{ a }}|{{{ a }}}|{{\ta\n}}", "A|A|A"),
        ("{{ code }}", VALUES["code"]),
        ("{{{ code }}}", VALUES["code"]),
        ("{{ none }}{{{ none }}}", ""),
        ("  {{ a }}\n", "  A\n"),
        ("{{ a }}\n", "A\n"),
        ("{{ none }}\n", "\n"),
        ("| {{ a }} |", "| A |"),
        ("{{{a}}}}", "A}"),
        ("{ {a} }", "{ {a} }"),
        ("a }} b", "a }} b"),
        # Comments: gone, and with them the lines that hold nothing else.
        ("12{{! note }}34", "1234"),
        ("12{{!\n  over\n  lines\n}}34", "1234"),
        ("one\n{{! note }}\ntwo\n", "one\ntwo\n"),
        ("one\n \t{{! note }} \ntwo\n", "one\ntwo\n"),
        ("one\r\n{{! note }}\r\ntwo", "one\r\ntwo"),
        ("{{! first }}\none", "one"),
        ("one\n  {{! last }}", "one\n"),
        ("one\n{{!\n  note\n}}\ntwo\n", "one\ntwo\n"),
        ("  12 {{! 34 }}\n", "  12 \n"),
        ("{{! {{ a }}", ""),
        ("a{{! 1 }} {{! 2 }}\nb", "a \nb"),
        # Sections and their opposite.
        ("{{#a}}yes{{/a}}{{^a}}no{{/a}}", "yes"),
        ("{{#none}}yes{{/none}}{{^none}}no{{/none}}", "no"),
        ("{{# a }}{{ b }}{{/ a }}", "B"),
        ("{{#a}}1{{#none}}2{{#b}}3{{/b}}4{{/none}}5{{#b}}6{{/b}}{{/a}}7", "1567"),
        ("{{#none}}1{{^none}}2{{/none}}{{/none}}3", "3"),
        ("{{^none}}1{{#a}}2{{/a}}3{{/none}}", "123"),
        ("{{#a}}1{{/a}}{{#a}}2{{/a}}", "12"),
        ("{{#code}}{{code}}{{/code}}", VALUES["code"]),
        # A tag that is alone on its line is removed with the line; others keep what is around them.
        ("one\n{{#a}}\ntwo\n{{/a}}\nthree\n", "one\ntwo\nthree\n"),
        ("one\n  {{#a}}  \n  two\n\t{{/a}}\nthree", "one\n  two\nthree"),
        ("one\r\n{{#a}}\r\ntwo\r\n{{/a}}\r\nthree", "one\r\ntwo\r\nthree"),
        ("{{#a}}\none\n{{/a}}", "one\n"),
        (" {{#a}}\none\n {{/a}}\n", "one\n"),
        ("one\n{{#none}}\ntwo\n{{/none}}\nthree\n", "one\nthree\n"),
        ("one\n{{^none}}\ntwo\n{{/none}}\nthree\n", "one\ntwo\nthree\n"),
        ("one\n{{#a}}\n{{/a}}\n{{#b}}\n{{/b}}\ntwo\n", "one\ntwo\n"),
        (" {{#a}}one{{/a}}\n {{#b}}two{{/b}}\n", " one\n two\n"),
        ("{{#a}} | {{/a}}\n", " | \n"),
        ("{{#a}} {{#b}}\n1\n{{/b}} {{/a}}\n", " \n1\n \n"),
        ("one\n{{! x }}{{#a}}\ntwo{{/a}}\n", "one\n\ntwo\n"),
        ("one\u00a0\n\u00a0{{#a}}\ntwo{{/a}}", "one\u00a0\n\u00a0\ntwo"),
    ],
)
def test_it_reads_as_mustache_without_escaping(template: str, text: str) -> None:
    assert filled(template) == text


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ a", "opened and never closed"),
        ("{{{ a }}", "opened and never closed"),
        ("{{! a", "opened and never closed"),
        ("{{ a.b }}", "{{ a.b }} is not a valid template tag"),
        ("{{ . }}", "is not a valid template tag"),
        ("{{}}", "is not a valid template tag"),
        ("{{ a b }}", "is not a valid template tag"),
        ("{{& a }}", "is not a valid template tag"),
        ("{{> a }}", "is not a valid template tag"),
        ("{{=<% %>=}}", "is not a valid template tag"),
        ("{{ #a }}{{/a}}", "is not a valid template tag"),
        ("{{#a}}", "the section {{#a}} is never closed"),
        ("{{/a}}", "closes a section that is not open"),
        ("{{#a}}{{#b}}{{/a}}{{/b}}", "{{/a}} closes a section that is not open"),
    ],
)
def test_what_mustache_also_has_and_what_is_malformed_is_refused(template: str, problem: str) -> None:
    said = compile_template(template)
    assert isinstance(said, str)
    assert problem in said


def test_the_names_are_those_that_are_read_each_once() -> None:
    compiled = compile_template("{{ b }}{{# a }}{{ b }}{{/ a }}{{! c }}{{^ d }}{{/ d }}")
    assert isinstance(compiled, Template)
    assert compiled.names == ("b", "a", "d")


def test_tags_say_where_they_stand() -> None:
    template = "x {{ a }} {{! n }} {{{ b }}}"
    assert [template[tag.start :].startswith(tag.written) for tag in find_tags(template)] == [True] * 3


TEXTS = st.text(st.sampled_from('ab{}#^/! \n\r\t.&>=\\"<é'), max_size=12)
NAMES = st.sampled_from(("input", "output", "expected", "context"))
LITERALS = TEXTS.map(lambda text: text.replace("{", "").replace("}", ""))


@given(
    st.lists(st.tuples(LITERALS, NAMES, st.booleans()), max_size=6),
    st.fixed_dictionaries(dict.fromkeys(("input", "output", "expected", "context"), TEXTS)),
)
def test_the_prompt_is_the_texts_one_after_the_other(
    pieces: list[tuple[str, str, bool]], values: dict[str, str]
) -> None:
    template = "".join(
        f"{literal}{{{{{{ {name} }}}}}}" if three else f"{literal}{{{{ {name} }}}}" for literal, name, three in pieces
    )
    compiled = compile_template(template)
    assert isinstance(compiled, Template)
    assert fill_template(compiled, values) == "".join(literal + values[name] for literal, name, _ in pieces)


TREES = st.recursive(
    LITERALS | st.sampled_from(("a", "none")).map(lambda name: (name,)),
    lambda inner: st.tuples(st.sampled_from("#^"), st.sampled_from(("a", "none")), st.lists(inner, max_size=3)),
    max_leaves=12,
)


def written(tree: str | tuple[str] | tuple[str, str, list[object]]) -> str:
    if isinstance(tree, str):
        return tree
    if len(tree) == 1:
        return f"{{{{{tree[0]}}}}}"
    sigil, name, inner = tree
    return f"{{{{{sigil}{name}}}}}.{''.join(map(written, inner))}{{{{/{name}}}}}"


def meant(tree: str | tuple[str] | tuple[str, str, list[object]]) -> str:
    if isinstance(tree, str):
        return tree
    if len(tree) == 1:
        return VALUES[tree[0]]
    sigil, name, inner = tree
    return "." + "".join(map(meant, inner)) if bool(VALUES[name]) is (sigil == "#") else ""


@given(st.lists(TREES, max_size=4))
def test_sections_show_what_they_hold_or_nothing(trees: list[Any]) -> None:
    # A letter at either end of a line: no tag stands alone, so no line is taken along.
    template = "".join(f"x{written(tree)}x" for tree in trees).replace("\n", "x\nx")
    assert filled(template) == "".join(f"x{meant(tree)}x" for tree in trees).replace("\n", "x\nx")


@given(TEXTS)
def test_any_text_is_a_template_or_a_sentence(text: str) -> None:
    compiled = compile_template(text)
    if isinstance(compiled, Template):
        shown = fill_template(compiled, dict.fromkeys(compiled.names, "{{ a }}"))
        assert shown == text or "{{" in text
    else:
        assert compiled


@pytest.mark.heavy
def test_many_tags_on_one_line_and_deep_sections_take_no_time() -> None:
    many = "{{#a}}" * 20_000 + "x" + "{{/a}}" * 20_000
    assert filled(many) == "x"
    assert filled(" {{! c }}" * 50_000) == " " * 50_000
    assert filled("{{#none}}\n" * 20_000 + "{{/none}}\n" * 20_000) == ""


@pytest.mark.heavy
def test_a_prompt_has_a_limit_that_is_met_before_it_is_built() -> None:
    compiled = compile_template("{{ output }}" * 50_000)
    assert isinstance(compiled, Template)
    with pytest.raises(LimitError, match="longer than 8,388,608 characters"):
        fill_template(compiled, {"output": "x" * (PROMPT_LIMIT // 2)})
