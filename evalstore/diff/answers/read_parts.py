"""What a comparison knows of the steps of `on`: when they find nothing, what they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evalstore.checks.steps import NOTHING_KEY, STEPS, STEPS_KEY, Step, read_steps
from evalstore.documents import write_canonical

Params = Mapping[str, Any]
_MISSING = "missing"
# The options of the steps that have some: their defaults, and the types that they may have.
_OPTIONS: Mapping[str, tuple[Params, Mapping[str, type]]] = {
    "json_path": ({"type": "any"}, {"path": str, "type": str}),
    "remove": (
        {"flags": "", "only_first": False},
        {"pattern": str, "flags": str, "only_first": bool},
    ),
    "regex_group": ({"flags": "", "group": 1}, {"pattern": str, "flags": str, "group": int}),
}


def read_step_list(written: Any) -> list[Any] | None:
    """Return the steps of `on` in one spelling, None without any.

    `ValueError` for what the schema refuses.
    """
    if not isinstance(written, list):
        # A bad file has one error, of whatever type its values are.
        raise ValueError(f"{written!r} is not a list of steps")  # noqa: TRY004
    return [_spell_step(step) for step in read_steps(written)] or None


def _spell_step(step: Step) -> Any:
    if step.name not in STEPS:
        raise ValueError(f"{step.name!r} is not a step")
    if step.name not in _OPTIONS:
        if step.options:
            raise ValueError(f"{step.name} has no options")
        return step.name
    defaults, types = _OPTIONS[step.name]
    options = {**defaults, **step.options}
    if options.keys() != types.keys() or any(
        type(value) is not types[name] for name, value in options.items()
    ):
        raise ValueError(f"{write_canonical(dict(step.options))} are not options of {step.name}")
    step.kind.prepare(options)
    if "flags" in options:
        options["flags"] = "".join(sorted(set(options["flags"])))
    told = {name: value for name, value in options.items() if defaults.get(name) != value}
    return {step.name: told[step.kind.short] if len(told) == 1 else told}


def list_steps(params: Params) -> tuple[Step, ...]:
    """Return the steps that a check applies first; none where it reads the whole output."""
    return read_steps(params.get(STEPS_KEY) or ())


def may_read_nothing(params: Params) -> bool:
    """Whether the steps find nothing in some output."""
    return any(step.kind.may_find_nothing for step in list_steps(params))


def may_lack_part(params: Params) -> bool:
    """Whether an output leaves the check unscored because the steps find nothing in it."""
    return params.get(NOTHING_KEY) == _MISSING and may_read_nothing(params)


def may_exceed_steps(params: Params) -> bool:
    """Whether an output leaves the check unscored because it is beyond a limit of a step."""
    return any(step.kind.may_err(step.options) for step in list_steps(params))


def wrap_text(text: str, params: Params) -> str:
    """Return an output of which the steps may leave this text."""
    for step in reversed(list_steps(params)):
        text = step.kind.wrap(text, step.options)
    return text


def yield_wrapped(texts: Iterator[str], params: Params) -> Iterator[str]:
    """Yield outputs of which the steps may leave these texts, alone and with another.

    The second output has none of them.
    """
    if not params.get(STEPS_KEY):
        yield from texts
        return
    for number, text in enumerate(texts):
        yield wrap_text(text, params)
        if not number:
            yield "An answer."
        yield f"{text}\nAn answer."
        yield text


def simplify_nothing(params: Params) -> Params:
    """Return parameters that answer alike; `on_nothing` counts only if it can be read."""
    return params if may_read_nothing(params) else {**params, NOTHING_KEY: "fail"}


def find_shortening(
    old: Sequence[Any] | None, new: Sequence[Any] | None
) -> tuple[Step, ...] | None:
    """Return the steps that one list has after the other's, if each leaves a piece; else None."""
    shorter, longer = sorted((old or (), new or ()), key=len)
    if list(longer[: len(shorter)]) != list(shorter):
        return None
    added = read_steps(longer[len(shorter) :])
    return added if all(step.kind.picks for step in added) else None


def read_outcome(value: Any) -> str:
    """Return what becomes of a check where a step finds nothing.

    `ValueError` for any other word.
    """
    if value not in {"fail", _MISSING}:
        raise ValueError(f"{value!r} is not fail or missing")
    return str(value)


TextYielder = Callable[[Params], Iterator[str]]


def wrap_texts(sample_texts: TextYielder) -> TextYielder:
    """Return a function that yields outputs for what the given one yields as texts to read."""
    return lambda params: yield_wrapped(sample_texts(params), params)
