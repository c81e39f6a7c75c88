"""markdown_structure: the output's headings, code blocks and paragraphs meet every demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.kinds import CheckKind
from evalstore.checks.markdown import DIALECTS, MarkdownShape
from evalstore.errors import LimitError
from evalstore.model import Grade, Sample
from evalstore.model.outcome import grade_binary, grade_error
from evalstore.text import make_excerpt

_DEMANDS = (
    "min_headings",
    "max_heading_level",
    "no_h1",
    "required_sections",
    "forbidden_patterns",
    "min_code_blocks",
    "min_paragraphs",
)


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Read the output's shape in the check's dialect, and name the first demand that it fails."""
    read = DIALECTS[params.get("dialect", "commonmark")]

    def grade(sample: Sample) -> Grade:
        try:
            shape = read(sample.text)
        except LimitError as limit:
            return grade_error(limit.message)
        unmet = next(_find_unmet(params, shape, sample.text), None)
        return grade_binary(unmet is None, unmet or "every demand is met", shape.engine)

    return grade


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield demands that are missing altogether, and demands that no output meets."""
    if not any(demand in params for demand in _DEMANDS):
        yield CheckProblem(
            (),
            "the check demands nothing, so every output passes",
            f"give one of {', '.join(_DEMANDS)}",
        )
    for index, pattern in enumerate(params.get("forbidden_patterns", ())):
        if pattern == "":
            pointer = ("forbidden_patterns", index)
            yield CheckProblem(
                pointer,
                "every output contains the empty string, so nothing passes",
                "remove the empty pattern",
            )
    if params.get("max_heading_level") == 0 and (
        params.get("min_headings", 0) > 0 or params.get("required_sections")
    ):
        message = (
            "max_heading_level 0 allows no heading, and another demand asks for one, so nothing "
            "passes"
        )
        yield CheckProblem(("max_heading_level",), message, "raise it to 1 or more")


def _find_unmet(params: Mapping[str, Any], shape: MarkdownShape, text: str) -> Iterator[str]:
    for demand, count in (
        ("min_headings", len(shape.headings)),
        ("min_code_blocks", shape.code_blocks),
        ("min_paragraphs", shape.paragraphs),
    ):
        if count < params.get(demand, 0):
            yield f"{demand} is {params[demand]}, found {count}"
    if (most := params.get("max_heading_level")) is not None:
        deepest = max((level for level, _ in shape.headings), default=0)
        if deepest > most:
            yield f"a heading of level {deepest}, but {most} is the deepest allowed"
    if params.get("no_h1", False) and any(level == 1 for level, _ in shape.headings):
        yield "a heading of level 1"
    titles = [title.lower() for _, title in shape.headings]
    for section in params.get("required_sections", ()):
        if not any(section.lower() in title for title in titles):
            yield f"no heading contains {make_excerpt(section)!r}"
    for pattern in params.get("forbidden_patterns", ()):
        if pattern in text:
            yield f"forbidden: {make_excerpt(pattern)!r}"


KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    word="structure",
    is_binary=True,
    item_lists=frozenset({"required_sections", "forbidden_patterns"}),
)
