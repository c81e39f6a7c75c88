"""Reads one assertion: a check that gives promptfoo's verdict on every output, or why none does.

"The program" in messages and comments is promptfoo.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from evalstore.documents import Document, OpaqueValue, Pointer, read_legacy_yaml
from evalstore.errors import LoadError
from evalstore.languages.patterns import compile_matcher, find_dialect_difference
from evalstore.migration.artifact_names import make_check_ids
from evalstore.migration.case_reading import draft_rubric
from evalstore.migration.extraction import ArtifactDraft
from evalstore.migration.javascript.conditions import is_statement, read_condition
from evalstore.migration.javascript.patterns import (
    escape_literals,
    find_syntax_error,
    translate_pattern,
    translate_unit_pattern,
)
from evalstore.migration.javascript.schemas import UntranslatableError, translate_schema
from evalstore.migration.javascript.values import (
    SPACE,
    UNITS_STEP,
    has_half_character,
    trim_space,
    write_value,
)
from evalstore.migration.readers.promptfoo.rubric_prompts import (
    draft_own_prompt,
    read_chat_prompt,
)
from evalstore.migration.readers.promptfoo.templates import TEMPLATE, UnsayableError, fill_text
from evalstore.migration.readers.promptfoo.texts import (
    split_at_commas,
    split_fields,
    split_old_fields,
)
from evalstore.migration.value_readings import describe_type, is_number
from evalstore.text import SHORT_EXCERPT, make_excerpt

Check = dict[str, Any]
# The steps that read the whole output like promptfoo's JSON.parse.
_WHOLE: Check = {"extract": "whole", "dialect": "javascript"}
NEVER: Check = {"kind": "regex", "pattern": "(?!)"}
ALWAYS: Check = {"kind": "regex", "pattern": "\\A"}
_NOT = "not-"
_RED_TEAM = "promptfoo:redteam"  # the prefix of its red-team types, one for each attack
_FILE = "file://"
_OWN_TESTS = (("tests",), ("defaultTest",))
_CODE_FILES = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".rb")
_DATA_FILES = (".json", ".yaml", ".yml")
_WORD, _BLANK = f"[^{SPACE}]+", f"[{SPACE}]"
_MOST_WORDS = 2_000  # the most words that a pattern counts
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?", re.DOTALL)
_DIGITS = re.compile(r"[-+]?[0-9]+(?:_[0-9]+)+")
_NOT_ITS_PROMPT = "the program does not read rubricPrompt in {}, unless it has steps and evaluate"
_AS_IT_IS = "the pattern {} is JavaScript's, and run as it is"
_ANY_JSON: Check = {"kind": "json_schema", "schema": {}, **_WHOLE}
_SCHEMA = (
    "the program may read {} of its schema otherwise: it checks formats, and reads patterns as"
    " JavaScript does and numbers as doubles"
)
# Keywords of JSON Schema that the program's draft-07 reader rejects.
_LATER = frozenset(
    {"prefixItems", "dependentRequired", "dependentSchemas", "unevaluatedProperties"}
    | {"unevaluatedItems", "minContains", "maxContains", "$dynamicRef", "$anchor"}
)
_MINUS_ZERO = "the program tells 0 from -0 in the JSON that it compares"
_HIDDEN = "this release shows the judge the variable {} of the test in place of its own"
_SCORES = "what options.factuality says that a category is worth is not taken over"
_NO_QUESTION = "{} has an empty prompt"
_MEAN = (
    "the program adds up the scores of its criteria as doubles: a mean that is its threshold may be"
    " below it there"
)
_NO_GRADE = "a criterion without a grade fails the list there, and here reaches its threshold of 0"
_MEAN_IN_SET = (
    "it is a mean over criteria within a set, and a rubric within another holds no third here"
)
_GATED = (
    "its threshold counts the score of a model whatever its verdict; here a verdict that"
    " fails counts 0"
)
_RECORDED = (
    "a run has to record {name}: an output without it is unscored here, and an error of the program"
)
_DRAFT = "http://json-schema.org/draft-07/schema#"
_AJV_DRAFTS = frozenset({_DRAFT, _DRAFT.removesuffix("#")})


class StopError(Exception):
    """The program ends the whole test in an error, whatever the output; the message says why."""


@dataclass(frozen=True, slots=True)
class ProgramRelease:
    """How one release of the program differs from another."""

    name: str
    measured: str
    quotes: bool
    zero_counts: bool
    no_json_is_inverted: bool
    may_drop_defaults: bool
    underscores_are_digits: bool
    variables_hide: bool
    failed_criteria_fail_all: bool

    def has_type(self, row: Mapping[str, Any]) -> bool:
        """Whether the release has the type of assertion that this row of the table describes."""
        return bool(row.get("since", self.name) <= self.name)


@dataclass(frozen=True, slots=True)
class AssertionPart:
    """One assertion with its pointer, its surroundings, and the row of its type in the table.

    `rubric_prompt` is the prompt that its test gives to graders. `score_counts`: a threshold of its
    test, or of its set, reads its score. `scores_categories`: its test says what each category is
    worth. `asks_nothing`: the prompt that its test gives to the model is empty.
    `is_in_set`: it is a member of a set.
    """

    raw: Mapping[str, Any]
    pointer: Pointer
    document: Document
    variables: Mapping[str, Any]
    release: ProgramRelease
    load: Callable[[str], Document | None]
    draft_judge: Callable[[str], ArtifactDraft]
    row: Mapping[str, Any] = field(default_factory=dict)
    rubric_prompt: Any = None
    score_counts: bool = False
    scores_categories: bool = False
    asks_nothing: bool = False
    is_in_set: bool = False

    @property
    def type(self) -> str:
        """Its type, without the prefix `not-`."""
        return str(self.raw["type"]).removeprefix(_NOT)

    @property
    def is_turned(self) -> bool:
        """Whether it is negated by the prefix `not-`."""
        return str(self.raw["type"]).startswith(_NOT)

    @property
    def ignores_not(self) -> bool:
        """Whether the release ignores the prefix `not-` of such an assertion."""
        is_early = self.release.name < self.row.get("heeds_not", "")
        return is_early or bool(self.row.get("ignores_not"))

    @property
    def value(self) -> Any:
        """Its value with variables filled in as by the program.

        Texts and lists of texts are templates; objects are not.
        """
        raw = self.raw.get("value")
        for item in raw if isinstance(raw, list) else [raw]:
            if isinstance(item, OpaqueValue):
                raise UnsayableError(f"its value is {item.description}")
        if not isinstance(raw, list):
            return self._fill(raw, ("value",)) if isinstance(raw, str) else raw
        filled = list(raw)
        for index, item in enumerate(raw):
            if isinstance(item, str):
                filled[index] = self._fill(item, ("value", index))
        return filled

    def _fill(self, text: str, at: Pointer) -> Any:
        if text.startswith(_FILE):
            return self._read_file(text)
        if text.startswith("package:"):
            raise UnsayableError(f"{make_excerpt(text, SHORT_EXCERPT)} is code")
        if _is_bare(self.document, (*self.pointer, *at)):
            if _DATE.fullmatch(text):
                raise UnsayableError(
                    f"{text} without quotes is a date, which the program compares as {{}}"
                )
            if _DIGITS.fullmatch(text) and self.release.underscores_are_digits:
                return int(text.replace("_", ""))
        filled = fill_text(text, self.variables)
        if has_half_character(filled):
            raise UnsayableError("a text holds half of a character above U+FFFF")
        return filled

    def _read_file(self, path: str) -> Any:
        name = path.removeprefix(_FILE)
        if name.partition(":")[0].endswith(_CODE_FILES):
            raise UnsayableError(f"{make_excerpt(name, SHORT_EXCERPT)} is code")
        document = None if "{{" in name else self.load(name)
        if document is None:
            raise UnsayableError(f"{make_excerpt(name, SHORT_EXCERPT)} cannot be read from here")
        if not name.endswith((*_DATA_FILES, ".txt")):
            raise StopError(f"{make_excerpt(name, SHORT_EXCERPT)} is not a file that it reads")
        # A file named by a test in the configuration itself is trimmed, and is not a template.
        is_own = self.pointer[:1] in _OWN_TESTS and isinstance(self.document.value, dict)
        if is_own and isinstance(document.value, str) and "{" not in document.value:
            return trim_space(document.value)
        for text in document.value if isinstance(document.value, list) else [document.value]:
            # Whether the text is a template depends on how the program loads the file.
            if isinstance(text, str) and (text != trim_space(text) or "{" in text):
                raise UnsayableError(
                    f"the text of {make_excerpt(name, SHORT_EXCERPT)} is trimmed and filled by some"
                    " ways of the program to load it, and not by others"
                )
        return document.value


@dataclass(frozen=True, slots=True)
class AssertionReading:
    """The check for an assertion, with what is lost.

    Without a check, `reason` says why. `is_partial` says that its score may be between 0 and 1;
    `is_fixed`, that nothing turns it round. The check refers to its `drafts`.
    """

    check: Check | None = None
    losses: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    reason: str = ""
    drafts: tuple[ArtifactDraft, ...] = ()
    is_partial: bool = False
    is_fixed: bool = False


def read_assertion(part: AssertionPart, types: Mapping[str, Any]) -> AssertionReading:
    """Return the check for an assertion, or why there is none.

    Raises `StopError` if the program ends the test with an error.
    """
    is_red = part.type.startswith(f"{_RED_TEAM}:")
    row = types.get(_RED_TEAM if is_red else part.type, {})
    if not row or not part.release.has_type(row):
        raise StopError(f"it knows no type {make_excerpt(part.raw['type'], SHORT_EXCERPT)}")
    try:
        part = replace(part, row=row)
        reading = _READERS[row["reads"]](part)
    except UnsayableError as unsayable:
        return AssertionReading(reason=str(unsayable))
    if reading.check is None or not part.is_turned or reading.is_fixed:
        return reading
    if part.ignores_not:
        said = f"the program ignores not- of {part.type}: it is graded as if that were not there"
        return replace(reading, remarks=(*reading.remarks, said))
    return replace(reading, check=_turn(reading.check))


def _turn(check: Check) -> Check:
    if check["kind"] == "must_contain_any" and "min_matches" not in check:
        return {**check, "kind": "must_not_contain"}
    return {**check, "negate": True}


def _is_bare(document: Document, pointer: Pointer) -> bool:
    """Whether a text is written in YAML without quotes.

    False for a text resolved by a reference, where this is unknown.
    """
    if not document.file.endswith((".yaml", ".yml")) or pointer not in document.spans:
        return False
    return document.text[document.spans[pointer].start : document.spans[pointer].start + 1] not in {
        "'",
        '"',
        "|",
        ">",
    }


def _read_text(part: AssertionPart) -> AssertionReading:
    value = part.value
    if value == 0 and is_number(value) and not part.release.zero_counts:
        raise StopError(f"{part.type} has no text")
    if not (isinstance(value, str) and value) and not is_number(value):
        raise StopError(f"{part.type} has {_describe(value)} where a text belongs")
    return AssertionReading({**part.row["check"], "values": [write_value(value)]})


def _read_texts(part: AssertionPart) -> AssertionReading:
    """Read a list of texts, or a text that is split into one.

    The output must contain any, or all, of them.
    """
    value, takes_all = part.value, part.row.get("all", False)
    if isinstance(value, str) and value:
        value = _split(value, part)
    if not isinstance(value, list):
        raise StopError(f"{part.type} has {_describe(value)} where a list of texts belongs")
    texts = list(dict.fromkeys(map(write_value, value)))
    if "" in texts:  # every output contains it
        texts = [text for text in texts if text] if takes_all else []
        if not texts:
            return AssertionReading(dict(ALWAYS))
    if not texts:
        return AssertionReading(dict(ALWAYS if takes_all else NEVER))
    least = {"min_matches": len(texts)} if takes_all and texts[1:] else {}
    return AssertionReading({**part.row["check"], "values": texts, **least})


def _split(text: str, part: AssertionPart) -> list[str]:
    if not part.release.quotes:
        return split_old_fields(text) if part.type == "contains-any" else split_at_commas(text)
    try:
        return split_fields(text)
    except ValueError:
        raise StopError("quotes that do not end, or end within a text") from None


def _read_equal(part: AssertionPart) -> AssertionReading:
    value = part.value if "value" in part.raw else "undefined"
    if value is None or isinstance(value, list | dict):
        if part.is_turned and not part.release.no_json_is_inverted:
            return AssertionReading(
                reason="this release fails not-equals of every text that is not JSON"
            )
        check = {"kind": "json_schema", "schema": {"const": value}, **_WHOLE}
        return AssertionReading(check, (_MINUS_ZERO,) if _has_zero(value) else ())
    text = write_value(value)
    if not text:
        return AssertionReading({"kind": "regex", "pattern": "\\A\\Z"})
    return AssertionReading({"kind": "target_match", "targets": [text]})


def _read_start(part: AssertionPart) -> AssertionReading:
    value = part.value
    if not isinstance(value, str) or not value:
        raise StopError(f"starts-with has {_describe(value)} where a text belongs")
    return AssertionReading({"kind": "regex", "pattern": f"\\A{re.escape(value)}"})


def _read_pattern(part: AssertionPart) -> AssertionReading:
    """Read a JavaScript pattern without flags.

    A pattern that does not compile in JavaScript fails, negated or not.
    """
    value = part.value
    if not isinstance(value, str) or not value:
        raise StopError(f"regex has {_describe(value)} where a pattern belongs")
    if problem := find_syntax_error(value):
        said = f"no output passes the pattern {make_excerpt(value, SHORT_EXCERPT)}: {problem}"
        return AssertionReading(dict(NEVER), remarks=(said,), is_fixed=True)
    losses: tuple[str, ...] = ()
    translated, units = translate_pattern(escape_literals(value), ""), dict[str, Any]()
    found = translated and translated[0]
    if found is None and (found := translate_unit_pattern(value)):
        units = {"on": [UNITS_STEP]}
    pattern = found or value
    if found is None:
        losses = (_AS_IT_IS.format(make_excerpt(value, SHORT_EXCERPT)),)
    if isinstance(unrun := compile_matcher(pattern, "", "search"), str):
        return AssertionReading(reason=f"it is not a pattern that evalstore can run: {unrun}")
    if unrun.limit_problem:
        losses = (*losses, unrun.limit_problem)
    if found and find_dialect_difference(pattern, ""):
        losses = (_AS_IT_IS.format(make_excerpt(value, SHORT_EXCERPT)),)
    return AssertionReading({"kind": "regex", "pattern": pattern, **units}, losses)


def _read_json(part: AssertionPart) -> AssertionReading:
    """Read a demand for JSON, and its optional schema, which is an object or a text."""
    value = part.value
    if isinstance(value, str) and value:
        value = _parse_schema(value)
    if not value and not is_number(value):  # the program reads this as no schema
        return AssertionReading(dict(_ANY_JSON))
    if not isinstance(value, dict):
        if value is False:
            return AssertionReading(dict(_ANY_JSON))
        raise StopError(f"is-json has {_describe(value)} where a schema belongs")
    if value.get("$schema", _DRAFT) not in _AJV_DRAFTS:
        raise StopError("is-json has a schema of a draft that it does not read")
    if later := sorted(_LATER & set(_list_keys(value))):
        raise StopError(f"is-json has a schema with {later[0]}, which it does not know")
    if part.is_turned and not part.release.no_json_is_inverted:
        if "type" in value:
            return AssertionReading(dict(NEVER), is_fixed=True)
        return AssertionReading(reason="this release applies the schema to a text that is not JSON")
    losses: tuple[str, ...] = ()
    try:
        schema = translate_schema(value)
    except UntranslatableError as keyword:
        schema, losses = value, (_SCHEMA.format(make_excerpt(str(keyword), SHORT_EXCERPT)),)
    check = {"kind": "json_schema", "schema": {"$schema": _DRAFT, **schema}, **_WHOLE}
    return AssertionReading(check, losses)


def _has_zero(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_zero, value.values() if isinstance(value, dict) else value))
    return is_number(value) and value == 0


def _parse_schema(text: str) -> Any:
    try:
        return read_legacy_yaml(text, "schema").value
    except LoadError as error:
        raise UnsayableError(f"the text of its schema cannot be read: {error.message}") from None


def _list_keys(value: Any) -> list[str]:
    if isinstance(value, list):
        return [key for item in value for key in _list_keys(item)]
    if not isinstance(value, dict):
        return []
    return [*map(str, value), *(key for item in value.values() for key in _list_keys(item))]


def _read_word_count(part: AssertionPart) -> AssertionReading:
    value = part.value
    if isinstance(value, dict):
        least, most = value.get("min"), value.get("max")
        if not {"min", "max"} & value.keys():
            raise StopError("word-count has neither min nor max")
    else:
        least = most = _read_count(value)
    bounds = [bound for bound in (least, most) if bound is not None]
    if not all(is_number(bound) for bound in bounds):
        raise UnsayableError("a bound of word-count is not a number")
    if len(bounds) > 1 and bounds[0] > bounds[1]:
        raise StopError("word-count has a min above its max")
    low = 0 if least is None else max(0, -int(-least // 1))
    high = None if most is None else int(most // 1)
    if high is not None and high < low:  # no whole number is between
        return AssertionReading(dict(NEVER))
    if max(low, high or 0) > _MOST_WORDS:
        raise UnsayableError(f"no pattern counts to more than {_MOST_WORDS:,} words")
    return AssertionReading({"kind": "regex", "pattern": _count_words(low, high)})


def _count_words(low: int, high: int | None) -> str:
    """Return a pattern for texts with `low` to `high` words.

    Every repetition ends at the end of a word.
    """
    if high == 0:
        return f"\\A{_BLANK}*\\Z"
    more = "" if high is None else high - 1
    words = f"(?:{_WORD}{_BLANK}+){{{max(low - 1, 0)},{more}}}{_WORD}{_BLANK}*"
    if high is None:
        return f"\\A{_BLANK}*(?:{_WORD}{_BLANK}+){{{low - 1}}}{_WORD}" if low else "\\A"
    return f"\\A{_BLANK}*{words}\\Z" if low else f"\\A{_BLANK}*(?:{words})?\\Z"


def _read_count(value: Any) -> int | Decimal:
    if is_number(value):
        return value
    text = trim_space(value) if isinstance(value, str) else None
    if text is None:
        raise StopError(f"word-count has {_describe(value)} where a number belongs")
    if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", text):
        raise UnsayableError(
            f"nobody can say here which number {make_excerpt(text, SHORT_EXCERPT)} is"
        )
    return Decimal(text)


def _read_distance(part: AssertionPart) -> AssertionReading:
    """Read a distance between texts; a check exists only for 0, which is equality."""
    value, threshold = part.value, part.raw.get("threshold")
    if not isinstance(value, str):
        raise StopError(f"levenshtein has {_describe(value)} where a text belongs")
    if is_number(threshold) and 0 <= threshold < 1:
        return _read_equal(part)
    return AssertionReading(reason=part.row["reason"])


def _read_limit(part: AssertionPart) -> AssertionReading:
    """Read an upper limit for a number that a run records about an output."""
    most, name = part.raw.get("threshold"), part.row["measure"]
    if most is None or (most == 0 and not part.release.zero_counts):
        raise StopError(f"{part.type} has no threshold")
    if not is_number(most) or most < 0:
        return AssertionReading(reason="its threshold is not a number of 0 or more")
    check = {"kind": "limits", name: {"max": most}}
    return AssertionReading(check, remarks=(_RECORDED.format(name=name),))


def _read_code(part: AssertionPart) -> AssertionReading:
    """Read a line of code; a few forms are conditions that a check can express."""
    reading, code = AssertionReading(reason=part.row["reason"]), part.raw.get("value")
    is_plain = isinstance(code, str) and not (code.startswith(_FILE) or TEMPLATE.search(code))
    if is_plain and is_statement(str(code)):
        said = "no output passes a line of code that begins with return, as a line is an expression"
        return AssertionReading(dict(NEVER), remarks=(said,), is_fixed=True)
    if not is_plain or part.is_turned or "threshold" in part.raw:
        return reading
    condition = read_condition(str(code))
    if condition is None:
        return reading
    return AssertionReading(condition)


def _read_judged(part: AssertionPart) -> AssertionReading:
    """Read a model-graded assertion as a judge, with the program's own prompt if it is known."""
    row = part.row
    own, remarks = part.raw.get("rubricPrompt", part.rubric_prompt), tuple[str, ...]()
    if own and "answers" not in row:
        if isinstance(own, dict):
            return AssertionReading(reason=f"the prompts of {part.type} are two")
        own, remarks = None, (_NOT_ITS_PROMPT.format(part.type),)
    value = "" if own and part.raw.get("value") is None else part.value
    criteria = value if isinstance(value, list) and row.get("takes_lists") else [value]
    if not all(isinstance(criterion, str) for criterion in criteria):
        return AssertionReading(reason=f"its value is {_describe(value)}, and no text to grade by")
    threshold = part.raw.get("threshold", row.get("threshold"))
    if threshold is not None and not (is_number(threshold) and 0 <= threshold <= 1):
        return AssertionReading(reason="its threshold is not a number from 0 to 1")
    if threshold is not None and part.is_turned and not part.ignores_not:
        return AssertionReading(reason="not- turns its threshold round, too, as no check here does")
    if isinstance(value, list) and (part.is_in_set or not value):
        return _read_unsaid_list(part)
    if part.asks_nothing and row.get("shows_prompt"):
        raise StopError(_NO_QUESTION.format(part.type))
    if threshold == 0 and "answers" in row:  # no score of a verdict that passes is below
        threshold = None
    is_rated = threshold is not None or part.score_counts
    judge = part.draft_judge(row["rated" if is_rated else "judge"])
    variables: Mapping[str, str] = {}
    if own:
        if part.release.name < row.get("shows_since", ""):
            return AssertionReading(reason="this release leaves the places of its own prompt empty")
        answers = row["answers"]["rated" if is_rated else "judge"]
        prompt = read_chat_prompt(own, part.load)
        judge, variables = draft_own_prompt(prompt, judge, row, answers, part.variables)
    bar = {} if threshold is None else {"threshold": threshold}
    checks = [
        {
            "kind": "llm_judge",
            "judge_prompt_ref": judge.ref,
            "variables": {"criterion": criterion, **variables},
        }
        for criterion in criteria
    ]
    check: Check = {**checks[0], **bar}
    drafts: tuple[ArtifactDraft, ...] = (judge,)
    if isinstance(value, list):
        mean = _draft_mean(checks, bar, part)
        check, drafts = {"kind": "composite", "rubric_ref": mean.ref}, (judge, mean)
        remarks += (_MEAN,) if value[1:] else ()
    losses = _list_judge_losses(part)
    if isinstance(value, list) and threshold == 0 and part.release.failed_criteria_fail_all:
        losses.append(_NO_GRADE)
    return AssertionReading(check, tuple(losses), remarks, drafts=drafts, is_partial=is_rated)


