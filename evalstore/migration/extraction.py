"""The values between readers and plans: a legacy source, and the extraction of its cases and artifact drafts."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import (
    Document,
    DoubledKey,
    Pointer,
    Span,
    format_json_pointer,
    read_legacy_json,
    read_legacy_row,
    read_legacy_yaml,
    read_text,
    write_json,
    write_legacy_yaml,
    write_row,
)
from evalstore.errors import LoadError, Place
from evalstore.migration.outcome import OUR_JUDGE, JudgeFacts, MigrationEntry, MigrationOutcome
from evalstore.model import Kind

_LINES = frozenset({".jsonl", ".ndjson"})
_YAML = frozenset({".yaml", ".yml"})
# Prompt files that suites refer to: read as plain text, and never sources themselves.
_TEXT = frozenset({".md", ".mustache", ".prompt", ".txt"})
SUFFIXES = frozenset({".json"}) | _LINES | _YAML


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line of JSON Lines that cannot be parsed: the error, and the line unchanged."""

    problem: LoadError
    text: str

    @property
    def line(self) -> int | None:
        """Its number."""
        return self.problem.place.line if self.problem.place else None


def parse_legacy(data: bytes, file: str) -> tuple[Document, tuple[BrokenLine, ...]]:
    """Return a legacy file's document and its broken lines; the rows of JSON Lines are a list without the broken ones.

    Raises `LoadError` with the place, also where more lines are broken than whole: such a file is not JSON Lines.
    """
    suffix = _get_suffix(file)
    return _parse_rows(data, file) if suffix in _LINES else (_PARSERS.get(suffix, read_legacy_json)(data, file), ())


def parse_whole(data: bytes, file: str) -> Document:
    """Return the document of a legacy file without broken lines. Raises `LoadError` with the place."""
    document, broken = parse_legacy(data, file)
    if broken:
        raise broken[0].problem
    return document


def parse_companion(data: bytes, file: str) -> Document:
    """Return the document of a companion file; where its suffix names no format, the value is the text itself."""
    return parse_whole(data, file) if _get_suffix(file) in SUFFIXES else _parse_text(data, file)


def render_legacy(value: Any, file: str) -> str:
    """Return the text of a legacy file with this value, in the format of its suffix."""
    write = _WRITERS.get(_get_suffix(file), write_json)
    return write(value)


def has_key_mention(data: bytes, file: str, key: str) -> bool:
    """Whether the bytes of an unparsable file mention a key where its format puts keys."""
    # A byte pattern, as a file that does not parse may not decode either.
    name = re.escape(key.encode())
    pattern = rb"(?m)^%s\s*:" % name if _get_suffix(file) in _YAML else rb'"%s"' % name
    return re.search(pattern, data.replace(b"\0", b"")) is not None  # NUL bytes: UTF-16


def _parse_rows(data: bytes, file: str) -> tuple[Document, tuple[BrokenLine, ...]]:
    rows: list[Any] = []
    broken: list[BrokenLine] = []
    marks: dict[Pointer, Span] = {}
    doubled: list[DoubledKey] = []
    opaque: list[Pointer] = []
    # Split at LF only: other line separators may stand inside of JSON texts.
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = read_legacy_row(line, file, number)
        except LoadError as error:
            broken.append(BrokenLine(error, line.decode("utf-8", "backslashreplace")))
        else:
            place = len(rows)
            marks[place,] = Span(number, 1, 0, 0)
            doubled += (key._replace(pointer=(place, *key.pointer)) for key in row.doubled)
            opaque += ((place, *pointer) for pointer in row.opaque)
            rows.append(row.value)
    # More broken lines than whole ones: the file is not JSON Lines at all.
    if len(broken) > len(rows):
        raise broken[0].problem
    if not rows:
        raise LoadError("the file has no row", place=Place(file, 1))
    text = data.decode("utf-8", "replace")
    return Document(file, text, rows, marks, {}, doubled=tuple(doubled), opaque=tuple(opaque)), tuple(broken)


def _parse_text(data: bytes, file: str) -> Document:
    text, bom = read_text(data, file)
    return Document(file, text, text, {(): Span(1, 1, 0, len(text))}, {}, bom)


