"""Assembles a rubric's prompt like OpenRubricRL, from the texts in its own code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstore.migration.prompts.prompt_frame import PromptFrame
from evalstore.migration.prompts.template_braces import escape_braces, escape_literal

_TASK = ("{{ input }}", "{{ output }}")
_BETWEEN = "\n\n"


def render_program_prompt(
    root: Mapping[str, Any], frame: PromptFrame, form: Mapping[str, Any]
) -> str:
    """Return the template that asks as the program asks.

    What the rubric says is plain text in it.
    """
    ends = _read_ends(root)
    criteria = [frame.render("criteria"), *_render_criteria(root, frame, form)]
    before = [
        frame.render("header", root["name"]),
        "\n".join(_render_description(root, frame)),
        *criteria,
        frame.render("instructions", *ends),
    ]
    fields = "\n".join(_list_fields(root["criteria"], frame))
    after = frame.render("reply", fields, *ends)
    return _BETWEEN.join(
        [escape_braces(_BETWEEN.join(before)), _render_task(frame), escape_braces(after)]
    )


def _render_task(frame: PromptFrame) -> str:
    words = map(escape_literal, frame.texts["task"])
    return PromptFrame({"task": tuple(words)}, frame.file).render("task", *_TASK)


def _render_description(root: Mapping[str, Any], frame: PromptFrame) -> Iterator[str]:
    yield frame.render("title", root["name"])
    for key in ("description", "domain"):
        if root.get(key):
            yield frame.render(key, root[key])
    yield frame.render("range", *_read_ends(root))


def _render_criteria(
    root: Mapping[str, Any], frame: PromptFrame, form: Mapping[str, Any]
) -> Iterator[str]:
    for number, criterion in enumerate(root["criteria"], start=1):
        weight = f"{float(criterion['weight']):.1%}"
        lines = [
            frame.render("criterion", str(number), criterion["name"].title(), weight),
            frame.render("criterion_words", criterion["description"]),
        ]
        if parts := criterion.get("subcriteria"):
            lines.append(frame.render("parts"))
            lines += [frame.render("part", one["name"], one["description"]) for one in parts]
        if levels := criterion.get("examples"):
            lines.append(frame.render("examples"))
            for level in form["levels"]:
                shown = (levels.get(level) or ())[: form["shown"]]
                lines += _render_examples(level, shown, frame, _read_ends(root)[1])
        yield "\n".join(lines)


def _render_examples(
    level: str, examples: Sequence[Mapping[str, Any]], frame: PromptFrame, most: str
) -> list[str]:
    if not examples:
        return []
    lines = [frame.render("level", level.title(), f"{float(examples[0]['score']):.1f}", most)]
    for example in examples:
        lines += [
            frame.render("example_input", example["input"]),
            frame.render("example_output", example["output"]),
            frame.render("example_score", _write_float(example["score"])),
            frame.render("example_explanation", example["explanation"]),
        ]
    return lines


def _list_fields(criteria: Sequence[Mapping[str, Any]], frame: PromptFrame) -> Iterator[str]:
    for criterion in criteria:
        yield frame.render("score_line", criterion["name"])
        yield frame.render("explanation_line", criterion["name"])


def _read_ends(root: Mapping[str, Any]) -> tuple[str, str]:
    return _write_float(root["scale"]["min"]), _write_float(root["scale"]["max"])


def _write_float(value: Any) -> str:
    """Write a number like the program, to which every number is a float."""
    return str(float(value))
