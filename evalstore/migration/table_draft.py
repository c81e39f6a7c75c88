"""Drafts a table for a file that no format takes: its own keys, with guesses at what their grader does by them.

Nothing in a file says how it is graded. Every guess stands in the draft as such, to be read before it is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import read_yaml, write_yaml
from evalstore.migration.artifact_names import make_id, make_slug
from evalstore.migration.value_readings import is_ban, read_messages
from evalstore.places import find_resource_folder

_SENTENCE = 7  # words: a phrase that an answer is to contain has fewer
_SHORT = 60  # characters: a longer answer is prose, which no answer repeats letter by letter
_UNREAD = "read by no grader: kept as data. Move to `checks` what yours reads"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(?:/[A-Za-z_][A-Za-z0-9_.-]*)*")
_YAML_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_PATTERN_SIGNS = re.compile(r"\\[bBdDwWsSAZ.]|\(\?|\[[^\]]+\][+*?{]|\.[*+]|^\^|\$$|[^\\ ]\|[^ ]")


@cache
def _load_hints() -> Mapping[str, Any]:
    """Return the words by which keys are known, and the judges of a draft."""
    path = find_resource_folder("migrations") / "not_migrated/draft.yaml"
    return dict(read_yaml(path.read_bytes(), path.name).value)


@dataclass(frozen=True, slots=True)
class KeyProfile:
    """What the cases of a file have at a path: in how many there is something, and all of the values."""

    path: str
    values: tuple[Any, ...]

    @property
    def words(self) -> frozenset[str]:
        """The words of its last key, in lower case."""
        spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.path.rpartition("/")[2])
        return frozenset(make_slug(spaced).split("_"))

    def has_word(self, *sorts: str) -> bool:
        """Whether its last key has a word of one of these sorts."""
        return any(not self.words.isdisjoint(_load_hints()["words"][sort]) for sort in sorts)

    @property
    def texts(self) -> list[str]:
        """Its texts, where it has nothing but texts and lists of texts; else none."""
        parts = [part for value in self.values for part in (value if isinstance(value, list) else [value])]
        return parts if all(isinstance(part, str) for part in parts) else []

    @property
    def is_chat(self) -> bool:
        """Whether all values are chat messages, and none of them ends with the answer."""
        chats = [read_messages(value) for value in self.values]
        return bool(chats) and all(chat and chat[-1]["role"] != "assistant" for chat in chats)

    @property
    def is_prose(self) -> bool:
        """Whether most of its texts are sentences, which no answer repeats letter by letter."""
        sentences = [text for text in self.texts if len(text) > _SHORT or len(text.split()) >= _SENTENCE]
        return len(sentences) * 2 > len(self.texts)

    def has_only(self, type_: type) -> bool:
        """Whether all values are of a type."""
        return bool(self.values) and all(type(value) is type_ for value in self.values)


def draft_table(value: Any, file: str) -> str:
    """Return the text of a table for the cases of a document; empty where it has no list of cases."""
    place, cases = _find_cases(value)
    if not cases:
        return ""
    profiles = {profile.path: profile for profile in _profile_keys(cases)}
    known = _load_hints()["keys"]
    id_ = next((name for name in known["ids"] if name in profiles and _is_id(profiles[name], len(cases))), None)
    input_ = _find_input(profiles, id_)
    answer = next((name for name in known["answers"] if name in profiles and name != input_), None)
    rows = [
        row
        for path, profile in profiles.items()
        if path not in {id_, input_, answer} and (row := _draft_row(profile)) is not None
    ]
    rows += _draft_answer(profiles[answer], alone=not rows) if answer else []
    judges = {part["judge"] for row in rows for part in (row, *row.get("options", ())) if "judge" in part}
    fields = {"expected": answer} if answer else {}
    fields |= {name: name for name in ("context", "tags") if name in profiles}
    read = {id_, input_, answer, *(row["key"] for row in rows), *fields.values()}
    unread = [part for path in profiles if path not in read for part in _list_unread(profiles[path], input_)]
    root = value if isinstance(value, dict) else {}
    name = next((key for key in known["names"] if isinstance(root.get(key), str)), None)
    others = [key for key in root if _is_key(key) and key not in {place.split("/")[0], name}]
    lines = [
        f"format: {make_id('own_' + make_slug(PurePosixPath(file).stem))} # any name that no other format has",
        "title: Suites of our own",
        "",
        "lists: # where the cases are",
        f"  - {{key: {_spell(place)}}}",
        *([f"name: {_spell(name)} # names the dataset"] if name else []),
        *([f"root: {{data: {_spell(others)}}} # beside the cases, read by no grader"] if others else []),
        "",
        "case: # which key of a case is what",
        f"  id: {_spell(id_)}" if id_ else "  # id: no key names every case, so each is called by its place",
        f"  input: {_spell(input_)}" if input_ else "  input: input # no key has a text in every case: name the one",
        *(f"  {name}: {_spell(path)}" for name, path in fields.items()),
        *([f"  data: {_spell(unread)} # {_UNREAD}"] if unread else []),
        "",
        *_draft_checks(rows),
        "",
        "scoring: {combine: all_pass} # every check must pass; or weighted_avg, with a threshold",
        *_draft_judges(judges),
    ]
    return "\n".join(lines) + "\n"


def _find_cases(value: Any) -> tuple[str, list[dict[str, Any]]]:
    """Return the path of the longest list of objects at the root or one level below it, and these objects."""
    found: dict[str, Any] = {"": value} if isinstance(value, list) else {}
    for key, item in value.items() if isinstance(value, dict) else ():
        inner = item.items() if isinstance(item, dict) else ()
        found |= {key: item} | {f"{key}/{name}": part for name, part in inner if _is_key(name)} if _is_key(key) else {}
    lists = {
        path: [item for item in items if isinstance(item, dict)]
        for path, items in found.items()
        if isinstance(items, list)
    }
    path = max(lists, key=lambda path: len(lists[path]), default="")
    return path, lists.get(path, [])


def _profile_keys(cases: Sequence[Mapping[Any, Any]]) -> list[KeyProfile]:
    """Return the profiles of the keys of cases; of objects, where some keys within them look graded, those of these."""
    profiles: list[KeyProfile] = []
    for key, items in _collect_values(cases).items():
        profile = KeyProfile(key, items)
        inner = _collect_values(items) if profile.has_only(dict) and "schema" not in profile.words else {}
        parts = [KeyProfile(f"{key}/{name}", values) for name, values in inner.items() if "/" not in name]
        graded = [part for part in parts if "/" not in key and part.has_word("wanted", "banned", "stated")]
        profiles += graded or [profile]
    return profiles[:200]  # more are left to the user


def _collect_values(cases: Iterable[Mapping[Any, Any]]) -> dict[str, tuple[Any, ...]]:
    values: dict[str, list[Any]] = {}
    for key, item in (pair for case in cases for pair in case.items()):
        if _is_key(key) and item is not None:
            values.setdefault(key, []).append(item)
    return {key: tuple(items) for key, items in values.items()}


def _is_key(key: Any) -> bool:
    """Whether a table can name a key: a text, not empty, of characters that there are."""
    return isinstance(key, str) and key != "" and not re.search("[\ud800-\udfff]", key)


def _is_id(profile: KeyProfile, cases: int) -> bool:
    """Whether a key names most cases, each with another value."""
    values = [value for value in profile.values if isinstance(value, str | int) and not isinstance(value, bool)]
    return len(values) * 2 > cases and len(set(values)) == len(values) == len(profile.values)


def _find_input(profiles: Mapping[str, KeyProfile], id_: str | None) -> str | None:
    """Return the key of what is asked: by its name, else chat messages, else the one with the longest texts.

    Where variables fill a prompt, it is one of them, unless a key of the case itself has the name.
    """
    most = max((len(profile.values) for profile in profiles.values()), default=0)
    own = {path: profile for path, profile in profiles.items() if path != id_ and len(profile.values) == most}
    inner = [
        KeyProfile(f"{name}/{key}", items)
        for name in _load_hints()["keys"]["variables"]
        if name in own and own[name].has_only(dict)
        for key, items in _collect_values(own[name].values).items()
        if "/" not in key and len(items) == most
    ]
    variables = {profile.path: profile for profile in inner}
    named = _find_named_input(own) or _find_named_input(variables)
    return named or _find_longest(variables) or _find_longest(own) or None


def _find_named_input(profiles: Mapping[str, KeyProfile]) -> str:
    """Return the path of a text with a name of what is asked, else of chat messages; empty where there is none."""
    chats = [path for path, profile in profiles.items() if profile.is_chat]
    names = {path.rpartition("/")[2]: path for path, profile in profiles.items() if profile.has_only(str)}
    names |= {path.rpartition("/")[2]: path for path in chats}
    return next((names[name] for name in _load_hints()["keys"]["inputs"] if name in names), next(iter(chats), ""))


def _find_longest(profiles: Mapping[str, KeyProfile]) -> str:
    """Return the path of the longest texts of which nothing says that they are graded; empty where there is none."""
    texts = {path: profile for path, profile in profiles.items() if profile.has_only(str)}
    answers = _load_hints()["keys"]["answers"]
    others = [path for path in texts if path.rpartition("/")[2] not in answers and _draft_row(texts[path]) is None]
    return max(others, key=lambda path: sum(map(len, texts[path].values)), default="")


def _list_unread(profile: KeyProfile, input_: str | None) -> list[str]:
    """Return the path of a key that no row reads; of variables of which one is asked, those of the others."""
    if not input_ or not input_.startswith(f"{profile.path}/"):
        return [profile.path]
    paths = [f"{profile.path}/{key}" for key in _collect_values(profile.values)]
    return [path for path in paths if path != input_]


def _draft_row(profile: KeyProfile) -> dict[str, Any] | None:
    """Return the row that a key may be; None where nothing in its name or values says that it is graded."""
    row: dict[str, Any] = {"key": profile.path}
    if profile.has_only(list) and (items := _draft_items(profile)):
        return items
    if profile.has_only(dict) and "schema" in profile.words:
        return row | {"kind": "json_schema", "read": "value", "into": "schema"}
    if profile.has_only(int) and profile.has_word("length") and profile.has_word("longest", "shortest"):
        limit = "max_chars" if profile.has_word("longest") else "min_chars"
        return row | {"kind": "format", "read": "number", "into": limit, "with": {"format": "text"}}
    if not profile.texts:
        return None
    return _draft_texts(row, profile, is_banned=is_ban(profile.path) or profile.has_word("banned"))


def _draft_texts(row: dict[str, Any], profile: KeyProfile, *, is_banned: bool) -> dict[str, Any] | None:
    row |= {"read": "texts_or_text"}
    has_signs = not profile.is_prose and any(_PATTERN_SIGNS.search(text[:200]) for text in profile.texts)
    is_pattern = profile.has_word("patterned") or has_signs
    is_any, is_stated, is_exact = profile.has_word("any"), profile.has_word("stated"), profile.has_word("exact")
    negate = {"negate": True} if is_banned else {}
    is_asked = is_banned or is_exact or profile.has_word("wanted")
    is_judged = is_stated or (is_asked and profile.is_prose and not profile.has_word("exact", "patterned"))
    if is_judged and not is_pattern:
        statement = {"kind": "llm_judge", "items": "all", "into": "variables/statement", "judge": "own_statement"}
        # A statement that is banned holds where it does not: criteria are stated as they are meant.
        return row | statement | ({"with": negate} if negate and not is_stated else {})
    if not is_asked:
        return None
    if is_exact and not is_pattern:
        return row | {"kind": "regex", "into": "pattern", "escaped": r"\A\s*{}\s*\Z", "with": {"flags": "i", **negate}}
    if is_pattern:
        # Of patterns none of which may match, each is a check of its own as well.
        each = {} if is_any and not is_banned else {"items": "all"}
        return row | {"kind": "regex", **each, "into": "pattern", "with": {"flags": "i", **negate}}
    if is_banned:
        return row | {"kind": "must_not_contain", "into": "values", "with": {"case_sensitive": False}}
    each = {} if is_any else {"items": "all"}
    return row | {"kind": "must_contain_any", **each, "into": "values", "with": {"case_sensitive": False}}


def _draft_items(profile: KeyProfile) -> dict[str, Any] | None:
    """Return the row of a list whose items name their sort; None where they do not."""
    items = [item for value in profile.values for item in value if isinstance(item, dict)]
    keys = Counter(key for item in items for key in item if isinstance(key, str))
    known = _load_hints()["keys"]
    by = next((key for key in known["sorts"] if items and all(isinstance(item.get(key), str) for item in items)), None)
    value = next((key for key in known["values"] if keys[key] * 2 > len(items) and key != by), None)
    if by is None or value is None:
        return None
    options: list[dict[str, Any]] = []
    for sort in dict.fromkeys(item[by] for item in items):
        parts = tuple(item[value] for item in items if item[by] == sort and item.get(value) is not None)
        part = KeyProfile(sort, parts)
        row = _draft_row(part) if "/" not in sort and sort else None
        options += [row] if row and "by" not in row else []
    return {"key": profile.path, "read": "items", "by": by, "value": value, "options": options} if options else None


def _draft_answer(profile: KeyProfile, *, alone: bool) -> list[dict[str, Any]]:
    """Return the row of the expected answer: a short one must be in the answer, a longer one is held beside it."""
    if not profile.texts or not alone:
        return []
    if max(map(len, profile.texts)) <= _SHORT:
        fixed = {"case_sensitive": False}
        row = {"key": profile.path, "kind": "must_contain_any", "read": "texts_or_text", "into": "values"}
        return [row | {"with": fixed}]
    return [{"key": profile.path, "kind": "llm_judge", "read": "value", "judge": "own_answer"}]


def _draft_checks(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not rows:
        yield "# checks: no key is called like a demand, so nothing is graded. A row is, for example"
        yield "#   - {key: must_contain, kind: must_contain_any, read: texts_or_text, items: all, into: values}"
        return
    yield "# Guessed by the names and the values of the keys; capitals do not count, unless `with` says so."
    yield "# Where a row does what your grader does, take its `lossy` out: until then its cases are reported as lossy."
    yield "checks:"
    for row in rows:
        yield f"  # {_describe_row(row)}"
        if "by" not in row:
            yield f"  - {_spell({**row, 'lossy': _GUESSED})}"
            continue
        head, *others = (f"{key}: {_spell(row[key])}" for key in ("key", "read", "by", "value"))
        yield from (f"  - {head}", *(f"    {line}" for line in others), "    options:")
        for option in row["options"]:
            yield f"      # {_describe_row(option)}"
            yield f"      - {_spell({**option, 'lossy': _GUESSED})}"


def _draft_judges(ids: Collection[str]) -> Iterator[str]:
    judges = [judge for judge in _load_hints()["judges"] if judge["id"] in ids]
    if judges:
        yield "# In words of ours: put in those of your grader, and say `same_as_grader: true`."
        yield from write_yaml({"judges": judges}).splitlines()


def _spell(value: Any) -> str:
    """Return a value as YAML on one line; all that does not print is escaped."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_spell(key)}: {_spell(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_spell, value))}]"
    if not isinstance(value, str):
        return str(value).lower()
    if _PLAIN.fullmatch(value) and value.lower() not in _YAML_WORDS:
        return value
    quoted = re.sub(r'["\\]', r"\\\g<0>", value)
    return '"' + "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted) + '"'


