"""Lets a package offer names of its modules, or its modules by name, that are imported when they are first wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from sys import modules
from types import ModuleType
from typing import TypeVar

Entry = TypeVar("Entry")


def import_lazily(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package (PEP 562): `names` says what each module offers, `.module` one of its own.

    A command that needs one constant of a package then loads none of the others.
    """
    places = {name: module for module, offered in names.items() for name in offered}

    def find_name(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(places[name], package), name)
        setattr(modules[package], name, value)
        return value

    return find_name


class KindTable(Mapping[str, Entry]):
    """What the modules of a package say of the kinds they are named after; knows the names without importing any."""

    def __init__(
        self, package: str, path: Iterable[str], entry_of: Callable[[ModuleType], Entry]
    ) -> None:
        """Look for the modules in `path`; `entry_of` takes from a module what it says of its kind."""
        from pkgutil import iter_modules

        self._package, self._entry_of = package, entry_of
        self._names = tuple(sorted(module.name for module in iter_modules(path)))
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
