"""What each decider proves, as `explain` says it behind "less if": a clause by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CLAIMS = {
    "advisory": "it is the model of a check that only advises",
    "beside_scoring": "no check has the key, so that only a bundle may read it",
    "by_enumeration": (
        "whatever the checks can answer to one output, the score and the verdict stay"
    ),
    "default_unused": "a default is read by no question that both sides have",
    "domain_unread": "no score hangs on a domain that a judge no longer claims",
    "fact_share_unread": (
        "only the share of facts moves, and the rubric reads the verdict, which stays"
    ),
    "harmless": "nothing that changed between the two versions moves a score",
    "judge_reads": "no text is compared: a judge reads the facts as they are written",
    "jury_equivalent": (
        "both panels ask the same judges, and make the same score of what they say"
    ),
    "levels_equivalent": (
        "every level keeps its name and its value; a template cannot show the list"
    ),
    "locked_harmless": (
        "a floating but locked reference moves no score: it can be moved on, so minor"
    ),
    "pattern_equivalent": "both patterns find the same answer in every reply",
    "rates_not_lower": (
        "no new rate of the judge is lower than chance explains, or only its noise is new"
    ),
    "readers_unmoved": "the checks that read it ask the same, or do not count in their rubric",
    "same_content": "both references name one content",
    "scale_equivalent": "both scales map a number to the same place, or that none is read",
    "statements_unmoved": (
        "both lists make the same score, whatever the judges say of each statement"
    ),
    "template_equivalent": "both templates give the same text, whatever fills them",
    "tool_share_unread": (
        "only the share of tools moves, and the rubric reads the verdict, which stays"
    ),
    "variable_unread": "the template reads none of the variables that come or go",
    "verdict_unread": "nothing reads the check's verdict: not required, and no mode reads it",
    "weightless": "the rubric reads neither side of a check: weighted 0 and not required",
}


def name_decider(decider: Callable[..., Any]) -> str:
    """Return the name of a decider: `weightless` for `prove_weightless`."""
    return decider.__name__.lstrip("_").partition("_")[2]
