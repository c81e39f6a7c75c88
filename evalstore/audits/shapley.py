"""Computes Shapley values of any value function over states, exact or sampled; pure.

A player may enter in several steps (the versions that changed one part of a rubric, one after the other). A state holds
for each player the number of steps taken. A player takes its steps together and in their order; what each step adds is
its part of the player's share, so the parts sum to the share, and the shares to the whole, exactly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import factorial, sqrt
from typing import NamedTuple

State = tuple[int, ...]
Value = Callable[[State], Fraction]

# Exact shares need 2**players states of every question; with more players, orders are sampled.
EXACT_PLAYERS = 8
ROUNDS = 64
_SEED = 20_261_109


class Estimate(NamedTuple):
    """What one step adds: exact with an error of 0, else the mean over sampled orders and its standard error."""

    share: Fraction
    error: float = 0.0


Estimates = tuple[tuple[Estimate, ...], ...]


def compute_shapley(levels: State, value: Value) -> Estimates:
    """Return each player's share, step by step; exact up to eight players, else a mean over seeded random orders.

    `levels` holds the number of steps of each player. The shares sum to `value(levels) - value(zeros)` either way.
    """
    players = [player for player, steps in enumerate(levels) if steps]
    return (
        _share_exactly(levels, players, value)
        if len(players) <= EXACT_PLAYERS
        else _sample_shares(levels, players, value)
    )


def list_states(levels: State) -> Iterator[State]:
    """Yield every state that exact shares need, some twice; for sampled shares only the steps of each player alone."""
    players = [player for player, steps in enumerate(levels) if steps]
    exact = len(players) <= EXACT_PLAYERS
    yield tuple(0 for _ in levels)
    for player in players:
        others = [other for other in players if other != player] if exact else []
        for entered in list_coalitions(others):
            state = build_state(levels, entered)
            yield from ((*state[:player], step, *state[player + 1 :]) for step in range(levels[player] + 1))


def compute_weight(entered: int, players: int) -> Fraction:
    """Return the share of all orders in which exactly these `entered` players come before one given player."""
    return Fraction(factorial(entered) * factorial(players - 1 - entered), factorial(players))


def list_coalitions(players: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every subset, the empty one first."""
    for size in range(len(players) + 1):
        yield from combinations(players, size)


def build_state(levels: State, entered: Sequence[int]) -> State:
    """Return the state in which exactly these players have taken all their steps."""
    return tuple(steps if player in entered else 0 for player, steps in enumerate(levels))


def _share_exactly(levels: State, players: Sequence[int], value: Value) -> Estimates:
    shares = [[Fraction(0)] * steps for steps in levels]
    for player in players:
        for entered in list_coalitions([other for other in players if other != player]):
            # Shapley 1953: the weight of a coalition is the share of orders in which exactly it comes first.
            share = compute_weight(len(entered), len(players))
            for step, gain in enumerate(_list_gains(build_state(levels, entered), player, levels[player], value)):
                if gain:  # most edits move few questions
                    shares[player][step] += share * gain
    return tuple(tuple(map(Estimate, steps)) for steps in shares)


def _list_gains(state: State, player: int, steps: int, value: Value) -> Iterator[Fraction]:
    """Yield what each step of a player adds to a state in which it has taken none."""
    before = value(state)
    for step in range(1, steps + 1):
        after = value((*state[:player], step, *state[player + 1 :]))
        yield after - before
        before = after


def _sample_shares(levels: State, players: Sequence[int], value: Value) -> Estimates:
    chance = random.Random(_SEED)  # noqa: S311  # repeatable on purpose
    seen: list[list[list[Fraction]]] = [[[] for _ in range(steps)] for steps in levels]
    for _ in range(ROUNDS):
        state: State = tuple(0 for _ in levels)
        # One order: each player takes all its steps on top of those before it, so every order sums to the whole.
        for player in chance.sample(players, len(players)):
            for step, gain in enumerate(_list_gains(state, player, levels[player], value)):
                seen[player][step].append(gain)
            state = (*state[:player], levels[player], *state[player + 1 :])
    return tuple(tuple(map(_average_gains, steps)) for steps in seen)


def _average_gains(gains: Sequence[Fraction]) -> Estimate:
    mean = sum(gains, Fraction(0)) / len(gains)
    spread = sum(float(gain - mean) ** 2 for gain in gains)
    return Estimate(mean, sqrt(spread / (len(gains) - 1) / len(gains)))
