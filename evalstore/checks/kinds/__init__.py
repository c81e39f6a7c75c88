"""The check kinds, one module each, named as the kind; a module is imported when its kind is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, cast

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.lazy_names import KindTable


class KindModule(Protocol):
    """What a module of this folder offers; `params` is the check's mapping as written, one that its schema accepts."""

    def prepare_grading(self, params: Mapping[str, Any], context: CheckContext, /) -> GradeFunction:
        """Return the check as a function of samples, before `negate` and `threshold`; what can be done once is done."""

    def find_problems(self, params: Mapping[str, Any], /) -> Iterator[CheckProblem]:
        """Yield what a schema cannot see."""


KINDS: Mapping[str, KindModule] = KindTable(
    __name__, __path__, lambda module: cast("KindModule", module)
)
