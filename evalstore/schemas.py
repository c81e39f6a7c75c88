"""JSON Schema: compile once, never fetch, answer with plain values; sole user of `jsonschema`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalstore.errors import SchemaError

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Violation:
    """One demand of a schema that an instance does not meet; `of_key`: it is the key at `pointer` that does not."""

    pointer: tuple[str | int, ...]
    keyword: str
    message: str
    expected: Any
    instance: Any
    schema: Any
    of_key: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """A compiled schema; `#` references only."""

    _validator: Any

    def violations(self, instance: Any) -> Iterator[Violation]:
        """Yield every violation, innermost first where a branch was chosen, in the order of the instance."""
        from jsonschema.exceptions import relevance

        try:
            errors = sorted(self._validator.iter_errors(instance), key=lambda e: [str(p) for p in e.absolute_path])
        except Exception as broken:  # noqa: BLE001  # the library raises what it meets: TypeError, RecursionError, …
            raise SchemaError(f"the schema cannot be applied: {_worded(broken)}") from None
        for error in errors:
            yield _violation(min([error, *(error.context or ())], key=relevance) if error.context else error)

    def accepts(self, instance: Any) -> bool:
        """Whether the instance meets every demand."""
        return next(self.violations(instance), None) is None


def _violation(error: Any) -> Violation:
    path = tuple(error.absolute_path)
    # Of a broken `propertyNames` the library names the mapping, not the key.
    of_key = "propertyNames" in error.absolute_schema_path and isinstance(error.instance, str)
    return Violation(
        pointer=(*path, error.instance) if of_key else path,
        keyword=str(error.validator),
        message=_short(error.message),
        expected=error.validator_value,
        instance=error.instance,
        schema=error.schema,
        of_key=of_key,
    )


def compile_schema(schema: Mapping[str, Any]) -> Schema:
    """Check a schema against its metaschema and compile it; a broken or remote one is a `SchemaError`."""
    from jsonschema import Draft7Validator, Draft202012Validator, validators
    from jsonschema.exceptions import SchemaError as Broken
    from referencing import Registry

    if remote := next(_remote(schema), None):
        raise SchemaError(
            f"the schema refers to {remote[:_SHOWN]!r}", hint="only references within the schema (#…) are read"
        )
    dialect = validators.validator_for(schema, default=Draft202012Validator)
    dialect = dialect if dialect in {Draft7Validator, Draft202012Validator} else Draft202012Validator
    try:
        dialect.check_schema(schema)
    except Broken as error:
        raise SchemaError(
            f"the schema is broken at /{'/'.join(map(str, error.absolute_path))}: {_short(error.message)}"
        ) from None
    except Exception as error:  # noqa: BLE001  # likewise
        raise SchemaError(f"the schema cannot be read: {_worded(error)}") from None
    # The library compares unhashable items pair by pair: 200,000 of them would take hours.
    linear = validators.extend(dialect, {"uniqueItems": _unique})  # type: ignore[no-untyped-call]  # has no types
    return Schema(linear(schema, registry=Registry()))


def _unique(validator: Any, wanted: bool, instance: Any, _: Any) -> Iterator[Any]:  # noqa: FBT001  # a keyword's signature
    from jsonschema import ValidationError

    if wanted and validator.is_type(instance, "array") and len({_frozen(item) for item in instance}) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _frozen(value: Any) -> Any:
    """Return a hashable value that is equal exactly when JSON Schema says so: 1 is 1.0, and true is not 1."""
    if isinstance(value, Mapping):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return (bool, value) if isinstance(value, bool) else value


def _remote(node: Any) -> Iterator[str]:
    level = [node]
    while level:
        node = level.pop()
        if isinstance(node, Mapping):
            for key, value in node.items():
                if key in {"$ref", "$dynamicRef"} and isinstance(value, str) and not value.startswith("#"):
                    yield value
                level.append(value)
        elif isinstance(node, list):
            level.extend(node)


def _short(message: str) -> str:
    return message if len(message) <= _SHOWN else message[: _SHOWN - 1] + "…"


def _worded(error: Exception) -> str:
    return f"{type(error).__name__}: {_short(str(error))}"
