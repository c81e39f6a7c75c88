"""The verbs that statements about an answer use, and their forms in a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Verbs that graders' statements begin with. Those in the second list are nouns, too: after `and`
# they are taken for a verb only if an object follows.
_VERB_WORDS = (
    "acknowledge adapt add address apologise apologize apply ask assign avoid begin choose "
    "clarify complete confirm connect contain convert correct create decline define deliver "
    "derive describe detect diagnose discuss eliminate emphasise emphasize ensure escalate "
    "evaluate exclude explain express flag follow generate give greet handle highlight identify "
    "ignore implement include infer introduce invoke justify keep leave maintain mention modify "
    "obey omit perform place prefer present preserve prioritise prioritize produce propose "
    "provide recognise recognize recommend refer refuse reject remain remove replace resolve "
    "respect respond satisfy save say select send separate solve specify suggest summarise "
    "summarize tell translate treat update use validate verify warn write"
)
_NOUN_WORDS = (
    "answer bound break call cause check cite claim close compare contrast cover detail display "
    "document draft drop end favour favor focus format function group hand help input insert "
    "label limit link list load log name note offer open order output point post print process "
    "promise prompt put query quote reach read report request return route run score search set "
    "share show skip sort start state step stop store support tag target test trigger turn "
    "value view work"
)
VERBS, NOUNS_TOO = _VERB_WORDS.split(), _NOUN_WORDS.split()


def make_third_person(verb: str) -> str:
    """Return the third-person form of a verb."""
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def join_words(words: Iterable[str]) -> str:
    """Return the words as alternatives of a pattern, longest first."""
    return "|".join(sorted(words, key=len, reverse=True))
