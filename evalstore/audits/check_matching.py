"""Matches the checks of two versions of a rubric, by id and by content; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evalstore.documents import write_canonical
from evalstore.model import Check, Rubric, is_cosmetic

# The id of a check in one version -> its name in both, which is its first id.
CheckNames = Mapping[str, str]
# Keys of a check that are not parameters of its kind.
CHECK_KEYS = frozenset({"id", "threshold", "negate"})


def name_checks(old: Rubric, new: Rubric) -> tuple[CheckNames, CheckNames]:
    """Return the check ids of two versions, each with its name."""
    before = {check.id: check.id for check in old.checks}
    after = {later: earlier for earlier, later in match_checks(old.checks, new.checks)}
    for check in new.checks:
        if check.id not in after:
            after[check.id] = _make_fresh_name(check.id, {*before, *after.values()})
    return before, after


def encode_check(check: Check) -> str:
    """Return the content of a check as one text, whatever its id, title and layout."""
    own = [key for key in check.params if key not in CHECK_KEYS and not is_cosmetic(key)]
    params = {key: check.params[key] for key in own}
    return write_canonical([check.kind, params, str(check.threshold), check.negate])


class EncodedCheck(NamedTuple):
    """A check, and its content as one text: checks of equal content are graded alike."""

    check: Check
    content: str

    @classmethod
    def from_check(cls, check: Check) -> EncodedCheck:
        """Return a check with its content."""
        return cls(check, encode_check(check))


def match_checks(old: Sequence[Check], new: Sequence[Check]) -> Iterator[tuple[str, str]]:
    """Yield the ids of the same check in both versions.

    An id derived from the order is weaker evidence than the content.
    """
    before, after = list(old), list(new)
    # From the strongest evidence to the weakest; a matched check is not matched again.
    for alike in _MATCHERS:
        for check in tuple(before):
            if (twin := next((other for other in after if alike(check, other)), None)) is not None:
                before.remove(check)
                after.remove(twin)
                yield check.id, twin.id


def _has_equal_content(old: Check, new: Check) -> bool:
    return encode_check(old) == encode_check(new)


def _has_same_id(old: Check, new: Check) -> bool:
    return old.id == new.id


# From same id and content, via equal content without ids, to the same id, and finally equal content
# (a rename).
_MATCHERS: tuple[Callable[[Check, Check], bool], ...] = (
    lambda old, new: _has_same_id(old, new) and _has_equal_content(old, new),
    lambda old, new: (
        "id" not in old.params and "id" not in new.params and _has_equal_content(old, new)
    ),
    _has_same_id,
    _has_equal_content,
)


def _make_fresh_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name
