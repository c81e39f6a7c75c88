"""The worked examples at the top of the two inclusion libraries are what the code does."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from evalstore import regex_inclusion, schema_inclusion
from evalstore.regex_inclusion import automaton
from evalstore.schema_inclusion import monotony


@pytest.mark.parametrize(
    "module", [regex_inclusion, automaton, schema_inclusion, monotony], ids=lambda one: one.__name__
)
def test_a_worked_example_is_true(module: ModuleType) -> None:
    failed, attempted = doctest.testmod(module)
    assert attempted
    assert not failed
