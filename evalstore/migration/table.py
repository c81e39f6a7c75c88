"""Loads the tables in `migrations/`, one per format.

A table has the format's signs, its keys, and the checks that they become.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from evalstore.documents import read_yaml
from evalstore.errors import UsageError
from evalstore.lint.notes import suggest_name
from evalstore.migration.outcome import MigrationOutcome
from evalstore.places import find_resource_folder

_Row = TypeVar("_Row")
# In place of the key of a list: the mappings at the root are the cases, by their names.
ANY_KEY = "*"
# Fields of a question that a table may fill besides its id and input.
QUESTION_FIELDS = (
    "expected",
    "context",
    "criteria",
    "tags",
    "messages",
    "expected_facts",
    "expected_tools",
)


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One key that a legacy grader reads, and the check that it becomes.

    `reader` names how the value is read, `into` the parameter of the check `kind` that takes it,
    `parameters` its fixed ones. `options` are the keys of a value that is a mapping.
    """

    key: str
    reader: str
    kind: str = ""
    into: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    empty_passes: bool = False
    limit: int = 0
    options: tuple[CheckRow, ...] = ()
    name_format: str | None = None


# Compared and hashed by identity: `values` is a mapping.
@dataclass(frozen=True, slots=True, eq=False)
class FormatSign:
    """Keys at the root, in a case or in a check, for or against a format.

    There must be one of `keys` and all of `all`, and each key in `values` with one of its values.
    """

    at: str
    keys: frozenset[str] = frozenset()
    all: frozenset[str] = frozenset()
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    confidence: float = 1.0
    because: str = ""


@dataclass(frozen=True, slots=True)
class ForeignShape:
    """The shape of a foreign file; all its conditions must hold, and no sign in `unless`.

    A file that `has_cases` counts as these do; one that `holds_results` was written by a suite's
    run. `format` is the format that it has, if it is one of these. `tag` is a YAML tag that a file
    may have, which then cannot be read.
    """

    name: str
    reason: str
    outcome: MigrationOutcome = MigrationOutcome.REFUSED
    format: str | None = None
    root: frozenset[str] = frozenset()
    none_of: frozenset[str] = frozenset()
    any_of: tuple[frozenset[str], ...] = ()
    camel_case: bool = False
    unless: tuple[FormatSign, ...] = ()
    holder: str | None = None
    item: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    has_cases: bool = False
    holds_results: bool = False
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class PromptRow:
    """Where a program's installation keeps a judge's prompt, and how it becomes a template.

    `files` are ends of paths. `sha256` are the hashes of known texts; another text is recognised by
    its `places`, each with the template text that replaces it, and by the words that it `mentions`.
    `syntax` says how places are written. `answers` are further keys of the judge, which say how its
    reply is read. `loss`: what still differs from the program. `first` is the prompt that the
    program asks before, whose `answers` are further keys of the judge's `first`.
    """

    judge: str
    files: Sequence[str]
    syntax: str
    places: Mapping[str, str]
    mentions: Sequence[str]
    reply_pattern: str = ""
    answers: Mapping[str, Any] = field(default_factory=dict)
    loss: str = ""
    sha256: Sequence[str] = ()
    context: str | None = None
    remarks: Sequence[str] = ()
    first: PromptRow | None = None


