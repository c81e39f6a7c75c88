"""An edit script leads from one rubric to another in single edits, and each is judged alone."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evalstore.budget import SharedBudget
from evalstore.diff.change import Change
from evalstore.diff.limits import COMPARED
from evalstore.diff.plain_data import is_same
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.documents import Pointer
from evalstore.model import is_cosmetic

# Paths from a check to a part of it, old and new; None if a side lacks the part.
Paths = tuple[Pointer, Pointer]
Ends = tuple[Pointer | None, Pointer | None]


@dataclass(slots=True)
class EditScript:
    """The rubric as edited so far (`current`), from `start` to `goal`; paired checks share a token.

    All comparisons of patterns share one budget of steps, and all comparisons of schemas another.
    `load` reads what a check refers to.
    """

    start: RubricState
    goal: RubricState
    load: ArtifactLoader | None = None
    pattern_budget: SharedBudget = field(
        default_factory=lambda: SharedBudget(COMPARED.pattern_steps)
    )
    schema_budget: SharedBudget = field(default_factory=lambda: SharedBudget(COMPARED.schema_steps))
    current: RubricState = field(init=False)

    def __post_init__(self) -> None:
        self.current = self.start

    def edit_rubric(self, rule: str, after: RubricState, **facts: Any) -> Change:
        """Make one edit of the rubric: `after` becomes current; return the change to it."""
        # The invariant of the script: the `after` of one edit is the `before` of the next.
        before, self.current = self.current, after
        return Change(rule, before=before, after=after, **facts)

    def edit_check(
        self, rule: str, name: str, edited: CheckState, *, at: Ends | None = None, **facts: Any
    ) -> Change:
        """Make one edit of a check; `at` are the old and new path in it, None if absent."""
        old, new = at or ((name,), (name,))
        words: Mapping[str, str] = facts.pop("words", {})
        check, goal = self.current[edited.token], self.goal[edited.token]
        return self.edit_rubric(
            rule,
            self.current.replace_check(edited),
            token=edited.token,
            name=name,
            old_pointer=None if old is None else point_into_check(check, *old),
            new_pointer=None if new is None else point_into_check(goal, *new),
            words={"check": goal.id, **words},
            **facts,
        )

    def edit_extra_keys(
        self,
        token: str,
        sides: tuple[Mapping[str, Any], Mapping[str, Any]],
        *,
        at: Paths = ((), ()),
        known: Container[str] = (),
    ) -> Iterator[Change]:
        """Yield the edits of a check's keys other than the `known` ones.

        Scoring ignores these; `sides` are old and new.
        """
        places = (
            point_into_check(self.current[token], *at[0]),
            point_into_check(self.goal[token], *at[1]),
        )
        for change in find_extra_key_changes(*sides, at=places, known=known):
            words = {"check": self.goal[token].id}
            yield replace(change, before=self.current, after=self.current, token=token, words=words)

    def adopt_check(self, check: CheckState) -> None:
        """Replace a check without a change, where the rest has no meaning, like a set's order."""
        self.current = self.current.replace_check(check)


def point_into_check(check: CheckState, *path: str | int) -> Pointer:
    """Return the pointer to a part of a check in its file."""
    return ("checks", check.index, *path)


def set_param(check: CheckState, name: str, value: Any) -> CheckState:
    """Return a check with another value of one parameter."""
    return replace(check, params={**check.params, name: value})


def find_key_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the old and the new value of every key that differs; None means an absent key."""
    values = {key: (old.get(key), new.get(key)) for key in (*old, *new)}
    kept = {key for key, sides in values.items() if key in old and key in new and is_same(*sides)}
    return {key: sides for key, sides in values.items() if key not in kept}


def find_extra_key_changes(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    *,
    at: tuple[Pointer, Pointer] = ((), ()),
    known: Container[str] = (),
) -> Iterator[Change]:
    """Yield the changes of keys outside `known`: cosmetic ones are metadata, others extensions."""
    for key in find_key_changes(old, new):
        if key not in known:
            rule = "metadata-changed" if is_cosmetic(key) else "extension-field-changed"
            yield build_key_change(rule, key, (old, new), at)


def build_key_change(
    rule: str,
    key: str,
    sides: tuple[Mapping[str, Any], Mapping[str, Any]],
    at: tuple[Pointer, Pointer] = ((), ()),
) -> Change:
    """Return the change of one key in two mappings at these places; one side may lack the key."""
    old, new = sides
    old_pointer, new_pointer = (
        (*place, key) if key in side else None for side, place in zip(sides, at, strict=True)
    )
    return Change(rule, old.get(key), new.get(key), old_pointer, new_pointer, name=key)
