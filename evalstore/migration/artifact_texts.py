"""Writes artifacts as the texts of their files, several at one time where that is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from evalstore.documents import write_yaml
from evalstore.model import Kind
from evalstore.workers import JobOptions, map_in_order, open_lasting_processes

_SCHEMA = "# yaml-language-server: $schema=../.evalstore/schema/{}.schema.json\n"


class ArtifactValue(NamedTuple):
    """The path of an artifact's file, and what it is to hold."""

    path: str
    value: Any


WriteTexts = Callable[[Sequence[ArtifactValue]], Iterable[str]]


def write_text(file: ArtifactValue) -> str:
    """Return the text of one file; `RefusedError` for what cannot be written as YAML."""
    return write_yaml(file.value, header=_SCHEMA.format(Kind(file.path.partition("s/")[0])))


def write_texts(files: Sequence[ArtifactValue]) -> Iterator[str]:
    """Yield the text of each file, in this process."""
    return map(write_text, files)


@contextmanager
def open_writers(jobs: JobOptions, size: int) -> Iterator[WriteTexts]:
    """Give what writes texts as `write_texts` does: in other processes where sources of `size` bytes are worth them."""
    count = jobs.choose_jobs(size)
    if count == 1:
        yield write_texts
        return
    with open_lasting_processes(count) as open_executor:

        def write_in_processes(files: Sequence[ArtifactValue]) -> Iterator[str]:
            with closing(map_in_order(write_text, files, open_executor, on_loss=jobs.on_loss)) as texts:
                yield from texts

        yield write_in_processes
