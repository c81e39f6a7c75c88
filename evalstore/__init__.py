"""Versioned rubrics, judges and datasets for LLM evaluation, from Python.

Everything that the command line does is here, too.

`Store.open(path)` opens a store; `compare`, `evaluate`, `score`, `audit`, `check_conditions`,
`migrate` and `export` are functions. Each name is imported on first use, so `import evalstore`
costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself would be the slowest import
if TYPE_CHECKING:
    from typing import Any

    from evalstore.api import (
        Artifact,
        Audit,
        Bump,
        Diff,
        Endpoint,
        EvalstoreError,
        Judges,
        MigrationReport,
        Released,
        Resolved,
        RubricResult,
        Run,
        Store,
        audit,
        check_conditions,
        compare,
        evaluate,
        export,
        migrate,
        score,
    )

__all__ = [
    "Artifact",
    "Audit",
    "Bump",
    "Diff",
    "Endpoint",
    "EvalstoreError",
    "Judges",
    "MigrationReport",
    "Released",
    "Resolved",
    "RubricResult",
    "Run",
    "Store",
    "audit",
    "check_conditions",
    "compare",
    "evaluate",
    "export",
    "migrate",
    "score",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from evalstore.about import VERSION

        return VERSION
    if name not in __all__:
        raise AttributeError(f"module 'evalstore' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("evalstore.api"), name)
