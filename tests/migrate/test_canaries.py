"""Promise 10 for every format: a word of nobody's, put anywhere into any fixture, is in the store and comes back.

What a reader makes of it does not matter: it may refuse the case, or set it aside, but lose nothing and be silent of
nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalstore.documents import Document
from evalstore.errors import LoadError
from evalstore.migration import export, migrate
from evalstore.migration.fold import same
from evalstore.migration.opened import SUFFIXES, open_source, source_text

CASES = Path(__file__).resolve().parents[1] / "cases/migrations"
Place = tuple[Any, ...]


def _opened(path: Path) -> Document | None:
    try:
        return open_source(path.read_bytes(), path.name)
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


def check(path: Path, places: list[Place]) -> bool:
    """Migrate the fixture of a file with canaries at these places; whether anything was made of the file."""
    value = value_of(path)
    words = {place: f"zq{number}zq" for number, place in enumerate(places)}
    changed = marked(value, words)
    legacy = next(folder for folder in path.parents if folder.name == "legacy")
    with TemporaryDirectory() as folder:
        here = Path(folder)
        shutil.copytree(legacy, here / "legacy")
        below = path.relative_to(legacy.parent)
        (here / below).write_text(source_text(changed, path.name), encoding="utf-8")
        report = migrate([here / "legacy"], into=here)
        source = next((one for one in report.sources if one.file == below.as_posix()), None)
        if source is None or source.target is None:
            assert any(said.file == below.as_posix() for said in (*report.skipped, *report.entries))
            return False
        assert source.format
        store = b"".join((here / name).read_bytes() for name in report.written)
        assert [word for word in canaries(words, value) if word not in store] == []
        export(to=source.format, store=here, out=here / "out")
        assert same(open_source((here / "out" / below).read_bytes(), path.name).value, changed)
    return True


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CASES).as_posix())
def test_a_key_that_nobody_knows_in_every_object_is_kept(path: Path) -> None:
    check(path, [place for place in parts(value_of(path)) if isinstance(_at(value_of(path), place), dict)])


def any_places(path: Path) -> st.SearchStrategy[tuple[Path, list[Place]]]:
    places = list(parts(value_of(path)))
    return st.tuples(
        st.just(path), st.lists(st.sampled_from(places), max_size=6, unique=True) if places else st.just([])
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FILES).flatmap(any_places))
def test_a_word_anywhere_is_kept(at: tuple[Path, list[Place]]) -> None:
    check(*at)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FILES).flatmap(any_places))
def test_ten_thousand_files_keep_every_word(at: tuple[Path, list[Place]]) -> None:
    check(*at)


@pytest.mark.parametrize("format_", sorted({path.relative_to(CASES).parts[0] for path in FILES}))
def test_there_is_something_to_keep(format_: str) -> None:
    paths = [path for path in FILES if path.relative_to(CASES).parts[0] == format_]
    assert any(check(path, []) for path in paths)