@dataclass(frozen=True, slots=True)
class FrameRow:
    """Where a program's code has the texts of a prompt that it assembles for each rubric.

    `texts` names the texts of each function in order; one without a name is not part of the prompt.
    `digests` are those of the named texts in known releases. `judge` has further keys of the judge
    that asks this way.
    """

    file: str
    digests: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]]
    judge: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FormatTable:
    """The table of one format, as `schema/migration.schema.json` describes it.

    `lists` are the root keys that hold cases, each with its dialect; a file with none of them, but
    a key in `alone`, is one case. `names` are lists of root keys: the first list all of whose keys
    are in a file names its suite. `root_data`, `root_parts`, `data` are known keys that become
    data. `fields` are further fields of a question, each with its key in a case. `mirrors` are the
    keys of a case whose values a question has unchanged, with its fields. `form` is what only the
    format's own reader looks up. `variants` are dialects with further keys. `prompts` are those of
    the program that can be taken from an installation; `no_prompt` says why others cannot. `frame`
    is where one is assembled from.
    """

    format: str
    title: str
    lists: Mapping[str, str]
    dialects: tuple[str, ...]
    named_by_folder: str | None
    names: tuple[tuple[str, ...], ...]
    signs: tuple[FormatSign, ...]
    against: tuple[FormatSign, ...]
    not_this: tuple[ForeignShape, ...]
    alone: tuple[str, ...]
    root_data: tuple[str, ...]
    root_parts: Mapping[str, tuple[str, ...]]
    id: str
    number_format: str
    input: str
    fields: Mapping[str, str]
    data: tuple[str, ...]
    checks: tuple[CheckRow, ...]
    scoring: Mapping[str, Any]
    no_check: Mapping[str, Any]
    mirrors: Mapping[str, str | None]
    order: tuple[str, ...]
    judges: tuple[Mapping[str, Any], ...]
    prompts: tuple[PromptRow, ...]
    no_prompt: str
    frame: FrameRow | None
    form: Mapping[str, Any]
    variants: tuple[FormatTable, ...]

    def select_dialect(self, dialect: str | None) -> FormatTable:
        """Return the variant of this table for a dialect, else the table itself."""
        return next((table for table in self.variants if dialect in table.dialects), self)

    @property
    def root_keys(self) -> set[str]:
        """The keys of a file's root that are evidence for this format."""
        return {
            *(path.rpartition("/")[2] for path in self.lists if path),
            *(key for sign in self.signs if sign.at == "root" for key in sign.keys),
        }


def has_path(value: Any, path: str) -> bool:
    """Whether a mapping has a key, or, by a path `a/b`, a key within another mapping."""
    holder, key = _follow_path(value, path)
    return isinstance(holder, dict) and key in holder


def get_path(value: Any, path: str) -> Any:
    """Return what a mapping has at a key, or at a path `a/b`; None if nothing."""
    holder, key = _follow_path(value, path)
    return holder.get(key) if isinstance(holder, dict) else None


def split_path(value: Any, path: str) -> tuple[str, ...]:
    """Return the keys that lead to a path within a mapping."""
    return (path,) if isinstance(value, dict) and path in value else tuple(path.split("/"))


def _follow_path(value: Any, path: str) -> tuple[Any, str]:
    # A key that is spelled like a path comes before the path.
    while "/" in path and isinstance(value, dict) and path not in value:
        step, path = path.split("/", 1)
        value = value.get(step)
    return value, path


def list_formats() -> list[str]:
    """Return the names of all formats."""
    return sorted(path.stem for path in find_resource_folder("migrations").glob("*.yaml"))


def load_tables(only: str | None = None) -> list[FormatTable]:
    """Return all tables, or the one of a format; an unknown name is a `UsageError`."""
    names = list_formats()
    if only is not None and only not in names:
        hint = suggest_name(only, names, f"the formats are {', '.join(names)}")
        raise UsageError(f"there is no format {only!r}", hint=hint)
    return [_load_table(name) for name in names if only in {None, name}]


def check_dialect(dialect: str | None, tables: Iterable[FormatTable]) -> None:
    """Raise `UsageError` unless one of the tables has a dialect of this name."""
    names = sorted({name for table in tables for name in table.dialects})
    if dialect is not None and dialect not in names:
        hint = suggest_name(dialect, names, f"the dialects are {', '.join(names)}")
        raise UsageError(f"there is no dialect {dialect!r}", hint=hint)


def check_dialect_use(
    dialect: str | None, found_formats: set[str | None], tables: Iterable[FormatTable]
) -> None:
    """Raise `UsageError` if no source has a format with this dialect."""
    names = [table.format for table in tables if dialect in table.dialects]
    if dialect is not None and found_formats and found_formats.isdisjoint(names):
        hint = f"leave the dialect out, or take the sources for that with --from {names[0]}"
        taken = f"{dialect} is a dialect of {' and '.join(names)}, and no source was taken for that"
        raise UsageError(taken, hint=hint)


@cache
def load_tool_shapes() -> tuple[ForeignShape, ...]:
    """Return the shapes of files from tools that evalstore knows but does not migrate."""
    path = find_resource_folder("migrations") / "not_migrated/tools.yaml"
    return tuple(map(_parse_shape, read_yaml(path.read_bytes(), path.name).value["not_this"]))


