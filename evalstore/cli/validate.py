"""`evalstore validate`: checks files and reports every finding of each, in one run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import (
    PROBLEM_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.judging import read_judge_settings
from evalstore.cli.option_sections import JudgeOption, SectionedCommand
from evalstore.cli.progress import make_watch
from evalstore.errors import EvalstoreError, ExitCode, LoadError, RefusedError, UsageError

if TYPE_CHECKING:
    from evalstore.lint import ValidationSource
    from evalstore.model import Findings, MendedPlace

_STDIN = "-"
_STDIN_LIMIT = 1 << 20
_ROUNDS = 8  # of mending: a kind, then its keys, then their values


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore validate",
        "evalstore validate --strict --format json",
        "evalstore validate --fix",
        "evalstore validate --base origin/main   # no change brings the settings that judge it",
        "evalstore validate rubrics/answer_style.yaml datasets",
        "evalstore validate --as rubric drafts/style.yaml   # whatever its keys look like",
        "git show HEAD:rubrics/answer_style.yaml | evalstore validate -",
    ),
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option("--strict", is_flag=True, help="Treat every finding as an error; exit 1.")
@click.option("--fix", is_flag=True, help="Fix what has only one right fix, and list it.")
@click.option(
    "--base", metavar="REV", help="Also use the settings of this commit: the stricter ones count."
)
@click.option(
    "--judge-model",
    cls=JudgeOption,
    envvar="EVALSTORE_JUDGE_MODEL",
    metavar="NAME",
    default="",
)
@click.option(
    "--as",
    "kind",
    type=click.Choice(["rubric", "judge", "dataset"]),
    help="Check each PATH as this kind, whatever its keys look like.",
)
@add_output_options(PROBLEM_FORMATS)
def command(  # noqa: PLR0913  # one parameter for each option
    settings: CommandSettings,
    paths: tuple[str, ...],
    *,
    strict: bool,
    fix: bool,
    base: str | None,
    judge_model: str,
    kind: str | None,
) -> ExitCode:
    """Check artifacts: schema, ids, versions, references, templates, weights, rows.

    Examples are graded, too: each must get the verdict or the score that it expects. Judges answer
    from kept replies, of the model that evalstore.yaml or the environment names where they name
    none (evalstore explain settings.judge); `evalstore judge examples REF` asks for missing
    replies.

    PATH is a folder, a file, or - for one document on standard input; by default the store. The
    exit code is 1 for an error and 0 for warnings; with --strict (or `strict: true` in
    evalstore.yaml) it is 1 for any finding.

    --fix writes misspelt keys, kinds and words that can mean one thing only, versions of one or two
    parts, missing or surplus quotes, the ending .yml, and `renamed_from` where a released artifact
    has another id; every other byte stays. A fix can move scores; then it says so.

    A file of another tool is named as that tool's, with the command that migrates it; --as checks
    it as a rubric, a judge or a dataset all the same, and lists what keeps it from being one.

    With --base, whatever evalstore.yaml began to allow after that commit is a finding, and is not
    allowed.
    """
    from evalstore.model import Severity

    if fix and _STDIN in paths:
        raise UsageError("--fix needs a file, not standard input", hint="name the file")
    if kind and not paths:
        raise UsageError("--as needs a file", hint=f"evalstore validate --as {kind} FILE")
    model = judge_model
    with suppress(EvalstoreError):  # the findings include what is wrong with the settings
        model = model or str(read_judge_settings(settings).get("model", ""))
    validate_with = partial(
        _validate_paths, settings, paths, kind, strict=strict, base=base, model=model
    )
    result = validate_with(fix=fix)
    if fix:
        result = _mend(result, lambda: validate_with(fix=False))
        if not paths and not result.mended:
            # No name was mended, and perhaps no command can read the file.
            _find_all_sources(settings, _find_root(settings.path), fix=False)
    settings.print_result(result, then=_choose_next_step(settings.path, paths, result))
    return (
        ExitCode.NO
        if any(finding.severity is Severity.ERROR for finding in result.findings)
        else ExitCode.DONE
    )


def _choose_next_step(directory: Path, paths: tuple[str, ...], result: Findings) -> str:
    """Return the command that fixes what can be fixed, or that follows a sound store.

    It is empty for other results.
    """
    from evalstore.store.locate import find_top, resolve_folder

    if any(finding.edit for finding in result.findings):
        return (
            shlex.join(["evalstore", "validate", "--fix", *paths]) if result.mended is None else ""
        )
    is_whole = set(paths) <= {"."} and find_top(resolve_folder(directory)) is not None
    return "evalstore status" if is_whole and not result.findings else ""


def _mend(result: Findings, validate_again: Callable[[], Findings]) -> Findings:
    """Fix what has one right answer, until nothing is left to fix: one fix may expose another."""
    from evalstore.lint.fixes import fix_files

    mended: list[MendedPlace] = []
    for _ in range(_ROUNDS):
        done = fix_files(result.findings)
        if not done:
            break
        mended += done
        result = validate_again()
    return replace(result, mended=tuple(mended))


def _validate_paths(  # noqa: PLR0913  # the options of the command line
    settings: CommandSettings,
    paths: tuple[str, ...],
    kind: str | None,
    *,
    strict: bool,
    base: str | None,
    model: str,
    fix: bool,
) -> Findings:
    from evalstore.api import name_foreign_sources

    root = _find_root(settings.path)
    # Each file once.
    sources_by_name = dict.fromkeys(
        source for path in paths for source in _find_named_sources(settings.path, path, kind)
    )
    sources = list(sources_by_name) if paths else _find_all_sources(settings, root, fix=fix)
    validate_sources = partial(
        _validate_sources, settings, root, strict=strict, base=base, model=model
    )
    findings = validate_sources(sources)
    named = sources if kind else name_foreign_sources(sources, findings)
    if named != sources:
        findings = validate_sources(named)
    if not findings.files:
        raise RefusedError(
            f"no artifact is in {' '.join(paths)}",
            hint=(
                "name a file, or the folder of a store; `evalstore migrate` reads those of other "
                "tools"
            ),
        )
    return findings


def _validate_sources(  # noqa: PLR0913  # the options of the command line
    settings: CommandSettings,
    root: Path | None,
    sources: list[ValidationSource],
    *,
    strict: bool,
    base: str | None,
    model: str,
) -> Findings:
    from evalstore.api import (
        are_of_store,
        find_source_root,
        make_validator,
        open_kept_replies,
        open_source_store,
    )

    judges = None
    if model:
        from evalstore.api import Judges

        judges = Judges(model={"id": model})
    store = open_source_store(find_source_root(root, sources), sources)
    with (
        store or nullcontext(),
        open_kept_replies(store, judges) if store else nullcontext() as replies,
    ):
        validate_by = make_validator(
            store,
            sources,
            today=datetime.now(UTC).date(),
            strict=strict,
            watch=make_watch("validating", quiet=settings.quiet),
            whole=settings.verbose,
            replies=replies,
        )
        findings = validate_by(settings=store.settings if store else None)
        if base is not None and not are_of_store(root, sources):
            raise UsageError(
                "--base needs a store", hint="run it inside the store, without other files"
            )
        if base is not None and store:  # else its settings are broken, always an error
            from evalstore.api import judge_by_base

            findings = judge_by_base(store, base, findings, lambda old: validate_by(settings=old))
    return findings


def _find_root(folder: Path) -> Path | None:
    from evalstore.store.locate import find_enclosing_store, resolve_folder

    return find_enclosing_store(resolve_folder(folder))


def _find_all_sources(
    settings: CommandSettings, root: Path | None, *, fix: bool
) -> list[ValidationSource]:
    """Return the sources of the store; raises if it has no artifact, unless `fix` may make one."""
    from evalstore.lint import find_store_sources
    from evalstore.lint.sources import FileRole

    if root is None:
        with settings.open_store():  # raises if there is no store; a bare one has no files
            raise RefusedError(
                "a bare repository has no files to validate", hint="validate in a working tree"
            )
    sources = list(find_store_sources(root))
    may_become = any(source.role is FileRole.IGNORED for source in sources) and fix
    if not may_become and not any(source.kind for source in sources):
        with suppress(LoadError):  # broken settings are a finding
            settings.open_judged_store().close()
    return sources


def _find_named_sources(directory: Path, name: str, kind: str | None) -> list[ValidationSource]:
    from evalstore.lint import find_folder_sources, make_file_source, make_text_source

    if name == _STDIN:
        return [_take_as(make_text_source(sys.stdin.buffer.read(_STDIN_LIMIT + 1)), kind)]
    path = directory / name
    if path.is_dir():
        if kind:
            raise UsageError(
                f"{name} is a folder",
                hint=f"--as needs files, not folders: name them after --as {kind}",
            )
        return list(find_folder_sources(path.resolve(), name))
    # The folder's real path, but the file's own name: a link in place of the file is a finding.
    return [_take_as(make_file_source(path.parent.resolve() / path.name, name), kind)]


def _take_as(source: ValidationSource, kind: str | None) -> ValidationSource:
    """Return a source with the kind that its author says it has.

    The rows of a dataset already have theirs.
    """
    from evalstore.lint.sources import FileRole
    from evalstore.model import Kind

    is_rows = source.role is FileRole.ROWS and kind == Kind.DATASET
    if kind is None or is_rows or source.role is FileRole.LINK:
        return source
    return replace(source, role=FileRole.ARTIFACT, kind=Kind(kind))
