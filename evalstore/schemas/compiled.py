"""Compiles a schema under its guard, and applies it; the library's exceptions end here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from evalstore.errors import SchemaError
from evalstore.schemas.guard import TRUSTED, Guard, ValidationRun
from evalstore.schemas.parts import Parts, take_apart
from evalstore.schemas.plain import check_size, plain
from evalstore.schemas.result import Flaw, Pointer, Violation

_Answer = TypeVar("_Answer")
_SHOWN = 200

# The dialects that are read: `$schema` without its empty fragment, and the library's name of it.
_DIALECTS = {
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
}
_DEFAULT = next(iter(_DIALECTS))
_READ = "evalstore reads 2020-12, 2019-09, draft-07, draft-06 and draft-04"
_PATTERN = "write it as Python's re reads it, too"

# Of a value that they do not allow, it is the key before it that is said not to be allowed.
_OF_KEY = frozenset({"additionalProperties", "unevaluatedProperties"})


@dataclass(frozen=True, slots=True)
class Schema:
    """A compiled schema; every instance has all the steps of its guard."""

    _validator: Any
    _begin: Callable[[], ValidationRun]

    def find_violations(self, instance: Any) -> Iterator[Violation]:
        """Yield every violation, innermost first where a branch was chosen, in the order of the instance."""
        errors = _tamed(lambda: [*self._errors(instance)])
        for error in sorted(errors, key=lambda error: [str(step) for step in error.absolute_path]):
            yield _violation(error)

    def find_first_violation(self, instance: Any) -> Violation | None:
        """Return the first violation in the order of the schema; None where the instance meets every demand."""
        error = _tamed(lambda: next(self._errors(instance), None))
        return None if error is None else _violation(error)

    def accepts(self, instance: Any) -> bool:
        """Whether the instance meets every demand."""
        return self.find_first_violation(instance) is None

    def _errors(self, instance: Any) -> Iterator[Any]:
        errors: Iterator[Any] = self._validator.evolve(format_checker=self._begin()).iter_errors(plain(instance))
        return errors


def compile_schema(schema: Any, guard: Guard = TRUSTED) -> Schema:
    """Compile a schema, a mapping or a boolean; one with a flaw is a `SchemaError` that words the first."""
    compiled = _compiled(schema, guard)
    if isinstance(compiled, Schema):
        return compiled
    flaw = compiled[0]
    where = f" at /{'/'.join(map(str, flaw.pointer))}" if flaw.pointer else ""
    raise SchemaError(f"{flaw.message}{where}", hint=flaw.hint)


@cache
def describe_engine() -> str:
    """Return the engine as results record it."""
    from importlib.metadata import version

    return f"jsonschema {version('jsonschema')}"


def find_flaws(schema: Any, guard: Guard) -> list[Flaw]:
    """Return what keeps a schema from being compiled."""
    compiled = _compiled(schema, guard)
    return [] if isinstance(compiled, Schema) else compiled


def _compiled(schema: Any, guard: Guard) -> Schema | list[Flaw]:
    try:
        check_size(schema)
    except SchemaError as error:
        return [Flaw((), error.message, "make it smaller")]
    copy = plain(schema)
    dialect = _DIALECTS.get(_dialect(copy))
    if dialect is None:
        return [Flaw(("$schema",), f"the dialect {copy['$schema']!r} is not known", _READ)]
    try:
        broken = _broken(copy, dialect, guard)
    except SchemaError:
        return [Flaw((), "the schema is too large or too deep to be checked", "make it smaller")]
    parts = take_apart(copy, "id" if dialect == "Draft4Validator" else "$id")
    written = [*_written(parts)]
    patterns = guard.patterns([pattern for _, pattern in written])
    unread = [(pointer, patterns.problems[pattern]) for pointer, pattern in written if pattern in patterns.problems]
    flaws = [*broken, *parts.flaws, *_mixed(parts, dialect), *(Flaw(*problem, _PATTERN) for problem in unread)]
    validator = None if flaws else _validator(dialect, copy, literal=guard.literal)
    return flaws or Schema(validator, lambda: ValidationRun(guard.steps, patterns.start_search(), parts.targets))


def _dialect(schema: Any) -> str:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return named.removesuffix("#") if isinstance(named, str) else _DEFAULT


def _broken(schema: Any, dialect: str, guard: Guard) -> list[Flaw]:
    """Return what the dialect's own schema has against a schema."""
    meta = Schema(_meta(dialect), lambda: ValidationRun(guard.steps, TRUSTED.patterns(()).start_search()))
    told = [Flaw(one.pointer, f"the schema is broken: {one.message}", "mend it") for one in meta.find_violations(schema)]
    return [*dict.fromkeys(told)]  # several parts of a dialect may say the same


@cache
def _meta(dialect: str) -> Any:
    import jsonschema

    return _validator(dialect, getattr(jsonschema, dialect).META_SCHEMA, literal=False)


def _validator(dialect: str, schema: Any, *, literal: bool) -> Any:
    import jsonschema
    from referencing import Registry

    from evalstore.schemas.keywords import validator_class

    return validator_class(getattr(jsonschema, dialect), literal=literal)(schema, registry=Registry())


def _mixed(parts: Parts, dialect: str) -> Iterator[Flaw]:
    for part in parts.found:
        if "$schema" in part.schema and _DIALECTS.get(_dialect(part.schema)) != dialect:
            yield Flaw((*part.pointer, "$schema"), "a part of the schema names another dialect", "keep to one")


def _written(parts: Parts) -> Iterator[tuple[Pointer, str]]:
    """Yield the patterns of a schema, each with its place."""
    for part in parts.found:
        if isinstance(pattern := part.schema.get("pattern"), str):
            yield (*part.pointer, "pattern"), pattern
        if isinstance(named := part.schema.get("patternProperties"), dict):
            yield from (((*part.pointer, "patternProperties", name), name) for name in named if isinstance(name, str))


def _tamed(answer: Callable[[], _Answer]) -> _Answer:
    """Return the answer, or raise `SchemaError` for whatever the library, or a guard, raises."""
    try:
        return answer()
    except SchemaError as stopped:
        reason = stopped.message
    except RecursionError:
        reason = "it nests too deep"
    except Exception as broken:  # noqa: BLE001  # the library raises what it meets: TypeError, UnknownType, …
        reason = f"{type(broken).__name__}: {_short(str(broken))}"
    raise SchemaError(f"the schema cannot be applied: {reason}")


def _violation(error: Any) -> Violation:
    error = _innermost(error)
    path = tuple(error.absolute_path)
    # Of a broken `propertyNames` the library names the mapping, not the key.
    of_name = "propertyNames" in error.absolute_schema_path and isinstance(error.instance, str)
    return Violation(
        pointer=(*path, error.instance) if of_name else path,
        keyword=str(error.validator),
        message=_short(error.message),
        expected=error.validator_value,
        instance=error.instance,
        schema=error.schema,
        of_key=of_name or error.validator in _OF_KEY,
    )


def _innermost(error: Any) -> Any:
    """Return the error of the branch that was probably meant; where two are as near, the choice between them."""
    while error.context:
        nearest = min(error.context, key=_distance)
        near = [one for one in error.context if _distance(one) == _distance(nearest)]
        if len({next(iter(one.relative_schema_path), None) for one in near}) > 1:
            break
        error = nearest
    return error


def _distance(error: Any) -> tuple[int, bool]:
    """Rank deeper errors as nearer, and a value of the right type."""
    return -len(error.relative_path), error.validator == "type"


def _short(message: str) -> str:
    return message if len(message) <= _SHOWN else message[: _SHOWN - 1] + "…"