def _describe_row(row: Mapping[str, Any]) -> str:
    if "by" in row:
        return "each item is graded by its sort"
    return _SENTENCES[row["kind"], row.get("with", {}).get("negate", False), row.get("items", "any")]


_SENTENCES: Mapping[tuple[str, bool, str], str] = {
    ("regex", False, "all"): "each pattern must match somewhere in the answer",
    ("regex", False, "any"): "one of the patterns must match somewhere in the answer",
    ("regex", True, "all"): "none of the patterns may match anywhere in the answer",
    ("regex", True, "any"): "none of the patterns may match anywhere in the answer",
    ("must_contain_any", False, "all"): "each text must be in the answer; `items: any`: one of them",
    ("must_contain_any", False, "any"): "one of the texts must be in the answer; `items: all`: each of them",
    ("must_not_contain", False, "any"): "none of the texts may be in the answer",
    ("llm_judge", False, "all"): "a judge is asked about each statement",
    ("llm_judge", True, "all"): "a judge is asked about each statement, none of which may hold",
    ("llm_judge", False, "any"): "a judge compares the answer with the expected one",
    ("format", False, "any"): "the answer has a length in characters",
    ("json_schema", False, "any"): "the answer is JSON of this schema",
}
_GUESSED = "guessed by its name"