def _get_suffix(file: str) -> str:
    return PurePosixPath(file).suffix.lower()


_PARSERS: Mapping[str, Callable[[bytes, str], Document]] = {
    **dict.fromkeys(_YAML, read_legacy_yaml),
    **dict.fromkeys(_TEXT, _parse_text),
}
_WRITERS: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(_LINES, lambda value: "".join(map(write_row, value))),
    **dict.fromkeys(_YAML, write_legacy_yaml),
}


VERSION = "1.0.0"


@dataclass(frozen=True, slots=True)
class ArtifactDraft:
    """An artifact without its `x_source`. `id` tells the drafts of one source apart; the plan gives the final one.

    `name` is what the final id may be made of: the name that a suite gives itself, or a few words for what a rubric or
    judge asks. `is_common` says that it stands in the table of the format, and is one for all suites; `is_shape`, that
    its values are those of the questions. `facts` compare a judge with that of the legacy grader.
    """

    kind: Kind
    id: str
    value: dict[str, Any]
    pointer: Pointer = ()
    version: str = VERSION
    facts: JudgeFacts = OUR_JUDGE
    name: str = ""
    is_common: bool = False
    is_shape: bool = False

    @property
    def ref(self) -> str:
        """The reference by which other drafts of the same source pin it."""
        return f"{self.kind}/{self.id}@{self.version}"


def make_judge_draft(judge: Mapping[str, Any], facts: JudgeFacts = OUR_JUDGE) -> ArtifactDraft:
    """Return the draft of a judge of a table."""
    value = {key: item for key, item in judge.items() if key != "id"}
    return ArtifactDraft(Kind.JUDGE, judge["id"], value, facts=facts, is_common=True)


@dataclass(frozen=True, slots=True)
class JudgePrompts:
    """The judges that ask in the program's own words, by their id in the table; else why there are none.

    `problems` says so of single judges and `problem` of all others, each a clause behind "as".
    """

    judges: Mapping[str, ArtifactDraft] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def draft_judge(self, judge: Mapping[str, Any]) -> ArtifactDraft:
        """Return the draft of a judge of a table, in the program's words where they are known."""
        return self.judges.get(judge["id"]) or make_judge_draft(judge)

    def explain_absence(self, draft: ArtifactDraft) -> ArtifactDraft:
        """Return a draft that says why its words are ours, where the program's were looked for."""
        why = self.problems.get(draft.id, self.problem)
        if draft.facts.prompt != OUR_JUDGE.prompt or not why:
            return draft
        return replace(draft, facts=replace(draft.facts, prompt=f"{OUR_JUDGE.prompt}, as {why}"))


NO_PROMPTS = JudgePrompts()


@dataclass(frozen=True, slots=True)
class LegacySource:
    """One source file: its document, and access to its companion files.

    `file` is relative and the same on every machine. `read_companion` reads a file by its path relative to this one, or
    with a leading / relative to the folder that the user named; None for a URL, a missing file, and outside of that
    folder. Companions that were read are part of the remainder. `dialect` is the user's choice. `broken_lines` are
    lines of JSON Lines that the document lacks. `prompts` are the judges that ask in the program's own words.
    """

    document: Document
    file: str
    sha256: str
    read_companion: Callable[[str], Document | None]
    dialect: str | None = None
    broken_lines: tuple[BrokenLine, ...] = ()
    prompts: JudgePrompts = NO_PROMPTS


# The variables that stand for opening braces of foreign text in a judge template.
BRACES: Mapping[str, str] = {"braces": "{{", "brace": "{"}


def escape_braces(text: str) -> str:
    """Return a text for a judge template: `{{` becomes the variable `braces`, so that foreign text is never a tag."""
    return text.replace("{{", "{{ braces }}")


def escape_literal(text: str) -> str:
    """Return a text for a judge template, as `escape_braces` does, which a tag may follow."""
    escaped = escape_braces(text)
    return f"{escaped[:-1]}{{{{ brace }}}}" if escaped.endswith("{") else escaped


