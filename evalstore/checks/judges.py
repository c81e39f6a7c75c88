"""Prepares a judge once, fills its prompts, asks it, and grades its answers: only here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from evalstore.checks.context import CheckContext
from evalstore.checks.reply import ParsedReply, read_first_reply, read_reply
from evalstore.checks.reply_schema import build_reply_schema
from evalstore.checks.template import (
    Template,
    compile_template,
    fill_template,
    list_shown_names,
)
from evalstore.documents import compute_digest, write_canonical
from evalstore.errors import LimitError, SchemaError
from evalstore.model import (
    MALFORMED_ERRORS,
    Grade,
    Judge,
    JudgeCall,
    JudgeReply,
    Kind,
    Sample,
    UnscoredReason,
    describe_misfit,
    format_score,
    is_cosmetic,
    read_judge,
)
from evalstore.model.judge import BUILTIN_VARIABLES, CRITERIA, FirstPrompt
from evalstore.model.outcome import MissingSetting, grade_error
from evalstore.text import make_excerpt

# Calls about one output; more are not a check but a bill.
CALL_LIMIT = 1000
_WORDS = 1_000  # characters of what all judges of one check say in a reason
# Whether a reply may say that the question does not apply.
_REPLY_FORMATS = {"json": False, "json_or_na": True}
_FORMAT = "response_format"
READS_NO_IDLE_ANSWER = "json_or_na allows n/a, which no judge with `reads` can answer"
# In whose role a prompt is sent; the first if none is named.
_ROLES = ("user", "system")
_REQUEST_TYPES: Mapping[str, tuple[type, str]] = {
    "system": (str, "text"),
    "extra": (dict, "mapping"),
}


class _PromptError(Exception):
    """A prompt cannot be sent; the message says why."""


@dataclass(frozen=True, slots=True)
class PreparedJudge:
    """A judge ready to be asked.

    `name` is what messages and calls call it; `model` is merged and in canonical spelling. `first`
    is the template of its first prompt, if it has one.
    """

    name: str
    definition: Judge
    template: Template
    model: Mapping[str, Any]
    first: Template | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that its prompts show, except the one that the first reply fills."""
        return list_shown_names(self.template, self.first, self.fills)

    @property
    def fills(self) -> str:
        """The variable that the first reply fills; empty if there is none."""
        return self.definition.first.fills if self.definition.first else ""


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """One reply of a judge, as received and as read; `about` names the statement in question.

    `counts`: it contributes to the score, so there is no score if the reply cannot be read. `first`
    is the reply to the judge's first prompt, if it has one.
    """

    judge: PreparedJudge
    reply: JudgeReply
    parsed: ParsedReply
    first: JudgeReply | None = None
    about: str = ""
    counts: bool = True

    @property
    def replies(self) -> tuple[JudgeReply, ...]:
        """All replies that it is made from."""
        return (self.reply,) if self.first is None else (self.first, self.reply)

    @property
    def lead(self) -> str:
        """How a sentence about it begins if it concerns a statement: `s1: `."""
        return f"{make_excerpt(self.about)}: " if self.about else ""


def prepare_judge(
    ref: str, context: CheckContext, *, model: Mapping[str, Any], variable_names: Collection[str]
) -> PreparedJudge | Grade:
    """Return the judge that `ref` names, ready to be asked, or every output's grade without it.

    `model` is what the check says about it and wins field by field; `variable_names` are those that
    the check fills. Raises `RefError` for a missing judge and `SchemaError` for a file that is not
    a judge.
    """
    artifact = context.load_artifact(ref, Kind.JUDGE)
    judge = _read_judge(ref, artifact.value)
    name = artifact.versioned
    template = compile_template(judge.template)
    first = compile_template(judge.first.template) if judge.first else None
    if isinstance(template, str) or isinstance(first, str):
        problem = template if isinstance(template, str) else first
        return grade_error(f"the template of {name}: {make_excerpt(str(problem))}")
    known = {*BUILTIN_VARIABLES, *set(judge.variables).intersection(variable_names)}
    prepared = PreparedJudge(name, judge, template, {}, first)
    if unfilled := [read for read in prepared.names if read not in known]:
        return grade_error(
            f"nothing fills {{{{ {make_excerpt(unfilled[0])} }}}} in the template of {name}"
        )
    merged = _merge_models(context.model, judge.model or {}, model)
    if not merged.get("id"):
        return grade_error(
            f"no model is named for {name}: write `model: {{id: …}}` in the judge or the check, "
            "or name the run's (--judge-model, EVALSTORE_JUDGE_MODEL)",
            setting=MissingSetting.MODEL,
        )
    for key, (type_, word) in _REQUEST_TYPES.items():
        if not isinstance(merged.get(key, type_()), type_):
            return grade_error(f"`model.{key}` of {name} is not a {word}")
    if merged.get("role", _ROLES[0]) not in _ROLES:
        return grade_error(f"`model.role` of {name} can be {' or '.join(_ROLES)} only")
    if merged.get("role") == _ROLES[0]:
        del merged["role"]
    if _FORMAT in merged:
        may_be_idle = _REPLY_FORMATS.get(str(merged[_FORMAT]))
        if may_be_idle is None:
            forms = " or ".join(_REPLY_FORMATS)
            return grade_error(f"`model.response_format` of {name} can be {forms} only")
        if may_be_idle and judge.reads:
            return grade_error(f"`model.response_format` of {name}: {READS_NO_IDLE_ANSWER}")
        merged[_FORMAT] = build_reply_schema(judge, may_be_idle=may_be_idle)
    return replace(prepared, model=merged)


