"""markdown_structure: the output's headings, code blocks and paragraphs meet every demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.kinds import CheckKind
from evalstore.checks.markdown import DIALECTS, MarkdownShape
from evalstore.errors import LimitError
from evalstore.model import Grade, Sample
from evalstore.model.outcome import grade_binary, grade_error
from evalstore.text import make_excerpt

# Whether a shape and its text meet what a check demands; returns what is wrong, or nothing.
_Demand = Callable[[Any, MarkdownShape, str], str | None]


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Read the output's shape in the check's dialect, and name the first demand that it fails."""
    read = DIALECTS[params.get("dialect", "commonmark")]
    demands = [(find_unmet, params[name]) for name, find_unmet in DEMANDS.items() if name in params]

    def grade(sample: Sample) -> Grade:
        text = sample.text
        try:
            shape = read(text)
        except LimitError as limit:
            return grade_error(limit.message)
        for find_unmet, wanted in demands:
            if unmet := find_unmet(wanted, shape, text):
                return grade_binary(False, unmet, shape.engine)
        return grade_binary(True, "every demand is met", shape.engine)

    return grade


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield that there is no demand at all, and demands that no output meets."""
    if not any(demand in params for demand in DEMANDS):
        yield CheckProblem(
            (),
            "the check demands nothing, so every output passes",
            f"give one of {', '.join(DEMANDS)}",
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


def _count(name: str, count: Callable[[MarkdownShape], int]) -> _Demand:
    """Return the demand for at least that many of something."""

    def find_unmet(least: int, shape: MarkdownShape, _: str) -> str | None:
        found = count(shape)
        return f"{name} is {least}, found {found}" if found < least else None

    return find_unmet


def _find_deep_heading(most: int, shape: MarkdownShape, _: str) -> str | None:
    deepest = max((level for level, _ in shape.headings), default=0)
    return (
        f"a heading of level {deepest}, but {most} is the deepest allowed"
        if deepest > most
        else None
    )


def _find_h1(is_unwanted: bool, shape: MarkdownShape, _: str) -> str | None:  # noqa: FBT001  # as written
    has_one = is_unwanted and any(level == 1 for level, _ in shape.headings)
    return "a heading of level 1" if has_one else None


def _find_missing_section(sections: Sequence[str], shape: MarkdownShape, _: str) -> str | None:
    titles = [title.lower() for _, title in shape.headings]
    for section in sections:
        if not any(section.lower() in title for title in titles):
            return f"no heading contains {make_excerpt(section)!r}"
    return None


def _find_forbidden(patterns: Sequence[str], _: MarkdownShape, text: str) -> str | None:
    found = next((pattern for pattern in patterns if pattern in text), None)
    return None if found is None else f"forbidden: {make_excerpt(found)!r}"


# In the order in which they are tested.
DEMANDS: Mapping[str, _Demand] = {
    "min_headings": _count("min_headings", lambda shape: len(shape.headings)),
    "min_code_blocks": _count("min_code_blocks", lambda shape: shape.code_blocks),
    "min_paragraphs": _count("min_paragraphs", lambda shape: shape.paragraphs),
    "max_heading_level": _find_deep_heading,
    "no_h1": _find_h1,
    "required_sections": _find_missing_section,
    "forbidden_patterns": _find_forbidden,
}
KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    word="structure",
    is_binary=True,
    item_lists=frozenset({"required_sections", "forbidden_patterns"}),
)
