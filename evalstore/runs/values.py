"""The values of a run: what graded which outputs, and the results; does no I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.arguments import require_arguments
from evalstore.documents import compute_digest, write_canonical
from evalstore.model import CheckResult, Output, UnscoredReason, Verdict
from evalstore.model.measures import NO_MEASURES
from evalstore.model.outcome import Coverage, count_coverage
from evalstore.notebook import PageValue, format_repr
from evalstore.runs.question_mean import QuestionMean, compute_question_mean
from evalstore.text import SHORT_EXCERPT, make_excerpt

# The default version of Every Eval Ever in which runs are written.
LATEST = "0.3.0"


_PASSED, _FAILED = Fraction(1), Fraction(0)
_NAMED_CHECKS = 3  # the most checks to name that could not grade everything
# The counts of a `Run` that its aggregate has under the same names.
COUNTS = (
    "scored",
    "unscored",
    "without_output",
    "without_question",
    "outputs",
    "asked_otherwise",
    "unread_rows",
)
UNKNOWN = -1  # the score of Every Eval Ever that means none
_READERS: dict[str, Callable[[Any], Any]] = {}


@dataclass(frozen=True, slots=True)
class UsedArtifact:
    """An artifact as one run used it; `ref` is exact: `…@1.2.0`, `…@git:<commit>`, or `…@worktree`.

    `rows` is the SHA-256 of a dataset's rows in a separate file, if no commit has them.
    """

    ref: str
    version: str
    digest: str
    scoring_digest: str
    commit: str | None = None
    tag: str | None = None
    rows: str | None = None


class StoredOutput(NamedTuple):
    """One stored output: the question's id, the model's answer, and its line in the file.

    `sample` numbers several answers to one question, from 0. `from_eee_row` marks a row of Every
    Eval Ever, where one output may have a row for every metric; `doubt` says where that row
    contradicts its version label. `asked` is what its record says was asked: first the whole text,
    then its parts (the variables of a template); empty if the record does not say. `prompt` names
    the template of the prompt, if the file has several.
    """

    id: str
    output: Output
    line: int
    model: str | None = None
    from_eee_row: bool = False
    doubt: str = ""
    sample: int = 0
    asked: tuple[str, ...] = ()
    prompt: str | None = None


class GradedRow(NamedTuple):
    """One question's output and its grade.

    `rubric` is the exact reference of one of `Run.rubrics`, or "". `input` is the question as the
    dataset has it. `asked` is what the output's record says was asked, if that differs (None: it
    does not, or the record does not say). `input_digest` is the digest of what was asked.

    A row with `samples` represents several outputs to one question: its score is their exact mean,
    and it passes if most of them do; its checks are those of the first sample, or of one that
    failed.
    """

    id: str
    input: str
    reference: tuple[str, ...]
    output: Output
    score: Fraction | None
    verdict: Verdict
    rubric: str
    rubric_digest: str
    checks: tuple[CheckResult, ...] = ()
    reason: str = ""
    input_digest: str = ""
    reference_digest: str = ""
    group: str | None = None
    sample: int = 0
    samples: tuple[GradedRow, ...] = ()
    asked: str | None = None

    @property
    def outputs(self) -> tuple[GradedRow, ...]:
        """The rows of single outputs: the samples, or this row alone."""
        return self.samples or (self,)

    @property
    def mean(self) -> QuestionMean:
        """The mean score of the samples, and the share of them that pass."""
        return compute_question_mean((one.score, one.verdict) for one in self.outputs)

    @property
    def pass_share(self) -> Fraction:
        """The share of scored samples that pass: 1 or 0 for a single output; 0 without a score."""
        if not self.samples:
            return _PASSED if self.score is not None and self.verdict is Verdict.PASS else _FAILED
        scored = [row for row in self.samples if row.score is not None]
        return Fraction(sum(row.verdict is Verdict.PASS for row in scored), len(scored) or 1)

    @property
    def coverage(self) -> Coverage:
        """How many gradings its rubric asks for, for all samples, and how many were made."""
        return count_coverage(check for row in self.outputs for check in row.checks)

    @property
    def output_digest(self) -> str:
        """SHA-256 of the output's text, tool calls and measures, or of its samples' digests."""
        if self.samples:
            return compute_digest([row.output_digest for row in self.samples])
        if self.has_plain_output:
            return digest_plain_text(write_canonical(self.output.text))
        calls, measures = self.output.tool_calls, self.output.measures.recorded
        parts = [self.output.text, None if calls is None else [dict(call) for call in calls]]
        return compute_digest([*parts, measures] if measures else parts)

    @property
    def has_plain_output(self) -> bool:
        """Whether it is a single output of which only the text is kept."""
        output = self.output
        return not self.samples and output.tool_calls is None and output.measures == NO_MEASURES

    def has_output_of(self, other: GradedRow) -> bool:
        """Whether both output digests are equal; plain texts are compared directly."""
        if self.has_plain_output and other.has_plain_output:
            return self.output.text == other.output.text
        return self.output_digest == other.output_digest


def digest_plain_text(text: str) -> str:
    """Return `GradedRow.output_digest` of an output that is only text: of its canonical JSON."""
    return hashlib.sha256(f"[{text},null]".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """One check over all rows: its mean score (or None), and how many outputs failed or unscored.

    `errors` counts unscored outputs that could not be graded; other unscored ones had nothing to
    grade. `partial` counts scored outputs for which an inner check of a composite could not be
    graded; `hollow` counts other scored outputs for which an inner check had nothing to grade.
    `left_out` counts unscored outputs that have a score from their other checks. `error_ids` are
    the questions of `errors` and `partial`, in the order of the outputs. Every sample counts.
    """

    mean: Fraction | None
    scored: int
    fail: int
    unscored: int
    errors: int = 0
    error_ids: tuple[str, ...] = ()
    partial: int = 0
    hollow: int = 0
    left_out: int = 0

    @property
    def coverage(self) -> Coverage:
        """How many outputs it should have graded, and how many it graded completely."""
        return Coverage(self.scored - self.partial - self.hollow, self.scored + self.unscored)

    @property
    def gradings(self) -> int:
        """How often it had something to grade."""
        return self.scored + self.errors

    @property
    def failed_gradings(self) -> int:
        """How often grading failed, completely or in part."""
        return self.errors + self.partial

    @property
    def is_empty(self) -> bool:
        """Whether it had nothing to grade on any output."""
        return not self.coverage.graded and bool(self.unscored) and not self.failed_gradings

    @property
    def failures(self) -> str:
        """How much it graded of what it had to grade, in words: `graded 0 of 12`."""
        return f"graded {self.gradings - self.failed_gradings:,} of {self.gradings:,}"


@dataclass(frozen=True, slots=True)
class SeriesMean:
    """One configuration of a file that has several: its mean score, and its number of questions.

    `difference` is its mean minus that of the baseline, over the `common` questions that both have;
    None for the baseline itself (`is_baseline`), and if they have none in common. `only` has the
    names that choose this configuration, by what they name (`configuration`, `model`, `prompt`).
    """

    name: str
    score: Fraction | None
    questions: int
    difference: Fraction | None = None
    common: int = 0
    is_baseline: bool = False
    only: Mapping[str, str] = field(default_factory=dict)


def register_readers(**readers: Callable[[Any], Any]) -> None:
    """Set the functions with which a `Run` reads its files; their modules import this one."""
    _READERS.update(readers)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Run(PageValue):
    """One scored set of outputs: what it was made from and what came out, all numbers exact.

    A run that evalstore did not write has no `dataset`, no `rubrics`, and counts of 0.

    Attributes:
        path: The JSON file that names the run.
        samples: The file of its rows.
        id: What Every Eval Ever calls it.
        name: The dataset's id.
        at: When the outputs were graded, in seconds since 1970.
        model: The model that gave the outputs.
        dataset: The dataset, with version, digest, tag and commit.
        rubrics: The rubrics that graded, likewise.
        judges: The judges that were asked, likewise.
        outputs_sha256: SHA-256 of the file of outputs.
        score: The mean score, a fraction of 1; None if nothing or too little was graded.
        pass_rate: The share of scored questions that pass; None likewise.
        rest_score: The mean of what could be graded, if that is too little for a score.
        rest_pass_rate: The pass rate of the same.
        scored: How many questions have a score.
        unscored: How many questions have an output but no score.
        outputs: How many outputs there are; samples count one by one.
        without_output: How many questions have no output.
        missing_outputs: Why they have none, by question.
        without_question: How many outputs belong to no question.
        asked_otherwise: How many outputs answer another input than their question's.
        unread_rows: How many rows could not be read.
        log_status: What ended the log of the outputs early (`cancelled`, `error`), or "".
        checks: For each check `.mean`, `.scored`, `.fail`, `.unscored` and `.errors`.
        harness: Versions and settings that can change a score.
        series: The mean of each configuration in a file with several; then `score` is None.
        commit: The commit that was checked out.
        notes: What to know before using the score, in sentences.
        eee_version: The version of Every Eval Ever that it is written in.

    Examples:
        >>> run = score("dataset/help_desk", "outputs/model_a.jsonl", store=store, out=None)
        >>> run.checks["no_filler"].fail, run.checks["no_filler"].mean
        (1, Fraction(3, 4))
    """

    path: Path
    samples: Path
    id: str
    name: str
    at: str
    model: str
    dataset: UsedArtifact | None
    rubrics: tuple[UsedArtifact, ...]
    outputs_sha256: str
    score: Fraction | None
    pass_rate: Fraction | None
    scored: int
    unscored: int
    checks: Mapping[str, CheckSummary]
    harness: Mapping[str, str]
    judges: tuple[UsedArtifact, ...] = ()
    commit: str | None = None
    without_output: int = 0
    without_question: int = 0
    outputs: int = 0
    missing_outputs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=())
    eee_version: str = LATEST
    rest_score: Fraction | None = None
    rest_pass_rate: Fraction | None = None
    asked_otherwise: int = 0
    unread_rows: int = 0
    log_status: str = ""
    series: tuple[SeriesMean, ...] = ()

    def __repr__(self) -> str:
        gap = f" ({self.ungraded})" if self.ungraded else ""
        if self.series:
            gap = f" of {len(self.series)} configurations"
        score = (
            f"no score{gap}" if self.score is None else f"score {float(self.score) * 100:.2f}{gap}"
        )
        against = self.dataset.ref if self.dataset else self.name
        mark = ["unreleased"] if self.unreleased else []
        return format_repr(
            self, self.path, against, self.model, *mark, score, f"{self.scored:,} questions"
        )

    @classmethod
    def read(cls, path: Path | str) -> Run:
        """Read a stored run.

        Args:
            path: Its JSON file, its rows, or a folder that holds nothing else; also results of
                other tools, as `evalstore show` reads them.

        Returns:
            The run.

        Raises:
            LoadError: It cannot be read as one.

        Examples:
            >>> path = score("dataset/help_desk", "outputs/model_a.jsonl", store=store).path
            >>> Run.read(path).score
            Fraction(13, 16)
        """
        require_arguments(Run.read, locals())
        run: Run = _READERS["run"](path)
        return run

    def rows(self) -> Iterator[GradedRow]:
        """Read the graded outputs one by one, in the order of the run.

        Returns:
            Each row: `.id`, `.input`, `.output.text`, `.score` (an exact fraction of 1, None where
            unscored), `.verdict`, `.reason`, and `.checks`.

        Raises:
            LoadError: A row cannot be read.

        Examples:
            >>> run = score("dataset/help_desk", "outputs/model_a.jsonl", store=store, out=None)
            >>> [(row.id, row.score) for row in run.rows()][2]
            ('export_data', Fraction(1, 4))
        """
        found: Iterator[GradedRow] = _READERS["rows"](self)
        return found

    def to_pandas(self) -> Any:
        """Make a table of the rows for pandas.

        Returns:
            A `DataFrame` with one row for each output; scores are floats, null where unscored.

        Raises:
            UsageError: pandas is not installed.

        Examples:
            >>> run = score("dataset/help_desk", "outputs/model_a.jsonl", store=store, out=None)
            >>> run.to_pandas()["score"].tolist()
            [1.0, 1.0, 0.25, 1.0]
        """
        return _READERS["frame"](self)

    def to_arrow(self) -> Any:
        """Make a table of the rows for Arrow.

        Returns:
            A `Table` with one row for each output; scores are floats, null where unscored.

        Raises:
            UsageError: pyarrow is not installed.

        Examples:
            >>> run = score("dataset/help_desk", "outputs/model_a.jsonl", store=store, out=None)
            >>> run.to_arrow().num_rows
            4
        """
        return _READERS["table"](self)

    @property
    def prompt(self) -> str:
        """The name of the prompt's template as its outputs give it; empty if they do not."""
        return self.harness.get("prompt", "")

    @property
    def questions(self) -> int:
        """The number of questions that have an output, and so a row."""
        return self.scored + self.unscored

    @property
    def unreleased(self) -> bool:
        """Whether its dataset, a rubric or a judge was read from a file or a commit."""
        pins = (self.dataset, *self.rubrics, *self.judges)
        return any(pinned is not None and pinned.tag is None for pinned in pins)

    @property
    def coverage(self) -> Coverage:
        """How many gradings its rubrics ask for, and how many were made."""
        found = [check.coverage for check in self.checks.values()]
        return Coverage(sum(one.graded for one in found), sum(one.asked for one in found))

    @property
    def empty_checks(self) -> tuple[str, ...]:
        """The checks that had nothing to grade on any output."""
        return tuple(id_ for id_, check in self.checks.items() if check.is_empty)

    @property
    def gradings(self) -> int:
        """How often a check had something to grade."""
        return sum(check.gradings for check in self.checks.values())

    @property
    def failed_gradings(self) -> int:
        """How many gradings failed: a judge did not answer, a program is missing."""
        return sum(check.failed_gradings for check in self.checks.values())

    @property
    def ungraded(self) -> str:
        """What was not graded, in words: `sound graded 0 of 12`; empty if no grading failed."""
        failed = [(id_, check) for id_, check in self.checks.items() if check.failed_gradings]
        failed.sort(key=lambda pair: -pair[1].failed_gradings)
        named = failed[:_NAMED_CHECKS]
        parts = [f"{make_excerpt(id_, SHORT_EXCERPT)} {check.failures}" for id_, check in named]
        more = f" and {len(failed) - len(parts):,} more" if len(failed) > len(parts) else ""
        return ", ".join(parts) + more

    @property
    def silent_check(self) -> tuple[str, int]:
        """The check that graded none of its outputs, and their number; if several, the largest."""
        sizes = {id_: check.gradings for id_, check in self.checks.items()}
        silent = [id_ for id_ in sizes if self.checks[id_].failed_gradings == sizes[id_]]
        worst = max(silent, key=sizes.__getitem__, default="")
        return worst, sizes.get(worst, 0)

    @property
    def is_withheld(self) -> bool:
        """Whether the run has no score because gradings failed."""
        return self.score is None and self.failed_gradings > 0 and not self.series


