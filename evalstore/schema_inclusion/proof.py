"""The questions that the rules of arrays and objects ask of the prover, which in turn applies those rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from evalstore.schema_inclusion.constraints import ValueSet
from evalstore.schema_inclusion.normalization import NormalSchema

Answer = TypeVar("Answer")


class ProofContext(Protocol):
    """A proof in progress; `Prover` is the one implementation."""

    def remember(self, name: str, value_set: ValueSet, compute: Callable[[ValueSet], Answer]) -> Answer:
        """Return what `compute` says of a set of values, which is called for the first time only."""

    def implies_pattern(self, narrow: str, wide: str) -> bool:
        """Whether every text in which one pattern is found is proved to be one in which another is."""

    def entails_schema(self, narrow: ValueSet, wide: NormalSchema) -> bool:
        """Whether every value of `narrow` is proved to meet `wide`."""

    def list_values(self, value_set: ValueSet) -> list[Any] | None:
        """Return a finite list that holds every value of a set; None where it is not known to be finite."""

    def is_empty(self, value_set: ValueSet) -> bool:
        """Whether a set is proved to have no value."""
