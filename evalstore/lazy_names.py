"""Lets a package offer names of its modules that are imported when somebody first asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules


def import_lazily(package: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package (PEP 562): `names` says in which of its modules each name stands.

    A command that needs one constant of a package then loads none of the others.
    """

    def find_name(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{names[name]}"), name)
        setattr(modules[package], name, value)
        return value

    return find_name
