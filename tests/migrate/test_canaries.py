"""P10 for every format: a made-up word, put anywhere into any fixture, is in the store and comes back.

What a reader makes of it does not matter: it may refuse the case, or set it aside, but lose nothing and be silent of
nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from functools import cache
from itertools import count, islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalstore.documents import Document
from evalstore.errors import LoadError
from evalstore.migration import export, migrate
from evalstore.migration.detect import detect_format, select_variant
from evalstore.migration.extraction import Extraction, LegacySource
from evalstore.migration.legacy_files import SUFFIXES, parse_whole, render_legacy
from evalstore.migration.readers import run_reader
from evalstore.migration.remainder import is_same_data
from evalstore.migration.table import load_tables
from tests.rows import each, thin

CASES = Path(__file__).resolve().parents[1] / "cases/migrations"
Place = tuple[Any, ...]


def _opened(path: Path) -> Document | None:
    try:
        return parse_whole(path.read_bytes(), path.name)
    except LoadError:
        return None


FILES = [
    path
    for path in sorted(CASES.glob("*/*/legacy/**/*"))
    if path.suffix in SUFFIXES and path.is_file() and _opened(path)
]


@cache
def value_of(path: Path) -> Any:
    document = _opened(path)
    assert document
    return document.value


def parts(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the places of all texts and all objects."""
    if isinstance(value, str | dict):
        yield place
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from parts(item, (*place, key))


def marked(value: Any, places: dict[Place, str], place: Place = ()) -> Any:
    """Return a value with a canary behind each text, and as a key and a value of each object, that is at a place."""
    if isinstance(value, list):
        return [marked(item, places, (*place, index)) for index, item in enumerate(value)]
    if isinstance(value, dict):
        inner = {key: marked(item, places, (*place, key)) for key, item in value.items()}
        canary = places.get(place)
        return inner | ({f"{canary}key": f"{canary}value"} if canary else {})
    return f"{value}{places[place]}" if isinstance(value, str) and place in places else value


def canaries(places: dict[Place, str], value: Any) -> list[bytes]:
    objects = {place for place in parts(value) if place in places and isinstance(_at(value, place), dict)}
    words = [[f"{word}key", f"{word}value"] if place in objects else [word] for place, word in places.items()]
    return [word.encode() for some in words for word in some]


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def legacy_of(path: Path) -> Path:
    """Return the folder of the legacy files that are migrated together."""
    return next(folder for folder in path.parents if folder.name == "legacy")


def kept(changed: dict[Path, Any]) -> tuple[bytes, set[Path]]:
    """Migrate a fixture with other values in its files, and back; the store's bytes, and the files that are in them."""
    legacy = legacy_of(next(iter(changed)))
    with TemporaryDirectory() as folder:
        here, taken = Path(folder), set()
        shutil.copytree(legacy, here / "legacy")
        below = {path: path.relative_to(legacy.parent).as_posix() for path in changed}
        for path, value in changed.items():
            (here / below[path]).write_text(render_legacy(value, path.name), encoding="utf-8")
        report = migrate([here / "legacy"], into=here)
        formats = {one.file: one.format for one in report.sources if one.target is not None}
        for format_ in set(formats.values()):
            assert format_
            export(to=format_, store=here, out=here / "out")
        for path, value in changed.items():
            if below[path] in formats:
                assert is_same_data(parse_whole((here / "out" / below[path]).read_bytes(), path.name).value, value)
                taken.add(path)
            else:
                assert any(said.file == below[path] for said in (*report.skipped, *report.entries))
        return b"".join((here / name).read_bytes() for name in report.written), taken


def check(places: dict[Path, list[Place]]) -> set[Path]:
    """Put canaries at these places of files that are migrated together; of which anything was made."""
    numbers = count()
    words = {path: {place: f"zq{next(numbers)}zq" for place in some} for path, some in places.items()}
    store, taken = kept({path: marked(value_of(path), words[path]) for path in places})
    for path in taken:
        assert [word for word in canaries(words[path], value_of(path)) if word not in store] == []
    return taken


def objects(path: Path) -> list[Place]:
    return [place for place in parts(value_of(path)) if isinstance(_at(value_of(path), place), dict)]


FOLDERS = list(dict.fromkeys(map(legacy_of, FILES)))


