"""Adds labels to a file, one per line; each is on disk before the next is asked for."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from evalstore.agreement.labels import LabelledOutput, identify_output, read_labels
from evalstore.documents import write_row
from evalstore.errors import ConflictError, Place
from evalstore.files import make_write_error
from evalstore.model import Verdict
from evalstore.runs import GradedRow

_READABLE = 0o666  # minus the umask


@dataclass(slots=True)
class LabelFile:
    """A file of labels that is open for more: its outputs, and where this session begins."""

    path: Path
    descriptor: int
    known: set[LabelledOutput]
    added: list[tuple[int, GradedRow, Verdict]] = field(default_factory=list)

    @property
    def counts(self) -> Counter[Verdict]:
        """How many outputs this session has labelled, by label."""
        return Counter(label for _, _, label in self.added)

    def has_label(self, row: GradedRow) -> bool:
        """Whether an output already has a label."""
        return identify_row(row) in self.known

    def add_label(self, row: GradedRow, label: Verdict, *, with_reference: bool) -> None:
        """Write the label of an output, and wait until it is on disk."""
        line = write_row(make_label(row, label, with_reference=with_reference)).encode()
        start = os.fstat(self.descriptor).st_size
        try:
            while line:
                line = line[os.write(self.descriptor, line) :]
            os.fsync(self.descriptor)
        except OSError as error:
            os.ftruncate(self.descriptor, start)
            raise make_write_error(error, str(self.path)) from None
        self.known.add(identify_row(row))
        self.added.append((start, row, label))

    def remove_last(self) -> GradedRow | None:
        """Remove this session's last label, and return its output; None if there is none.

        Raises `ConflictError` if somebody else has added to the file meanwhile.
        """
        if not self.added:
            return None
        start, row, _ = self.added[-1]
        # The written label is at the end of the file, unless another process wrote, too.
        end = os.fstat(self.descriptor).st_size
        rest = os.pread(self.descriptor, end - start, start)
        if rest.count(b"\n") != 1:
            raise ConflictError("somebody else writes into it, too", place=Place(str(self.path)))
        os.ftruncate(self.descriptor, start)
        self.known.discard(identify_row(row))
        self.added.pop()
        return row


@contextmanager
def open_label_file(path: Path) -> Iterator[LabelFile]:
    """Open a file of labels, or create it.

    Raises `LoadError` for a damaged one, which then stays as it is.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _READABLE)
    except OSError as error:
        raise make_write_error(error, str(path)) from None
    try:
        size = os.fstat(descriptor).st_size
        known = {label.labelled_output for label in read_labels(path)} if size else set()
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            os.write(descriptor, b"\n")
        yield LabelFile(path, descriptor, known)
    finally:
        os.close(descriptor)


def make_label(row: GradedRow, label: Verdict, *, with_reference: bool) -> Mapping[str, Any]:
    """Return the line of a labelled output: the question, the output and the label, no grade."""
    asked = row.input if row.asked is None else row.asked
    references = row.reference if with_reference else ()
    expected = references[0] if len(references) == 1 else list(references)
    return {
        "id": row.id,
        **({"sample": row.sample} if row.sample else {}),
        **({"input": asked} if asked else {}),
        **({"expected": expected} if expected else {}),
        "output": row.output.text,
        "label": str(label),
    }


def order_for_labels(rows: Iterable[GradedRow]) -> list[GradedRow]:
    """Return outputs in the order of labelling, by a hash, so that the first n are a sample of all.

    With the worst first, a judge's rates would be measured on a selection by the judge itself.
    """
    return sorted(rows, key=rank_for_labels)


def rank_for_labels(row: GradedRow) -> bytes:
    """Return the key by which outputs are sorted for labelling: a hash of question and sample."""
    name = f"{row.id}\n{row.sample}".encode("utf-8", "surrogatepass")
    return blake2b(name, digest_size=16).digest()


def identify_row(row: GradedRow) -> LabelledOutput:
    """Return what identifies an output among those that may be labelled."""
    return identify_output(row.id, row.sample, row.output.text)
