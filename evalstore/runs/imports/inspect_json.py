"""Logs of Inspect AI as one JSON document, streamed sample by sample; needs nothing of Inspect AI."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream
from evalstore.files import open_user_file
from evalstore.runs.imports.entry import Entry
from evalstore.runs.imports.inspect_sample import WANTED, check_version, entry_of

ROWS = "samples"


def fits(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is a log."""
    return "eval" in names and not names.isdisjoint({"plan", "status", ROWS})


def read(path: Path) -> Iterator[Entry]:
    """Yield the samples of a log in its order."""
    with open_user_file(path) as file:
        stream, model = JsonStream(file, str(path)), None
        for key in stream.iterate_members():
            if key == "version":
                check_version(stream.read(), stream.locate())
            elif key == "eval" and stream.peek() == "{":
                model = model_of(stream.read_fields({"model"}))
            elif key == ROWS and stream.peek() == "[":
                for _ in stream.iterate_items():
                    place = stream.locate()
                    yield entry_of(stream.read_fields(WANTED), model, place, place.line or 0)
            else:
                stream.skip()
        stream.expect_end()


def model_of(spec: dict[str, Any]) -> str | None:
    """Return the model that a log names in its `eval`."""
    return spec["model"] if isinstance(spec.get("model"), str) else None
