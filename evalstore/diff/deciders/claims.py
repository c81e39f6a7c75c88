"""What each decider proves, by the decider's name, as `explain` prints it after "less if"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CLAIMS = {
    "advisory": "it is the model of a check that only advises",
    "beside_scoring": "no check has the key, so that only a bundle may read it",
    "by_enumeration": (
        "whatever the checks answer to one output, the score and the verdict stay the same"
    ),
    "default_unused": "no question that both sides have uses the default",
    "domain_unread": "no score depends on a domain that a judge no longer claims",
    "fact_share_unread": (
        "only the share of facts changes, and the rubric reads the verdict, which stays the same"
    ),
    "harmless": "nothing that changed between the two versions changes a score",
    "judge_reads": "no text is compared: a judge reads the facts as they are written",
    "jury_equivalent": "both juries ask the same judges and combine their scores the same way",
    "levels_equivalent": (
        "every level keeps its name and its value; a template cannot show the list"
    ),
    "locked_harmless": (
        "the new reference floats but is locked, and changes no score: minor, because it can move"
    ),
    "pattern_equivalent": "both patterns find the same answer in every reply",
    "rates_not_lower": (
        "no new rate of the judge is lower than chance explains, or only its noise is new"
    ),
    "readers_unmoved": "the checks that read it ask the same, or do not count in their rubric",
    "same_content": "both references mean the same content",
    "scale_equivalent": "both scales have the same ends, or the judge uses no scale",
    "statements_unmoved": (
        "both lists give the same score, whatever the judges say about each statement"
    ),
    "template_equivalent": "both templates give the same text, whatever fills them",
    "tool_share_unread": (
        "only the share of tools changes, and the rubric reads the verdict, which stays the same"
    ),
    "variable_unread": "the template reads none of the variables that were added or removed",
    "verdict_unread": (
        "nothing reads the check's verdict: it is not required, and the mode reads only scores"
    ),
    "weightless": "the rubric ignores the check on both sides: weight 0 and not required",
}


def name_decider(decider: Callable[..., Any]) -> str:
    """Return the name of a decider: `weightless` for `prove_weightless`."""
    return decider.__name__.lstrip("_").partition("_")[2]
