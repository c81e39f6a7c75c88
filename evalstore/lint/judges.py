"""Lints a judge and its prompt: the variables are filled, what it asks can be answered, its validation is fresh."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from evalstore.checks.reply import find_pattern_limit, find_pattern_problem, find_quoted_answer, is_pattern_idle
from evalstore.checks.template import TEXT_PART, TemplateTag, compile_template, find_tag_starts, find_tags
from evalstore.documents import Document, Pointer
from evalstore.errors import Place
from evalstore.languages.patterns import find_dialect_difference
from evalstore.lint.notes import (
    Note,
    describe_value,
    get_list,
    get_mapping,
    list_mappings,
    list_texts,
    make_note,
    suggest_name,
)
from evalstore.lint.references import ReferenceLookup, find_referenced
from evalstore.lint.secrets import lint_secrets
from evalstore.model import MALFORMED_ERRORS, Artifact, Judge, ScoreType, read_judge
from evalstore.model.judge import BUILTIN_VARIABLES, CRITERIA
from evalstore.text import SHORT_DIGEST, SHORT_EXCERPT, make_excerpt

_KNOWN_TAGS = "valid tags are {{ x }}, {{{ x }}}, {{! a comment }}, {{# x }}…{{/ x }} and {{^ x }}…{{/ x }}"
LEAST_ROWS = 30  # below it a rate of half of the rows is known to no better than a quarter up or down
_RETIREMENT_DAYS = 90  # before the day on which a judge's model is switched off
_ANSWERS = {
    ScoreType.BINARY: "verdict: pass, fail, yes, no, true, false, 1 or 0",
    ScoreType.CONTINUOUS: "number",
    ScoreType.LEVELS: "name of `level_names`",
}
_EVIDENCE = ("tpr", "tnr", "validated_at")


def lint_judge(artifact: Artifact, max_age: int, today: date) -> Iterator[Note]:
    """Yield a judge's own findings; `max_age` is in days."""
    value = artifact.document.value
    if isinstance(value, dict):
        yield from lint_prompt(artifact)
        yield from lint_secrets(value)
        yield from _lint_rates(value)
        yield from _lint_age(artifact, max_age, today)
        yield from _lint_evidence(artifact)
        yield from _lint_retirement(value, today)


def lint_prompt(artifact: Artifact) -> Iterator[Note]:
    """Yield what is wrong with what a judge asks, and with how its reply is read."""
    yield from _lint_template(artifact.document)
    yield from _lint_reply_pattern(artifact.document.value)


def _lint_template(document: Document) -> Iterator[Note]:
    template = document.value.get("template")
    if not isinstance(template, str):
        return
    filled = [*BUILTIN_VARIABLES, *(name for _, name in list_texts(document.value, "variables"))]
    reported, place_of = set[str](), _find_tag_places(document)
    tags = [*find_tags(template)]
    if template and not any(tag.problem for tag in tags) and not _shows_output(tags):
        yield make_note("template-output-unread", ("template",))
    for tag in tags:
        place = place_of(tag.number)
        if tag.problem:
            yield make_note("template-malformed", ("template",), place=place, message=tag.problem, hint=_KNOWN_TAGS)
        elif tag.sigil != "!" and tag.name not in filled and tag.name not in reported:
            reported.add(tag.name)
            # A `criterion` is more likely one that a check fills than a slip.
            meant = [name for name in filled if name != CRITERIA]
            hint = suggest_name(tag.name, meant, "declare it under `variables:` so that checks can fill it")
            yield make_note("template-variable-unfilled", ("template",), place=place, found=tag.name, hint=hint)


def _shows_output(tags: list[TemplateTag]) -> bool:
    """Whether the output is shown: a section only asks whether there is one, and `{{^ output }}` opens without one."""
    inside: list[bool] = []
    for tag in tags:
        if tag.sigil in {"#", "^"}:
            inside.append(tag.sigil == "^" and tag.name == "output")
        elif tag.sigil == "/":
            inside.pop()
        elif not tag.sigil and tag.name == "output" and not any(inside):
            return True
    return False


def _find_tag_places(document: Document) -> Callable[[int], Place]:
    """Return a function from a tag's number to its place; where YAML has other words for it, the template's."""
    begin, (_, _, start, end) = document.locate(("template",)), document.spans["template",]
    text = document.text[:end]
    offsets = [start + offset for offset in find_tag_starts(text[start:])]
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    if len(offsets) != sum(1 for _ in find_tag_starts(document.value["template"])):
        return lambda _: begin

    def place(number: int) -> Place:
        line = bisect_right(lines, offsets[number])
        return Place(document.file, line, offsets[number] - lines[line - 1] + 1)

    return place


