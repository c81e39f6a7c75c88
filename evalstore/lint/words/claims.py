"""Finds two claims in one statement: two verbs joined by `and`. Doubtful cases are skipped."""

from __future__ import annotations

import re
from typing import NamedTuple

from evalstore.lint.words.verbs import NOUNS_TOO, VERBS, join_words, make_third_person

_NOUN = (
    r"(?:a|an|the|its|it|them|that|this|these|those|their|his|her|your|my|our|no|one|two|only|"
    r"all|every|each|any|some|how|why|whether|what|which|who|where|when)"
)
_THIRD = join_words([*map(make_third_person, (*VERBS, *NOUNS_TOO)), "is", "has", "does"])
_BASE = join_words([*VERBS, *NOUNS_TOO])
_ADVERB = r"(?:(?:also|then|only|clearly|explicitly|correctly|never|\w{3,}ly)\s+)*"
_AND = rf"\s*,?\s+and\s+{_ADVERB}"
_NEGATED = r"(?:does not|doesn't|do not|don't|is not|isn't|has no|has not)\s+\w"
_SUBJECT = (
    r"(?:(?:the|this|its)\s+)?(?:\w+\s+)?"
    r"(?:answer|response|reply|output|agent|model|assistant|bot|chatbot|code|text|"
    r"summary|email|message|solution|report|skill|it|he|she)\s+"
)
_OBJECT = r"(?P<first>\S(?:[^;:.?!]|\.(?=\w))*?)"
_PLAIN = r"(?!\s+(?:of|and|or|,))\s+\w"
_THIRD_SECOND = (
    rf"(?P<second>{_NEGATED}|"
    rf"(?:{join_words([make_third_person(verb) for verb in VERBS])}|is|has){_PLAIN}|"
    rf"(?:{join_words([make_third_person(verb) for verb in NOUNS_TOO])})\s+{_NOUN}\b)"
)
_BASE_SECOND = (
    rf"(?P<second>{_NEGATED}|(?:should|must)\s+\w|(?:{join_words(VERBS)}){_PLAIN}|"
    rf"(?:{join_words(NOUNS_TOO)})\s+{_NOUN}\b)"
)
_AUXILIARY = r"(?:does|do|did|is|are|was|were|has|have|can|will|should)"
_FORMS = (
    # names the fee and tells the guest
    rf"(?:{_SUBJECT})?{_ADVERB}(?:{_THIRD})\s+{_OBJECT}{_AND}{_THIRD_SECOND}",
    # should name the fee and link to the form
    rf"(?:{_SUBJECT})(?:should|must)\s+{_ADVERB}(?:{_BASE})\s+{_OBJECT}{_AND}{_BASE_SECOND}",
    # does it name the fee and does it link to the form
    (
        rf"{_AUXILIARY}\s+{_OBJECT}{_AND}"
        rf"(?P<second>{_AUXILIARY}\s+(?:it|the|this|they|there|its|not)\b)"
    ),
    # does it solve the problem and handle edge cases
    (
        r"(?:does|do|did|can|will|should)\s+\w+\s+(?:\w+\s+)?"
        rf"(?:{_BASE})\s+{_OBJECT}{_AND}{_BASE_SECOND}"
    ),
)
# After these, the `and` belongs to a clause that may have both verbs, or that says how the two
# belong together.
_CLAUSE = (
    r"\b(?:that|which|who|whom|whose|what|when|whenever|where|whether|why|how|if|unless|because|"
    r"since|while|so|than|both|either|neither|between|once|after|before|until|as though)\b"
)
_QUOTED = r"`[^`]*`|\"[^\"]*\"|“[^”]*”|(?<!\w)'[^']*'(?!\w)|\([^()]*\)"
_ENDS = r"[.?!]\s+\S"
_LONGEST = 300  # characters of a statement; anything longer is a text that explains one


class TwoClaims(NamedTuple):
    """The two parts of a statement, as written."""

    first: str
    second: str


def find_two_claims(statement: str) -> TwoClaims | None:
    """Return the two claims of one sentence; None if it may be one claim, or several sentences."""
    text = statement.strip()
    # A quotation is not a verb of the statement; its place is kept.
    plain = re.sub(_QUOTED, lambda found: "x" * len(found[0]), text)
    if (
        len(text) > _LONGEST
        or " and " not in plain.lower()
        or re.search(_ENDS, plain)
        or "\n" in plain
    ):
        return None
    for form in _FORMS:
        if (found := re.match(form, plain, re.IGNORECASE)) is None:
            continue
        begin = found.start("second")
        before = text[: found.end("first")]
        if re.search(_CLAUSE, plain[:begin], re.IGNORECASE) is None:
            return TwoClaims(before, text[begin:].rstrip(" .?!"))
    return None
