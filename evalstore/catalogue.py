"""Every rule that evalstore knows, and what there is to say of each: of changes, of files, of releases, of versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from string import Formatter

from evalstore.diff.change import ChangeRule
from evalstore.diff.rules import RULE_SETS
from evalstore.diff.rules import RULES as CHANGES
from evalstore.errors import RefError
from evalstore.integrity.rules import RULES as RELEASES
from evalstore.model import Severity
from evalstore.release.rules import RULES as VERSIONS
from evalstore.text import find_nearest
from evalstore.validation import RULES as FILES

_WHOLE = frozenset({"{message}", "{hint}"})


class Of(StrEnum):
    """What a rule speaks of, by the command that asks it: diff, validate, verify, status."""

    CHANGE = "change"
    FILE = "file"
    RELEASE = "release"
    VERSION = "version"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The rules of changes in their order, and the number of their set."""

    rule_set: int
    rules: tuple[ChangeRule, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """One rule in words; `level` is a bump or a severity, `row` the rule of a change with all that it knows."""

    id: str
    of: Of
    level: str
    says: str
    why: str
    todo: str
    row: ChangeRule | None = None

    @property
    def fixed(self) -> bool:
        """Whether no setting changes its level."""
        return self.of in {Of.RELEASE, Of.VERSION} or (self.of is Of.FILE and self.level == Severity.ERROR)


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that goes by one name: a rule of changes and one of files may have the same."""

    rule: str
    explained: tuple[Explained, ...]


def catalogue() -> Catalogue:
    """Return the rules of changes."""
    return Catalogue(RULE_SETS[-1], tuple(CHANGES.values()))


def explain(name: str) -> Explanation:
    """Return what a rule means and what to do, by its id (also `<id>:<direction>`) or the number of a rule of changes.

    Raises `RefError` for a name that is near, or not even near, to one.
    """
    id_ = next((row.id for row in CHANGES.values() if row.number == name), name.partition(":")[0])
    found = tuple(_explained(id_))
    if not found:
        guess = find_nearest(id_, [*CHANGES, *FILES, *RELEASES, *VERSIONS])
        hint = f"did you mean {guess}?" if guess else "evalstore rules lists those of changes"
        raise RefError(f"there is no rule {name}", hint=hint)
    return Explanation(id_, found)


def shown(template: str) -> str:
    """Return a sentence with the names of its facts in place of them; "" for one that is a fact as a whole."""
    parts = [text + (f"<{name}>" if name else "") for text, name, *_ in Formatter().parse(template)]
    return "" if template in _WHOLE else "".join(parts)


def _explained(id_: str) -> Iterator[Explained]:
    if row := CHANGES.get(id_):
        yield Explained(id_, Of.CHANGE, str(row.level), shown(row.message), row.reason, row.instead, row)
    for of, rules in ((Of.FILE, FILES), (Of.RELEASE, RELEASES), (Of.VERSION, VERSIONS)):
        if rule := rules.get(id_):
            says, todo = shown(rule.message), shown(rule.hint)
            yield Explained(id_, of, str(rule.severity), says, rule.why.removesuffix("."), todo)
