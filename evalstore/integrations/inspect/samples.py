"""Loads a store's rubrics, and converts questions and outputs to Inspect's samples and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from logging import getLogger
from pathlib import Path
from typing import Any

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ModelOutput
from inspect_ai.scorer import Metric, SampleScore, Score, Target, metric
from inspect_ai.solver import TaskState
from pydantic import TypeAdapter, ValidationError

from evalstore.documents import write_canonical
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.integrations.rubric_scorer import (
    ReleasedRubric,
    ReplyLookup,
    convert_numbers,
    explain_result,
    load_released_rubric,
    to_decimal,
)
from evalstore.model import (
    CheckResult,
    Kind,
    Output,
    Question,
    RubricResult,
    Verdict,
    has_failed_check,
)
from evalstore.model.measures import Measures, read_measure, scale_seconds
from evalstore.runs import UsedArtifact
from evalstore.runs.eee_write import format_exact_score
from evalstore.scoring.grading import ArtifactResolver, format_exact_ref
from evalstore.store import ArtifactStore, OpenedStore
from evalstore.text import make_excerpt

GRADER_ROLE = "grader"
_log = getLogger(__name__)
_MESSAGES: TypeAdapter[list[ChatMessage]] = TypeAdapter(list[ChatMessage])


@dataclass(slots=True)
class RubricCache:
    """The rubrics of the store at `place`, which is open only while one is being loaded.

    It is not thread-safe.
    """

    place: Path
    _loaded: dict[str, ReleasedRubric] = field(default_factory=dict)

    def load_rubric(self, ref: str) -> ReleasedRubric:
        """Return the rubric that `ref` names.

        Raises like `Store.open` and `Store.resolve`, and `SchemaError`.
        """
        if ref not in self._loaded:
            with open_store(self.place) as used:
                self._loaded[ref] = load_released_rubric(used, ref)
        return self._loaded[ref]


@contextmanager
def open_store(place: Path | str) -> Iterator[ArtifactResolver]:
    """Open a store while something is read from it; its notes are logged as warnings at the end."""
    with _add_hints_as_notes(), ArtifactStore.open(place) as store:
        used = ArtifactResolver(store, ReplyLookup().take_reply, {"id": GRADER_ROLE})
        yield used
    for note in used.notes:
        _log.warning(note)


def locate_store(store: OpenedStore | Path | str) -> str:
    """Return a store's path as text for Inspect's log; a relative path stays relative."""
    if isinstance(store, OpenedStore):
        return str(store.artifacts.root or store.artifacts.git.directory)
    return str(store)


@contextmanager
def _add_hints_as_notes() -> Iterator[None]:
    """Add an error's hint as a note to the exception, because Inspect shows notes."""
    try:
        yield
    except EvalstoreError as error:
        if error.hint:
            error.add_note(error.hint)
        raise


def dataset_samples(ref: str, store: OpenedStore | Path | str = ".") -> MemoryDataset:
    """Return the questions of a dataset as samples.

    A sample has the input or the messages, `expected` as its target, and metadata. `rubric_scorer`
    reads the metadata back, so that a sample is graded like its question. Raises `EvalstoreError`
    for what cannot be resolved or read, and for a number that is not a float, because Inspect's
    numbers are floats.
    """
    with open_store(locate_store(store)) as used:
        resolved = used.resolve(ref)
        if resolved.kind is not Kind.DATASET:
            raise RefusedError(f"{ref} holds no questions: it is a {resolved.kind}")
        samples = list(_make_samples(used.store.questions(resolved), format_exact_ref(resolved)))
    return MemoryDataset(samples, name=resolved.id, location=format_exact_ref(resolved))


def read_question(state: TaskState, target: Target) -> Question:
    """Return the question of a sample.

    It is the sample's metadata, with its id, its input, and its target as `expected`.
    """
    row: dict[str, Any] = {
        "input": _input_text(state.input),
        **convert_numbers(state.metadata, to_decimal),
    }
    if not isinstance(row["input"], str):
        row["input"] = _input_text(state.input)
    if "expected" not in row and target.text:
        row["expected"] = target.text if len(target) == 1 else list(target)
    row["id"] = str(state.sample_id)
    return Question(row["id"], row["input"], row)


def read_output(state: TaskState) -> Output | None:
    """Return what Inspect's own scorers grade, or else the assistant's last message.

    It is None if there is neither. Inspect's messages record every tool call, so no call is an
    empty record. Messages in the input are not the model's. `evalstore score` reads logs the same
    way.
    """
    replies = [message for message in state.messages if isinstance(message, ChatMessageAssistant)]
    own_replies = [message for message in replies if message.source != "input"]
    text = own_replies[-1].text if own_replies else None
    if state.output.completion or not state.output.empty:
        text = state.output.completion
    if text is None:
        return None
    calls = tuple(_read_tool_calls(own_replies)) if state.messages else None
    return Output(text, calls, measures=_read_measures(state.output))


