"""Checks the types of what callers from Python give, so that a mistake is one sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import ParamSpec, TypeVar

from evalstore.errors import ArgumentError

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")

PATH = (str, Path)
NOTHING: type = type(None)


def require_types(**expected: tuple[type, ...]) -> Callable[[Callable[_Given, _Answer]], Callable[_Given, _Answer]]:
    """Let a function refuse arguments of other types than `expected` says, by the name of the parameter."""

    def decorate(function: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
        parameters = signature(function)

        @wraps(function)
        def run_checked(*args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
            for name, value in parameters.bind(*args, **kwargs).arguments.items():
                if name in expected and not isinstance(value, expected[name]):
                    raise ArgumentError.from_value(f"{function.__name__}: {name}", value, expected[name])
            return function(*args, **kwargs)

        return run_checked

    return decorate
