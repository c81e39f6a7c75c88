"""Explains the format of one file: which signs it has, what they weigh, and a draft of a table where none takes it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from evalstore.errors import UsageError
from evalstore.files import read_user_file
from evalstore.migration.detect import MARGIN, OWN_MATCH, FormatMatch, detect_format
from evalstore.migration.legacy_files import FILE_LIMIT, parse_legacy
from evalstore.migration.own_tables import load_own_tables
from evalstore.migration.table import load_tables
from evalstore.migration.table_draft import draft_table


@dataclass(frozen=True, slots=True)
class FormatExplanation:
    """What was found of one file; where no format takes it, the `draft` of a table, or that it `has_no_cases`."""

    file: str
    sha256: str
    match: FormatMatch
    draft: str = ""
    has_no_cases: bool = False

    @property
    def needed_margin(self) -> Fraction:
        """The margin up to which a format is not taken without --from."""
        return MARGIN

    @property
    def decision(self) -> str:
        """What a migration does with the file, and why, in one sentence."""
        match = self.match
        if match.table is None:
            return match.reason
        name = match.table.format
        if not match.is_sure:
            return f"hardly {name}: {match.reason}; --from {name} takes it all the same"
        return f"{name}, {match.confidence:.0%} sure: {match.reason}"


def explain_format(path: Path | str, *, tables: Iterable[Path | str] = ()) -> FormatExplanation:
    """Return how the format of a file is found; writes nothing. `tables` are paths of tables of one's own.

    Raises `UsageError` for a folder, `LoadError` for a file or a table that cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="--explain takes one file of it")
    known_tables = load_tables(None, load_own_tables(map(Path, tables)))
    data = read_user_file(path, FILE_LIMIT)
    document, _ = parse_legacy(data, path.name)
    match = detect_format(document.value, known_tables)
    is_settled = match.is_tie or match.is_sure or match is OWN_MATCH
    draft = "" if is_settled else draft_table(document.value, path.name)
    has_no_cases = not is_settled and not draft
    return FormatExplanation(str(path), hashlib.sha256(data).hexdigest(), match, draft, has_no_cases)