def ask_judge(
    judge: PreparedJudge,
    sample: Sample,
    variables: Mapping[str, str],
    context: CheckContext,
    *,
    times: int = 1,
) -> Iterator[JudgeAnswer]:
    """Ask a judge `times` about one output and yield its answers; a failure is an answer, too.

    A judge with a first prompt is asked that before, each time.
    """
    values = _fill_values(judge, sample, variables)
    for number in range(times):
        try:
            yield _ask_once(judge, sample, values, context, number)
        except _PromptError as error:
            yield JudgeAnswer(judge, JudgeReply(), ParsedReply(None, str(error)))
            return


def _ask_once(
    judge: PreparedJudge,
    sample: Sample,
    values: Mapping[str, str],
    context: CheckContext,
    number: int,
) -> JudgeAnswer:
    """Return the answer to one request; raises `_PromptError` for a prompt that cannot be sent."""

    def make_call(found: str = "") -> JudgeCall:
        """Return the call with the judge's own prompt, and what its first reply fills in."""
        prompt = _fill_prompt(judge.template, {**values, judge.fills: found})
        is_readable = partial(_is_readable, judge.definition, sample.text)
        return JudgeCall(judge.name, prompt, judge.model, number, is_readable)

    first_reply, call = None, make_call()
    if judge.first and judge.definition.first:
        first = judge.definition.first
        first_call = JudgeCall(
            judge.name,
            _fill_prompt(judge.first, values),
            {key: item for key, item in judge.model.items() if key != _FORMAT},
            number,
            is_readable=partial(_is_first_readable, first),
            next_prompt=call.prompt,
            follow=partial(_follow_first, first, make_call),
        )
        first_reply = context.ask(first_call)
        found = read_first_reply(first, first_reply)
        if found.text is None:
            return JudgeAnswer(judge, first_reply, ParsedReply(None, found.problem))
        call = make_call(found.text)
    reply = context.ask(call)
    parsed = read_reply(judge.definition, reply, output=sample.text)
    return JudgeAnswer(judge, reply, parsed, first_reply)


def _follow_first(
    first: FirstPrompt, make_call: Callable[[str], JudgeCall], reply: JudgeReply
) -> JudgeCall | None:
    """Return the call that follows a reply to a first prompt; None if none can."""
    found = read_first_reply(first, reply)
    if found.text is None:
        return None
    with suppress(_PromptError):  # whoever asks it says why it cannot be sent
        return make_call(found.text)
    return None


def _fill_prompt(template: Template, values: Mapping[str, str]) -> str:
    try:
        prompt = fill_template(template, values)
        prompt.encode()
    except LimitError as error:
        raise _PromptError(error.message) from None
    except UnicodeEncodeError:
        raise _PromptError("the prompt contains half of a surrogate pair") from None
    return prompt


def _is_first_readable(first: FirstPrompt, reply: JudgeReply) -> bool:
    return read_first_reply(first, reply).text is not None


def _is_readable(judge: Judge, output: str, reply: JudgeReply) -> bool:
    return read_reply(judge, reply, output=output).is_answer


