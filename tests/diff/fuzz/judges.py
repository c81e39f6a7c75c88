"""Judges, edits of them, and models that answer: every reply is drawn from a family, by what the model was sent."""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any
from zlib import crc32

from evalstore.documents import write_canonical
from evalstore.model import JudgeCall, JudgeReply
from tests.diff.fuzz.checks import model
from tests.diff.fuzz.pair import Drawn, Value
from tests.diff.fuzz.words import Make, one_of, optional, some

PARTS = [
    "Rate {{ output }}",
    "{{output}}",
    "{{{output}}}",
    "{{ input }}",
    "{{ criterion }}",
    "{{ fact }}",
    "a",
    " ",
    "\n",
]
PARTS += ["{{! note }}\n", "{{#context}}C: {{context}}\n{{/context}}", "{{^expected}}none{{/expected}}", "{{expected}}"]
PARTS += ["{{ steps }}", "Steps: {{#steps}}{{steps}}{{/steps}}"]
FIRST: list[Value] = [
    {"template": "Steps for {{ criterion }}", "fills": "steps"},
    {"template": "Steps for {{ criterion }}", "fills": "steps", "reads": "steps"},
    {"template": "Steps for {{criterion}}", "fills": "steps", "reads": "steps", "pattern": r"\{.+\}"},
    {"template": "{{ output }}", "fills": "steps", "reads": "words", "pattern": r'\{"steps".+\}'},
    {"template": "Steps", "fills": "fact"},
]
PATTERNS = ["Score: ([0-9.]+)", "([0-9.]+)", "(yes|no)", "(?i)(yes|no)", r"\b(yes|no)\b", "([ab])", "([ab])$", "(a|b)"]
NAMES = [["a", "b"], ["b", "a"], ["a", "b", "c"], ["a", "c", "b"]]
MODELS: list[Value] = [
    {"id": "m"},
    {"id": "n"},
    {"id": "m", "temperature": 0},
    {"id": "m", "seed": 1},
    {"id": "m", "x_a": 1},
    {"id": "m", "role": "user"},
    {"id": "m", "role": "system"},
]

# The keys under which a judge of each sort may answer.
READS: dict[str, list[Value]] = {
    "binary": [
        {"verdict": "pass"},
        {"verdict": "pass", "no_verdict": "pass"},
        {"verdict": "verdict"},
        {"verdict": "pass", "words": "reason"},
    ],
    "continuous": [
        {"score": "score"},
        {"score": "points"},
        {"score": "score", "words": "reason"},
        {"score": "score", "pattern": r"\{.+\}"},
        {"score": "score", "pattern": r'\{"reason".+\}', "words": "reason"},
        {"verdict": "pass", "score": "score", "no_verdict": "fail"},
        {"score": "score", "words": "reason", "pattern": r"\{.+\}"},
    ],
    "levels": [{"level": "level"}, {"level": "category", "x_a": 1}],
}

# What a judge may ask first.
FIRSTS: list[Value] = [
    {"template": "Plan {{ input }}", "fills": "plan"},
    {"template": "Plan {{ criterion }}", "fills": "plan", "reads": "steps"},
    {"template": "Plan", "fills": "plan", "reads": "steps", "pattern": r"\{.+\}"},
]

FAMILIES = {
    "scores": ['{"score": 0}', '{"score": 0.5}', '{"score": 1}', '```json\n{"score": 1}\n```', '{"score": 0.7}'],
    "wide": ['{"score": 0}', '{"score": 1}', '{"score": 2}', '{"score": 5}', '{"score": 10}', '{"score": -1}'],
    "verdicts": ['{"verdict": "pass"}', '{"verdict": "no"}', '{"verdict": true}', '{"score": 1}', '{"score": 0}'],
    "levels": ['{"level": "a"}', '{"level": "b"}', '{"level": "c"}'],
    "texts": ["Score: 1", "Score: 0", "I know: no", "yes", "YES", "a", "b", "0.5", "1 of 2", "a b", "2\n"],
    "keys": [
        "{pass: true}",
        '{"pass": "no"}',
        "so {pass: yes, score: 0.5} x",
        "{score: 1}",
        '{"points": 1, "verdict": "fail"}',
        '{"verdict": "y", "score": 0}',
        "{category: A}",
        '{"level": "b"}',
        "{}",
        "{score: 0, pass: }",
        '{"score": null}',
        "{n: 1} {pass: true}",
        '{"steps": ["a", "b"], "reason": "r", "score": 1}',
        'so {"reason": "", "score": "0.5"} x',
        '{"reason": "r", "score": 0, "pass": true}',
        '{"steps": "a", "words": ["a"], "score": 0.5}',
    ],
    "plans": [
        '{"steps": ["a", "b"], "score": 1, "reason": "a"}',
        '{"steps": ["b"], "score": 0, "reason": "b"}',
        '{"steps": ["a"], "score": 0.5, "reason": ""}',
        '{"score": 0.5, "reason": "c"}',
    ],
    "odd": ["", "{", '{"score": 1, "verdict": "fail"}', '{"score": "1"}', "nobody", '{"score": 1} or so'],
}


def judge(random: Random, id_: str = "j", version: str = "1.0.0") -> Value:
    """Return a judge that its schema accepts."""
    made = {"id": id_, "version": version, "template": template(random), **optional(random, _KEYS)} | _scale(random)
    return made | ({"reads": _reads(random, made)} if random.random() < 0.3 else {})


def template(random: Random) -> str:
    """Return a template that reads the output more often than not."""
    return "".join(["{{ output }}"] * (random.random() < 0.7) + some(random, PARTS, 1, 3))


def edit(random: Random, value: Value) -> None:
    """Edit a judge a little, or say the same otherwise."""
    random.choice(_EDITS)(random, value)