def find_template_variables(template: str) -> dict[str, str]:
    """Return the variables that a check must set for a template made with `escape_braces` or `escape_literal`."""
    return {name: text for name, text in BRACES.items() if f"{{{{ {name} }}}}" in template}


@dataclass(frozen=True, slots=True)
class MigrationNote:
    """A part of a source with a separate outcome: a check that no check kind can express, a key that nobody reads.

    `question` is the id of the question that stands for it. `in_run` says that the stored run holds it. `document` is
    the companion file that the pointer refers to, where it is not the file of the case. `cases` is how many it
    stands for, where these are several.
    """

    pointer: Pointer
    outcome: MigrationOutcome
    reason: str
    question: str = ""
    in_run: bool = False
    document: Document | None = field(default=None, compare=False)
    cases: int | None = None


def make_entry(
    document: Document, pointer: Pointer, outcome: MigrationOutcome, *reasons: str, cases: int | None = None
) -> MigrationEntry:
    """Return an entry about a place of a document that became no artifact; `cases` is how many it stands for."""
    remarks = tuple(filter(None, reasons)) if outcome is MigrationOutcome.MIGRATED else ()
    line, place = document.locate(pointer).line, format_json_pointer(pointer)
    return MigrationEntry(document.file, place, line, outcome, reasons=reasons, remarks=remarks, cases=cases)


@dataclass(frozen=True, slots=True)
class LegacyCase:
    """One extracted case: its question and its rubric; a case that is set aside has neither.

    `rubric` is a draft; a question that pins a rubric of another file has the reference itself. `raw` is the case as
    the file has it. `outcome` is that of the case itself, with `reasons` for it; `remarks` say what changes no verdict,
    `notes` are on its parts. `unseen` are inputs that the legacy grader shows its judge and no template here does.
    `document` is the companion file that the pointer refers to, where it is not the source.
    """

    pointer: Pointer
    raw: Any
    outcome: MigrationOutcome = MigrationOutcome.MIGRATED
    reasons: tuple[str, ...] = ()
    question: dict[str, Any] = field(default_factory=dict)
    rubric: ArtifactDraft | None = None
    notes: tuple[MigrationNote, ...] = ()
    document: Document | None = None
    remarks: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that there is to say of it: why it has its outcome, then the rest."""
        return (*self.reasons, *self.remarks)

    @property
    def is_set_aside(self) -> bool:
        """Whether it becomes neither a question nor a rubric."""
        return not self.question and self.rubric is None


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a reader extracts from one file: its dialect, the head of a dataset, and its cases.

    Without a dataset the cases are rubrics without a question, and the first rubric stores the remainder of the file.
    `drafts` are judges and inner rubrics, each before the drafts that refer to it. A head or a question with its own
    `x_source` is restored by its reader; for all others the remainder is stored. `is_run`: the store keeps the file
    unchanged as a run, so that no remainder is needed.
    """

    dialect: str
    dataset: ArtifactDraft | None = None
    cases: tuple[LegacyCase, ...] = ()
    drafts: tuple[ArtifactDraft, ...] = ()
    notes: tuple[MigrationNote, ...] = ()
    is_run: bool = False

    @property
    def name(self) -> str:
        """The name that the suite gives itself; empty for none. A file of runs has none: it is called by its file."""
        main = self.dataset or next((case.rubric for case in self.usable_cases if case.rubric), None)
        return main.name if main and not self.is_run else ""

    @property
    def usable_cases(self) -> list[LegacyCase]:
        """The cases that become a question or a rubric."""
        return [case for case in self.cases if not case.is_set_aside]


def find_companion_files(extraction: Extraction, companions: Mapping[str, Document], file: str) -> dict[str, str]:
    """Return the companion files that hold cases of a source, each with the path by which the source names it.

    Paths that begin with / are left out: they start at the folder that the user named, which is known only while
    sources are read.
    """
    # Compared by identity: two companion files may have equal contents.
    holders = {id(case.document) for case in extraction.cases if case.document}
    paths = [path for path, document in companions.items() if id(document) in holders and not path.startswith("/")]
    folder = PurePosixPath(file).parent
    return {os.path.normpath(folder / path.removeprefix("file://")): path for path in paths}
