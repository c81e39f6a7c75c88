"""Lints the words of a judge's prompt and criteria: what is vague, doubled, or about style."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.checks.template import TEXT_PART, compile_template
from evalstore.documents import Pointer
from evalstore.lint.notes import Note, get_list, get_mapping, list_mappings, list_texts, make_note
from evalstore.lint.reference_lookup import ReferenceLookup
from evalstore.lint.references import find_referenced
from evalstore.lint.words.claims import find_two_claims
from evalstore.lint.words.placeholders import find_in_text
from evalstore.model import MALFORMED_ERRORS, Artifact, Judge, ScoreType, read_judge
from evalstore.text import SHORT_EXCERPT, make_excerpt

# Patterns as text, which `re` compiles on first use: few commands read a prompt.
_SENTENCE = r"[^.!?\n]+[.!?]*"
_WORD = r"[a-z]+(?:['-][a-z]+)*"
# What a template may show besides the output to explain what counts.
_EXPLAINING = frozenset({"criteria", "context"})
_REFERENCE = (
    r"(?i)\b(?:(?:reference|expected|gold|model|correct|ideal) "
    r"(?:answer|output|response|solution)|ground truth|answer key)\b"
)
_CORRECTNESS = r"(?i)\b(?:in)?(?:correct|accurate|accuracy|correctness|true|factual|factually)\b"
# The share of the validation rows of a judge from which on they count as having a reference.
_LEAST_SHARE = 0.9
# Words that praise without saying why; a criterion of these alone means what each reader thinks it
# means.
_VAGUE_WORDS = (
    "good bad great nice quality helpful helpfulness useful usefulness appropriate acceptable "
    "adequate satisfactory excellent well better best fine decent high poor effective "
    "effectiveness"
)
_VAGUE = frozenset(_VAGUE_WORDS.split())
# Words that any prompt has, which say nothing about what counts.
_PLAIN_WORDS = (
    "a an the is are be it its this that these of to for in on as at by or and if not with from "
    "how what whether does do did you your i we they please expert evaluator judge judges "
    "grader assistant impartial ai model chatbot bot system answer answers answered output "
    "outputs response responses reply replies text question questions user users prompt input "
    "task request rate rating score scores grade grading evaluate evaluation assess assessment "
    "decide determine give return say tell respond write read verdict pass fail passes fails "
    "yes no true false level json object rationale reason explanation sentence one two number "
    "integer scale following below above here overall only between out than very most least "
    "lowest highest will would can should must was were has have enough points point stars think"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())
# Qualities by what they are about: two of different kinds are two questions.
_QUALITY_WORDS = {
    "truth": "accurate correct true factual right accuracy correctness truthful",
    "manner": (
        "polite friendly kind respectful professional courteous empathetic polished politeness "
        "tone empathy"
    ),
    "extent": "complete thorough comprehensive exhaustive completeness",
    "length": "concise short brief succinct conciseness brevity",
    "clarity": (
        "clear readable understandable fluent clarity readability fluency coherent coherence"
    ),
    "relevance": "relevant on-topic relevance",
    "safety": "safe harmless unbiased safety",
    "help": "helpful useful helpfulness usefulness",
    "wit": "creative engaging original interesting creativity",
}
_QUALITIES: Mapping[str, str] = {
    word: about for about, words in _QUALITY_WORDS.items() for word in words.split()
}
_QUALITY = "|".join(sorted(map(re.escape, _QUALITIES), key=len, reverse=True))
_DOUBLED = (
    rf"(?i)\b({_QUALITY})\b(?:\s*,)?\s+(?:and|as well as|and also|but also)\s+"
    r"(?:is\s+|is it\s+|also\s+|it is\s+|its\s+)?"
    rf"({_QUALITY})\b|\b({_QUALITY})\s*,\s*({_QUALITY})\b"
)
_ASKS = (
    r"(?i)^\W*(?:please\s+)?(?:is|are|does|do|did|has|have|can|rate|judge|score|grade|evaluate|"
    r"assess|decide|determine|check|how|say)\b"
)
_YES_OR_NO = r"(?is)^\W*(?:is|are|does|do|did|has|have|can|was|were)\b.*\?$"
_JOINED = r"(?i)\b(?:only if (?:both|all)|if (?:both|all)|all of (?:these|them|it)|either of)\b"
_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = (
    rf"(?i)(?<![\w.]){_NUMBER}\s*(?:to|through|and|\.\.|-|\N{{EN "
    rf"DASH}})\s*{_NUMBER}(?![\w%])|\bout of \d+|/\s?\d+\b"
)
# "Rate it", "on a scale": something that merely names a number is not a scale.
_ASKS_FOR_NUMBER = r"(?i)^\W*(?:please\s+)?(?:rate|score|grade)\b|\bon a scale\b"
_NO_ANCHOR = (
    "to or and through out of points? stars? scale inclusive as for how based in on per json with "
    "by depending"
)
_ANCHOR = (
    rf"(?i)(?<![\w.]){_NUMBER}\s{{0,2}}[(=:\N{{EN DASH}}-]?\s{{0,2}}"
    rf"(?!(?:{'|'.join(_NO_ANCHOR.split())})\b)[a-z]|"
    r"\b(?:worst|best|perfect|poor|excellent|terrible|nothing|everything|fully|completely|"
    rf"lowest|highest)\W{{1,3}}(?:is\s|=\s?|gets\s|scores\s|at\s)?{_NUMBER}"
)
_THING = r"(?:answers?|responses?|outputs?|repl(?:y|ies)|texts?|explanations?)"
_STYLE = (
    r"(?i)\b(?:longer|lengthier|lengthy|"
    r"(?:more|well)[- ](?:detailed|elaborate|written|formatted|polished)|long|"
    rf"eloquent|impressive|confident)[- ,\w]{{0,30}}? {_THING}\b.{{0,40}}"
    r"\b(?:better|higher|more points|preferred|best)\b|"
    r"\b(?:prefer|favou?r|reward)\w*\b.{0,30}"
    r"\b(?:length|longer|long|detail|detailed|verbose|verbosity|shorter|"
    r"formatting|markdown|bullet|headings|eloquen\w+|style|confident|confidence|polish\w*)\b|"
    r"\b(?:bonus|extra|additional|more) points? for\b.{0,40}"
    r"\b(?:length|detail|formatting|markdown|bullets?|headings|emojis?|style|polish|confidence)\b|"
    r"\b(?:sounds?|looks?|seems?) "
    r"(?:confident|professional|impressive|authoritative|polished|fluent)\b"
)
_IDLE = r"(?i)\bn/a\b|\bnot[ _-]applicable\b"
_DENIED = (
    r"(?i)\b(?:not|never|no|nor|regardless|ignore|ignoring|without|rather than|irrespective|"
    r"however|penali[sz]e)\b|n't\b"
)

_CHECKS_HINT = "ask each in a check of its own; `weights` and `required` put them together"
_STATEMENTS_HINT = "make each a statement of its own, which may have a `weight`"


def lint_wording(artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield what the words of a judge's prompt, or a rubric's criteria, leave open or obscure."""
    value = artifact.document.value
    if not isinstance(value, dict):
        return
    for index, check in list_mappings(value, "checks"):
        for name, text in get_mapping(check, "variables").items():
            if isinstance(text, str):
                yield from lint_criterion(text, ("checks", index, "variables", name))
        yield from lint_statements(check.get("each"), ("checks", index, "each"), set())
    if isinstance(value.get("template"), str):
        try:
            judge = read_judge(value)
        except MALFORMED_ERRORS:  # its schema says what is wrong
            return
        yield from _lint_prompt(judge, artifact, lookup)


