"""Fail closed: whatever is replaced or added anywhere in a document is found, and garbage ends in an answer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from evalstore.diff import compare
from evalstore.documents import read_yaml, write_canonical
from evalstore.versions import Bump
from tests.rows import thin

CASES = Path(__file__).parents[1] / "cases" / "diff"
ONE_A_RULE = sorted(path for path in CASES.glob("*/old.yaml") if "--" not in path.parent.name)
GARBAGE: list[Any] = [None, True, 0, -1, 10**30, 0.5, "", "zzz", [], {}, [None], {"a": {}}, ["zzz", "zzz"], [{"id": 1}]]
SAMPLES = Path(__file__).parents[2] / "sample_repo" / "history"


def nodes(value: Any, pointer: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield pointer
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from nodes(item, (*pointer, key))


def at(value: Any, pointer: tuple[Any, ...]) -> Any:
    for step in pointer:
        value = value[step]
    return value


def put(value: Any, pointer: tuple[Any, ...], item: Any) -> Any:
    changed = copy.deepcopy(value)
    at(changed, pointer[:-1])[pointer[-1]] = item
    return changed


def documents() -> list[Any]:
    paths = (*ONE_A_RULE, *sorted(SAMPLES.glob("02-*/*/*.yaml")))
    values = [read_yaml(path.read_bytes(), path.name).value for path in paths]
    return list({write_canonical(value): value for value in values}.values())


@pytest.mark.heavy
def test_a_strange_value_anywhere_is_found(samples: Callable[[int], int]) -> None:
    stride = 1 if samples(100) == 100 else 23
    for document in documents():
        for pointer in islice(nodes(document), None, None, stride):
            if pointer and pointer != ("version",):
                changed = put(document, pointer, "a strange value")
                assert compare(document, changed).required_bump > Bump.NONE, (document, pointer)
                assert compare(changed, document).required_bump > Bump.NONE, (document, pointer)


@pytest.mark.heavy
def test_a_strange_key_anywhere_is_found(samples: Callable[[int], int]) -> None:
    stride = 1 if samples(100) == 100 else 3
    for document in documents():
        places = (pointer for pointer in nodes(document) if isinstance(at(document, pointer), dict))
        for pointer in islice(places, None, None, stride):
            changed = put(document, (*pointer, "strange"), 1)
            assert compare(document, changed).required_bump > Bump.NONE, (document, pointer)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", thin(range(4), 2))
def test_garbage_ends_in_an_answer(seed: int) -> None:
    random = Random(seed)  # noqa: S311  # not for secrets
    for document in documents():
        sides = [document, document]
        for _ in range(random.randint(1, 4)):
            side = random.randrange(2)
            pointer = random.choice([pointer for pointer in nodes(sides[side]) if pointer])
            sides[side] = put(sides[side], pointer, random.choice(GARBAGE))
        diff = compare(*sides)
        assert compare(sides[1], sides[1]).findings == ()
        assert diff.required_bump is max((finding.level for finding in diff.findings), default=Bump.NONE)
