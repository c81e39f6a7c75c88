"""Refuses arguments of public functions that are not what their annotations say."""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, get_origin

from evalstore.errors import ArgumentError, UsageError

# What may be given where an annotation names a type: what Python itself takes in its place.
_WIDER: Mapping[Any, Any] = {int: Integral, float: Real, Path: os.PathLike}
# A text is iterable, too, and never meant as its characters.
_NO_SEVERAL = (str, bytes, Mapping)


def require_arguments(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse an argument that is not of a type that its annotation names, or a path that is none.

    The annotations are those of `function`, or of the fields of a dataclass, as they are written
    under `from __future__ import annotations`; `given` has the arguments by name, as `locals()` at
    the head of the function has them.

    Raises:
        ArgumentError: It is of another type: `audit: store takes OpenedStore, not str`.
        UsageError: It is a text that cannot be a path.
    """
    scope = vars(sys.modules[function.__module__])
    several = _find_several(function)
    for name, annotation in function.__annotations__.items():
        if name == "return":
            continue
        node = _parse(annotation)
        for value in given[name] if name == several else (given[name],):
            what = f"{function.__qualname__}: {name}"
            if not _fits(value, node, scope):
                raise ArgumentError(f"{what} takes {_write(annotation)}, not {_describe(value)}")
            for path in _list_paths(value) if "Path" in annotation else ():
                if not _is_path(path):
                    raise UsageError(f"{what} is not a path: {str(path)!r:.40}")


def list_items(value: Any) -> Any:
    """Return what can perhaps be read only once as a list, so that its items can be looked at.

    Anything else is returned as it is; a path of another library may be iterable, too.
    """
    is_lone = isinstance(value, Collection | os.PathLike) or not isinstance(value, Iterable)
    return value if is_lone else [*value]


def require_choice(what: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a word that is none of those that an argument takes, such as an enum."""
    words = [str(choice) for choice in choices]
    if not isinstance(value, str) or value not in words:
        *others, last = map(repr, words)
        raise UsageError(f"{what} must be {', '.join(others)} or {last}, not {value!r:.40}")


@lru_cache(maxsize=256)
def _parse(annotation: str) -> ast.expr:
    return ast.parse(annotation, mode="eval").body


def _find_several(function: Callable[..., Any]) -> str:
    """Return the parameter that takes any number of arguments; empty where there is none."""
    code = getattr(function, "__code__", None)
    if code is None or not code.co_flags & inspect.CO_VARARGS:
        return ""
    return str(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])


def _fits(value: Any, node: ast.expr, scope: Mapping[str, Any]) -> bool:
    """Whether a value is of a type, and of a collection each item of its type."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _fits(value, left, scope) or _fits(value, right, scope)
        case ast.Constant(value=None):
            return value is None
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            return _is_named(value, name, scope) and _fit_items(value, inner, scope)
        case ast.Name(id=name):
            return _is_named(value, name, scope)
    raise AssertionError(f"an annotation that is not read: {ast.unparse(node)}")


def _fit_items(value: Any, inner: ast.expr, scope: Mapping[str, Any]) -> bool:
    """Whether each item is of its type; one that can be read only once is taken as it is."""
    if isinstance(value, Mapping) and isinstance(inner, ast.Tuple):
        return all(
            _fits(key, inner.elts[0], scope) and _fits(one, inner.elts[1], scope)
            for key, one in value.items()
        )
    if isinstance(value, tuple) and isinstance(inner, ast.Tuple):
        return len(value) == len(inner.elts) and all(
            _fits(one, each, scope) for one, each in zip(value, inner.elts, strict=True)
        )
    if isinstance(value, Collection) and not isinstance(inner, ast.Tuple):
        return all(_fits(one, inner, scope) for one in value)
    return True


def _is_named(value: Any, name: str, scope: Mapping[str, Any]) -> bool:
    type_ = scope.get(name) or getattr(builtins, name, None)
    if type_ is None:
        # A class that the module imports for its annotations alone; no two have one name.
        return any(base.__name__ == name for base in type(value).__mro__)
    if type_ is Any:
        return True
    if type_ is bool:
        return isinstance(value, bool) or _is_numpy_bool(value)
    if type_ in {int, float} and isinstance(value, bool):
        return False
    type_ = get_origin(type_) or type_
    if type_ in {Iterable, Collection} and isinstance(value, _NO_SEVERAL):
        return False
    return isinstance(value, _WIDER.get(type_, type_))


def _is_numpy_bool(value: object) -> bool:
    numpy = sys.modules.get("numpy")  # whoever has such a value has imported it
    return numpy is not None and isinstance(value, numpy.bool_)


def _list_paths(value: Any) -> Iterator[str | os.PathLike[str]]:
    """Yield a path, or those of a collection that can be read again."""
    if isinstance(value, str | os.PathLike):
        yield value
    elif isinstance(value, Collection) and not isinstance(value, _NO_SEVERAL):
        yield from (one for one in value if isinstance(one, str | os.PathLike))


def _is_path(value: str | os.PathLike[str]) -> bool:
    try:
        return isinstance(os.fspath(value), str) and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _write(annotation: str) -> str:
    return annotation.removesuffix(" | None").replace(" | ", " or ")


def _describe(value: object) -> str:
    """Return the type of a value, and of a collection also those of its items."""
    name = type(value).__name__
    if not isinstance(value, Mapping | list | tuple | set) or not value:
        return name
    items = [*value.items()] if isinstance(value, Mapping) else [*value]
    types = dict.fromkeys(
        ": ".join(type(part).__name__ for part in (one if isinstance(value, Mapping) else (one,)))
        for one in items
    )
    return f"{name} of {' and '.join(types)}"
