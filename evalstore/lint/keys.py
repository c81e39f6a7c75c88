"""Finds keys that nothing reads: misspelt ones, other tools' keys, and keys in wrong places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, NamedTuple

from evalstore.documents import Pointer
from evalstore.lint.key_hints import find_hint
from evalstore.lint.notes import Fix, Note, list_mappings, list_names, make_note
from evalstore.lint.shapes import CHECK, QUESTION, ROOTS, SETTINGS, list_key_names, load_schema
from evalstore.model import Kind, is_cosmetic
from evalstore.model.check_schemas import list_check_kinds
from evalstore.model.question_params import find_question_key
from evalstore.text import SLIPS, find_near_word, find_only_near, spell_out

# The words of `foreign_keys` for the top level of a schema; below it the place is named by the key
# that leads there.
_PLACES = {"base/rubric": "rubric", QUESTION: "questions", CHECK: "checks"}
_CONTAINERS = (dict, list)
# In one mapping: a file of a megabyte can have 90,000, and each is compared with all others.
_NOTED_KEYS = 20
# A type of JSON Schema that a value may have -> its Python classes.
_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "boolean": (bool,),
    "number": (int, Decimal),
    "integer": (int,),
    "null": (type(None),),
}
# What a key may belong to, in words: schemas, or parts of them.
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


def lint_artifact_keys(
    kind: Kind, value: Any, declared: frozenset[str] = frozenset()
) -> Iterator[Note]:
    """Yield an artifact's keys that nothing reads, except those that `lint_questions` finds.

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
    """Yield the keys in `value` that nothing reads, by schema `name`; `declared` keys are free.

    If the schema is closed (by `unevaluatedProperties`), that is every key it does not name, except
    extensions; otherwise, if extra keys are allowed, it is those that look like a known one or that
    other tools use for one.
    """
    root = load_schema(name)
    yield from _lint_part(root, value, pointer, _KeyScope(root, _name_place(name), declared))


def _name_place(name: str) -> str:
    return _PLACES.get(name, name.split("/", maxsplit=1)[0])


class _KeyScope(NamedTuple):
    """The schema to look definitions up in, the word for a mapping's place, and keys free there."""

    root: Mapping[str, Any]
    place: str
    declared: frozenset[str] = frozenset()


def _lint_part(part: Any, value: Any, pointer: Pointer, scope: _KeyScope) -> Iterator[Note]:
    part = _follow_reference(part, value, scope.root)
    if isinstance(value, list) and "items" in part:
        for index, item in enumerate(value):
            yield from _lint_part(part["items"], item, (*pointer, index), scope)
    # If a schema names no keys, any mapping is fine.
    if not isinstance(value, dict) or not {"properties", "additionalProperties"} & part.keys():
        return
    known, others = part.get("properties", {}), part.get("additionalProperties")
    unknown = 0
    for key, item in value.items():
        if key in known or isinstance(others, dict):
            if isinstance(item, _CONTAINERS):
                yield from _lint_part(
                    known.get(key, others), item, (*pointer, key), _KeyScope(scope.root, key)
                )
        elif key not in scope.declared and not is_cosmetic(key):
            unknown += 1
            if unknown <= _NOTED_KEYS:
                yield from _note_unknown_key(key, part, value, (*pointer, key), scope.place)
            elif unknown == _NOTED_KEYS + 1:
                hint = (
                    f"of the unknown keys of one mapping only {_NOTED_KEYS} are listed, and here "
                    "are more"
                )
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
            "key-misspelt",
            at,
            of_key=True,
            fix=Fix(guess) if is_clear else None,
            found=spell_out(key),
            guess=guess,
        )
    elif "unevaluatedProperties" in part:
        homes = _find_homes(key)
        where = f"it belongs in {list_names(homes)}; " if homes else ""
        yield make_note(
            "key-unread",
            at,
            of_key=True,
            found=key,
            hint=f"{where}to keep it as a note, write `x_{key}`",
        )


def _follow_reference(part: Any, value: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(part, dict):
        return {}
    reference = part.get("$ref")
    if reference is None and "then" in part and "else" in part:
        # A mapping in place of a list or a text names a key of the question.
        named = None if find_question_key(value) else part["else"].get("$ref")
        reference = named or part["then"].get("$ref")
    return {**root["$defs"][reference.rsplit("/", 1)[1]], **part} if reference else part


class _Names(NamedTuple):
    """The keys that a part of a schema knows and requires, and those of a value.

    Many rows have the same.
    """

    known: tuple[str, ...]
    required: tuple[str, ...]
    present: tuple[str, ...]

    def list_absent(self) -> tuple[str, ...]:
        """Return the known keys that the value does not have."""
        return tuple(name for name in self.known if name not in self.present)


@lru_cache(maxsize=1024)  # shapes of one part of a schema
def _guess_key(key: str, names: _Names) -> str | None:
    """Return the key that `key` misspells.

    Another schema's key is taken only for a required one.
    """
    absent = names.list_absent()
    if key in _all_schema_keys():
        return find_near_word(key, tuple(name for name in absent if name in names.required), SLIPS)
    # A key may be next to the one that is meant, but then it differs by a single slip.
    beside = tuple(name for name in names.known if name in names.present)
    return find_near_word(key, absent, SLIPS) or find_near_word(key, beside, 1)


@lru_cache(maxsize=1024)  # shapes of one part of a schema
def _is_only_guess(key: str, guess: str, names: _Names) -> bool:
    """Whether `key` can only mean `guess`: nothing else is near or would take the name."""
    rivals = (other for other in names.present if other != key and other not in names.known)
    return (
        guess not in names.present
        and find_only_near(key, names.list_absent()) == guess
        and not any(_guess_key(other, names) == guess for other in rivals)
    )


def _fits_type(item: Any, wanted: Any) -> bool:
    # A value that may come from the question has its own type otherwise.
    plain = wanted.get("else", wanted) if isinstance(wanted, dict) else {}
    type_ = plain.get("type")
    return not isinstance(type_, str) or isinstance(item, _PYTHON_TYPES[type_])


@cache
def _find_homes(key: str) -> tuple[str, ...]:
    kinds = [
        kind for kind in list_check_kinds() if key in load_schema(f"checks/{kind}")["properties"]
    ]
    schemas = {home: _walk(load_schema(name), path) for home, (name, path) in _HOMES.items()}
    homes = [home for home, schema in schemas.items() if key in schema["properties"]]
    return (*homes, f"a check of kind {' or '.join(kinds)}") if kinds else tuple(homes)


def _walk(schema: Any, path: Iterable[str]) -> Any:
    for step in path:
        schema = schema[step]
    return schema


@cache
def _all_schema_keys() -> frozenset[str]:
    names = [
        *ROOTS.values(),
        SETTINGS,
        QUESTION,
        *(f"checks/{kind}" for kind in list_check_kinds()),
    ]
    return frozenset[str]().union(*map(list_key_names, names))
