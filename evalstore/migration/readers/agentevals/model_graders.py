"""Reads graders that ask a model.

Prompts in the file become judges, and points are asked one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import Pointer, compute_digest, format_json_pointer
from evalstore.migration.artifact_names import make_slug, take_first_words
from evalstore.migration.extraction import ArtifactDraft, make_judge_draft
from evalstore.migration.outcome import JudgeFacts
from evalstore.migration.prompts.template_braces import (
    BRACES,
    escape_braces,
    escape_literal,
    find_template_variables,
)
from evalstore.migration.readers.agentevals.grading import (
    FILE_PREFIX,
    CaseScope,
    Check,
    CrashError,
    GradingTerms,
    SuitePart,
    Term,
    describe_open_places,
    fill_variables,
    join_gradings,
    note_losses,
    parse_number,
)
from evalstore.model import Kind
from evalstore.text import SHORT_EXCERPT, make_excerpt

_TEXTS = frozenset({".md", ".txt", ".prompt", ".mustache"})
_PROGRAMS = frozenset({".ts", ".js", ".mjs", ".py", ".sh"})
_PLACEHOLDER = re.compile(r"(\$?)\{\{\s*([A-Za-z_]\w*(?:\.\w+)*)\s*\}\}", re.ASCII)
# Variables that every judge template has.
_TEMPLATE_NAMES = frozenset({"input", "output", "expected", "context", *BRACES})
_LISTS = ("criteria", "rubrics", "value")
_TOP = 10  # of a score range
_BAND_TEXTS = ("outcome", "expected_outcome")
_GATES = ("required", "min_score", "required_min_score")
_OUTCOMES = ("outcome", "expected_outcome", "description")
_OF_A_POINT = ("id", "operator", "score_ranges")  # keys next to a value that is a text
_FACTS = JudgeFacts("it ends in a sentence of ours on the form of the reply")
_ONE_BY_ONE = (
    "each point is asked by itself, where the runner asks for all at once and leaves out what its "
    "model skips"
)
_ONCE = "before 4.16 the runner weighed all texts together as one check"
_IGNORED = (
    "the runner ignores {}: {} on a point and takes the weighted mean, whether the point is met or "
    "not"
)
_BLIND = (
    "a prompt does not show the answer to its judge, so it is added below; it is not known whether "
    "the runner did"
)
_POINTS = "its points are asked in words of our own, and not by its prompt"
_VALUE = "it is not known what a prompt makes of the value beside it"
_BARE = (
    "from 4.0 on the runner takes a prompt without file:// for the words themselves; here it is "
    "the file's"
)
_OPEN = "nobody can say here what fills {} in a prompt; it stays as it is"
_AGENT = "the runner's grader could use tools to look around; here a model only reads"


def read_model_grader(part: SuitePart) -> GradingTerms:
    """Read a grader with a prompt, with a list of points, or with only the criteria of its test."""
    agent = note_losses(_AGENT if part.row.get("agent") else "")
    prompt, value = part.get("prompt"), part.get("value")
    has_prompt = isinstance(prompt, str) and prompt.strip()
    if any(isinstance(part.get(key), list) for key in _LISTS):
        return read_points(part) + agent + note_losses(_POINTS if has_prompt else "")
    if isinstance(prompt, str) and has_prompt:
        return _read_prompt(prompt, part) + agent + note_losses("" if value is None else _VALUE)
    if prompt is not None and not isinstance(prompt, str):
        return part.set_aside(
            "a program of its own writes the prompt; it is kept as data and never run"
        )
    if part.scope.dialect.name != "D4":
        return grade_by_criteria(part, part.name) + agent
    # Without a prompt or a list, the value of a D4 grader is its single point.
    if isinstance(value, str):
        value = {"outcome": value, **{key: part.raw[key] for key in _OF_A_POINT if key in part.raw}}
    if not isinstance(value, dict):
        return part.skip("it has no value and no prompt")
    return _grade_points([replace(part.enter("value"), raw=value)], part) + agent


def grade_by_criteria(part: SuitePart, name: str = "criteria") -> GradingTerms:
    """Return the grading of a test that has only criteria."""
    judge = _find_own_judge("agentv_criteria", part.scope)
    check: Check = {"kind": "llm_judge", "judge_prompt_ref": judge.ref}
    return GradingTerms((Term(name, part.pointer, check, steps=0),), judges=(judge,))


def read_points(part: SuitePart) -> GradingTerms:
    """Read a list of points, each a text or a mapping with its weight, as one group."""
    key = next((key for key in _LISTS if isinstance(part.get(key), list)), None)
    if key is None:
        return part.skip("it has no list of points")
    return _grade_points([part.enter(key, index) for index in range(len(part.raw[key]))], part)


def read_bare_texts(texts: Sequence[SuitePart]) -> GradingTerms:
    """Read bare texts among the checks of a test: one point each, with weight 1."""
    grading = join_gradings(map(read_point, texts))
    if len(grading.terms) <= 1:
        return grading
    return grading + note_losses(_ONE_BY_ONE, _ONCE if texts[0].scope.dialect.name == "D3" else "")


def read_point(part: SuitePart) -> GradingTerms:
    """Read one rubric point: a text, or a mapping with weight, operator or score ranges."""
    point = replace(part, raw={"outcome": part.raw}) if isinstance(part.raw, str) else part
    outcomes = map(point.get, _OUTCOMES)
    text = fill_variables(
        next((one for one in outcomes if isinstance(one, str) and one.strip()), ""), part.scope
    )
    ranges = point.get("score_ranges")
    bands = render_bands(ranges, part.pointer) if ranges else ""
    if not text and not bands:
        return part.skip("it is not a point that a model could be asked about")
    other = "contradiction" if point.get("operator") == "contradiction" else "rubric_item"
    judge = _find_own_judge(f"agentv_{'score_range' if bands else other}", part.scope)
    id_ = point.get("id") if isinstance(point.get("id"), str) else ""
    variables = {"criterion": text or id_ or "see below", **({"bands": bands} if bands else {})}
    check: Check = {"kind": "llm_judge", "judge_prompt_ref": judge.ref, "variables": variables}
    name = id_ or take_first_words(text)
    term = Term(name, part.pointer, check, weight=point.weight, steps=0 if bands else 1)
    open_ = describe_open_places(text, part.scope)
    losses = note_losses(
        f"{open_}; it stays as it is" if open_ else "", *_list_ignored_gates(point)
    )
    return GradingTerms((term,), judges=(judge,)) + losses


def _list_ignored_gates(point: SuitePart) -> Iterator[str]:
    """Yield a sentence on each key that makes a point a gate and is ignored.

    It is a gate in the specification, but not for the runner.
    """
    for key in _GATES:
        if point.get(key) is True or parse_number(point.get(key)):
            yield _IGNORED.format(key, "true" if point.get(key) is True else point.get(key))


def _grade_points(points: Sequence[SuitePart], part: SuitePart) -> GradingTerms:
    members = join_gradings(map(read_point, points))
    if not members.terms:
        return members + part.skip("none of its points can be asked")
    group = Term(part.name, part.pointer, members=members.terms, steps=0)
    grading = GradingTerms((group,), (_ONE_BY_ONE,) if len(members.terms) > 1 else ())
    return join_gradings(
        [grading, replace(members, terms=()), *(point.check_keys("point") for point in points)]
    )


def _read_prompt(prompt: str, part: SuitePart) -> GradingTerms:
    scope, is_file = part.scope, prompt.startswith(FILE_PREFIX)
    path = prompt.removeprefix(FILE_PREFIX) if is_file else _find_prompt_path(prompt, scope)
    if path is None:
        return _draft_judge(prompt, part, part.name)
    if PurePosixPath(path).suffix.lower() in _PROGRAMS:
        return part.set_aside(
            f"the program {make_excerpt(path)} writes the prompt; it is kept as data and never run"
        )
    document = scope.suite.legacy.read_companion(path)
    if document is None or not isinstance(document.value, str):
        return part.set_aside(
            f"its prompt {make_excerpt(path)} is not there, or is outside of what was named"
        )
    # Releases of D3 differ: older ones read the file, later ones take the path for the prompt.
    is_bare = scope.dialect.name == "D3" and not is_file
    return _draft_judge(document.value, part, PurePosixPath(path).stem) + note_losses(
        _BARE if is_bare else ""
    )


def _find_prompt_path(prompt: str, scope: CaseScope) -> str | None:
    """Return the path of a prompt file.

    Returns None if the text is the prompt itself, as always in D4.
    """
    if scope.dialect.name == "D4":
        return None
    path = prompt.strip()
    is_single_word = "\n" not in path and " " not in path
    return (
        path
        if is_single_word and PurePosixPath(path).suffix.lower() in _TEXTS | _PROGRAMS
        else None
    )


def _draft_judge(text: str, part: SuitePart, name: str) -> GradingTerms:
    form = part.scope.form
    pieces = list(_split_prompt(text, part.scope))
    asked = "".join(piece for piece, _, _ in pieces)
    is_blind = "{{ output }}" not in asked
    template = asked + (form["answer"] if is_blind else "") + form["reply"]
    variables = {variable: value for _, values, _ in pieces for variable, value in values.items()}
    variables |= find_template_variables(template)
    value: dict[str, Any] = {
        "template": template,
        **({"variables": sorted(variables)} if variables else {}),
        "score_type": "continuous",
        "reply_pattern": form["reply_pattern"],
    }
    id_, word = f"judge_{compute_digest(value)[:32]}", make_slug(name) or "judge"
    judge = ArtifactDraft(Kind.JUDGE, id_, value, part.pointer, facts=_FACTS, name=word)
    filled = {"variables": variables} if variables else {}
    grading = part.grade({"kind": "llm_judge", "judge_prompt_ref": judge.ref, **filled}, steps=0)
    losses = note_losses(_BLIND if is_blind else "", *(reason for _, _, reason in pieces))
    return grading + losses + GradingTerms(judges=(judge,))


def _split_prompt(text: str, scope: CaseScope) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield a prompt's parts: template text, its variables, and a loss.

    The loss may be empty.
    """
    placeholders, position = scope.form["placeholders"], 0
    for match in _PLACEHOLDER.finditer(text):
        yield _escape_words(text[position : match.start()], scope)
        position, name = match.end(), match[2]
        # `${{` is an environment variable of the runner, not a placeholder.
        if not match[1] and name in placeholders:
            yield f"{{{{ {placeholders[name]} }}}}", {}, ""
        elif (
            not match[1] and "." not in name and isinstance(value := scope.variables.get(name), str)
        ):
            # A variable of a test must not hide one that every template has.
            variable = f"own_{name}" if name in _TEMPLATE_NAMES else name
            yield f"{{{{ {variable} }}}}", {variable: value}, ""
        else:
            yield escape_braces(match[0]), {}, _OPEN.format(make_excerpt(match[0], SHORT_EXCERPT))
    yield _escape_words(text[position:], scope)


