"""Counts how the outputs of two runs are alike: equal, nearly equal, cut off, or repeated."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from math import comb

from evalstore.model import Verdict
from evalstore.runs.values import GradedRow
from evalstore.text import make_excerpt

_FEWEST = 3  # the least number of outputs that show a pattern
_CHANCE = 0.05  # the highest probability that random changes hit only failures
_DIGEST, _SHOWN = 16, 60  # bytes of a digest, and characters shown of a text


class Likeness(StrEnum):
    """How an output of run B resembles that of run A; `CUT_A`: A's is the beginning of B's."""

    EQUAL = "equal"
    CALLS = "calls"
    MEASURES = "measures"
    WHITE_SPACE = "white_space"
    CUT_A = "cut_a"
    CUT_B = "cut_b"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class RepeatedOutput:
    """The text that a run gave most often: its beginning, and how often.

    `distinct` is the number of different texts in the run.
    """

    text: str = ""
    count: int = 0
    distinct: int = 0


@dataclass(frozen=True, slots=True)
class OutputLikeness:
    """How many pairs of outputs to unchanged questions are alike, and how; they sum to `pairs`.

    `calls` differ only in tool calls, `measures` only in numbers about the outputs. In `failed` of
    the pairs, A's output had not passed; `failed_changed` of these differ.
    """

    pairs: int = 0
    equal: int = 0
    calls: int = 0
    measures: int = 0
    white_space: int = 0
    cut_a: int = 0
    cut_b: int = 0
    other: int = 0
    failed: int = 0
    failed_changed: int = 0
    repeated_a: RepeatedOutput = RepeatedOutput()
    repeated_b: RepeatedOutput = RepeatedOutput()

    @property
    def changed(self) -> int:
        """The number of pairs that differ."""
        return self.pairs - self.equal

    @property
    def is_telling(self) -> bool:
        """Whether equal outputs mean something: most texts of A occur once, so are not labels."""
        return self.repeated_a.distinct * 2 > self.pairs

    @property
    def is_selection(self) -> bool:
        """Whether only outputs that had failed in A differ: only those were asked again."""
        changed = self.changed
        if changed < _FEWEST or changed != self.failed_changed or not self.is_telling:
            return False
        return comb(self.failed, changed) <= _CHANCE * comb(self.pairs, changed)


NO_OUTPUTS = OutputLikeness()


@dataclass(slots=True)
class LikenessCounter:
    """Counts the pairs of two runs; keeps digests of texts, and beginnings of repeated ones."""

    likenesses: Counter[Likeness] = field(default_factory=Counter)
    failed: int = 0
    failed_changed: int = 0
    _texts: tuple[Counter[bytes], Counter[bytes]] = field(
        default_factory=lambda: (Counter(), Counter())
    )
    _shown: dict[bytes, str] = field(default_factory=dict)

    def add_pair(self, old: GradedRow, new: GradedRow) -> None:
        """Add the outputs of one question, sample by sample."""
        for pair in zip(old.outputs, new.outputs, strict=False):
            found = compare_outputs(*pair)
            self.likenesses[found] += 1
            has_failed = pair[0].verdict is not Verdict.PASS
            self.failed += has_failed
            self.failed_changed += has_failed and found is not Likeness.EQUAL
            old_text, new_text = (row.output.text for row in pair)
            digest = _digest_text(old_text)
            self._count_text(self._texts[0], digest, old_text)
            is_same = found in {Likeness.EQUAL, Likeness.CALLS, Likeness.MEASURES}
            digest = digest if is_same else _digest_text(new_text)
            self._count_text(self._texts[1], digest, new_text)

    def _count_text(self, texts: Counter[bytes], digest: bytes, text: str) -> None:
        texts[digest] += 1
        if texts[digest] > 1 and digest not in self._shown:
            self._shown[digest] = make_excerpt(text, _SHOWN)

    def sum_up(self) -> OutputLikeness:
        """Return the counts."""
        repeated = [*map(self._find_repeated, self._texts)]
        return OutputLikeness(
            pairs=self.likenesses.total(),
            **{str(one): self.likenesses[one] for one in Likeness},
            failed=self.failed,
            failed_changed=self.failed_changed,
            repeated_a=repeated[0],
            repeated_b=repeated[1],
        )

    def _find_repeated(self, texts: Counter[bytes]) -> RepeatedOutput:
        for digest, count in texts.most_common(1):
            if count > 1:
                return RepeatedOutput(self._shown[digest], count, len(texts))
        return RepeatedOutput(distinct=len(texts))


def _digest_text(text: str) -> bytes:
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).digest()[:_DIGEST]


def compare_outputs(old: GradedRow, new: GradedRow) -> Likeness:
    """Return how two outputs to one question are alike."""
    if new.has_output_of(old):
        return Likeness.EQUAL
    before, after = old.output.text, new.output.text
    if before == after:
        is_called_alike = old.output.tool_calls == new.output.tool_calls
        return Likeness.MEASURES if is_called_alike else Likeness.CALLS
    if before.split() == after.split():
        return Likeness.WHITE_SPACE
    before, after = before.strip(), after.strip()
    if after and before.startswith(after):
        return Likeness.CUT_B
    if before and after.startswith(before):
        return Likeness.CUT_A
    return Likeness.OTHER


def list_likeness_notes(found: OutputLikeness) -> Iterator[str]:
    """Yield notes on what most differing outputs have in common, and on a text repeated often."""
    changed = found.changed
    patterns = (
        (found.white_space, "do so in white space alone"),
        (found.calls, "do so in calls, not in text"),
        (found.measures, "do so in numbers about them (as latency), not in text"),
        (found.cut_b, "are A's answers without their end (cut off, or left out)"),
        (found.cut_a, "are A's answers and more (A's were cut off, or B adds to them)"),
    )
    for count, what in patterns:
        if count >= _FEWEST and count * 2 > changed:
            yield f"{count:,} of {changed:,} outputs that differ {what}"
    sides = (("A", found.repeated_a, found.repeated_b), ("B", found.repeated_b, found.repeated_a))
    for name, own, other in sides:
        if own.count >= _FEWEST and own.count * 2 >= found.pairs and other.count * 2 < own.count:
            yield f'{own.count:,} of {found.pairs:,} outputs in {name} are one text: "{own.text}"'
    if found.is_telling and found.changed and found.equal * 2 >= found.pairs:
        yield f"{found.equal:,} of {found.pairs:,} outputs are equal in A and B"
