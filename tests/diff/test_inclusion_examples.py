"""The worked examples at the top of the two inclusion libraries are what the code does."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from evalstore.languages import pattern_comparison, schema_comparison
from evalstore.languages.pattern_comparison import automaton
from evalstore.languages.schema_comparison import monotony


@pytest.mark.parametrize(
    "module", [pattern_comparison, automaton, schema_comparison, monotony], ids=lambda one: one.__name__
)
def test_a_worked_example_is_true(module: ModuleType) -> None:
    failed, attempted = doctest.testmod(module)
    assert attempted
    assert not failed