def _escape_words(text: str, scope: CaseScope) -> tuple[str, dict[str, str], str]:
    return escape_literal(text), {}, describe_open_places(text, scope)


def _find_own_judge(id_: str, scope: CaseScope) -> ArtifactDraft:
    return make_judge_draft(next(judge for judge in scope.suite.table.judges if judge["id"] == id_))


def render_bands(raw: Any, pointer: Pointer) -> str:
    """Return score ranges as lines of a prompt.

    Raises `CrashError` unless they cover 0 to 10 exactly once.
    """
    bands = sorted(_read_bands(raw, pointer))
    ends = [(low, high) for low, high, _ in bands]
    covers_all = bool(ends) and ends[0][0] == 0 and ends[-1][1] == _TOP
    if (
        not covers_all
        or any(high + 1 != low for (_, high), (low, _) in pairwise(ends))
        or any(a > b for a, b in ends)
    ):
        raise _make_crash(pointer, "do not cover 0 to 10 once each")
    return "\n".join(
        f"{low if low == high else f'{low} to {high}'}: {text}" for low, high, text in bands
    )


def _read_bands(raw: Any, pointer: Pointer) -> Iterator[tuple[int, int, str]]:
    if isinstance(raw, Mapping):
        lows = sorted((_read_whole_number(key, pointer), str(text)) for key, text in raw.items())
        # The short form names the lower end of each band; the next band ends it.
        for (low, text), high in zip(lows, [*(low - 1 for low, _ in lows[1:]), _TOP], strict=True):
            yield low, high, text
        return
    bands: list[Any] = raw if isinstance(raw, list) else [None]
    for band in bands:
        ends = band.get("score_range") if isinstance(band, dict) else None
        if not isinstance(ends, list) or len(ends) != 2:  # noqa: PLR2004  # from and to
            raise _make_crash(pointer, "are not a list of {score_range: [from, to], outcome}")
        text = next((band[key] for key in _BAND_TEXTS if isinstance(band.get(key), str)), "")
        yield _read_whole_number(ends[0], pointer), _read_whole_number(ends[1], pointer), text


def _read_whole_number(raw: Any, pointer: Pointer) -> int:
    text = str(raw)
    if (
        isinstance(raw, bool)
        or not text.isdecimal()
        or int(text[:3]) > _TOP
        or len(text) > len(str(_TOP))
    ):
        raise _make_crash(pointer, f"name {text[:20]}, which is not a whole number from 0 to 10")
    return int(text)


def _make_crash(pointer: Pointer, problem: str) -> CrashError:
    return CrashError(f"{format_json_pointer(pointer)}: the score ranges {problem}")
