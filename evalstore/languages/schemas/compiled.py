"""Compiles a schema under its guard, and applies it; translates what the library raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.errors import SchemaError
from evalstore.languages.limits import SCHEMAS
from evalstore.languages.schemas.guard import (
    TRUSTED,
    Flaw,
    Guard,
    Pointer,
    SchemaPatterns,
    ValidationRun,
    Violation,
    check_size,
    copy_plain,
)
from evalstore.languages.schemas.plain_form import make_plain_form
from evalstore.languages.schemas.subschemas import SchemaParts, find_subschemas

_Answer = TypeVar("_Answer")

# The dialects that are read: `$schema` without its empty fragment, and the library's name for it.
_DIALECTS = {
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
}
_DEFAULT_DIALECT = next(iter(_DIALECTS))
_DIALECTS_HINT = "evalstore reads 2020-12, 2019-09, draft-07, draft-06 and draft-04"
_PATTERN_HINT = "use syntax that Python's re also accepts"

# These do not allow a key; the library points at the value beneath it.
_KEYWORDS_OF_KEYS = frozenset({"additionalProperties", "unevaluatedProperties"})


@dataclass(frozen=True, slots=True)
class Schema:
    """A compiled schema; every instance may take all the steps of its guard.

    Raises `SchemaError` if it takes more.
    """

    _validator: Any
    _start_run: Callable[[], ValidationRun]

    def find_violations(self, instance: Any) -> Iterator[Violation]:
        """Yield every violation in the order of the instance.

        If a branch was chosen, its innermost violation comes first.
        """
        errors = _translate_errors(lambda: [*self._iterate_errors(instance)])
        for error in sorted(errors, key=lambda error: [str(step) for step in error.absolute_path]):
            yield _make_violation(error)

    def find_first_violation(self, instance: Any) -> Violation | None:
        """Return the first violation in the order of the schema; None for a valid instance."""
        error = _translate_errors(lambda: next(self._iterate_errors(instance), None))
        return None if error is None else _make_violation(error)

    def is_valid(self, instance: Any) -> bool:
        """Whether the instance meets every demand."""
        return self.find_first_violation(instance) is None

    def _iterate_errors(self, instance: Any) -> Iterator[Any]:
        validator = self._validator.evolve(format_checker=self._start_run())
        errors: Iterator[Any] = validator.iter_errors(copy_plain(instance))
        return errors


def compile_schema(schema: Any, guard: Guard = TRUSTED) -> Schema:
    """Compile a schema, a mapping or a boolean; raises `SchemaError` with the first flaw."""
    compiled = _compile(schema, guard)
    if isinstance(compiled, Schema):
        return compiled
    flaw = compiled[0]
    where = f" at /{'/'.join(map(str, flaw.pointer))}" if flaw.pointer else ""
    raise SchemaError(f"{flaw.message}{where}", hint=flaw.hint)


def compile_shipped_schema(schema: Any) -> Schema:
    """Compile a schema of the package.

    The tests check it against its dialect, which takes longer than using it.
    """
    schema_copy = copy_plain(schema)
    validator = _make_validator(
        _DIALECTS[find_dialect(schema_copy)], schema_copy, literal=TRUSTED.literal
    )
    return _guard_validator(
        validator, find_subschemas(schema_copy, "$id"), TRUSTED.read_patterns(()), TRUSTED
    )


@cache
def describe_engine() -> str:
    """Return the engine as results record it."""
    from importlib.metadata import version

    return f"jsonschema {version('jsonschema')}"


def find_dialect(schema: Any) -> str:
    """Return the dialect that a schema names, or the latest if it names none."""
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return named.removesuffix("#") if isinstance(named, str) else _DEFAULT_DIALECT


def find_flaws(schema: Any, guard: Guard) -> list[Flaw]:
    """Return what keeps a schema from being compiled."""
    compiled = _compile(schema, guard)
    return [] if isinstance(compiled, Schema) else compiled


def _compile(schema: Any, guard: Guard) -> Schema | list[Flaw]:
    try:
        check_size(schema)
    except SchemaError as error:
        return [Flaw((), error.message, "make it smaller")]
    # Free of aliases: the place of a subschema is found by the `id()` of its mapping.
    schema_copy = copy_plain(schema)
    dialect = _DIALECTS.get(find_dialect(schema_copy))
    if dialect is None:
        return [
            Flaw(
                ("$schema",), f"the dialect {schema_copy['$schema']!r} is not known", _DIALECTS_HINT
            )
        ]
    parts = find_subschemas(schema_copy, "id" if dialect == "Draft4Validator" else "$id")
    # Nothing applies such a schema; its dialect's other objections take long to find, and help
    # nobody.
    if too_deep := [flaw for flaw in parts.flaws if flaw.stops]:
        return too_deep
    try:
        dialect_flaws = _find_dialect_flaws(schema_copy, dialect, guard)
    except SchemaError:
        return [Flaw((), "the schema is too large or too deep to be checked", "make it smaller")]
    # All patterns of a schema are read together, because they share one size limit.
    written = [*_iterate_patterns(parts)]
    patterns = guard.read_patterns([pattern for _, pattern in written])
    flaws = [*dialect_flaws, *parts.flaws, *_find_foreign_dialects(parts, dialect)]
    for pointer, pattern in written:
        if pattern in patterns.problems:
            flaws.append(Flaw(pointer, patterns.problems[pattern], _PATTERN_HINT))
    if flaws:
        return flaws
    plain = make_plain_form(schema_copy, find_dialect(schema_copy))
    if plain is not schema_copy:
        parts = find_subschemas(plain, "$id")
    return _guard_validator(
        _make_validator(dialect, plain, literal=guard.literal), parts, patterns, guard
    )


def _guard_validator(
    validator: Any, parts: SchemaParts, patterns: SchemaPatterns, guard: Guard
) -> Schema:
    return Schema(
        validator,
        lambda: ValidationRun(SharedBudget(guard.steps), patterns.start_search(), parts.targets),
    )


def _find_dialect_flaws(schema: Any, dialect: str, guard: Guard) -> list[Flaw]:
    """Return the violations of the dialect's own schema in a schema."""
    search = TRUSTED.read_patterns(()).start_search()
    meta = Schema(
        _load_meta_validator(dialect), lambda: ValidationRun(SharedBudget(guard.steps), search)
    )
    violations = meta.find_violations(schema)
    # Several parts of a dialect may say the same.
    broken = "the schema is broken: "
    flaws = (Flaw(one.pointer, f"{broken}{one.message}", "fix it") for one in violations)
    return [*dict.fromkeys(flaws)]


