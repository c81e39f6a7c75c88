"""What probing a rubric finds: the results of each text, and the mutants that no stored output tells apart."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from evalstore.model import Verdict


@dataclass(frozen=True, slots=True)
class ProbedText:
    """One kind of text over all questions that have it; `wanted` is the verdict that a sound rubric gives to it.

    `example` is the text for the first question, and `verdicts` counts what became of it. `mean` is over those that
    have a score, None without any. `wrong` are the questions that got the opposite of what is wanted, in order; without
    questions it is the empty id. `undecided` counts those whose verdict hangs on a check that could not be graded.
    """

    name: str
    wanted: Verdict
    example: str
    verdicts: dict[Verdict, int]
    mean: Fraction | None
    wrong: tuple[str, ...]
    undecided: int = 0


@dataclass(frozen=True, slots=True)
class RubricMutant:
    """The rubric with one part changed: `message` says which, at the JSON pointer of that part."""

    message: str
    pointer: str


@dataclass(frozen=True, slots=True)
class RubricProbe:
    """One rubric, probed.

    `questions` were asked, none without a dataset. Of `mutants`, the rubric with one part changed, the `survivors` give
    each of the `outputs` the same score and verdict; without outputs there are none. `calls` to judges are needed for
    what has no verdict.
    """

    ref: str
    dataset: str | None
    questions: int
    texts: tuple[ProbedText, ...]
    outputs: int = 0
    mutants: int = 0
    survivors: tuple[RubricMutant, ...] = ()
    calls: int = 0
    notes: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether every text was graded, and none got the opposite of what is wanted.

        One that a rubric has nothing to grade in is graded; where that is so of all, nothing was seen.
        """
        has_verdict = any(text.verdicts.keys() - {Verdict.UNSCORED} for text in self.texts)
        return has_verdict and not any(text.wrong or text.undecided for text in self.texts)
