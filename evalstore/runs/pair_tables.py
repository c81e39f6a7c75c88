"""Fills the tables of two runs: by DuckDB, within limits, else by the reader of rows in SQLite; sole user of DuckDB.

Of a row DuckDB looks at the grade, the digests and the output, as exact texts. Where a row is not plainly evalstore's
own, with one text as its output, the reader of rows reads the file, and says what is wrong with it, and where.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalstore.files import open_user_file
from evalstore.runs.eee_rows import read_consistent_grade
from evalstore.runs.eee_write import format_exact_score, write_checks
from evalstore.runs.read import read_bare_rows
from evalstore.runs.row_formats import is_text_format
from evalstore.runs.row_pairs import SAME_QUESTIONS, SIDES, AskedQuestions, PairTables, TableRow
from evalstore.runs.tables import fit_text
from evalstore.runs.values import Run

_MEMORY = "1GB"  # what is more goes to the disk
_TEXTS = ("verdict", "rubric", "checks", "input_digest", "reference_digest", "output_digest", "tool_calls")
# Values that have to be texts keep the quotation marks that tell a text from a number.
_JSON_COLUMNS = (
    "{sample_id: 'JSON', output: 'STRUCT(raw JSON[])', messages: 'JSON', interactions: 'JSON', metadata: 'STRUCT("
    "evalstore_score JSON, evalstore_sample JSON, " + ", ".join(f"evalstore_{one} VARCHAR" for one in _TEXTS) + ")'}"
)
_CREATE = """
CREATE TABLE {side} (place BIGINT, id VARCHAR, sample INTEGER, score VARCHAR, verdict VARCHAR, rubric VARCHAR,
    checks VARCHAR, unclear BOOLEAN, input UBIGINT, reference UBIGINT, output UBIGINT, digest UBIGINT)
