"""Finds a configuration's tests as run: with shared parts, and once for each variable's value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from evalstore.documents import Document, Pointer
from evalstore.migration.extraction import MigrationNote
from evalstore.migration.javascript.globs import has_pattern
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.promptfoo.csv_tests import TableError, read_table, read_table_test
from evalstore.text import SHORT_EXCERPT, make_excerpt

_FILE = "file://"
_DEPTH = 30  # references within references
_LISTS = (".yaml", ".yml", ".json", ".jsonl")
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class TestPlace:
    """A value with its pointer in a document: the configuration, or a file that it names."""

    raw: Any
    pointer: Pointer
    document: Document

    def enter(self, key: str) -> Iterator[TestPlace]:
        """Yield the items of the list at a key."""
        items = self.raw.get(key) if isinstance(self.raw, dict) else None
        for index, item in enumerate(items if isinstance(items, list) else ()):
            yield TestPlace(item, (*self.pointer, key, index), self.document)


@dataclass(frozen=True, slots=True)
class RunTest:
    """A test as it is run.

    `place` is where notes about it point. `parts` go from the most widely shared to its own.
    """

    place: TestPlace
    parts: tuple[TestPlace, ...]
    variables: Mapping[str, Any]

    def merge(self, key: str) -> dict[str, Any]:
        """Return the objects that its parts have at a key as one; the test's own wins."""
        return merge_parts(self.parts, key)

    def find(self, key: str) -> Any:
        """Return the value of a key in the last part that has it; None counts as absent."""
        found = [part.raw.get(key) for part in self.parts if isinstance(part.raw, dict)]
        return next((item for item in reversed(found) if item is not None), None)


@dataclass(slots=True)
class TestFinder:
    """Finds one configuration's tests, and notes items that are not; `quotes`: see the release."""

    root: Mapping[str, Any]
    document: Document
    load: Callable[[str], Document | None]
    list_files: Callable[[str], list[str]]
    types: Mapping[str, Any]
    quotes: bool
    notes: list[MigrationNote] = field(default_factory=list)

    def list_tests(self) -> Iterator[RunTest]:
        """Yield all tests in the order in which the program numbers them."""
        shared = self._find_shared()
        own = list(self._list_named(self.root.get("tests"), ("tests",), self.document))
        scenarios = self.root.get("scenarios")
        if not own and not self.root.get("tests") and not scenarios:
            own = [TestPlace({}, (), self.document)]
        for place in own:
            yield from self._expand(place, (*shared, place))
        for index, scenario in enumerate(scenarios if isinstance(scenarios, list) else ()):
            yield from self._list_scenario(scenario, ("scenarios", index), shared)

    def _find_shared(self) -> tuple[TestPlace, ...]:
        raw = self.root.get("defaultTest")
        if isinstance(raw, str):
            document = self.load(raw)
            if document and isinstance(document.value, dict):
                return (TestPlace(resolve_refs(document.value, document.value), (), document),)
            self._note(
                ("defaultTest",), f"{make_excerpt(raw, SHORT_EXCERPT)} cannot be read from here"
            )
        return (TestPlace(raw, ("defaultTest",), self.document),) if isinstance(raw, dict) else ()

    def _list_scenario(
        self, raw: Any, at: Pointer, shared: Sequence[TestPlace]
    ) -> Iterator[RunTest]:
        if not isinstance(raw, dict):
            self._note(at, "it is not an object")
            return
        tests = list(self._list_named(raw.get("tests"), (*at, "tests"), self.document))
        tests = tests or [TestPlace({}, at, self.document)]
        configs = list(self._list_named(raw.get("config"), (*at, "config"), self.document))
        for config in configs:
            for test in tests:
                yield from self._expand(test, (*shared, config, test))

    def _list_named(self, items: Any, at: Pointer, document: Document) -> Iterator[TestPlace]:
        """Yield the tests of a list, and those of the files that it names."""
        places = enumerate(items) if isinstance(items, list) else ()
        found = [((*at, index), item) for index, item in places]
        if isinstance(items, str | dict):
            found = [(at, items)]
        for pointer, item in found:
            path = item.get("path") if isinstance(item, dict) else item
            if isinstance(path, str):
                for one in self.list_files(path) or [path]:
                    yield from self._read_file(one, pointer)
            elif isinstance(item, dict):
                yield TestPlace(item, pointer, document)
            else:
                self._note(pointer, "it is not a test")

    def _read_file(self, path: str, at: Pointer) -> Iterator[TestPlace]:
        name = path.removeprefix(_FILE)
        is_known = name.endswith((*_LISTS, ".csv")) and not has_pattern(name)
        document = self.load(path) if is_known else None
        if document is None:
            self._note(
                at, f"the tests of {make_excerpt(name, SHORT_EXCERPT)} cannot be read from here"
            )
        elif name.endswith(".csv"):
            yield from self._take_table(document)
        else:
            value = resolve_refs(document.value, document.value)
            for index, item in enumerate(value if isinstance(value, list) else [value]):
                yield TestPlace(item, (index,) if isinstance(value, list) else (), document)

    def _take_table(self, document: Document) -> Iterator[TestPlace]:
        try:
            for index, row in enumerate(read_table(str(document.value))):
                test = read_table_test(row, self.types, quotes=self.quotes)
                yield TestPlace(test, (index,), document)
        except (TableError, ValueError) as error:
            self.notes.append(
                MigrationNote((), MigrationOutcome.REFUSED, str(error), document=document)
            )

    def _expand(self, place: TestPlace, parts: tuple[TestPlace, ...]) -> Iterator[RunTest]:
        """Yield a test for each combination of those variables that are lists of texts."""
        variables = merge_parts(parts, "vars")
        if merge_parts(parts, "options").get("disableVarExpansion"):
            yield RunTest(place, parts, variables)
            return
        values = [_list_values(value) for value in variables.values()]
        for combination in product(*values):
            yield RunTest(place, parts, dict(zip(variables, combination, strict=True)))

    def _note(self, at: Pointer, reason: str) -> None:
        self.notes.append(MigrationNote(at, MigrationOutcome.UNMAPPED, reason))