@cache
def _load_table(name: str) -> FormatTable:
    path = find_resource_folder("migrations") / f"{name}.yaml"
    return parse_table(read_yaml(path.read_bytes(), path.name).value)


def parse_table(value: Mapping[str, Any]) -> FormatTable:
    """Return the table in a value that meets the schema."""
    root, case = value.get("root", {}), value.get("case", {})
    # A variant is the whole table with some keys replaced; variants do not nest.
    variants = tuple(
        parse_table({**value, "variants": [], **dialect}) for dialect in value.get("variants", ())
    )
    # Without `dialects`, the dialects are those of all lists, in the order of the table.
    lists = [
        *value.get("lists", ()),
        *(item for dialect in value.get("variants", ()) for item in dialect["lists"]),
    ]
    return FormatTable(
        format=value["format"],
        title=value["title"],
        lists={
            item["key"]: item.get("dialect", value["format"]) for item in value.get("lists", ())
        },
        dialects=tuple(
            value.get("dialects")
            or dict.fromkeys(item.get("dialect", value["format"]) for item in lists)
        ),
        named_by_folder=value.get("named_by_folder"),
        names=read_names(value),
        signs=tuple(map(_parse_sign, value["signs"])),
        against=tuple(map(_parse_sign, value.get("against", ()))),
        not_this=tuple(map(_parse_shape, value.get("not_this", ()))),
        alone=tuple(value.get("alone", ())),
        root_data=tuple(root.get("data", ())),
        root_parts={path: tuple(keys) for path, keys in root.get("parts", {}).items()},
        id=case.get("id", "id"),
        number_format=case.get("number", "{}"),
        input=case.get("input", "input"),
        fields={field: case[field] for field in QUESTION_FIELDS if field in case},
        data=tuple(case.get("data", ())),
        checks=tuple(map(parse_row, value.get("checks", ()))),
        scoring=value.get("scoring", {}),
        no_check=value.get("no_check", {}),
        mirrors=case.get("mirrors", {}),
        order=tuple(case.get("order", ())),
        judges=tuple(value.get("judges", ())),
        prompts=tuple(map(_read_prompt_row, value.get("prompts", ()))),
        no_prompt=value.get("no_prompt", ""),
        frame=FrameRow(**value["frame"]) if "frame" in value else None,
        form=value.get("form", {}),
        variants=variants,
    )


def _read_prompt_row(value: Mapping[str, Any]) -> PromptRow:
    shared = {key: value[key] for key in ("judge", "files", "syntax")}
    first = PromptRow(**shared, **value["first"]) if "first" in value else None
    return PromptRow(**{**value, "first": first})


def read_names(value: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the lists of root keys that name a suite.

    They come from a table's `name`, which has one key, or several.
    """
    names = value.get("name", [])
    items = names if isinstance(names, list) else [names]
    return tuple((item,) if isinstance(item, str) else tuple(item) for item in items)


def _build(
    make: Callable[..., _Row], value: Mapping[str, Any], names: Mapping[str, str], **reads: Any
) -> _Row:
    """Return a row whose fields are the keys of a mapping, or their `names`.

    `reads` read values.
    """
    items = {key: reads[key](item) if key in reads else item for key, item in value.items()}
    return make(**{names.get(key, key): item for key, item in items.items()})


def parse_row(value: Mapping[str, Any]) -> CheckRow:
    """Return a row of `checks`."""
    return _build(
        CheckRow,
        value,
        {
            "read": "reader",
            "with": "parameters",
            "called": "name_format",
            "empty_text": "empty_passes",
        },
        options=lambda rows: tuple(map(parse_row, rows)),
        empty_text=lambda word: word == "passes",
    )


def _parse_sign(value: Mapping[str, Any]) -> FormatSign:
    return _build(FormatSign, value, {}, keys=frozenset, all=frozenset, confidence=float)


def _parse_shape(value: Mapping[str, Any]) -> ForeignShape:
    return _build(
        ForeignShape,
        value,
        {"none": "none_of", "any": "any_of", "list": "holder", "cases": "has_cases"},
        root=frozenset,
        none=frozenset,
        any=lambda sets: tuple(map(frozenset, sets)),
        unless=lambda signs: tuple(map(_parse_sign, signs)),
        outcome=MigrationOutcome,
        reason=str.strip,
    )
