"""The judge as scoring reads it, its questions to a model, and the replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evalstore.documents import compute_digest
from evalstore.model.outcome import MissingSetting
from evalstore.model.rubric import parse_fraction

if TYPE_CHECKING:
    from evalstore.model.question import Sample

_TEXT, _LIST, _MAPPING = (str, "text"), (list, "list"), (dict, "mapping")
_TYPES = {
    "template": _TEXT,
    "variables": _LIST,
    "scale": _MAPPING,
    "level_names": _LIST,
    "level_scores": _MAPPING,
    "reply_pattern": _TEXT,
    "reads": _MAPPING,
    "first": _MAPPING,
    "model": _MAPPING,
}

# The template variable that contains the one fact that `fact_match` asks about.
FACT_VARIABLE = "fact"
# The one that contains the statement that an `llm_judge` with `each` asks about.
STATEMENT_VARIABLE = "statement"
# What a check may fill in instead of the question, if the judge lists it among its variables.
CRITERIA = "criteria"


# Filled from the question and the output; every other name comes from the check's `variables`.
BUILTIN_VARIABLES: Mapping[str, Callable[[Sample], Any]] = {
    "input": lambda sample: sample.question.input if sample.question else None,
    "output": lambda sample: sample.text,
    "expected": lambda sample: _read_row_key(sample, "expected"),
    "context": lambda sample: _read_row_key(sample, "context"),
    CRITERIA: lambda sample: _read_row_key(sample, CRITERIA),
}


def _read_row_key(sample: Sample, key: str) -> Any:
    return sample.question.row.get(key) if sample.question else None


class ScoreType(StrEnum):
    """The type of a judge's score."""

    BINARY = "binary"
    CONTINUOUS = "continuous"
    LEVELS = "levels"


# The reply keys that `reads` may name, by score type; the first must be named.
READ_KEYS: Mapping[ScoreType, tuple[str, ...]] = {
    ScoreType.BINARY: ("verdict",),
    ScoreType.CONTINUOUS: ("score", "verdict"),
    ScoreType.LEVELS: ("level",),
}

# What `reads` may say for every type.
_ANY_KEYS = frozenset({"no_verdict", "words", "pattern"})


