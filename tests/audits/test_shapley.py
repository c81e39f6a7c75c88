"""Shapley values: the axioms that make them the only fair shares, on games of random numbers."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import accumulate, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.audits.shapley import compute_shapley, list_weighted_coalitions, sample_shares, share_by_class

sizes = st.integers(1, 5)
seeds = st.integers(0, 2**32)


def game(seed: int, players: int) -> list[Fraction]:
    """Return a random game: every set of players is worth a random number, always the same."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    return [Fraction(chance.randint(-20, 20), chance.choice([1, 3, 7])) for _ in range(1 << players)]


@given(sizes, seeds)
def test_a_share_is_the_mean_over_all_orders(players: int, seed: int) -> None:
    values, sums, orders = game(seed, players), [Fraction(0)] * players, list(permutations(range(players)))
    for order in orders:
        held = 0
        for player in order:
            sums[player] += values[held | 1 << player] - values[held]
            held |= 1 << player
    assert compute_shapley(values) == [total / len(orders) for total in sums]


@given(sizes, seeds)
def test_a_player_that_adds_nothing_gets_nothing(players: int, seed: int) -> None:
    values = game(seed, players)
    assert compute_shapley(values + values) == [*compute_shapley(values), 0]


@given(sizes, seeds, seeds)
def test_the_shares_of_a_sum_are_the_sum_of_the_shares(players: int, seed: int, other: int) -> None:
    left, right = game(seed, players), game(other, players)
    both = compute_shapley([one + two for one, two in zip(left, right, strict=True)])
    assert both == [one + two for one, two in zip(compute_shapley(left), compute_shapley(right), strict=True)]


def test_a_game_without_players_has_no_shares() -> None:
    assert compute_shapley([Fraction(1)]) == []


@given(st.integers(0, 4))
def test_the_coalitions_before_a_player_are_all_orders(others: int) -> None:
    found = list_weighted_coalitions([1 << other for other in range(others)])
    assert sum(weight for weight, _ in found) == 1
    assert sorted(mask for _, mask in found) == list(range(1 << others))


@pytest.mark.parametrize("players", [9, 14])
def test_sampled_shares_add_up_and_say_how_far_off_they_are(players: int) -> None:
    def worth(held: int) -> Fraction:
        alone = sum((Fraction(player - 4, 3) for player in range(players) if held >> player & 1), Fraction(0))
        return alone + (held & 3 == 3)

    numbers = list(range(players))
    found = sample_shares(numbers, worth, lambda chance: chance.sample(numbers, players))
    assert sum(one.share for one in found.values()) == worth((1 << players) - 1) - worth(0)
    assert found == sample_shares(numbers, worth, lambda chance: chance.sample(numbers, players))  # seeded
    assert found[5] == (Fraction(1, 3), 0)  # always the same, whatever comes before
    assert abs(float(found[0].share) + 4 / 3 - 0.5) < 5 * found[0].error


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=3), min_size=1, max_size=3), seeds)
def test_interchangeable_players_get_what_each_of_them_would_get(moves: list[list[bool]], seed: int) -> None:
    """A class has a player for each flag, which says whether so many of them are worth more than one fewer."""
    levels = [tuple(accumulate(flags, initial=0)) for flags in moves]
    sizes = [len(flags) for flags in moves]

    def worth(counts: tuple[int, ...]) -> Fraction:
        key = [own[count] for own, count in zip(levels, counts, strict=True)]
        return Fraction(random.Random(f"{seed} {key}").randint(-9, 9), 4)  # noqa: S311  # no secret

    classes = [number for number, size in enumerate(sizes) for _ in range(size)]
    values = [
        worth(
            tuple(
                sum(held >> at & 1 for at, one in enumerate(classes) if one == number) for number in range(len(sizes))
            )
        )
        for held in range(1 << len(classes))
    ]
    alone, together = compute_shapley(values), share_by_class(levels, worth)
    assert alone == [together[number] for number in classes]