def withhold_score(run: Run, most: Fraction) -> Run:
    """Return a run without its score if more than the share `most` of its gradings failed.

    The same holds if one check could grade none of its outputs, and these are more than that share
    of all outputs.
    """
    if run.failed_gradings <= most * run.gradings and run.silent_check[1] <= most * run.outputs:
        return run
    return replace(
        run, score=None, pass_rate=None, rest_score=run.score, rest_pass_rate=run.pass_rate
    )


def merge_samples(rows: Sequence[GradedRow]) -> GradedRow:
    """Return one row for all samples of a question, in order; a single sample stays as it is."""
    if len(rows) == 1:
        return rows[0]
    samples = tuple(sorted(rows, key=lambda row: row.sample))
    mean = compute_question_mean((row.score, row.verdict) for row in samples)
    checks = tuple(_merge_checks(samples))
    merged = samples[0]._replace(
        score=mean.score, verdict=mean.verdict, checks=checks, sample=0, samples=samples
    )
    digests = list(dict.fromkeys(row.input_digest for row in samples))
    asked = next((row.asked for row in samples if row.asked is not None), None)
    if len(digests) == 1:
        return merged
    return merged._replace(input_digest=compute_digest(digests), asked=asked)


def _merge_checks(samples: Sequence[GradedRow]) -> Iterable[CheckResult]:
    found: dict[str, CheckResult] = {}
    for check in (check for row in samples for check in row.checks):
        if check.id not in found or check.unscored is UnscoredReason.ERROR:
            found[check.id] = check
    return found.values()