"""
# A check without a score, or within a composite; a key that is written with escapes may be anything. Several short
# searches take half of the time of one pattern.
_UNCLEAR = r"""regexp_matches(metadata.evalstore_checks, 'unscored"\s*:\s*"')
        OR contains(metadata.evalstore_checks, 'inner_errors') OR contains(metadata.evalstore_checks, '\u')"""
_FILL = """
INSERT INTO {side} SELECT * EXCLUDE (is_plain) FROM (SELECT
    row_number() OVER () AS place,
    {id} AS id,
    coalesce({sample}, '0')::INTEGER AS sample,
    {score} AS score,
    metadata.evalstore_verdict AS verdict,
    coalesce(metadata.evalstore_rubric, '') AS rubric,
    '[]' AS checks,
    coalesce({unclear}, false) AS unclear,
    hash(metadata.evalstore_input_digest) AS input,
    hash(metadata.evalstore_reference_digest) AS reference,
    CASE WHEN {text} IS NOT NULL THEN hash({text}) END AS output,
    CASE WHEN metadata.evalstore_output_digest <> '' THEN hash(metadata.evalstore_output_digest) END AS digest,
    {is_plain} AND (output IS NULL OR len(output.raw) <= 1) AND metadata.evalstore_verdict IS NOT NULL
        AND messages IS NULL AND metadata.evalstore_tool_calls IS NULL AS is_plain
    FROM {source}
) WHERE CASE WHEN is_plain THEN verdict <> 'unscored' OR output IS NOT NULL ELSE error('a row is not plain') END
"""
_FILL_CHECKS = """
UPDATE {side} SET checks = found.checks FROM (
    SELECT row_number() OVER () AS place, coalesce(metadata.evalstore_checks, '[]') AS checks FROM {source}
) AS found WHERE found.place = {side}.place AND {side}.id IN (SELECT id FROM lone)
"""
_HAS_TEXTS = " AND ".join(
    f"starts_with(coalesce({value}::VARCHAR, {other}), '\"')"
    for value, other in (
        ("sample_id", "''"),
        ("metadata.evalstore_score", "''"),
        ("metadata.evalstore_sample", "'\"'"),
        ("nullif(output.raw[1]::VARCHAR, 'null')", "'\"'"),
    )
)
_JSON = {
    "source": f"read_json(?, format = 'newline_delimited', columns = {_JSON_COLUMNS})",
    "id": "sample_id->>'$'",
    "sample": "metadata.evalstore_sample->>'$'",
    "score": "metadata.evalstore_score->>'$'",
    "text": "nullif(output.raw[1]::VARCHAR, 'null')",
    "is_plain": f"{_HAS_TEXTS} AND interactions IS NULL",
}
_PARQUET = {
    "source": "read_parquet(?, hive_partitioning = false)",
    "id": "sample_id",
    "sample": "metadata.evalstore_sample",
    "score": "metadata.evalstore_score",
    "text": "output.raw[1]",
    "is_plain": " AND ".join(
        f"typeof({one}) = 'VARCHAR' AND {one} IS NOT NULL" for one in ("sample_id", "metadata.evalstore_score")
    ),
}
_CREATE_ASKED = """
CREATE TABLE asked_{side} AS SELECT id FROM read_json(?, format = 'newline_delimited', columns = {{id: 'VARCHAR'}})
"""


@contextmanager
def open_pair_tables(
    runs: tuple[Run, Run], asked: tuple[AskedQuestions, AskedQuestions | None]
) -> Iterator[PairTables]:
    """Yield two runs, and the questions of their datasets (None: the same), in a database.

    Raises `LoadError` at file:line for what is not a row.
    """
    if find_spec("duckdb"):
        with _open_duckdb_tables(runs, asked) as tables:
            if tables is not None:
                yield tables
                return
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        # A temporary database needs no crash safety.
        database.execute("PRAGMA journal_mode = OFF")
        for side, run, questions in zip(SIDES, runs, asked, strict=True):
            database.execute(f"CREATE TABLE {side} ({', '.join(TableRow._fields)}, PRIMARY KEY (id, place))")
            database.execute(SAME_QUESTIONS if questions is None else f"CREATE TABLE asked_{side} (id PRIMARY KEY)")
            marks = ", ".join("?" * len(TableRow._fields))
            database.execute("BEGIN")
            database.executemany(f"INSERT INTO {side} VALUES ({marks})", _list_values(run))
            if questions is not None:
                database.executemany(f"INSERT INTO asked_{side} VALUES (?)", ((id_,) for id_ in questions.ids()))
            database.execute("COMMIT")
        yield PairTables(runs, database.execute)


def _list_values(run: Run) -> Iterator[tuple[Any, ...]]:
    for place, (row, is_stored, digest) in enumerate(read_bare_rows(run), 1):
        if is_stored or row.score is not None:
            yield (
                *(
                    place,
                    fit_text(row.id),
                    row.sample,
                    format_exact_score(row.score),
                    row.verdict.value,
                    fit_text(row.rubric),
                ),
                *(fit_text(write_checks(row.checks)), any(one.unscored or one.inner_errors for one in row.checks)),
                *(row.input_digest, row.reference_digest, row.output_digest if is_stored else None, digest or None),
            )


@contextmanager
def _open_duckdb_tables(
    runs: tuple[Run, Run], asked: tuple[AskedQuestions, AskedQuestions | None]
) -> Iterator[PairTables | None]:
    """Yield two runs in a database; None where DuckDB refuses one, or a row is not plain."""
    duckdb = import_module("duckdb")
    with TemporaryDirectory(prefix="evalstore-") as name:
        folder = Path(name)
        database = None
        try:
            for side, run, questions in zip(SIDES, runs, asked, strict=True):
                _link_rows(run, folder / side)
                if questions is not None:
                    with (folder / f"asked_{side}").open("wb") as file:
                        file.writelines(questions.lines())
            database = _connect(folder)
            tables = _fill_tables(database, runs, folder)
        except (duckdb.Error, ValueError):
            tables = None
        try:
            yield tables
        finally:
            if database is not None:
                database.close()


def _link_rows(run: Run, link: Path) -> None:
    """Give a file of rows a name that is none of its own: a name can be a pattern of several files."""
    open_user_file(run.samples).close()
    link.symlink_to(Path(os.fspath(run.samples)).absolute())


def _connect(folder: Path) -> Any:
    """Return a database that reads and writes in one folder, and cannot load code or be told to do more."""
    limits = {"memory_limit": _MEMORY, "temp_directory": str(folder), "python_enable_replacements": False}
    extensions = ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions")
    database = import_module("duckdb").connect(config={**limits, **dict.fromkeys(extensions, False)})
    paths = [str(folder / name) for side in SIDES for name in (side, f"asked_{side}")]
    quoted = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    for setting in (f"allowed_paths = [{quoted}]", "enable_external_access = false", "lock_configuration = true"):
        database.execute(f"SET {setting}")
    return database


def _fill_tables(database: Any, runs: tuple[Run, Run], folder: Path) -> PairTables:
    def execute(statement: str, values: Sequence[Any] = ()) -> Any:
        # A connection has one result at a time.
        return database.cursor().execute(statement, values)

    sources = [_JSON if is_text_format(run.samples) else _PARQUET for run in runs]
    for side, source in zip(SIDES, sources, strict=True):
        execute(_CREATE.format(side=side))
        execute(_FILL.format(side=side, unclear=_UNCLEAR, **source), (str(folder / side),))
        if (folder / f"asked_{side}").exists():
            execute(_CREATE_ASKED.format(side=side), (str(folder / f"asked_{side}"),))
        else:
            execute(SAME_QUESTIONS)
        for grade in execute(f"SELECT DISTINCT score, verdict FROM {side}").fetchall():
            read_consistent_grade(*grade)

    def fetch_checks() -> None:
        if execute("SELECT count(*) FROM lone").fetchone()[0]:
            for side, source in zip(SIDES, sources, strict=True):
                execute(_FILL_CHECKS.format(side=side, **source), (str(folder / side),))

    return PairTables(runs, execute, fetch_checks)