@cache
def _load_meta_validator(dialect: str) -> Any:
    import jsonschema

    return _make_validator(dialect, getattr(jsonschema, dialect).META_SCHEMA, literal=False)


def _make_validator(dialect: str, schema: Any, *, literal: bool) -> Any:
    import jsonschema
    from referencing import Registry

    from evalstore.languages.schemas.keywords import make_validator_class

    return make_validator_class(getattr(jsonschema, dialect), literal=literal)(
        schema, registry=Registry()
    )


def _find_foreign_dialects(parts: SchemaParts, dialect: str) -> Iterator[Flaw]:
    for subschema in parts.subschemas:
        if (
            "$schema" in subschema.schema
            and _DIALECTS.get(find_dialect(subschema.schema)) != dialect
        ):
            yield Flaw(
                (*subschema.pointer, "$schema"),
                "a part of the schema names another dialect",
                "keep to one",
            )


def _iterate_patterns(parts: SchemaParts) -> Iterator[tuple[Pointer, str]]:
    """Yield the patterns of a schema, each with its place."""
    for subschema in parts.subschemas:
        if isinstance(pattern := subschema.schema.get("pattern"), str):
            yield (*subschema.pointer, "pattern"), pattern
        if isinstance(named := subschema.schema.get("patternProperties"), dict):
            for name in (key for key in named if isinstance(key, str)):
                yield (*subschema.pointer, "patternProperties", name), name


def _translate_errors(answer: Callable[[], _Answer]) -> _Answer:
    """Return the answer, or raise `SchemaError` for whatever the library, or a guard, raises."""
    try:
        return answer()
    except SchemaError as stopped:
        reason = stopped.message
    except OutOfStepsError:
        reason = "it takes too many steps"
    except RecursionError:
        reason = "it is nested too deeply"
    except Exception as broken:  # noqa: BLE001  # the library raises what it meets: TypeError, …
        reason = f"{type(broken).__name__}: {_shorten(str(broken))}"
    raise SchemaError(f"the schema cannot be applied: {reason}")


def _make_violation(error: Any) -> Violation:
    error = _find_innermost(error)
    path = tuple(error.absolute_path)
    # For a broken `propertyNames` the library names the mapping, not the key.
    of_name = "propertyNames" in error.absolute_schema_path and isinstance(error.instance, str)
    return Violation(
        pointer=(*path, error.instance) if of_name else path,
        keyword=str(error.validator),
        message=_shorten(error.message),
        expected=error.validator_value,
        instance=error.instance,
        schema=error.schema,
        of_key=of_name or error.validator in _KEYWORDS_OF_KEYS,
    )


def _find_innermost(error: Any) -> Any:
    """Return the error of the branch that was probably meant.

    If two are equally near, return the choice between them.
    """
    # Each round goes into one branch of a choice.
    while error.context:
        nearest = min(error.context, key=_rank_nearness)
        near = [
            branch for branch in error.context if _rank_nearness(branch) == _rank_nearness(nearest)
        ]
        if len({next(iter(branch.relative_schema_path), None) for branch in near}) > 1:
            break
        error = nearest
    return error


def _rank_nearness(error: Any) -> tuple[int, bool]:
    """Return a sort key: deeper errors, and those of a value of the right type, are nearer."""
    return -len(error.relative_path), error.validator == "type"


def _shorten(message: str) -> str:
    return message if len(message) <= SCHEMAS.message else message[: SCHEMAS.message - 1] + "…"