def grade_answers(
    answers: Sequence[JudgeAnswer], combine: Callable[[list[Fraction | None]], Fraction | None]
) -> Grade:
    """Return the grade that `combine` makes from the scores, where None means not applicable.

    One reply without an answer leaves it unscored (error), unless it does not count. If nothing
    applies, it has nothing to grade (missing); if something does, `inner_missing` names what does
    not.
    """
    unscored = [answer for answer in answers if answer.counts and not answer.parsed.is_answer]
    grade = _explain_unscored(unscored, answers) if unscored else _combine_scores(answers, combine)
    all_replies = [reply for answer in answers for reply in answer.replies]
    texts = [reply.text for reply in all_replies]
    replies = compute_digest(texts) if any(texts) else ""
    digests = tuple(reply.digest for reply in all_replies if reply.digest)
    return grade._replace(replies=replies, reply_digests=digests)


def _explain_unscored(unscored: Sequence[JudgeAnswer], answers: Sequence[JudgeAnswer]) -> Grade:
    first = unscored[0]
    reason = f"{first.lead}{first.judge.name}: {first.parsed.words}"
    if len(answers) > 1:
        reason = f"{len(unscored)} of {len(answers)} replies have no score; the first: {reason}"
    setting = next((answer.reply.setting for answer in unscored if answer.reply.setting), None)
    return grade_error(reason, _name_models(answers), setting)


def _combine_scores(
    answers: Sequence[JudgeAnswer], combine: Callable[[list[Fraction | None]], Fraction | None]
) -> Grade:
    score = combine([answer.parsed.score for answer in answers])
    words, engine = _describe_scores(answers), _name_models(answers)
    if score is None:
        return Grade(None, words, UnscoredReason.MISSING, engine=engine)
    names = [(answer, answer.about or str(number)) for number, answer in enumerate(answers, 1)]
    idle = [name for answer, name in names if answer.counts and answer.parsed.score is None]
    return Grade(score, words, engine=engine, inner_missing=tuple(dict.fromkeys(idle)))


def _read_judge(ref: str, value: Mapping[str, Any]) -> Judge:
    try:
        return read_judge(value)
    except MALFORMED_ERRORS as misfit:
        raise SchemaError(
            f"{ref} is not a valid judge: {describe_misfit(misfit)}",
            hint="see what is wrong: evalstore validate",
        ) from None


def _merge_models(*models: Mapping[str, Any]) -> dict[str, Any]:
    """Merge models, the last one first; a key with an empty value counts as absent."""
    merged: dict[str, Any] = {}
    for model in models:
        merged |= {key: value for key, value in model.items() if value is not None}
    return {key: _normalize_number(merged[key]) for key in merged if not is_cosmetic(key)}


def _normalize_number(value: Any) -> Any:
    """Return a value with every number in canonical spelling, so that 0 and 0.0 ask the same."""
    if isinstance(value, dict):
        return {key: _normalize_number(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normalize_number(item) for item in value]
    if isinstance(value, float):
        value = Decimal(str(value))
    whole = isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value()
    return int(value) if whole else value


def _fill_values(
    judge: PreparedJudge, sample: Sample, variables: Mapping[str, str]
) -> dict[str, str]:
    """Return the text of every name that the template reads.

    The output is the output, whatever the variables say.
    """
    own = {CRITERIA} & {*judge.definition.variables} & {*variables}
    values: dict[str, Any] = {}
    for name in judge.names:
        is_builtin = name in BUILTIN_VARIABLES and name not in own
        values[name] = BUILTIN_VARIABLES[name](sample) if is_builtin else variables[name]
    return {name: _to_prompt_text(value) for name, value in values.items()}


def _to_prompt_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else write_canonical(value)


def _name_models(answers: Sequence[JudgeAnswer]) -> str:
    """Return the models that answered, as they name themselves, else as they were requested."""
    answered = [
        answer for answer in answers if not answer.reply.problem and answer.reply != JudgeReply()
    ]
    names = {answer.reply.served or str(answer.judge.model["id"]) for answer in answered}
    return ", ".join(sorted({make_excerpt(name, 100) for name in names})) or "evalstore"


def _describe_scores(answers: Sequence[JudgeAnswer]) -> str:
    said = [
        f"{answer.lead}{describe_answer(answer.judge.name, answer.parsed)}" for answer in answers
    ]
    between = "; " if any(answer.parsed.words for answer in answers) else ", "
    return make_excerpt(between.join(said), _WORDS)


def describe_answer(judge: str, parsed: ParsedReply) -> str:
    """Return what a judge answered, in words: `judge/tone@1.0.0 wrong (0): it names no version`."""
    score = "" if parsed.score is None else format_score(parsed.score)
    if not parsed.is_applicable:
        score = "not applicable"
    grade = f"{parsed.level} ({score})" if parsed.level else score
    return f"{judge} {grade}" + (f": {parsed.words}" if parsed.words else "")
