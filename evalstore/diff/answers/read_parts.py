"""What a comparison knows about the steps of `on`: when they find nothing, and what they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evalstore.checks.steps import NOTHING_KEY, STEPS, STEPS_KEY, Step, read_steps
from evalstore.documents import write_canonical

Params = Mapping[str, Any]
_MISSING = "missing"
# The steps that have options: the defaults, and the type of each option.
_OPTIONS: Mapping[str, tuple[Params, Mapping[str, type]]] = {
    "json_path": ({"type": "any"}, {"path": str, "type": str}),
    "remove": (
        {"flags": "", "only_first": False},
        {"pattern": str, "flags": str, "only_first": bool},
    ),
    "regex_group": ({"flags": "", "group": 1}, {"pattern": str, "flags": str, "group": int}),
}


def read_step_list(written: Any) -> list[Any] | None:
    """Return the steps of `on` in one spelling; None if there are none.

    Raises `ValueError` for what the schema refuses.
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
    changed = {name: value for name, value in options.items() if defaults.get(name) != value}
    return {step.name: changed[step.kind.short] if len(changed) == 1 else changed}


def list_steps(params: Params) -> tuple[Step, ...]:
    """Return the steps that a check applies first; none if it reads the whole output."""
    return read_steps(params.get(STEPS_KEY) or ())


def may_read_nothing(params: Params) -> bool:
    """Whether there are outputs in which the steps find nothing."""
    return any(step.kind.may_find_nothing for step in list_steps(params))


def may_lack_part(params: Params) -> bool:
    """Whether some output leaves the check unscored because the steps find nothing in it."""
    return params.get(NOTHING_KEY) == _MISSING and may_read_nothing(params)


def may_exceed_steps(params: Params) -> bool:
    """Whether some output leaves the check unscored because it exceeds a limit of a step."""
    return any(step.kind.may_err(step.options) for step in list_steps(params))


def wrap_text(text: str, params: Params) -> str:
    """Return an output from which the steps may leave exactly this text."""
    for step in reversed(list_steps(params)):
        text = step.kind.wrap(text, step.options)
    return text


def yield_wrapped(texts: Iterator[str], params: Params) -> Iterator[str]:
    """Yield outputs from which the steps may leave these texts, and one with nothing to find.

    Each text comes wrapped for the steps, and also unwrapped, with and without a line after it.
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
    """Return parameters with the same answers; `on_nothing` counts only if nothing may be found."""
    return params if may_read_nothing(params) else {**params, NOTHING_KEY: "fail"}


def find_shortening(
    old: Sequence[Any] | None, new: Sequence[Any] | None
) -> tuple[Step, ...] | None:
    """Return the steps that the longer list adds at its end; else None.

    It is None, too, if an added step leaves anything but a piece of what it reads.
    """
    shorter, longer = sorted((old or (), new or ()), key=len)
    if list(longer[: len(shorter)]) != list(shorter):
        return None
    added = read_steps(longer[len(shorter) :])
    return added if all(step.kind.picks for step in added) else None


def read_outcome(value: Any) -> str:
    """Return what becomes of a check if a step finds nothing: fail or missing.

    Raises `ValueError` for anything else.
    """
    if value not in {"fail", _MISSING}:
        raise ValueError(f"{value!r} is not fail or missing")
    return str(value)


TextYielder = Callable[[Params], Iterator[str]]


def wrap_texts(sample_texts: TextYielder) -> TextYielder:
    """Return a function that yields outputs from which the steps leave the given sample texts."""
    return lambda params: yield_wrapped(sample_texts(params), params)