def _lint_reply_pattern(value: dict[str, Any]) -> Iterator[Note]:
    if not isinstance(pattern := value.get("reply_pattern"), str):
        return
    if broken := find_pattern_problem(pattern):
        hint = "use the syntax of Python's re, with the answer in the first group"
        yield make_note("check-broken", ("reply_pattern",), message=broken, hint=hint)
    elif other := find_dialect_difference(pattern, ""):
        yield make_note("check-problem", ("reply_pattern",), message=other, hint="write it so that both read it alike")
    if limit := find_pattern_limit(pattern):
        from evalstore.languages.patterns import LIMIT_HINT

        yield make_note("check-problem", ("reply_pattern",), message=limit, hint=LIMIT_HINT)
    try:
        judge = read_judge(value)
    except MALFORMED_ERRORS:  # its schema says what is wrong
        return
    if answer := find_quoted_answer(judge):
        yield make_note("reply-pattern-loose", ("reply_pattern",), found=describe_value(answer))
    if is_pattern_idle(judge):
        yield make_note("reply-pattern-idle", ("reply_pattern",), wanted=_ANSWERS[judge.score_type])


def _lint_rates(value: dict[str, Any]) -> Iterator[Note]:
    for key in ("tpr", "tnr"):
        rate = get_mapping(value, "validation").get(key)
        if isinstance(rate, int | Decimal) and not isinstance(rate, bool) and not 0 <= rate <= 1:
            yield make_note("judge-rate-outside", ("validation", key), name=f"`{key}`", found=describe_value(rate))


def _lint_age(artifact: Artifact, max_age: int, today: date) -> Iterator[Note]:
    validation = get_mapping(artifact.value, "validation")
    pointer: Pointer = ("validation",)
    if missing := [key for key in _EVIDENCE if validation.get(key) is None]:
        what = f"`validation` has no {' and no '.join(missing)}" if validation else "`validation` is missing"
        yield make_note("judge-unvalidated", pointer if validation else ("id",), of_key=True, missing=what)
    written = validation.get("validated_at")
    if not isinstance(written, str):
        return
    try:
        day = date.fromisoformat(written[:10])
    except ValueError:
        yield make_note("judge-date-malformed", (*pointer, "validated_at"), found=describe_value(written))
        return
    if (days := (today - day).days) > max_age:
        where, why = (*pointer, "validated_at"), f"it is from {day}, {days} days ago, and the limit is {max_age}"
        yield make_note("judge-validation-stale", where, why=why)


def _lint_evidence(artifact: Artifact) -> Iterator[Note]:
    """Yield what makes a validation no evidence: other content, too few rows, or an answer that a constant gives."""
    validation = get_mapping(artifact.value, "validation")
    digest = validation.get("digest")
    if isinstance(digest, str) and digest != artifact.scoring_digest:
        why = f"it measured {digest[:SHORT_DIGEST]}…, and the judge is now {artifact.scoring_digest[:SHORT_DIGEST]}…"
        yield make_note("judge-validation-stale", ("validation", "digest"), why=why)
    size = validation.get("sample_size")
    if isinstance(size, int) and not isinstance(size, bool) and 0 < size < LEAST_ROWS:
        yield make_note("judge-sample-small", ("validation", "sample_size"), found=size, least=LEAST_ROWS)
    rates = [validation.get(key) for key in ("tpr", "tnr")]
    numbers = [rate for rate in rates if isinstance(rate, int | Decimal) and not isinstance(rate, bool)]
    # Youden's J: at 0 the verdicts do not depend on the answers, and so Cohen's kappa is 0, too.
    if len(numbers) == len(rates) and sum(numbers) <= 1:
        percents = [f"{rate * 100:.0f} %" for rate in numbers]
        yield make_note("judge-no-better-than-baseline", ("validation", "tnr"), tpr=percents[0], tnr=percents[1])


def _lint_retirement(value: dict[str, Any], today: date) -> Iterator[Note]:
    written = value.get("retires")
    if not isinstance(written, str):
        return
    try:
        day = date.fromisoformat(written)
    except ValueError:
        yield make_note("judge-date-malformed", ("retires",), found=describe_value(written))
        return
    left = (day - today).days
    if left <= _RETIREMENT_DAYS:
        when = f"retires in {left} days, on {day}" if left > 0 else f"was retired on {day}"
        yield make_note("judge-model-retires", ("retires",), when=when, today=today)


# Patterns as text, which `re` compiles when it first meets them: few commands read a prompt.
_SENTENCE = r"[^.!?\n]+[.!?]*"
_WORD = r"[a-z]+(?:['-][a-z]+)*"
# What a template may show besides the output in which somebody explains what counts.
_EXPLAINING = frozenset({"criteria", "context"})

