"""Finds keys that nothing reads: misspelt ones, those of other tools, and those that stand in the wrong place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, NamedTuple

from evalstore.documents import Pointer
from evalstore.lint.notes import Mend, Note, list_mappings, list_names, make_note
from evalstore.lint.wording import CHECK, QUESTION, ROOTS, SETTINGS, list_check_kinds, list_key_names, load_schema
from evalstore.model import Kind, is_cosmetic
from evalstore.model.question import SYNONYMS
from evalstore.text import SLIPS, find_near_word, find_only_near, spell_out

_SCORING = "write it under `scoring:`"
_CHECKS = "write checks under `checks:`, each with its `kind`"
_GATES = "list the ids of checks that must pass under `required` in `scoring`"
_THRESHOLD = "write `threshold`"
_MODEL = "write it under `model:`"
_EXTRA = "write it under `extra:` of `model:`, which is sent as it is"
_PARAMETERS = "frequency_penalty max_completion_tokens presence_penalty reasoning reasoning_effort top_k verbosity"
_RUBRIC_REF = "name a rubric: `rubric_ref: rubric/<id>@<version>`"
_OR_METADATA = dict.fromkeys(("expected", "input"), ", or keep it under `metadata:`")
_JUDGE_FILE = "put the judge in a file of its own, and name it in `judge_prompt_ref` of an llm_judge check"


def _share_hint(hint: str, keys: str) -> dict[str, str]:
    return dict.fromkeys(keys.split(), hint)


_HINTS: dict[str, dict[str, str]] = {
    "rubric": {
        **_share_hint(_SCORING, "combine errors missing required threshold weights"),
        **_share_hint(f"{_SCORING} as `threshold`", "min_score pass_mark pass_threshold passing_score"),
        **_share_hint(f"{_SCORING} as `combine`", "aggregate aggregation mode"),
        **_share_hint(_CHECKS, "assert assertions asserts criteria expectations graders metrics rules tests"),
        **_share_hint(_GATES, "gate gates must_pass"),
        **_share_hint(_JUDGE_FILE, "judge judges judge_prompt_ref model prompt template"),
        "name": "use `id` for references and `title` for people",
    },
    "checks": {
        **_share_hint("write it under `weights` in `scoring`, by check id", "weight weights"),
        **_share_hint("list the check's id under `required` in `scoring`", "critical gate must_pass required"),
        **_share_hint("write `case_sensitive`, or `flags: i` in a regex", "case case_insensitive ignore_case"),
        **_share_hint(_THRESHOLD, "min_score pass_mark pass_threshold"),
        **_share_hint("write `negate: true`", "invert inverse negated not"),
        **_share_hint(_JUDGE_FILE, "judge prompt rubric_prompt template"),
        "name": "write `id`, or `description` for people",
        "type": "write `kind`",
        "value": "write `values`, a list",
    },
    "scoring": {
        **_share_hint(_GATES, "gate gates must_pass"),
        **_share_hint(_THRESHOLD, "min_score pass_mark pass_threshold passing_score"),
        **_share_hint("write `combine`", "aggregate aggregation method mode"),
        "weight": "write `weights`, by check id",
    },
    "judge": {
        **_share_hint(f"{_MODEL} as `system`", "system system_message system_prompt"),
        **_share_hint("write `template`", "instructions messages prompt user"),
        **_share_hint(_MODEL, "extra max_tokens response_format seed temperature top_p"),
        **_share_hint(_EXTRA, _PARAMETERS),
        **_share_hint(f"{_MODEL} as `id`", "model_id model_name"),
        **_share_hint("write `threshold` in the check that names this judge", "pass_threshold threshold"),
        **_share_hint("write `level_names`", "choices labels levels options"),
        "name": "use `id` for references and `title` for people",
    },
    "model": {
        **_share_hint("write `id`", "model model_id model_name name"),
        **_share_hint("write `system`", "system_message system_prompt"),
        **_share_hint(_EXTRA, _PARAMETERS),
    },
    "questions": {
        **_share_hint(_RUBRIC_REF, "rubric rubrics"),
        **_share_hint(
            f"checks belong in a rubric; {_RUBRIC_REF}",
            "assert assertions asserts checks criteria_checks expectations graders scorers scoring",
        ),
        **{word: f"write `{key}`{_OR_METADATA.get(key, '')}" for word, key in SYNONYMS.items()},
    },
    "dataset": {
        **_share_hint("write it under `defaults:`", "bundle rubric_ref"),
        **_share_hint(f"under `defaults:`, {_RUBRIC_REF}", "rubric rubrics"),
        **_share_hint("write `questions`", "cases data entries evals examples items samples tests"),
        "renames": "write it in evalstore.yaml: `renames: {dataset/<id>: {<old>: <new>}}`",
    },
}


def find_hint(place: str, key: str) -> str | None:
    """Return where a key belongs that stands in `place`, one of those above or another; None for a word nobody uses."""
    return _HINTS.get(place, {}).get(key)


def lint_artifact_keys(kind: Kind, value: Any, declared: frozenset[str] = frozenset()) -> Iterator[Note]:
    """Yield an artifact's keys that nothing reads, in checks by their kind; `lint_questions` does the questions.

    `declared` are keys that evalstore.yaml calls cosmetic.
    """
    if not isinstance(value, dict):
        return
    without_parts = {**value, **{key: [] for key in ("checks", "questions") if key in value}}
    yield from lint_keys(ROOTS[kind], without_parts, declared=declared)
    for index, check in list_mappings(value, "checks") if kind is Kind.RUBRIC else ():
        known = check.get("kind") in list_check_kinds()
        name = f"checks/{check['kind']}" if known else CHECK
        yield from lint_keys(name, check, ("checks", index), declared=declared)


def lint_keys(
    name: str, value: Any, pointer: Pointer = (), *, declared: frozenset[str] = frozenset()
) -> Iterator[Note]:
    """Yield the keys of `value` and below it that nothing reads, by the schema `name`; `declared` keys are free.

    Where the schema is closed (by `unevaluatedProperties`) that is every key it does not name, save extensions;
    elsewhere, where extra keys are allowed, it is those that look like a known one or that other tools use for one.
    """
    root = load_schema(name)
    yield from _lint_part(root, value, pointer, _KeyScope(root, _name_place(name), declared))


# The words of `foreign_keys` for what stands at the top of a schema; below it the key that leads there names the place.
_PLACES = {"base/rubric": "rubric", QUESTION: "questions", CHECK: "checks"}


def _name_place(name: str) -> str:
    return _PLACES.get(name, name.split("/", maxsplit=1)[0])


_CONTAINERS = (dict, list)
_NOTED_KEYS = 20  # of one mapping: a file of a megabyte can have 90,000, and each is compared with all others


class _KeyScope(NamedTuple):
    """The schema that definitions are looked up in, the word for where a mapping stands, and the keys free there."""

    root: Mapping[str, Any]
    place: str
    declared: frozenset[str] = frozenset()


def _lint_part(part: Any, value: Any, pointer: Pointer, scope: _KeyScope) -> Iterator[Note]:
    part = _follow_reference(part, scope.root)
    if isinstance(value, list) and "items" in part:
        for index, item in enumerate(value):
            yield from _lint_part(part["items"], item, (*pointer, index), scope)
    # Where a schema names no keys, any mapping is free.
    if not isinstance(value, dict) or not {"properties", "additionalProperties"} & part.keys():
        return
    known, others = part.get("properties", {}), part.get("additionalProperties")
    unknown = 0
    for key, item in value.items():
        if key in known or isinstance(others, dict):
            if isinstance(item, _CONTAINERS):
                yield from _lint_part(known.get(key, others), item, (*pointer, key), _KeyScope(scope.root, key))
        elif key not in scope.declared and not is_cosmetic(key):
            unknown += 1
            if unknown <= _NOTED_KEYS:
                yield from _note_unknown_key(key, part, value, (*pointer, key), scope.place)
            elif unknown == _NOTED_KEYS + 1:
                hint = f"of the unknown keys of one mapping only {_NOTED_KEYS} are listed, and here are more"
                yield make_note("key-unread", (*pointer, key), of_key=True, found=key, hint=hint)


def _note_unknown_key(
    key: str, part: Mapping[str, Any], value: Mapping[str, Any], at: Pointer, place: str
) -> Iterator[Note]:
    known = part.get("properties", {})
    names = _Names(tuple(known), tuple(part.get("required", ())), tuple(value))
    if hint := find_hint(place, key):
        yield make_note("key-unread", at, of_key=True, found=key, hint=hint)
    elif guess := _guess_key(key, names):
        is_clear = _is_only_guess(key, guess, names) and _fits_type(value[key], known.get(guess))
        yield make_note(
            "key-misspelt", at, of_key=True, mend=Mend(guess) if is_clear else None, found=spell_out(key), guess=guess
        )
    elif "unevaluatedProperties" in part:
        homes = _find_homes(key)
        where = f"it belongs in {list_names(homes)}; " if homes else ""
        yield make_note("key-unread", at, of_key=True, found=key, hint=f"{where}to keep it as a note, write `x_{key}`")


def _follow_reference(part: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(part, dict):
        return {}
    # A mapping in place of a list or a text names a key of the question.
    reference = part.get("$ref") or (part["then"].get("$ref") if "then" in part and "else" in part else None)
    return {**root["$defs"][reference.rsplit("/", 1)[1]], **part} if reference else part


class _Names(NamedTuple):
    """The keys that a part of a schema knows, those it requires, and those of a value: many rows have the same."""

    known: tuple[str, ...]
    required: tuple[str, ...]
    present: tuple[str, ...]

    def list_absent(self) -> tuple[str, ...]:
        """Return the known keys that the value does not have."""
        return tuple(name for name in self.known if name not in self.present)


@lru_cache(maxsize=1024)  # shapes of one part of a schema
def _guess_key(key: str, names: _Names) -> str | None:
    """Return the key that `key` misspells; a key of another schema is taken for a required one only."""
    absent = names.list_absent()
    if key in _all_schema_keys():
        return find_near_word(key, tuple(name for name in absent if name in names.required), SLIPS)
    # A key may stand beside the one that is meant, but then it differs by a single slip.
    beside = tuple(name for name in names.known if name in names.present)
    return find_near_word(key, absent, SLIPS) or find_near_word(key, beside, 1)


@lru_cache(maxsize=1024)  # shapes of one part of a schema
def _is_only_guess(key: str, guess: str, names: _Names) -> bool:
    """Whether `key` can be nothing but `guess`: nothing else is near or would take the name."""
    rivals = (other for other in names.present if other != key and other not in names.known)
    return (
        guess not in names.present
        and find_only_near(key, names.list_absent()) == guess
        and not any(_guess_key(other, names) == guess for other in rivals)
    )


def _fits_type(item: Any, wanted: Any) -> bool:
    # What may come from the question has its own type where it does not.
    plain = wanted.get("else", wanted) if isinstance(wanted, dict) else {}
    type_ = plain.get("type")
    return not isinstance(type_, str) or isinstance(item, _PYTHON_TYPES[type_])


# A value may have a type as JSON Schema names it -> the classes of Python.
_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "boolean": (bool,),
    "number": (int, Decimal),
    "integer": (int,),
    "null": (type(None),),
}


# What a key may belong to, for a sentence: schemas, or parts of them.
_HOMES = {
    "a rubric": ("base/rubric", ()),
    "`scoring`": ("base/rubric", ("$defs", "scoring")),
    "a judge": ("judge", ()),
    "`validation` of a judge": ("judge", ("properties", "validation")),
    "`model`": ("judge", ("$defs", "model")),
    "a dataset": ("dataset", ()),
    "a question": (QUESTION, ()),
    "evalstore.yaml": (SETTINGS, ()),
}


@cache
def _find_homes(key: str) -> tuple[str, ...]:
    kinds = [kind for kind in list_check_kinds() if key in load_schema(f"checks/{kind}")["properties"]]
    homes = [home for home, (name, path) in _HOMES.items() if key in _walk(load_schema(name), path)["properties"]]
    return (*homes, f"a check of kind {' or '.join(kinds)}") if kinds else tuple(homes)


def _walk(schema: Any, path: Iterable[str]) -> Any:
    for step in path:
        schema = schema[step]
    return schema


@cache
def _all_schema_keys() -> frozenset[str]:
    names = [*ROOTS.values(), SETTINGS, QUESTION, *(f"checks/{kind}" for kind in list_check_kinds())]
    return frozenset[str]().union(*map(list_key_names, names))
