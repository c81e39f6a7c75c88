"""The check kinds, one module each, named as the kind; a module is imported when its kind is first asked for."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from evalstore.checks.reach import Grade, Reach
from evalstore.documents import Pointer


class KindModule(Protocol):
    """What a module of this folder offers; `params` is the check's mapping as written, one that its schema accepts."""

    def prepare(self, params: Mapping[str, Any], reach: Reach, /) -> Grade:
        """Return the check as a function of samples, before `negate` and `threshold`; what can be done once is done."""

    def problems(self, params: Mapping[str, Any], /) -> Iterator[tuple[Pointer, str, str]]:
        """Yield (pointer within the check, message, hint) for what a schema cannot see."""


class _Kinds(Mapping[str, KindModule]):
    """Kind name to module; knows the names without importing any module."""

    def __init__(self) -> None:
        self._names = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))

    def __getitem__(self, kind: str) -> KindModule:
        if kind not in self._names:
            raise KeyError(kind)
        return cast("KindModule", import_module(f"{__name__}.{kind}"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


KINDS: Mapping[str, KindModule] = _Kinds()
