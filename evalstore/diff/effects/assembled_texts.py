"""Puts texts together that show what checks can answer, which is faster than searching for them.

Most checks look for phrases that are unrelated, or one check's list is a part of another's. Then a
text for each combination of languages is built by joining texts of these languages, and graded. If
the scorer confirms all of them, there is nothing left to search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from operator import ge, or_
from typing import TYPE_CHECKING, NamedTuple

from evalstore.diff.answers.text_scores import TextScore

# A lazy package: its names load on first use.
from evalstore.languages import pattern_comparison

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import Membership, MembershipTable, RegexTree

# What is tried between two texts: nothing, which is shortest, or a space, which ends a word.
_SEPARATORS = ("", " ")
_Scores = tuple[Fraction | None, ...]


class TextGrader(NamedTuple):
    """A check of text: its score by its languages, the places of these, and its real scorer."""

    score: TextScore
    places: tuple[int, ...]
    grade: Callable[[str], Fraction | None]

    def compute(self, members: Membership) -> Fraction:
        """Return the score of texts with this membership in all languages."""
        return self.score.compute(tuple(members[place] for place in self.places))


@dataclass(slots=True)
class TextAssembly:
    """The languages of some checks, and what is known about them without any search."""

    languages: Sequence[RegexTree]
    graders: Sequence[TextGrader]
    _within: list[Membership] = field(init=False)
    _order: list[int] = field(init=False)
    _pieces: list[list[str]] = field(init=False)
    _find_members: Callable[[str, int], Membership | None] = field(init=False)

    def __post_init__(self) -> None:
        is_included = pattern_comparison.is_included
        self._within = [
            tuple(is_included(one, other) for other in self.languages) for one in self.languages
        ]
        # Languages that are inside the most others come first: one text covers all of these.
        places = range(len(self.languages))
        self._order = sorted(places, key=lambda place: sum(self._within[place]), reverse=True)
        self._pieces = [*map(pattern_comparison.list_likely_texts, self.languages)]
        self._find_members = cache(self._read_members)

    def build_table(self) -> MembershipTable | None:
        """Return a text for each combination; None unless the scorer confirms every one."""
        combinations: dict[_Scores, list[Membership]] = {}
        for members in product((False, True), repeat=len(self.languages)):
            if self._is_possible(members):
                combinations.setdefault(self._compute(members), []).append(members)
        texts: dict[Membership, str] = {}
        for scores, alike in combinations.items():
            built = [text for members in alike for text in self._build_texts(members)]
            built.sort(key=pattern_comparison.rank_text)
            text = next((text for text in built if self._grade(text) == scores), None)
            if text is None:
                return None
            texts |= dict.fromkeys(alike, text)
        ordered = sorted(texts.items(), key=lambda item: pattern_comparison.rank_text(item[1]))
        return pattern_comparison.MembershipTable(dict(ordered), is_complete=True)

    def _is_possible(self, members: Membership) -> bool:
        """Whether a text that is in a language is in every language that contains that one, too."""
        for is_member, within in zip(members, self._within, strict=True):
            if is_member and not all(members[place] for place, holds in enumerate(within) if holds):
                return False
        return True

    def _compute(self, members: Membership) -> _Scores:
        return tuple(grader.compute(members) for grader in self.graders)

    def _grade(self, text: str) -> _Scores:
        return tuple(grader.grade(text) for grader in self.graders)

    def _build_texts(self, wanted: Membership) -> Iterator[str]:
        """Yield texts that may be in the wanted languages and in no others."""
        chosen, covered = list[str](), (False,) * len(wanted)
        for place in self._order:
            if wanted[place] and not covered[place]:
                found = self._find_piece(place, wanted)
                if found is None:
                    return
                chosen.append(found[0])
                covered = tuple(map(or_, covered, found[1]))
        chosen.sort(key=pattern_comparison.rank_chars)
        yield from dict.fromkeys(separator.join(chosen) for separator in _SEPARATORS)

    def _find_piece(self, place: int, wanted: Membership) -> tuple[str, Membership] | None:
        """Return a text of one language that is in no unwanted one, and the languages it is in."""
        for text in self._pieces[place]:
            members = self._find_members(text, place)
            if members and all(map(ge, wanted, members)):
                return text, members
        return None

    def _read_members(self, text: str, place: int) -> Membership | None:
        """Return the languages of a text, found by grading it; None if the scorer disagrees."""
        members = [*self._within[place]]
        for grader in self.graders:
            if len(grader.places) == 1:
                members[grader.places[0]] = grader.grade(text) == grader.score.compute((True,))
        found = tuple(members)
        return found if found[place] and self._grade(text) == self._compute(found) else None