_REFERENCE = (
    r"(?i)\b(?:(?:reference|expected|gold|model|correct|ideal) (?:answer|output|response|solution)|ground truth|"
    r"answer key)\b"
)
_CORRECTNESS = r"(?i)\b(?:in)?(?:correct|accurate|accuracy|correctness|true|factual|factually)\b"
_LEAST_SHARE = 0.9  # of the rows that a judge is validated against, from which on they are said to have a reference

# Words that praise without saying what for; a criterion of these alone means what each reader thinks of.
_VAGUE_WORDS = (
    "good bad great nice quality helpful helpfulness useful usefulness appropriate acceptable adequate "
    "satisfactory excellent well better best fine decent high poor effective effectiveness"
)
_VAGUE = frozenset(_VAGUE_WORDS.split())
# Words of any prompt, which say nothing of what counts.
_PLAIN_WORDS = (
    "a an the is are be it its this that these of to for in on as at by or and if not with from how what whether "
    "does do did you your i we they please expert evaluator judge judges grader assistant impartial ai model "
    "chatbot bot system answer answers answered output outputs response responses reply replies text question "
    "questions user users prompt input task request rate rating score scores grade grading evaluate evaluation "
    "assess assessment decide determine give return say tell respond write read verdict pass fail passes fails "
    "yes no true false level json object rationale reason explanation sentence one two number integer scale "
    "following below above here overall only between out than very most least lowest highest will would can "
    "should must was were has have enough points point stars think"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())
# Qualities by what they are about: two of different kinds are two questions.
_QUALITIES: Mapping[str, str] = {
    word: about
    for about, words in {
        "truth": "accurate correct true factual right accuracy correctness truthful",
        "manner": "polite friendly kind respectful professional courteous empathetic polished politeness tone empathy",
        "extent": "complete thorough comprehensive exhaustive completeness",
        "length": "concise short brief succinct conciseness brevity",
        "clarity": "clear readable understandable fluent clarity readability fluency coherent coherence",
        "relevance": "relevant on-topic relevance",
        "safety": "safe harmless unbiased safety",
        "help": "helpful useful helpfulness usefulness",
        "wit": "creative engaging original interesting creativity",
    }.items()
    for word in words.split()
}
_QUALITY = "|".join(sorted(map(re.escape, _QUALITIES), key=len, reverse=True))
_DOUBLED = (
    rf"(?i)\b({_QUALITY})\b(?:\s*,)?\s+(?:and|as well as|and also|but also)\s+"
    r"(?:is\s+|is it\s+|also\s+|it is\s+|its\s+)?"
    rf"({_QUALITY})\b|\b({_QUALITY})\s*,\s*({_QUALITY})\b"
)
_ASKS = (
    r"(?i)^\W*(?:please\s+)?(?:is|are|does|do|did|has|have|can|rate|judge|score|grade|evaluate|assess|decide|determine|check|"
    r"how|say)\b"
)
_YES_OR_NO = r"(?is)^\W*(?:is|are|does|do|did|has|have|can|was|were)\b.*\?$"
_JOINED = r"(?i)\b(?:only if (?:both|all)|if (?:both|all)|all of (?:these|them|it)|either of)\b"

_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = (
    rf"(?i)(?<![\w.]){_NUMBER}\s*(?:to|through|and|\.\.|-|\N{{EN DASH}})\s*{_NUMBER}(?![\w%])|\bout of \d+|/\s?\d+\b"
)
_NO_ANCHOR = "to or and through out of points? stars? scale inclusive as for how based in on per json with by depending"
_ANCHOR = (
    rf"(?i)(?<![\w.]){_NUMBER}\s{{0,2}}[(=:\N{{EN DASH}}-]?\s{{0,2}}(?!(?:{'|'.join(_NO_ANCHOR.split())})\b)[a-z]|"
    rf"\b(?:worst|best|perfect|poor|excellent|terrible|nothing|everything|fully|completely|lowest|highest)\W{{1,3}}"
    rf"(?:is\s|=\s?|gets\s|scores\s|at\s)?{_NUMBER}"
)

_THING = r"(?:answers?|responses?|outputs?|repl(?:y|ies)|texts?|explanations?)"
_STYLE = (
    rf"(?i)\b(?:longer|lengthier|lengthy|(?:more|well)[- ](?:detailed|elaborate|written|formatted|polished)|long|"
    rf"eloquent|impressive|confident)[- ,\w]{{0,30}}? {_THING}\b.{{0,40}}\b(?:better|higher|more points|preferred|"
    r"best)\b|"
    rf"\b(?:prefer|favou?r|reward)\w*\b.{{0,30}}\b(?:length|longer|long|detail|detailed|verbose|verbosity|shorter|"
    rf"formatting|markdown|bullet|headings|eloquen\w+|style|confident|confidence|polish\w*)\b|"
    r"\b(?:bonus|extra|additional|more) points? for\b.{0,40}\b(?:length|detail|formatting|markdown|bullets?|headings|"
    r"emojis?|style|polish|confidence)\b|"
    r"\b(?:sounds?|looks?|seems?) (?:confident|professional|impressive|authoritative|polished|fluent)\b"
)
_DENIED = (
    r"(?i)\b(?:not|never|no|nor|regardless|ignore|ignoring|without|rather than|irrespective|however|penali[sz]e)\b|"
    r"n't\b"
)


