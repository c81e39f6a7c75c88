"""Joins a case's evaluators with its suite's, as its dialect does, and finds its threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from evalstore.documents import format_json_pointer
from evalstore.migration.readers.agentevals.case_questions import (
    collect_variables,
    find_criteria,
    find_expected,
)
from evalstore.migration.readers.agentevals.evaluators import read_list
from evalstore.migration.readers.agentevals.grading import (
    PASSES,
    CaseScope,
    CrashError,
    GradingTerms,
    Raw,
    SuiteContext,
    SuitePart,
    join_gradings,
    note_losses,
    parse_bar,
)
from evalstore.migration.readers.agentevals.model_graders import (
    grade_by_criteria,
    read_bare_texts,
    read_points,
)
from evalstore.text import make_excerpt

_ALONE = (
    "versions of the runner leave a test that has an execution of its own without the checks of "
    "its suite"
)
_OTHER = "{} grades it in the runner, as nothing else does; here a judge does"
_LISTS = tuple(
    f"{at}{key}" for at in ("", "execution.") for key in ("assertions", "assert", "evaluators")
)


def build_scope(raw: Raw, suite: SuiteContext) -> CaseScope:
    """Return the scope of the evaluators of a case."""
    variables = collect_variables(raw, suite.root) if suite.dialect.name == "D4" else {}
    return CaseScope(suite, find_expected(raw, suite.root), variables, _find_threshold(raw, suite))


def _find_threshold(raw: Raw, suite: SuiteContext) -> Fraction:
    """Return the score from which a test passes: its own, else that of its suite, else 0.8."""
    default = suite.root.get("default_test")
    # The nearest threshold counts: case, default_test, suite.
    for holder in (raw, default, suite.root) if suite.dialect.limits else ():
        for inner in (holder, holder.get("execution")) if isinstance(holder, dict) else ():
            value = inner.get("threshold") if isinstance(inner, dict) else None
            if value is not None:
                if (bar := parse_bar(value)) is None:
                    raise CrashError(
                        f"the threshold {make_excerpt(str(value))} is not a number from 0 to 1"
                    )
                return bar
    return PASSES


def grade_case(case: SuitePart) -> GradingTerms:
    """Return the grading of a case.

    The dialect joins its own evaluators and those of its suite.
    """
    suite, root = case.scope.suite, SuitePart(case.scope.suite.root, (), case.scope)
    is_d4, appends = suite.dialect.name == "D4", suite.dialect.inherit == "append"
    own, own_notes = _find_list(case)
    shared, suite_notes = _find_list(root)
    if appends and case.enter("execution", "skip_defaults").raw is not True:
        defaults = root.enter("default_test", "assert")
        lists = [*own, *([defaults] if is_d4 and defaults.raw is not None else []), *shared]
    else:
        # Older dialects replace the suite's list instead of appending it.
        lists = own if appends else own or shared
    parts = list(map(read_list, lists))
    if not is_d4 and isinstance(points := case.get("rubrics"), list):
        parts.insert(0, read_points(replace(case, raw={"name": "rubrics", "rubrics": points})))
    criteria = find_criteria(case.raw)
    if is_d4 and criteria and isinstance(suite.legacy.document.value, list):
        # In files of rows, the runner turns the criteria of a case into a check.
        parts.append(read_bare_texts([replace(case.enter("criteria"), raw=criteria)]))
    loses_suite = isinstance(case.get("execution"), dict) and not appends and not own and shared
    key_notes = _check_all_keys(case, root)
    grading = join_gradings(
        [*parts, own_notes, suite_notes, *key_notes, note_losses(_ALONE if loses_suite else "")]
    )
    # Without any evaluator, older dialects grade a case by its criteria.
    if grading.terms or grading.unmapped or is_d4 or criteria is None:
        return grading
    grader = case.raw.get("evaluator", root.get("evaluator"))
    is_program = isinstance(grader, str) and not grader.startswith("llm")
    return (
        grade_by_criteria(case)
        + grading
        + note_losses(_OTHER.format(make_excerpt(grader)) if is_program else "")
    )


def _find_list(holder: SuitePart) -> tuple[list[SuitePart], GradingTerms]:
    """Return the list of evaluators that the runner reads, if there is one.

    Ignored lists have notes.
    """
    dialect = holder.scope.dialect
    places = [holder.enter(*path.split(".")) for path in dialect.evaluators]
    # D4's runner crashes on a key of the dialect before it.
    if dialect.name == "D4" and "assertions" in holder.raw:
        raise CrashError("assertions is a key that its runner rejects; --dialect D3 reads it")
    lists = [place for place in places if place.raw is not None]
    notes = [
        other.ignore(f"{format_json_pointer(lists[0].pointer)} comes first") for other in lists[1:]
    ]
    where = ", then at ".join(dialect.evaluators)
    others = [holder.enter(*path.split(".")) for path in _LISTS if path not in dialect.evaluators]
    unread = [other for other in others if other.raw is not None]
    notes += [other.ignore(f"{dialect.name} looks for checks at {where}") for other in unread]
    return lists[:1], join_gradings(notes)


def _check_all_keys(case: SuitePart, root: SuitePart) -> Iterator[GradingTerms]:
    """Yield notes on the keys of a test, and on the keys that its suite sets for all tests."""
    known = {
        key: value for key, value in root.raw.items() if key in case.scope.form["keys"]["root"]
    }
    yield case.check_keys("case")
    yield case.enter("execution").check_keys("execution")
    yield replace(root, raw=known).check_keys("root")
    yield root.enter("execution").check_keys("execution")
    yield root.enter("default_test").check_keys("default_test")
    if not isinstance(root.get("default_test"), dict | None):
        yield note_losses("what default_test names is not read, and may add checks")
