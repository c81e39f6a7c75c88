"""Finds phrases that outputs contain by chance: short ones, and parts of the question's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.checks import find_check_kind
from evalstore.checks.phrases import Phrase
from evalstore.documents import Pointer
from evalstore.lint.notes import Note, describe_value, list_mappings, make_note
from evalstore.lint.shapes import is_valid_by_schema
from evalstore.model import Artifact, is_cosmetic
from evalstore.model.check_schemas import list_check_kinds

_FEW = 3  # letters or digits from which on a phrase is not in every second text
# What may follow a word that is still the same word.
_ENDINGS = frozenset(["s", "es", "d", "ed", "ing", "n", "en", "er", "ly"])
_INSIDE = r"(?<!\w)(\w*){}(\w*)(?!\w)"


def lint_phrases(artifact: Artifact) -> Iterator[Note]:
    """Yield the short phrases of a rubric's checks."""
    for index, check in list_mappings(artifact.document.value, "checks"):
        kind = check.get("kind")
        if kind not in list_check_kinds() or not is_valid_by_schema(f"checks/{kind}", check):
            continue  # a separate finding
        for name in check:
            for pointer, phrase in list_phrases(check, name):
                yield from lint_short_phrase(phrase, ("checks", index, *pointer))


def list_phrases(check: Mapping[str, Any], name: str) -> Iterator[tuple[Pointer, Phrase]]:
    """Yield the phrases in a check's list `name`, each with its place in the check."""
    listed = check.get(name)
    if not isinstance(listed, list) or is_cosmetic(name):
        return
    for index, item in enumerate(listed):
        if phrase := find_check_kind(check["kind"]).read_phrase(item, check):
            yield (name, index), phrase


def lint_short_phrase(phrase: Phrase, at: Pointer) -> Iterator[Note]:
    """Yield that a phrase is only one or two letters or digits, which longer words contain."""
    text = phrase.text.strip()
    if len(text) >= _FEW or not (text.isdigit() or text.isalpha()):
        return
    # One or two characters are a word in scripts without letters, and two capitals are an acronym.
    is_acronym = phrase.is_exact and len(text) > 1 and text.isupper()
    if text.isalpha() and (text.lower() == text.upper() or is_acronym):
        return
    where = "numbers" if text.isdigit() else "words"
    yield make_note("phrase-short", at, found=describe_value(phrase.text), where=where)


def lint_phrase_of_question(phrase: Phrase, asked: Any, at: Pointer) -> Iterator[Note]:
    """Yield that a phrase is within another word of the question: repeating it is enough."""
    text = phrase.text.strip()
    if len(text) < _FEW or not isinstance(asked, str):
        return
    question = asked if phrase.is_exact else asked.lower()
    if text not in question:
        return
    words = [*re.finditer(_INSIDE.format(re.escape(text)), question)]
    # If it is a word of the question, or another form of one, the author saw it.
    if words and all(word[1] or (word[2] and word[2] not in _ENDINGS) for word in words):
        found, word = describe_value(phrase.text), describe_value(words[0][0])
        yield make_note("phrase-in-question", at, found=found, word=word)
