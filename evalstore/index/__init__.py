"""Many stores as one table: the records that it has, and its columns; a row has null in those of other records."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from evalstore.model import Kind
from evalstore.runs.tables import ColumnType
from evalstore.versions import find_version

IndexRow = dict[str, Any]

TEXT, INTEGER, NUMBER, FLAG, TIME = ColumnType


class RecordType(StrEnum):
    """What a row is about."""

    STORE = "store"
    ARTIFACT = "artifact"
    RELEASE = "release"
    PIN = "pin"
    FINDING = "finding"
    RUN = "run"
    PROBLEM = "problem"


class IndexColumn(NamedTuple):
    """A column: what it holds, and what that means."""

    type: ColumnType
    meaning: str


COLUMNS: Mapping[str, IndexColumn] = {
    "record": IndexColumn(TEXT, "what the row is about: store, artifact, release, pin, finding, run or problem"),
    "store": IndexColumn(TEXT, "the folder of the store, below DIR as it was named"),
    "artifact": IndexColumn(TEXT, "`<kind>/<id>`: the artifact; of a pin the one that has it, of a run its dataset"),
    "kind": IndexColumn(TEXT, "rubric, judge or dataset: that of `artifact`"),
    "version": IndexColumn(
        TEXT, "of an artifact that of its file, of a release its own, of a pin or run that of `used`"
    ),
    "major": IndexColumn(INTEGER, "the first number of `version`"),
    "used": IndexColumn(TEXT, "`<kind>/<id>` that a pin leads to, or that a run was graded with"),
    "used_kind": IndexColumn(TEXT, "rubric, judge or dataset: that of `used`"),
    "pin": IndexColumn(TEXT, "what follows the @, null where nothing does"),
    "via": IndexColumn(TEXT, "of a pin that another artifact holds, on which this one depends: that artifact"),
    "floating": IndexColumn(FLAG, "whether a later release changes what a pin means"),
    "scores": IndexColumn(FLAG, "whether scores depend on a pin; a judge only says what it was measured on"),
    "questions": IndexColumn(INTEGER, "how many questions of a dataset a pin grades"),
    "latest": IndexColumn(TEXT, "the newest release of an artifact"),
    "releases": IndexColumn(INTEGER, "how many releases an artifact has"),
    "changed": IndexColumn(FLAG, "whether the file of an artifact differs from its last release"),
    "tag": IndexColumn(TEXT, "the tag of a release"),
    "commit": IndexColumn(TEXT, "of a release, of a run's `used`, or of a store what is checked out"),
    "digest": IndexColumn(TEXT, "SHA-256 over all but the version, as a release's tag or a run records it"),
    "time": IndexColumn(TIME, "when a release or a run was made"),
    "author": IndexColumn(TEXT, "who released"),
    "bump": IndexColumn(TEXT, "major, minor or patch, as a release's tag records it"),
    "previous": IndexColumn(TEXT, "the release before, as a release's tag records it"),
    "summary": IndexColumn(TEXT, "the first line of a release's tag"),
    "run": IndexColumn(TEXT, "the aggregate of a run, from the store's folder; the same in each of its rows"),
    "model": IndexColumn(TEXT, "whose outputs a run graded"),
    "score": IndexColumn(NUMBER, "of a run, 0 to 1"),
    "pass_rate": IndexColumn(NUMBER, "of a run, 0 to 1"),
    "scored": IndexColumn(INTEGER, "how many questions of a run have a score"),
    "unscored": IndexColumn(INTEGER, "how many questions of a run have an output and no score"),
    "rule": IndexColumn(TEXT, "the rule of a finding"),
    "severity": IndexColumn(TEXT, "error, warning or info, of a finding or a problem"),
    "file": IndexColumn(TEXT, "where a pin, finding or problem is, from the store's folder"),
    "line": IndexColumn(INTEGER, "the line in `file`, from 1"),
    "message": IndexColumn(TEXT, "what a finding or problem says; why an artifact or pin cannot be read"),
    "hint": IndexColumn(TEXT, "what to do about a finding or problem"),
}


def make_artifact_columns(name: str) -> IndexRow:
    """Return the columns of an artifact by its name (`<kind>/<id>`)."""
    return {"artifact": name, "kind": name.partition("/")[0]}


def make_used_columns(name: str) -> IndexRow:
    """Return the columns of an artifact that something uses; its kind only where it has a known one."""
    kind = name.partition("/")[0]
    return {"used": name, "used_kind": kind if kind in set(Kind) else None}


def make_version_columns(text: str | None) -> IndexRow:
    """Return the columns of a version; without the number for what is none."""
    version = find_version(text) if text else None
    return {"version": text or None, "major": version.major if version else None}
