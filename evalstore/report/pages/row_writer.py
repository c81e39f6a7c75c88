"""What pages of rows have in common: the classes that find a row, its sort keys, and menus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain

from evalstore.model import Verdict
from evalstore.report.pages.filters import FilterMenu
from evalstore.report.pages.row_file import ListKeys, RowFile
from evalstore.report.text_layout import format_percent

Tags = Mapping[str, Sequence[str]]  # of questions, by id
NO_TAGS: Tags = {}
LOOKS = {Verdict.FAIL: "down", Verdict.UNSCORED: "quiet", Verdict.PASS: "up"}
_VERDICTS = {Verdict.FAIL: "v0", Verdict.UNSCORED: "v1", Verdict.PASS: "v2"}


def write_number(score: Fraction | None) -> str:
    """Return a score, or a change, in the form in which a script sorts it."""
    return "" if score is None else f"{float(score):.9g}"


class ScoreTexts(dict[Fraction | None, tuple[str, str]]):
    """Scores as shown, and as a script sorts them: a run has few different ones."""

    def __missing__(self, score: Fraction | None) -> tuple[str, str]:
        self[score] = format_percent(score), write_number(score)
        return self[score]


@dataclass(slots=True)
class RowWriter:
    """Notes what rows can be found by: verdicts, checks, tags; `rows` holds them rendered."""

    question_tags: Tags
    rows: RowFile = field(default_factory=RowFile)
    checks: ListKeys = field(default_factory=lambda: ListKeys("c"))
    tags: ListKeys = field(default_factory=lambda: ListKeys("t"))
    verdicts: set[Verdict] = field(default_factory=set)
    scores: ScoreTexts = field(default_factory=ScoreTexts)

    def join_classes(self, verdict: Verdict, id_: str, *keys: Iterable[str]) -> str:
        """Return the classes of a question's row: its verdict, what else finds it, and its tags."""
        self.verdicts.add(verdict)
        tags = (self.tags[tag] for tag in self.question_tags.get(id_, ()))
        found = [_VERDICTS[verdict], *chain(*keys), *tags]
        return " ".join(["q", *filter(None, dict.fromkeys(found))])

    def join_numbers(self, numbers: Mapping[str, str]) -> str:
        """Return the numbers of a row by check, in the order of all checks so far."""
        return ",".join(numbers.get(id_, "") for id_ in self.checks)

    def list_orders(self, lead: str) -> dict[str, str]:
        """Return the orders by single checks, each with the value by which a script knows it."""
        return {f"{at} up": f"{lead} {id_} first" for at, id_ in enumerate(self.checks)}

    def make_verdict_menu(self, label: str) -> FilterMenu:
        """Return the menu of the verdicts that rows have."""
        choices = {key: str(one) for one, key in _VERDICTS.items() if one in self.verdicts}
        return FilterMenu(label, "any verdict", choices)

    def make_tag_menu(self) -> FilterMenu:
        """Return the menu of the tags that their questions have."""
        return FilterMenu("tag", "any tag", swap_keys(self.tags))


def swap_keys(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the names of keys, by key."""
    return {key: name for name, key in keys.items()}


def choose_menus(*menus: FilterMenu) -> tuple[FilterMenu, ...]:
    """Return the menus that have a choice."""
    return tuple(menu for menu in menus if menu.choices)
