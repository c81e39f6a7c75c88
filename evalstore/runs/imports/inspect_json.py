"""Logs of Inspect AI as one JSON document, streamed sample by sample; needs nothing of Inspect AI."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream
from evalstore.files import open_user_file
from evalstore.runs.imports.entry import OutputEntry
from evalstore.runs.imports.inspect_sample import SAMPLE_KEYS, check_version, sample_entry

SAMPLES_KEY = "samples"


def is_json_log(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys is a log."""
    return "eval" in names and not names.isdisjoint({"plan", "status", SAMPLES_KEY})


def read_json_log(path: Path) -> Iterator[OutputEntry]:
    """Yield the samples of a log in its order."""
    with open_user_file(path) as file:
        stream, model = JsonStream(file, str(path)), None
        for key in stream.iterate_members():
            if key == "version":
                check_version(stream.read(), stream.locate())
            elif key == "eval" and stream.peek() == "{":
                model = model_name(stream.read_fields({"model"}))
            elif key == SAMPLES_KEY and stream.peek() == "[":
                for _ in stream.iterate_items():
                    place = stream.locate()
                    yield sample_entry(stream.read_fields(SAMPLE_KEYS), model, place, place.line or 0)
            else:
                stream.skip()
        stream.expect_end()


def model_name(spec: dict[str, Any]) -> str | None:
    """Return the model that a log names in its `eval`."""
    return spec["model"] if isinstance(spec.get("model"), str) else None
