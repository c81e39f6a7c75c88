"""Shapley values: the axioms that make them the only fair shares, on games of random numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.audits.shapley import EXACT_PLAYERS, State, compute_shapley, list_states

Value = Callable[[State], Fraction]
small = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple)
seeds = st.integers(0, 2**32)


def game(seed: int) -> Value:
    """Return a random game: every state is worth a random number, always the same."""
    return lambda state: Fraction(random.Random(f"{seed}{state}").randint(-20, 20), 7)  # noqa: S311  # no secret


def total(estimates: tuple[tuple[tuple[Fraction, float], ...], ...]) -> Fraction:
    return sum((step[0] for steps in estimates for step in steps), Fraction(0))


def zeros(levels: State) -> State:
    return tuple(0 for _ in levels)


@given(small, seeds)
def test_shares_add_up_to_the_whole(levels: State, seed: int) -> None:
    value = game(seed)
    found = compute_shapley(levels, value)
    assert total(found) == value(levels) - value(zeros(levels))
    assert tuple(map(len, found)) == levels


@given(small, seeds)
def test_a_player_that_adds_nothing_gets_nothing(levels: State, seed: int) -> None:
    value = game(seed)
    found = compute_shapley((*levels, 2), lambda state: value(state[:-1]))
    assert [step.share for step in found[-1]] == [0, 0]
    assert found[:-1] == compute_shapley(levels, value)


@given(small, seeds)
def test_players_that_do_the_same_get_the_same(levels: State, seed: int) -> None:
    value = game(seed)
    found = compute_shapley((1, 1, *levels), lambda state: value((state[0] + state[1], *state[2:])))
    assert found[0] == found[1]


@given(small, seeds, seeds)
def test_the_shares_of_a_sum_are_the_sum_of_the_shares(levels: State, one: int, other: int) -> None:
    left, right = game(one), game(other)
    both = compute_shapley(levels, lambda state: left(state) + right(state))
    for steps, mine, theirs in zip(both, compute_shapley(levels, left), compute_shapley(levels, right), strict=True):
        assert [s.share for s in steps] == [m.share + t.share for m, t in zip(mine, theirs, strict=True)]


@given(st.integers(1, 4), seeds)
def test_a_share_is_the_mean_over_all_orders(players: int, seed: int) -> None:
    value, sums, orders = game(seed), [Fraction(0)] * players, list(permutations(range(players)))
    for order in orders:
        state = [0] * players
        for player in order:
            before = value(tuple(state))
            state[player] = 1
            sums[player] += value(tuple(state)) - before
    assert [steps[0].share for steps in compute_shapley((1,) * players, value)] == [s / len(orders) for s in sums]


@given(small, seeds)
def test_exact_shares_ask_for_no_state_that_was_not_foretold(levels: State, seed: int) -> None:
    asked, value = set(), game(seed)

    def seen(state: State) -> Fraction:
        asked.add(state)
        return value(state)

    compute_shapley(levels, seen)
    assert asked <= set(list_states(levels))


@pytest.mark.parametrize("players", [EXACT_PLAYERS + 1, EXACT_PLAYERS + 4])
def test_many_players_are_sampled_and_still_add_up(players: int) -> None:
    levels = tuple(1 + (player % 2) for player in range(players))
    worth = {player: Fraction(player - 4, 3) for player in range(players)}

    def value(state: State) -> Fraction:
        return sum((worth[p] * step for p, step in enumerate(state)), Fraction(0)) + (state[0] * state[1])

    found = compute_shapley(levels, value)
    assert total(found) == value(levels) - value(zeros(levels))
    assert found == compute_shapley(levels, value)  # seeded
    assert [step.share for step in found[5]] == [worth[5]] * levels[5]
    assert found[5][0].error == 0  # always the same, whatever comes before
    interacting = sum((step.share for step in found[0]), Fraction(0))
    assert abs(float(interacting - worth[0] * levels[0] - levels[1] / Fraction(2))) < 5 * found[0][0].error