def family(random: Random, refs: dict[str, Value]) -> str:
    """Return a family of replies, such as these judges can read more often than not."""
    fits = {"binary": "verdicts", "levels": "levels"}
    judges = [value for value in refs.values() if "template" in value]
    if not judges or random.random() < 0.2:
        return random.choice(list(FAMILIES))
    value = random.choice(judges)
    if ("first" in value or "pattern" in value.get("reads", {})) and random.random() < 0.7:
        return "plans"
    if "reads" in value and random.random() < 0.7:
        return "keys"
    if "reply_pattern" in value and random.random() < 0.5:
        return "texts"
    return fits.get(value.get("score_type", ""), random.choice(["scores", "wide"]) if "scale" in value else "scores")


def ask(drawn: Drawn) -> Callable[[JudgeCall], JudgeReply]:
    """Return a model: what it says depends on all that it is sent but the seed, which only draws again."""

    def reply(call: JudgeCall) -> JudgeReply:
        model = {key: item for key, item in call.model.items() if key != "seed"}
        sent = write_canonical([call.prompt, model, call.sample, drawn.salt])
        number, said = crc32(sent.encode("utf-8", "surrogatepass")), FAMILIES[drawn.replies]
        if drawn.replies == "odd" and number % 5 == 0:
            return JudgeReply(problem="no answer")
        return JudgeReply(
            said[number // 7 % len(said)], finish="length" if drawn.replies == "odd" and number % 3 == 0 else "stop"
        )

    return reply


def _scale(random: Random) -> Value:
    type_ = random.choice(["binary", "continuous", "levels", ""])
    if type_ == "levels":
        names = random.choice(NAMES)
        scores = {name: random.choice([0, Decimal("0.5"), 1]) for name in names}
        return {
            "score_type": type_,
            "level_names": list(names),
            **({"level_scores": scores} if random.random() < 0.5 else {}),
        }
    scale = {} if type_ == "binary" or random.random() < 0.5 else {"scale": random.choice(_SCALES)}
    return {**({"score_type": type_} if type_ else {}), **copy.deepcopy(scale)}


_SCALES: list[Value] = [{"max": 5}, {"min": 0, "max": 1}, {"min": 0, "max": 10}, {"min": -1}, {}, {"min": 1, "max": 2}]
_KEYS: dict[str, Make] = {
    "variables": one_of(["criterion"], [], ["criterion", "fact"], ["fact"], ["fact", "criterion"]),
    "reply_pattern": one_of(*PATTERNS),
    "model": lambda random: copy.deepcopy(random.choice(MODELS)) if random.random() < 0.6 else model(random),
    "first": one_of(*FIRST),
    "title": one_of("a", "b"),
    "validation": one_of({"tpr": Decimal("0.9"), "tnr": Decimal("0.9")}, {"tpr": Decimal("0.8"), "tnr": 1}),
    "applicable_to": one_of(["x"], ["x", "y"], ["y", "x"]),
    "x_note": one_of(1, 2),
}


def _respaced(random: Random, value: Value) -> None:
    edits = [("{{ ", "{{"), (" }}", "}}"), ("{{output}}", "{{{output}}}"), ("{{{output}}}", "{{ output }}"), ("a", "b")]
    edits += [
        ("\n", "\n{{! more }}\n"),
        ("{{! note }}\n", ""),
        ("{{! note }}", "{{! other }}"),
        ("\n", "\r\n"),
        (" ", "  "),
    ]
    value["template"] = value["template"].replace(*random.choice(edits))


def _other_template(random: Random, value: Value) -> None:
    value["template"] = random.choice([value["template"] + random.choice(PARTS), template(random)])


def _reads(random: Random, value: Value) -> Value:
    return copy.deepcopy(random.choice(READS[value.get("score_type", "continuous")]))


def _other_reads(random: Random, value: Value) -> None:
    if "reads" in value and random.random() < 0.3:
        del value["reads"]
    else:
        value["reads"] = _reads(random, value)


def _key(random: Random, value: Value) -> None:
    name = random.choice(list(_KEYS))
    value.pop(name, None)
    if random.random() < 0.7:
        value[name] = _KEYS[name](random)


def _other_scale(random: Random, value: Value) -> None:
    for name in ("score_type", "scale", "level_names", "level_scores", "reads"):
        value.pop(name, None)
    value |= _scale(random)


def _levels(random: Random, value: Value) -> None:
    if names := value.get("level_names"):
        even = {name: Decimal(place) / (len(names) - 1) for place, name in enumerate(names)}
        scores = value.setdefault("level_scores", even)
        how = random.choice(["turn", "drop", "score", "even"])
        if how == "turn":
            names.reverse()
        elif how == "drop":
            value.pop("level_scores")
        elif how == "score":
            scores[random.choice(names)] = random.choice([0, Decimal("0.25"), Decimal("0.5"), 1])
    elif "scale" in value:
        value["scale"] = copy.deepcopy(random.choice(_SCALES))
    else:
        value["scale"] = {"min": 0, "max": 1}


def _model(random: Random, value: Value) -> None:
    settings = value.setdefault("model", {"id": "m"})
    if random.random() < 0.4:
        settings.update(model(random))
        return
    key = random.choice(["temperature", "seed", "top_p", "x_b", "id", "role"])
    values = {"id": ["o"], "role": ["system", "user"]}.get(key, [0, Decimal("0.0"), 1, None])
    settings[key] = random.choice(values)


_EDITS: list[Callable[[Random, Value], Any]] = [
    *[_respaced] * 4, _other_template, _key, _key, _key, _other_scale, *[_levels] * 3, _other_reads, _model, _model, lambda _, value: value.update(id="other"),
]  # fmt: skip
