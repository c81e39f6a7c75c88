"""What grades a case: its own evaluators and those of its suite, as its dialect joins them, and from which score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from evalstore.documents import Pointer, json_pointer
from evalstore.migration.extraction import LegacySource
from evalstore.migration.readers.agentevals.asking import collect_variables, find_criteria, find_expected
from evalstore.migration.readers.agentevals.evaluators import read_list
from evalstore.migration.readers.agentevals.judged import grade_by_criteria, read_points, read_bare_texts
from evalstore.migration.readers.agentevals.keys import check_keys
from evalstore.migration.readers.agentevals.said import (
    PASSES,
    CaseScope,
    CrashError,
    Dialect,
    Grading,
    ignored,
    joined,
    number,
)
from evalstore.migration.table import FormatTable
from evalstore.text import make_excerpt

Raw = Mapping[str, Any]
_ALONE = "versions of the runner leave a test that has an execution of its own without the checks of its suite"
_OTHER = "{} grades it in the runner, as nothing else does; here a judge does"
_LISTS = tuple(f"{at}{key}" for at in ("", "execution.") for key in ("assertions", "assert", "evaluators"))


@dataclass(frozen=True, slots=True)
class SuiteContext:
    """What all cases of a file share."""

    root: Raw
    dialect: Dialect
    legacy: LegacySource
    table: FormatTable


def build_scope(raw: Raw, suite: SuiteContext) -> CaseScope:
    """Return what the evaluators of a case may look at."""
    return CaseScope(
        suite.table,
        suite.dialect,
        suite.legacy.read_companion,
        find_expected(raw, suite.root),
        collect_variables(raw, suite.root) if suite.dialect.name == "D4" else {},
        _passes(raw, suite),
    )


def _passes(raw: Raw, suite: SuiteContext) -> Fraction:
    """Return the score from which a test passes: its own, or that of its suite, where the dialect has one."""
    default = suite.root.get("default_test")
    for holder in (raw, default, suite.root) if suite.dialect.limits else ():
        for inner in (holder, holder.get("execution")) if isinstance(holder, dict) else ():
            given = inner.get("threshold") if isinstance(inner, dict) else None
            if given is not None:
                bar = number(given)
                if bar is None or not 0 <= bar <= 1:
                    raise CrashError(f"the threshold {make_excerpt(str(given))} is no number from 0 to 1")
                return bar
    return PASSES


def grade_case(raw: Raw, pointer: Pointer, suite: SuiteContext, scope: CaseScope) -> Grading:
    """Return what grades a case: its own evaluators and those of its suite, as the dialect joins them."""
    own, hidden = _list(raw, pointer, suite)
    shared, above = _list(suite.root, (), suite)
    execution = raw.get("execution")
    if suite.dialect.appends:
        skips = isinstance(execution, dict) and execution.get("skip_defaults") is True
        lists = [*own, *([] if skips else [*_defaults(suite), *shared])]
    else:
        lists = own or shared
    parts = [read_list(given, place, scope) for place, given in lists]
    if suite.dialect.name != "D4" and isinstance(raw.get("rubrics"), list):
        parts.insert(0, read_points({"name": "rubrics", "rubrics": raw["rubrics"]}, pointer, scope, {}))
    criteria = find_criteria(raw)
    if suite.dialect.name == "D4" and criteria and isinstance(suite.legacy.document.value, list):
        parts.append(read_bare_texts([(criteria, (*pointer, "criteria"))], scope))  # of rows, the runner makes it a check
    alone = isinstance(execution, dict) and not suite.dialect.appends and not own and shared
    said = joined(
        [*parts, hidden, above, *_keys(raw, pointer, suite, scope), Grading(lossy=(_ALONE,) if alone else ())]
    )
    if said.terms or said.unmapped or suite.dialect.name == "D4" or criteria is None:
        return said
    grader = raw.get("evaluator", suite.root.get("evaluator"))
    other = isinstance(grader, str) and not grader.startswith("llm")
    return joined(
        [grade_by_criteria(scope, pointer), said, Grading(lossy=(_OTHER.format(make_excerpt(grader)),) if other else ())]
    )


def _defaults(suite: SuiteContext) -> list[tuple[Pointer, Any]]:
    default = suite.root.get("default_test")
    given = default.get("assert") if isinstance(default, dict) and suite.dialect.name == "D4" else None
    return [] if given is None else [(("default_test", "assert"), given)]


def _list(holder: Raw, pointer: Pointer, suite: SuiteContext) -> tuple[list[tuple[Pointer, Any]], Grading]:
    """Return the list of evaluators that counts, with its place, and notes on those that are never read."""
    found: list[tuple[Pointer, Any]] = []
    for path in suite.dialect.evaluators:
        value: Any = holder
        for step in path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        if value is not None:
            found.append(((*pointer, *path.split(".")), value))
    if suite.dialect.name == "D4" and "assertions" in holder:
        raise CrashError("assertions is a key that its runner rejects; --dialect D3 reads it")
    notes = [ignored(place, f"{json_pointer(found[0][0])} comes first") for place, _ in found[1:]]
    return found[:1], joined([*notes, *_elsewhere(holder, pointer, suite)])


def _elsewhere(holder: Raw, pointer: Pointer, suite: SuiteContext) -> Iterator[Grading]:
    """Yield notes on lists of checks that stand where the dialect does not look for them."""
    for path in _LISTS:
        *steps, key = path.split(".")
        inner = holder.get(steps[0]) if steps else holder
        if path not in suite.dialect.evaluators and isinstance(inner, dict) and inner.get(key) is not None:
            where = ", then at ".join(suite.dialect.evaluators)
            yield ignored((*pointer, *path.split(".")), f"{suite.dialect.name} looks for checks at {where}")


def _keys(raw: Raw, pointer: Pointer, suite: SuiteContext, scope: CaseScope) -> Iterator[Grading]:
    """Yield what is to be said of the keys of a test, and of those that its suite sets for all of its tests."""
    root, default = suite.root, suite.root.get("default_test")
    here = {key: value for key, value in root.items() if key in suite.table.form["keys"]["root"]}
    yield check_keys(raw, pointer, scope, "case")
    yield check_keys(raw.get("execution"), (*pointer, "execution"), scope, "execution")
    yield check_keys(here, (), scope, "root")
    yield check_keys(root.get("execution"), ("execution",), scope, "execution")
    yield check_keys(default, ("default_test",), scope, "default_test")
    if default is not None and not isinstance(default, dict):
        yield Grading(lossy=("what default_test names is not read, and may add checks",))