def merge_parts(parts: Sequence[TestPlace], key: str) -> dict[str, Any]:
    """Merge the objects that parts have at a key; later parts win."""
    merged: dict[str, Any] = {}
    for part in parts:
        value = part.raw.get(key) if isinstance(part.raw, dict) else None
        merged |= value if isinstance(value, dict) else {}
    return merged


def list_types(part: TestPlace) -> Iterator[str]:
    """Yield the types of the assertions of a test and of its sets, without the prefix `not-`."""
    for place in part.enter("assert"):
        type_ = place.raw.get("type") if isinstance(place.raw, dict) else None
        if isinstance(type_, str):
            yield type_.removeprefix("not-")
        yield from list_types(place)


def _list_values(value: Any) -> list[Any]:
    # A list that does not begin with a text is one value.
    is_several = isinstance(value, list) and value and isinstance(value[0], str)
    return value if is_several else [value]


def resolve_refs(value: Any, root: Any, depth: int = 0) -> Any:
    """Return a value with its references within the document resolved; keys beside one win.

    A reference that leads nowhere stays.
    """
    if depth > _DEPTH:
        return value
    if isinstance(value, list):
        return [resolve_refs(item, root, depth) for item in value]
    if not isinstance(value, dict):
        return value
    ref = value.get("$ref")
    target = _follow(ref, root) if isinstance(ref, str) and ref.startswith("#") else _MISSING
    if target is not _MISSING:
        beside = {key: item for key, item in value.items() if key != "$ref"}
        if isinstance(target, dict):
            return resolve_refs({**target, **beside}, root, depth + 1)
        return resolve_refs(target, root, depth + 1)
    return {key: resolve_refs(item, root, depth) for key, item in value.items()}


def _follow(ref: str, root: Any) -> Any:
    value = root
    for step in ref.removeprefix("#").split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return _MISSING
    return value