def _read_measures(output: ModelOutput) -> Measures:
    used = output.usage
    return Measures(
        latency_ms=scale_seconds(output.time),
        cost_usd=read_measure(getattr(used, "total_cost", None)),
        input_tokens=read_measure(getattr(used, "input_tokens", None)),
        output_tokens=read_measure(getattr(used, "output_tokens", None)),
    )


def _read_tool_calls(messages: Sequence[ChatMessageAssistant]) -> Iterator[Mapping[str, Any]]:
    for call in (call for message in messages for call in message.tool_calls or ()):
        yield {"name": call.function, "args": convert_numbers(call.arguments, to_decimal)}


def _make_samples(questions: Iterator[Question], dataset: str) -> Iterator[Sample]:
    try:
        for question in questions:
            if question.broken:
                raise RefusedError(
                    f"the questions of {dataset} cannot be samples: {question.broken}"
                )
            yield _make_sample(question)
    except (AttributeError, KeyError, TypeError, ValidationError) as misfit:
        raise RefusedError(
            (
                f"the questions of {dataset} cannot be samples: {type(misfit).__name__}: "
                f"{make_excerpt(str(misfit))}"
            ),
            hint="see where: evalstore validate",
        ) from None


def _make_sample(question: Question) -> Sample:
    row = question.row
    messages = row.get("messages")
    seen = {"id"} if messages else {"id", "input"}
    return Sample(
        input=_MESSAGES.validate_python(convert_numbers(messages, _to_float))
        if messages
        else question.input,
        target=_make_target(row.get("expected")),
        id=question.id,
        metadata=convert_numbers(
            {key: value for key, value in row.items() if key not in seen}, _to_float
        ),
    )


def _make_target(expected: Any) -> str | list[str]:
    if expected is None:
        return ""
    several = expected if isinstance(expected, list) and expected else [expected]
    texts = [item if isinstance(item, str) else write_canonical(item) for item in several]
    return texts[0] if len(texts) == 1 else texts


def _input_text(input_: str | list[ChatMessage]) -> str:
    if isinstance(input_, str):
        return input_
    return next((message.text for message in reversed(input_) if message.role == "user"), "")


def _to_float(value: Any) -> Any:
    if not isinstance(value, Decimal):
        return value
    if Decimal(repr(float(value))) != value:
        raise RefusedError(
            f"{make_excerpt(str(value), 40)} is not a float, and Inspect has no other numbers",
            hint="quote it",
        )
    return float(value)


def make_score(
    result: RubricResult,
    output: Output,
    *,
    rubric: UsedArtifact,
    judges: Sequence[UsedArtifact],
    asked: bool,
) -> Score:
    """Return a score as the nearest float, with everything exact in the metadata.

    It is never 0 for unscored. `judges` are those that the rubric refers to; `asked` says whether
    one had to be asked about this output.
    """
    details = {
        "rubric": rubric.ref,
        "rubric_digest": rubric.digest,
        "scoring_digest": rubric.scoring_digest,
        "judges": {judge.ref: judge.digest for judge in judges},
        "score": format_exact_score(result.score),
        "verdict": str(result.verdict),
        "reason": result.reason,
        "checks": [_check_details(check) for check in result.checks],
    }
    explanation = explain_result(result)
    if result.score is None:
        return make_unscored(
            _name_unscored_reason(result, asked=asked),
            explanation,
            answer=output.text,
            metadata=details,
        )
    return Score(
        value=float(result.score), answer=output.text, explanation=explanation, metadata=details
    )


def make_unscored(
    reason: str,
    explanation: str,
    *,
    answer: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> Score:
    """Return what Inspect keeps but counts in no metric."""
    details = metadata or {"verdict": str(Verdict.UNSCORED)}
    return Score.unscored(reason=reason, answer=answer, explanation=explanation, metadata=details)


@metric(scores="unreduced")
def pass_rate() -> Metric:
    """Share of the scored outputs that pass.

    Each epoch counts separately: a mean of epochs has no verdict.
    """

    def share(scores: list[SampleScore]) -> float:
        passed = [(item.score.metadata or {}).get("verdict") == Verdict.PASS for item in scores]
        return sum(passed) / len(passed) if passed else float("nan")

    return share


def _check_details(check: CheckResult) -> dict[str, Any]:
    return {
        **{key: _write_plain(value) for key, value in check._asdict().items() if key != "setting"},
        "score": format_exact_score(check.score),
    }


def _write_plain(value: object) -> str | list[str] | None:
    """Return a field of a check's result as in JSON.

    Digests are a list, and everything else is its text.
    """
    if isinstance(value, tuple):
        return [str(item) for item in value]
    return None if value is None else str(value)


def _name_unscored_reason(result: RubricResult, *, asked: bool) -> str:
    """Return Inspect's word for why there is no score.

    Inspect has none for an output with nothing to grade.
    """
    if not has_failed_check(result.checks):
        return "missing"
    return "grader_failed" if asked else "scoring_failed"
