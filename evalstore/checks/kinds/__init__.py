"""The check kinds, one module each, named as the kind; a module is imported when its kind is first asked for."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, TypeVar, cast

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction

Entry = TypeVar("Entry")


class KindModule(Protocol):
    """What a module of this folder offers; `params` is the check's mapping as written, one that its schema accepts."""

    def prepare_grading(self, params: Mapping[str, Any], context: CheckContext, /) -> GradeFunction:
        """Return the check as a function of samples, before `negate` and `threshold`; what can be done once is done."""

    def find_problems(self, params: Mapping[str, Any], /) -> Iterator[CheckProblem]:
        """Yield what a schema cannot see."""


class KindTable(Mapping[str, Entry]):
    """What the modules of a package say of the kinds they are named after; knows the names without importing any."""

    def __init__(self, package: str, path: Iterable[str], entry_of: Callable[[ModuleType], Entry]) -> None:
        """Look for the modules in `path`; `entry_of` takes from a module what it says of its kind."""
        self._package, self._entry_of = package, entry_of
        self._names = tuple(sorted(module.name for module in pkgutil.iter_modules(path)))
        self._entries: dict[str, Entry] = {}

    def __getitem__(self, kind: str) -> Entry:
        if kind not in self._entries:
            if kind not in self._names:
                raise KeyError(kind)
            self._entries[kind] = self._entry_of(import_module(f"{self._package}.{kind}"))
        return self._entries[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


KINDS: Mapping[str, KindModule] = KindTable(__name__, __path__, lambda module: cast("KindModule", module))