@dataclass(frozen=True, slots=True)
class ReplyKeys:
    """The keys of a reply's object that answer, and the verdict of a reply that has none.

    `words` is the key of the judge's words, without which a reply is no answer. `pattern` finds the
    object, which then is JSON with a number as its score; None: the first text in braces, as YAML.
    """

    score: str | None = None
    verdict: str | None = None
    level: str | None = None
    no_verdict: bool | None = None
    words: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class FirstPrompt:
    """A prompt that is asked before a judge's own: its reply fills `fills` in the judge's template.

    `key` names the list in the reply's object whose texts are taken; None: all of the reply.
    `pattern` finds that object, as in `ReplyKeys`.
    """

    template: str
    fills: str
    key: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge; `levels` maps each name to a score in [0, 1], worst first; `model` is as written."""

    id: str
    version: str
    template: str
    variables: tuple[str, ...] = ()
    score_type: ScoreType = ScoreType.CONTINUOUS
    least: Fraction = Fraction(0)
    most: Fraction = Fraction(1)
    levels: Mapping[str, Fraction] | None = None
    reply_pattern: str | None = None
    model: Mapping[str, Any] | None = None
    reads: ReplyKeys | None = None
    first: FirstPrompt | None = None


def accept_reply(reply: JudgeReply) -> bool:  # noqa: ARG001  # the signature of `is_readable`
    """Accept any reply as an answer."""
    return True


def follow_with_nothing(reply: JudgeReply) -> JudgeCall | None:  # noqa: ARG001  # as `follow`
    """Ask nothing after any reply."""
    return None


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """One question to a model: `judge` is the artifact that asks; the rest decides the reply.

    `model` is `{id, temperature?, …}` merged from the check, the judge and the run; `sample` counts
    from 0. `is_readable` says whether a reply answers it: of who reads it, and so no part of the
    question. `next_prompt` is what is asked next with its reply, without that; empty for nothing.
    `follow` returns that call for a reply; None where it is not asked.
    """

    judge: str
    prompt: str
    model: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0
    is_readable: Callable[[JudgeReply], bool] = field(
        default=accept_reply, compare=False, repr=False
    )
    next_prompt: str = field(default="", compare=False, repr=False)
    follow: Callable[[JudgeReply], JudgeCall | None] = field(
        default=follow_with_nothing, compare=False, repr=False
    )

    @property
    def key(self) -> str:
        """SHA-256 over the rendered prompt, the model with its parameters, and the sample."""
        return compute_digest(
            {"prompt": self.prompt, "model": dict(self.model), "sample": self.sample}
        )


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """What a model answered; if there is no answer to read, `problem` says why.

    `served` is the model that answered according to the endpoint, `finish` why it stopped (`stop`,
    `length`, …), `at` when (ISO 8601, by the endpoint's clock). The token counts are the
    endpoint's, and `cost` is what it says the reply cost, in its own unit; a kept reply no longer
    has the cost. A kept reply has a `digest`, by which runs name it, and a `number`, which grows
    with every reply kept in its file. `setting` is what was missing to ask at all.
    """

    text: str = ""
    served: str = ""
    finish: str = ""
    problem: str = ""
    at: str = field(default="", compare=False)
    prompt_tokens: int | None = field(default=None, compare=False)
    completion_tokens: int | None = field(default=None, compare=False)
    cost: Decimal | None = field(default=None, compare=False)
    digest: str = field(default="", compare=False)
    number: int = field(default=0, compare=False)
    setting: MissingSetting | None = field(default=None, compare=False)


# The reply of a judge that nobody asked, and of which no reply is kept.
NO_REPLY = JudgeReply(
    problem="there is no stored reply, and no judge was asked", setting=MissingSetting.ENDPOINT
)


def read_judge(value: Mapping[str, Any]) -> Judge:
    """Read a judge from its mapping; raises `ValueError` if its replies could not be read."""
    for key, (type_, word) in _TYPES.items():
        if key in value and not isinstance(value[key], type_):
            raise ValueError(f"its {key} is not a {word}")
    if "template" not in value:
        raise ValueError("it has no template")
    if not all(isinstance(name, str) for name in value.get("variables", ())):
        raise ValueError("its variables are not all strings")
    if (score_type := value.get("score_type", "continuous")) not in tuple(ScoreType):
        raise ValueError(f"its score_type is {score_type!r}, not one of {', '.join(ScoreType)}")
    scale = value.get("scale", {})
    least, most = _read_number(scale.get("min", 0)), _read_number(scale.get("max", 1))
    if least >= most:
        raise ValueError(f"its scale runs from {least} to {most}, so no score fits")
    return Judge(
        id=str(value.get("id", "")),
        version=str(value.get("version", "")),
        template=value["template"],
        variables=tuple(value.get("variables", ())),
        score_type=ScoreType(score_type),
        least=least,
        most=most,
        levels=_read_levels(value),
        reply_pattern=value.get("reply_pattern"),
        model=value.get("model"),
        reads=_read_reply_keys(value, ScoreType(score_type)),
        first=_read_first_prompt(value),
    )


def _read_first_prompt(value: Mapping[str, Any]) -> FirstPrompt | None:
    if "first" not in value:
        return None
    written = {key: item for key, item in value["first"].items() if not key.startswith("x_")}
    if lacking := {"template", "fills"} - written.keys():
        raise ValueError(f"its first has no {min(lacking)}")
    if not all(isinstance(item, str) for item in written.values()):
        raise ValueError("a value of its first is not a text")
    if others := written.keys() - {"template", "fills", "reads", "pattern"}:
        raise ValueError(f"its first has {min(others)}, which nothing reads")
    if "pattern" in written and "reads" not in written:
        raise ValueError("its first has a pattern of an object, and reads nothing in it")
    if written["fills"] in {*BUILTIN_VARIABLES, *value.get("variables", ())}:
        raise ValueError(f"its first fills {written['fills']}, which is filled already")
    return FirstPrompt(
        written["template"], written["fills"], written.get("reads"), written.get("pattern")
    )


def _read_reply_keys(value: Mapping[str, Any], score_type: ScoreType) -> ReplyKeys | None:
    if "reads" not in value:
        return None
    written = {key: item for key, item in value["reads"].items() if not key.startswith("x_")}
    keys, (needed, *_) = READ_KEYS[score_type], READ_KEYS[score_type]
    if needed not in written:
        raise ValueError(f"its reads names no {needed}, which a {score_type} judge answers with")
    if others := written.keys() - {*keys, *_ANY_KEYS}:
        raise ValueError(f"its reads names {min(others)}, which no {score_type} judge answers with")
    if "no_verdict" in written and "verdict" not in written:
        raise ValueError("its reads has no_verdict, and names no verdict")
    if not all(isinstance(item, str) for item in written.values()):
        raise ValueError("a key of its reads is not a text")
    no_verdict = written.pop("no_verdict", None)
    return ReplyKeys(**written, no_verdict=None if no_verdict is None else no_verdict == "pass")


def _read_levels(value: Mapping[str, Any]) -> Mapping[str, Fraction] | None:
    if value.get("score_type") != ScoreType.LEVELS:
        return None
    names = value.get("level_names", [])
    if len(set(names)) < max(2, len(names)) or not all(isinstance(name, str) for name in names):
        raise ValueError("its level_names are not two or more different strings")
    scores = {name: _read_number(score) for name, score in value.get("level_scores", {}).items()}
    if not all(0 <= score <= 1 for score in scores.values()):
        raise ValueError("a score of level_scores is not from 0 to 1")
    if scores and set(scores) != set(names):
        raise ValueError("level_scores does not give a score to exactly the names of level_names")
    # Without scores the levels are evenly spaced from 0 to 1.
    return scores or {name: Fraction(place, len(names) - 1) for place, name in enumerate(names)}


def _read_number(value: Any) -> Fraction:
    if isinstance(value, bool | str):
        raise ValueError(f"{value!r} is not a number")  # noqa: TRY004  # one error for a bad file
    return parse_fraction(value)