def lint_wording(artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield what the words of a judge's prompt, or of a rubric's criteria, leave open or lead astray."""
    value = artifact.document.value
    if not isinstance(value, dict):
        return
    for index, check in list_mappings(value, "checks"):
        for name, text in get_mapping(check, "variables").items():
            if isinstance(text, str):
                yield from _lint_criterion(text, ("checks", index, "variables", name))
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
    shown = {*template.names}
    system = str((judge.model or {}).get("system") or "")
    prose = f"{system}\n{''.join(what if part == TEXT_PART else ' ' for part, what in template.parts)}"
    is_explained = bool(shown & {*_EXPLAINING, *judge.variables})
    if "expected" not in shown and not is_explained:
        yield from _lint_reference(prose, artifact, lookup)
        if found := _find_vague(prose, frozenset(word for name in judge.levels or {} for word in _list_words(name))):
            yield make_note("criterion-vague", at, found=found)
    yield from _lint_doubled(prose, at)
    if judge.score_type is ScoreType.CONTINUOUS and not is_explained:
        scale = re.search(_RANGE, prose)
        if scale and not re.search(_ANCHOR, re.sub(_RANGE, " ; ", prose)) and not re.search(_ANCHOR, prose):
            yield make_note("scale-unexplained", at, found=_show(scale[0]))
    for index, name in list_texts(artifact.document.value, "level_names"):
        if not is_explained and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", prose, re.IGNORECASE):
            yield make_note("level-unexplained", ("level_names", index), found=_show(name))
    yield from _lint_style(prose, at)


def _lint_criterion(text: str, at: Pointer) -> Iterator[Note]:
    if found := _find_vague(text, frozenset()):
        yield make_note("criterion-vague", at, found=found)
    yield from _lint_doubled(text, at, is_criterion=True)
    yield from _lint_style(text, at)


def _lint_reference(prose: str, artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    if match := re.search(_REFERENCE, prose):
        yield make_note("template-reference-unread", ("template",), why=f"speaks of the {_show(match[0])}")
        return
    against = get_mapping(artifact.document.value, "validation").get("validated_against")
    if not re.search(_CORRECTNESS, prose) or (gold := find_referenced(against, lookup)) is None:
        return
    rows = get_list(gold.document.value, "questions")
    referenced = [row for row in rows if isinstance(row, dict) and row.get("expected") not in (None, "", [], {})]
    if rows and len(referenced) >= _LEAST_SHARE * len(rows):
        why = f"judges what is correct, and the rows of {gold.name} that it is validated against have `expected`"
        yield make_note("template-reference-unread", ("template",), why=why)


def _find_vague(prose: str, names: frozenset[str]) -> str:
    """Return the words that are all that a text says of what counts; empty where it says more, or nothing."""
    words = [word for word in _list_words(prose) if word not in names]
    if any(len(word) > 1 and word not in _VAGUE and word not in _PLAIN for word in words):
        return ""
    return ", ".join(dict.fromkeys(word for word in words if word in _VAGUE))


def _list_words(text: str) -> list[str]:
    return re.findall(_WORD, text.lower())


def _lint_doubled(prose: str, at: Pointer, *, is_criterion: bool = False) -> Iterator[Note]:
    sentences = [match[0].strip() for match in re.finditer(_SENTENCE, prose)]
    for sentence in sentences:
        match = re.search(_DOUBLED, sentence) if is_criterion or re.match(_ASKS, sentence) else None
        if match:
            one, other = (word.lower() for word in match.groups() if word)
            if _QUALITIES[one] != _QUALITIES[other]:
                yield make_note("criterion-doubled", at, found=f"{one} and {other}")
                return
    questions = [sentence for sentence in sentences if re.match(_YES_OR_NO, sentence)]
    if len(questions) > 1 and not re.search(_JOINED, prose):
        yield make_note("criterion-doubled", at, found=f"{_show(questions[0])} and {_show(questions[1])}")


def _lint_style(prose: str, at: Pointer) -> Iterator[Note]:
    for match in re.finditer(_SENTENCE, prose):
        found = None if re.search(_DENIED, match[0]) else re.search(_STYLE, match[0])
        if found:
            yield make_note("criterion-style-cued", at, found=_show(found[0]))
            return


def _show(text: Any) -> str:
    return f"'{make_excerpt(' '.join(str(text).split()), SHORT_EXCERPT)}'"
