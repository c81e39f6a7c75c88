"""A judge as scoring reads it: a template, what fills it, and how a reply becomes an exact score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from evalstore.model.rubric import fraction


class ScoreType(StrEnum):
    """What a judge answers with."""

    BINARY = "binary"
    CONTINUOUS = "continuous"
    LEVELS = "levels"


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge, ready to be asked; `levels` is a score in [0, 1] by name, worst first, and `model` is as written."""

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


def judge_of(value: Mapping[str, Any]) -> Judge:
    """Read a judge from its mapping; one whose replies could not be read as its words say is a `ValueError`."""
    scale = value.get("scale", {})
    least, most = fraction(scale.get("min", 0)), fraction(scale.get("max", 1))
    if least >= most:
        raise ValueError(f"its scale runs from {least} to {most}, which leaves no room for a score")
    return Judge(
        id=str(value.get("id", "")),
        version=str(value.get("version", "")),
        template=value["template"],
        variables=tuple(value.get("variables", ())),
        score_type=ScoreType(value.get("score_type", "continuous")),
        least=least,
        most=most,
        levels=_levels(value),
        reply_pattern=value.get("reply_pattern"),
        model=value.get("model"),
    )


def _levels(value: Mapping[str, Any]) -> Mapping[str, Fraction] | None:
    if value.get("score_type") != ScoreType.LEVELS:
        return None
    names = value["level_names"]
    given = {name: fraction(score) for name, score in value.get("level_scores", {}).items()}
    if given and set(given) != set(names):
        raise ValueError("level_scores does not give a score to exactly the names of level_names")
    return given or {name: Fraction(place, len(names) - 1) for place, name in enumerate(names)}