def _lint_prompt(judge: Judge, artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    at: Pointer = ("template",)
    template = compile_template(judge.template)
    if isinstance(template, str):  # another rule says what is wrong
        return
    shown, model = {*template.names}, judge.model or {}
    words = "".join(what if part == TEXT_PART else " " for part, what in template.parts)
    prose = f"{model.get('system') or ''}\n{words}"
    is_explained = bool(shown & {*_EXPLAINING, *judge.variables})
    if "expected" not in shown and not is_explained:
        yield from _lint_reference(prose, artifact, lookup)
        levels = (word for name in judge.levels or {} for word in _list_words(name))
        if found := _find_vague(prose, frozenset(levels)):
            yield make_note("criterion-vague", at, found=found)
    yield from _lint_doubled(prose, at, _CHECKS_HINT)
    if not is_explained:
        yield from _lint_scale(judge, artifact, prose)
    if model.get("response_format") == "json" and (idle := re.search(_IDLE, prose)):
        yield make_note("reply-not-allowed", at, found=_show(idle[0]))
    yield from _lint_style(prose, at)


def _lint_scale(judge: Judge, artifact: Artifact, prose: str) -> Iterator[Note]:
    """Yield the scale, or the levels, that a prompt names without saying what they mean."""
    if judge.score_type is ScoreType.CONTINUOUS:
        scale = re.search(_RANGE, prose)
        if scale and not _is_anchored(prose):
            yield make_note("scale-unexplained", ("template",), found=_show(scale[0]))
    for index, name in list_texts(artifact.document.value, "level_names"):
        if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", prose, re.IGNORECASE):
            yield make_note("level-unexplained", ("level_names", index), found=_show(name))


def lint_statements(listed: Any, at: Pointer, seen: set[int]) -> Iterator[Note]:
    """Yield what the statements in a list leave open, and those that occur twice.

    Yields nothing for other values. `seen` are hashes of statements, including those of other
    lists: the words of each are checked once.
    """
    first: dict[str, int] = {}
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        text, pointer = item, (*at, index)
        if isinstance(item, dict):
            text, pointer = item.get("text"), (*pointer, "text")
        if not isinstance(text, str):
            continue
        same = " ".join(text.casefold().split()).rstrip(".")
        if first.setdefault(same, index) < index:
            yield make_note("statement-repeated", pointer, number=first[same] + 1)
        elif hash(same) not in seen:
            seen.add(hash(same))
            yield from lint_criterion(text, pointer, hint=_STATEMENTS_HINT)


def lint_criterion(text: str, at: Pointer, hint: str = _CHECKS_HINT) -> Iterator[Note]:
    """Yield what a text for a judge leaves open or gets wrong; `hint` says where two belong."""
    if found := _find_vague(text, frozenset()):
        yield make_note("criterion-vague", at, found=found)
    yield from _lint_doubled(text, at, hint, is_criterion=True)
    if (scale := _find_asked_scale(text)) and not _is_anchored(text):
        yield make_note("scale-unexplained", at, found=_show(scale))
    yield from _lint_style(text, at)
    if wrong := find_in_text(text):
        yield make_note("placeholder-unfilled", at, found=wrong.written, hint=wrong.hint)


def _find_asked_scale(text: str) -> str:
    """Return the scale on which a text asks for a number; empty if it only mentions numbers."""
    asked = re.search(_ASKS_FOR_NUMBER, text)
    scale = re.search(_RANGE, text) if asked else None
    return scale[0] if scale else ""


def _is_anchored(prose: str) -> bool:
    """Whether words say what some number of a scale means."""
    return bool(re.search(_ANCHOR, re.sub(_RANGE, " ; ", prose)) or re.search(_ANCHOR, prose))


def _lint_reference(prose: str, artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    if match := re.search(_REFERENCE, prose):
        yield make_note(
            "template-reference-unread", ("template",), why=f"speaks of the {_show(match[0])}"
        )
        return
    against = get_mapping(artifact.document.value, "validation").get("validated_against")
    if not re.search(_CORRECTNESS, prose) or (gold := find_referenced(against, lookup)) is None:
        return
    rows = get_list(gold.document.value, "questions")
    expected = [row.get("expected") for row in rows if isinstance(row, dict)]
    referenced = [one for one in expected if one not in (None, "", [], {})]
    if rows and len(referenced) >= _LEAST_SHARE * len(rows):
        why = (
            f"judges what is correct, and the rows of {gold.name} that it is validated against "
            "have `expected`"
        )
        yield make_note("template-reference-unread", ("template",), why=why)


def _find_vague(prose: str, names: frozenset[str]) -> str:
    """Return the vague words if they are all that a text says about what counts; else ""."""
    words = [word for word in _list_words(prose) if word not in names]
    if any(len(word) > 1 and word not in _VAGUE and word not in _PLAIN for word in words):
        return ""
    return ", ".join(dict.fromkeys(word for word in words if word in _VAGUE))


def _list_words(text: str) -> list[str]:
    return re.findall(_WORD, text.lower())


def _lint_doubled(
    prose: str, at: Pointer, hint: str, *, is_criterion: bool = False
) -> Iterator[Note]:
    sentences = [match[0].strip() for match in re.finditer(_SENTENCE, prose)]
    for sentence in sentences:
        # Most statements do not name two qualities, which is quicker to see than by the pattern.
        lowered = sentence.lower()
        if sum(quality in lowered for quality in _QUALITIES) < 2:  # noqa: PLR2004  # two
            continue
        match = re.search(_DOUBLED, sentence) if is_criterion or re.match(_ASKS, sentence) else None
        if match:
            one, other = (word.lower() for word in match.groups() if word)
            if _QUALITIES[one] != _QUALITIES[other]:
                yield make_note("criterion-doubled", at, found=f"{one} and {other}", hint=hint)
                return
    questions = [sentence for sentence in sentences if re.match(_YES_OR_NO, sentence)]
    if len(questions) > 1 and not re.search(_JOINED, prose):
        found = f"{_show(questions[0])} and {_show(questions[1])}"
        yield make_note("criterion-doubled", at, found=found, hint=hint)
    elif is_criterion and (claims := find_two_claims(prose)):
        found = f"{_show(claims.first)} and {_show(claims.second)}"
        yield make_note("criterion-doubled", at, found=found, hint=hint)


def _lint_style(prose: str, at: Pointer) -> Iterator[Note]:
    for match in re.finditer(_SENTENCE, prose):
        found = None if re.search(_DENIED, match[0]) else re.search(_STYLE, match[0])
        if found:
            yield make_note("criterion-style-cued", at, found=_show(found[0]))
            return


def _show(text: Any) -> str:
    return f"'{make_excerpt(' '.join(str(text).split()), SHORT_EXCERPT)}'"
