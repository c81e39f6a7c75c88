"""Graders that ask a model: prompts of the file become judges, points and statements are asked one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import Pointer, digest, json_pointer
from evalstore.migration.artifact_names import make_slug
from evalstore.migration.extraction import (
    BRACES,
    ArtifactDraft,
    escape_braces,
    find_template_variables,
    make_judge_draft,
)
from evalstore.migration.readers.agentevals.filling import fill_variables, describe_open_places
from evalstore.migration.readers.agentevals.keys import check_keys
from evalstore.migration.readers.agentevals.ranges import bands_of
from evalstore.migration.readers.agentevals.said import (
    CaseScope,
    Check,
    CrashError,
    Grading,
    Term,
    joined,
    leaf,
    name_of,
    number,
    skipped,
    unmapped,
)
from evalstore.model import Kind
from evalstore.text import make_excerpt

Raw = Mapping[str, Any]
_TEXTS = frozenset({".md", ".txt", ".prompt", ".mustache"})
_PROGRAMS = frozenset({".ts", ".js", ".mjs", ".py", ".sh"})
_SHOWN = 60
_FILE = "file://"
_PLACEHOLDER = re.compile(r"(\$?)\{\{\s*([A-Za-z_]\w*(?:\.\w+)*)\s*\}\}", re.ASCII)
# Names that a template fills by itself.
_TAKEN = frozenset({"input", "output", "expected", "context", "brace", *BRACES})
_LISTS = ("criteria", "rubrics", "value")
_OUTCOMES = ("outcome", "expected_outcome", "description")
_OF_A_POINT = ("id", "operator", "score_ranges")  # what a value that is a text has beside it
_OURS = "the judge asks in words of our own"
_ONE_BY_ONE = "each point is asked by itself, where the runner asks for all at once and leaves out what its model skips"
_ONCE = "before 4.16 the runner weighed all texts together as one check"
_BLIND = (
    "a prompt does not show the answer to its judge, and nothing here adds it; it is not known whether the runner did"
)
_POINTS = "its points are asked in words of our own, and not by its prompt"
_VALUE = "it is not known what a prompt makes of the value beside it"
_BARE = "from 4.0 on the runner takes a prompt without file:// for the words themselves; here it is the file's"
_AGENT = "the runner's grader could use tools to look around; here a model only reads"


def read_model_grader(raw: Raw, pointer: Pointer, scope: CaseScope, row: Mapping[str, Any]) -> Grading:
    """Read a grader that has a prompt of its own, a list of points, or only the criteria of its test."""
    agent = Grading(lossy=(_AGENT,) if row.get("agent") else ())
    given, value = raw.get("prompt"), raw.get("value")
    prompted = isinstance(given, str) and given.strip()
    if any(isinstance(raw.get(key), list) for key in _LISTS):
        return joined([read_points(raw, pointer, scope, row), agent, Grading(lossy=(_POINTS,) if prompted else ())])
    if isinstance(given, str) and prompted:
        hidden = Grading(lossy=() if value is None else (_VALUE,))
        return joined([_prompted(given, raw, pointer, scope), agent, hidden])
    if given is not None and not isinstance(given, str):
        return unmapped(raw, pointer, "a program of its own writes the prompt; it is kept as data and never run")
    if scope.dialect.name != "D4":
        return joined([grade_by_criteria(scope, pointer, name_of(raw)), agent])
    point = (
        {"outcome": value, **{key: raw[key] for key in _OF_A_POINT if key in raw}} if isinstance(value, str) else value
    )
    if not isinstance(point, dict):
        return skipped(pointer, "it has no value and no prompt")
    return joined([_points([(point, (*pointer, "value"))], raw, pointer, scope), agent])


def grade_by_criteria(scope: CaseScope, pointer: Pointer, name: str = "criteria") -> Grading:
    """Return the grader of a test that says nothing but its criteria."""
    judge = _ours("agentv_criteria", scope)
    check: Check = {"kind": "llm_judge", "judge_prompt_ref": judge.ref}
    return Grading((Term(name, pointer, check, steps=0),), (_OURS,), judges=(judge,))


def read_points(raw: Raw, pointer: Pointer, scope: CaseScope, _: Mapping[str, Any]) -> Grading:
    """Read a list of points, each a text or a mapping with its weight, as one group."""
    key = next((key for key in _LISTS if isinstance(raw.get(key), list)), None)
    if key is None:
        return skipped(pointer, "it has no list of points")
    return _points([(item, (*pointer, key, index)) for index, item in enumerate(raw[key])], raw, pointer, scope)


def read_bare_texts(given: list[tuple[Any, Pointer]], scope: CaseScope) -> Grading:
    """Return bare texts among the checks of a test: one grader that weighs as much as it has texts."""
    said = joined(read_point(text, place, scope) for text, place in given)
    told = [_OURS] if said.terms else []
    if len(said.terms) > 1:
        told += [_ONE_BY_ONE, *([_ONCE] if scope.dialect.name == "D3" else [])]
    return joined([said, Grading(lossy=tuple(told))])


def read_point(item: Any, pointer: Pointer, scope: CaseScope) -> Grading:
    """Return what one point asks."""
    raw: Raw = {"outcome": item} if isinstance(item, str) else item if isinstance(item, dict) else {}
    given = next((raw[key] for key in _OUTCOMES if isinstance(raw.get(key), str) and raw[key].strip()), "")
    text = fill_variables(given, scope)
    bands = bands_of(raw["score_ranges"], pointer) if raw.get("score_ranges") else ""
    if not text and not bands:
        return skipped(pointer, "it is no point that a model could be asked about")
    which = "score_range" if bands else "contradiction" if raw.get("operator") == "contradiction" else "rubric_item"
    judge = _ours(f"agentv_{which}", scope)
    named = raw["id"] if isinstance(raw.get("id"), str) else ""
    words = {"criterion": text or named or "see below", **({"bands": bands} if bands else {})}
    check: Check = {"kind": "llm_judge", "judge_prompt_ref": judge.ref, "variables": words}
    weight = read_weight(raw, pointer)
    term = Term(named or _word(text), pointer, check, weight=weight, steps=0 if bands else 1)
    open_ = describe_open_places(text, scope)
    return Grading((term,), (f"{open_}; it stays as it is",) if open_ else (), judges=(judge,))


def read_weight(raw: Raw, pointer: Pointer) -> Fraction:
    """Return an evaluator's weight, 1 where it has none; the runner stops at one that is no number from 0 up."""
    if raw.get("weight") is None:
        return Fraction(1)
    weight = number(raw["weight"])
    if weight is None or weight < 0:
        raise CrashError(
            f"{json_pointer(pointer)}: the weight {make_excerpt(str(raw['weight']))} is no number from 0 up"
        )
    return weight