def _list_judge_losses(part: AssertionPart) -> list[str]:
    """Return what is lost of an assertion that a model grades, whatever its value."""
    hidden = sorted(set(part.row.get("shows", ())) & part.variables.keys())
    losses = [_HIDDEN.format(name) for name in hidden if part.release.variables_hide]
    losses += [_GATED] if part.score_counts and part.row.get("gated") else []
    return losses + ([_SCORES] if part.scores_categories and "factuality" in part.type else [])


def _read_unsaid_list(part: AssertionPart) -> AssertionReading:
    """Read a list of criteria that is empty or in a set: one release fails an empty one."""
    if part.raw["value"]:
        return AssertionReading(reason=_MEAN_IN_SET)
    if part.release.failed_criteria_fail_all:
        return AssertionReading(dict(NEVER), is_fixed=True)
    return AssertionReading(reason="its list of criteria is empty, and its score no number")


def _draft_mean(checks: list[Check], bar: Mapping[str, Any], part: AssertionPart) -> ArtifactDraft:
    """Return the rubric of the mean over several criteria, a check for each."""
    errors = "fail" if part.release.failed_criteria_fail_all else "zero"
    ids = make_check_ids([("criterion",)] * len(checks))
    value = {
        "checks": [{"id": id_, **check} for id_, check in zip(ids, checks, strict=True)],
        "scoring": {"combine": "weighted_avg", **bar, "errors": errors},
    }
    return draft_rubric(value, part.type, part.pointer)


def _describe(value: Any) -> str:
    return "an empty text" if value == "" else describe_type(value)


_READERS: Mapping[str, Callable[[AssertionPart], AssertionReading]] = {
    "text": _read_text,
    "texts": _read_texts,
    "equal": _read_equal,
    "start": _read_start,
    "pattern": _read_pattern,
    "json": _read_json,
    "words": _read_word_count,
    "distance": _read_distance,
    "limit": _read_limit,
    "judged": _read_judged,
    "code": _read_code,
    "unmapped": lambda part: AssertionReading(reason=part.row["reason"]),
}
