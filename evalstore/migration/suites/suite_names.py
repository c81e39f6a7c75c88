"""Gives suites ids: their own name, or the shortest part of their path that distinguishes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from evalstore.migration.artifact_names import make_slug, make_tag, shorten_slug
from evalstore.migration.table import FormatTable
from evalstore.model import Kind, is_id
from evalstore.runs.run_names import strip_run_ending

# The id of a suite begins those of its rubrics, which need room for a case.
SUITE_LIMIT = 40
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SuiteFacts:
    """What identifies a suite: its file, its format, its name and its inputs.

    The name is the suite's own, if any. `inputs` are hashes. `kind` is that of the artifact that
    represents it. `folder_file` is a file name that means nothing, so the folder counts instead.
    `shape` is the digest of the one rubric that its cases share; empty if they have several.
    `words` are hashes of the words of a suite's only question.
    """

    file: str
    format: str
    kind: Kind
    name: str
    inputs: frozenset[int] = frozenset()
    folder_file: str | None = None
    shape: str = ""
    words: frozenset[int] = frozenset()


def find_suite_name(root: Mapping[str, Any], table: FormatTable) -> str:
    """Return the name that a suite gives itself, or nothing.

    It is made from the first keys of the table that the suite has.
    """
    for keys in table.names:
        words = [root.get(key) for key in keys]
        if all(map(_is_name, words)):
            return " ".join(map(str, words))
    return ""


def _is_name(word: Any) -> bool:
    if not isinstance(word, str | int) or isinstance(word, bool):
        return False
    return bool(make_slug(str(word)))


def choose_suite_ids(
    suites: Sequence[SuiteFacts], others: Sequence[SuiteFacts], is_taken: Callable[[str], bool]
) -> list[tuple[str, str]]:
    """Return an id for each new suite, and why it is not simply its name (empty if it is).

    Suites with the same name are told apart by their paths, all in the same way, whichever was
    found first. `others` are the suites in the store, which keep their ids. `is_taken` says whether
    an artifact `<kind>/<id>` already exists.
    """
    groups: dict[tuple[Kind, str], list[int]] = {}
    for index, suite in enumerate(suites):
        groups.setdefault((suite.kind, _make_base(suite)), []).append(index)
    neighbours: dict[tuple[Kind, str], list[SuiteFacts]] = {}
    for other in others:
        neighbours.setdefault((other.kind, _make_base(other)), []).append(other)
    chosen: dict[int, tuple[str, str]] = {}
    used: set[str] = set()
    # Names that are free go first: no path may take the name of another suite.
    for (kind, base), members in groups.items():
        if len(members) == 1 and base and not is_taken(f"{kind}/{base}"):
            chosen[members[0]] = (base, "")
            used.add(f"{kind}/{base}")
    for key, members in groups.items():
        if members[0] in chosen:
            continue
        group = [suites[index] for index in members]
        candidates = [
            list(_list_candidates(suite, group, neighbours.get(key, ()))) for suite in group
        ]
        counts = Counter(text for texts in candidates for text in set(texts))
        for index, suite, texts in zip(members, group, candidates, strict=True):
            lonely = f"{_make_base(suite) or 'suite'}_{make_tag(suite.file)}"
            free = (
                text for text in texts if counts[text] == 1 and f"{suite.kind}/{text}" not in used
            )
            id_ = next(
                (text for text in free if not is_taken(f"{suite.kind}/{text}")), _fit_id(lonely)
            )
            used.add(f"{suite.kind}/{id_}")
            why = f"another {suite.kind} is called {key[1]}, too: its path tells it apart"
            chosen[index] = (id_, why if key[1] else "")
    return [chosen[index] for index in range(len(suites))]


def _make_base(suite: SuiteFacts) -> str:
    """Return a single suite's id, from its own name or its file's or folder's; may be empty."""
    if is_id(suite.name):
        return suite.name
    if make_slug(suite.name):
        return _fit_id(suite.name)
    parts = _list_parts(suite)
    return _fit_id(parts[-1]) if parts else ""


def _list_parts(suite: SuiteFacts) -> list[str]:
    """Return the meaningful parts of a suite's path, the file's own without its extension."""
    path = PurePosixPath(suite.file)
    stem = (
        _UUID.sub("", strip_run_ending(path.name)).removesuffix(path.suffix)
        or path.name.split("-")[0]
    )
    folders = list(path.parts[:-1])
    is_named_by_folder = path.name == suite.folder_file and folders
    # In evals/evals.json the folder means nothing, either.
    if is_named_by_folder and folders[-1] == stem and len(folders) > 1:
        folders.pop()
    names = folders if is_named_by_folder else [*folders, stem]
    return [slug for name in names if (slug := make_slug(name))]


def _list_candidates(
    suite: SuiteFacts, group: Sequence[SuiteFacts], neighbours: Sequence[SuiteFacts]
) -> Iterator[str]:
    """Yield ids for a suite whose name others have.

    They take ever more of the path around its nearest part.
    """
    base = _make_base(suite)
    everyone = [set(_list_parts(other)) for other in (*group, *neighbours)]
    common = set.intersection(*everyone) if len(everyone) > 1 else set()
    parts = [part for part in _list_parts(suite) if part not in common and part != base]
    # A version or a number alone is not a name: it gets the part before it.
    cores = [place for place, part in enumerate(parts) if part[0].isalpha()]
    for core in reversed(cores):
        for first in range(core, -1, -1):
            for last in range(core, len(parts)):
                words = "_".join(parts[first : last + 1])
                yield _fit_id(f"{words}_{base}" if suite.name and base not in words else words)
    if base:
        words = "_".join([] if cores else parts) or make_slug(PurePosixPath(suite.file).stem)
        yield _fit_id(f"{base}_{words}")


def _fit_id(text: str) -> str:
    slug = shorten_slug(text, SUITE_LIMIT)
    fitted = slug if is_id(slug) else shorten_slug(f"suite {text}", SUITE_LIMIT)
    return fitted if is_id(fitted) else f"suite_{make_tag(text)}"