def _points(given: list[tuple[Any, Pointer]], raw: Raw, pointer: Pointer, scope: CaseScope) -> Grading:
    said = joined(read_point(item, place, scope) for item, place in given)
    if not said.terms:
        return joined([said, skipped(pointer, "none of its points can be asked")])
    group = Term(name_of(raw), pointer, members=said.terms, steps=0)
    told = Grading((group,), (_OURS, *((_ONE_BY_ONE,) if len(said.terms) > 1 else ())))
    odd = (check_keys(item, place, scope, "point") for item, place in given)
    return joined([told, replace(said, terms=()), *odd])


def _prompted(given: str, raw: Raw, pointer: Pointer, scope: CaseScope) -> Grading:
    path = given.removeprefix(_FILE) if given.startswith(_FILE) else _bare_path(given, scope)
    if path is None:
        return _judge(given, raw, pointer, scope, name=name_of(raw))
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _PROGRAMS:
        return unmapped(
            raw, pointer, f"the program {make_excerpt(path)} writes the prompt; it is kept as data and never run"
        )
    document = scope.beside(path)
    if document is None or not isinstance(document.value, str):
        return unmapped(
            raw, pointer, f"its prompt {make_excerpt(path)} is not there, or lies outside of what was named"
        )
    said = _judge(document.value, raw, pointer, scope, name=PurePosixPath(path).stem)
    bare = scope.dialect.name == "D3" and not given.startswith(_FILE)
    return joined([said, Grading(lossy=(_BARE,) if bare else ())])


def _bare_path(given: str, scope: CaseScope) -> str | None:
    """Return the path of a file with the prompt; None where the text is the prompt itself, as always in D4."""
    if scope.dialect.name == "D4":
        return None
    alone = "\n" not in given.strip() and " " not in given.strip()
    return given.strip() if alone and PurePosixPath(given.strip()).suffix.lower() in _TEXTS | _PROGRAMS else None


def _judge(text: str, raw: Raw, pointer: Pointer, scope: CaseScope, *, name: str) -> Grading:
    pieces = list(_pieces(text, scope))
    template = "".join(piece for piece, _, _ in pieces) + scope.table.form["reply"]
    variables = {name: value for _, own, _ in pieces for name, value in own.items()} | find_template_variables(template)
    value: dict[str, Any] = {
        "template": template,
        **({"variables": sorted(variables)} if variables else {}),
        "score_type": "continuous",
        "reply_pattern": scope.table.form["reply_pattern"],
    }
    judge = ArtifactDraft(Kind.JUDGE, f"{_id(name)}_{digest(value)[:8]}", value, pointer)
    check: Check = {
        "kind": "llm_judge",
        "judge_prompt_ref": judge.ref,
        **({"variables": variables} if variables else {}),
    }
    blind = [] if "{{ output }}" in template else [_BLIND]
    lost = dict.fromkeys([*blind, *(reason for _, _, reason in pieces if reason)])
    said = leaf(raw, pointer, check, *lost, steps=0)
    return joined([said, Grading(judges=(judge,))])


def _pieces(text: str, scope: CaseScope) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield the parts of a prompt as a template's: its words, the variables that they need, and what is lost."""
    known, done = scope.table.form["placeholders"], 0
    for match in _PLACEHOLDER.finditer(text):
        yield _words(text[done : match.start()], scope)
        done, name = match.end(), match[2]
        if not match[1] and name in known:
            yield f"{{{{ {known[name]} }}}}", {}, ""
        elif not match[1] and "." not in name and isinstance(value := scope.variables.get(name), str):
            own = f"own_{name}" if name in _TAKEN else name
            yield f"{{{{ {own} }}}}", {own: value}, ""
        else:
            yield (
                escape_braces(match[0]),
                {},
                f"nobody can say here what fills {make_excerpt(match[0], _SHOWN)} in a prompt; it stays as it is",
            )
    yield _words(text[done:], scope)


def _words(text: str, scope: CaseScope) -> tuple[str, dict[str, str], str]:
    words = escape_braces(text)
    if words.endswith("{"):  # which a tag behind it would take for its own
        return f"{words[:-1]}{{{{ brace }}}}", {"brace": "{"}, describe_open_places(text, scope)
    return words, {}, describe_open_places(text, scope)


def _ours(id_: str, scope: CaseScope) -> ArtifactDraft:
    return make_judge_draft(next(judge for judge in scope.table.judges if judge["id"] == id_))


def _id(name: str) -> str:
    word = make_slug(name)
    return word if word[:1].isalpha() else f"judge_{word}".rstrip("_")


def _word(text: str) -> str:
    """Return the first words of a text, as a name for its check."""
    return " ".join(text.split()[:5])