@pytest.mark.heavy
@pytest.mark.parametrize("folder", thin(FOLDERS, 6), ids=lambda folder: folder.parent.relative_to(CASES).as_posix())
def test_a_key_that_nobody_knows_in_every_object_is_kept(folder: Path) -> None:
    check({path: objects(path) for path in FILES if legacy_of(path) == folder})


def any_places(path: Path) -> st.SearchStrategy[tuple[Path, list[Place]]]:
    places = list(parts(value_of(path)))
    return st.tuples(
        st.just(path), st.lists(st.sampled_from(places), max_size=6, unique=True) if places else st.just([])
    )


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FILES).flatmap(any_places))
def test_a_word_anywhere_is_kept(at: tuple[Path, list[Place]]) -> None:
    check(dict([at]))


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, -1, 10**30, Decimal("0.10"), Decimal("1E+400"), "", " ", "x", "\x00", "{{ x }}", [], {}, [[]], [None],
     [{}], {"x": None}, {"": 0}, ["x", 1], {"id": 1}]
)  # fmt: skip


def nodes(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the places of all values but the root."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*place, key)
        yield from nodes(item, (*place, key))


def replaced(value: Any, place: Place, new: Any) -> Any:
    if not place:
        return new
    if isinstance(value, list):
        return [replaced(item, place[1:], new) if index == place[0] else item for index, item in enumerate(value)]
    return {key: replaced(item, place[1:], new) if key == place[0] else item for key, item in value.items()}


@st.composite
def odd_files(draw: st.DrawFn) -> tuple[Path, Any]:
    path = draw(st.sampled_from(FILES))
    value = value_of(path)
    for _ in range(draw(st.integers(1, 3))):
        if places := list(nodes(value)):
            value = replaced(value, draw(st.sampled_from(places)), draw(ODD))
    return path, value


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(odd_files())
def test_any_value_anywhere_is_kept_or_refused_in_a_sentence(odd: tuple[Path, Any]) -> None:
    kept(dict([odd]))


@pytest.mark.slow
@settings(max_examples=10_000, suppress_health_check=list(HealthCheck))
@given(odd_files())
def test_ten_thousand_odd_files(odd: tuple[Path, Any]) -> None:
    kept(dict([odd]))


@pytest.mark.slow
@settings(max_examples=10_000, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FILES).flatmap(any_places))
def test_ten_thousand_files_keep_every_word(at: tuple[Path, list[Place]]) -> None:
    check(dict([at]))


@pytest.mark.parametrize("format_", sorted({path.relative_to(CASES).parts[0] for path in FILES}))
def test_there_is_something_to_keep(format_: str) -> None:
    paths = [path for path in FILES if path.relative_to(CASES).parts[0] == format_]
    assert any(check({path: []}) for path in paths)


@each(FILES)
def test_a_key_that_nobody_knows_beside_the_cases_is_named(path: Path) -> None:
    value = value_of(path)
    if isinstance(value, dict) and (taken := taken_of(render_legacy(marked(value, {(): "zq"}), path.name), path)):
        said = [note.reason for note in taken.notes if note.pointer == ("zqkey",)]
        assert said == ([] if taken.is_refused else ["no grader reads 'zqkey': kept as data"])


SMALL = [path for path in FILES if path.stat().st_size < 8_000]  # the others are long, not other


@pytest.mark.parametrize("path", thin(SMALL, 6), ids=lambda path: path.relative_to(CASES).as_posix())
def test_a_reader_meets_any_sort_of_value_at_any_place(path: Path, samples: Callable[[int], int]) -> None:
    """A reader answers with cases or one sentence, whatever stands where it looked for something else."""
    value, odds = value_of(path), ([], {}, [{}], 1, None, True, "", "{{ x }}")
    stride = 1 if samples(len(odds)) == len(odds) else 59  # each place gets one value, and the place after it the next
    for place, odd in islice(product(nodes(value), odds), None, None, stride):
        text = render_legacy(replaced(value, place, odd), path.name)
        with suppress(LoadError):
            taken = taken_of(text, path)
            assert taken is None or taken.cases or taken.notes or taken.dataset, (place, odd)


def taken_of(text: str, path: Path) -> Extraction | None:
    document = parse_whole(text.encode(), path.name)
    table = detect_format(document.value, load_tables(path.relative_to(CASES).parts[0])).table
    return (
        run_reader(LegacySource(document, path.name, "", lambda _: None), select_variant(document.value, table))
        if table
        else None
    )
