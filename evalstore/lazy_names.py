"""Lets a package offer names of its modules that are imported on first use.

A package may also offer the modules themselves by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from sys import modules
from typing import TypeVar

Entry = TypeVar("Entry")


def import_lazily(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package (PEP 562).

    `names` lists what each module offers. `.module` is a module of the package itself. A command
    that needs one constant of a package then loads no other module of it.
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
    """What the modules of a package say about the kinds they are named after.

    The names are known without importing any module. Each module has one value `KIND`.
    """

    def __init__(self, package: str, path: Iterable[str], type_: type[Entry]) -> None:
        """Look for the modules in `path`; each module's value has this type."""
        from pkgutil import iter_modules

        self._package, self._type = package, type_
        self._names = tuple(sorted(module.name for module in iter_modules(path)))
        self._entries: dict[str, Entry] = {}

    def __getitem__(self, kind: str) -> Entry:
        if kind not in self._entries:
            if kind not in self._names:
                raise KeyError(kind)
            name = f"{self._package}.{kind}"
            entry = getattr(import_module(name), "KIND", None)
            if not isinstance(entry, self._type):
                raise ImportError(f"{name} has no KIND that is a {self._type.__name__}")
            self._entries[kind] = entry
        return self._entries[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
