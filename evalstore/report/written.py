"""Renders in a few lines what a command wrote or listed: a store, file, site, export or lock."""

from __future__ import annotations

from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any

from evalstore.report.json_values import select_json_keys
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_columns,
    format_percent,
    join_names,
)
from evalstore.text import count_noun, make_printable

if TYPE_CHECKING:
    from evalstore.catalogue.starters import StartedFile
    from evalstore.demo import ReplayedStory
    from evalstore.migration import ExportResult, PinBehind, UnexportedFile
    from evalstore.release.changes.accept import WrittenAcceptance
    from evalstore.release.records.lock import LockedRef, LockResult
    from evalstore.report.text_layout import Screen
    from evalstore.site.values import WrittenSite
    from evalstore.store.init import CreatedStore

_SIGNS = {"+": Part.NEW, "~": Part.MINOR, "-": Part.OLD}


def text_acceptance(result: WrittenAcceptance, screen: Screen = PAPER) -> str:
    """Return the accepted change, the bump that its artifact now needs, and the file to review."""
    acceptance, status = result.acceptance, result.status
    until = f" until {acceptance.accepted.until}" if acceptance.accepted.until else ""
    lines = [
        (
            f"accepted as {acceptance.accepted.level} (was {acceptance.accepted.was}){until}: "
            f"{acceptance.change}"
        ),
        f"{status.ref} now needs a {status.required_bump} bump: {status.next_version}",
        f"review and commit {result.file}",
    ]
    first, *rest = screen.wrap(*lines)
    return "\n".join([screen.paint_verb(first), *rest])


def document_story(story: ReplayedStory) -> Any:
    """Return the JSON document."""
    steps = []
    for step, results in story.steps:
        commands = [select_json_keys(one, "command=words exit_code=code out") for one in results]
        steps.append({**select_json_keys(step, "title author date"), "commands": commands})
    return {"folder": str(story.folder), "steps": steps}


def text_export(result: ExportResult, screen: Screen = PAPER) -> str:
    """Return the file itself if it was not written, else what was written where."""
    if result.out is None:
        return "".join(file.text for file in result.files)
    wrote = [
        make_printable(f"wrote {result.out}/{one.file} from {one.ref}") for one in result.files
    ]
    lines = screen.shorten_list(list(map(screen.paint_verb, wrote)))
    lines += (make_printable(f"left out: {key}") for file in result.files for key in file.left_out)
    for pin in chain.from_iterable(file.behind for file in result.files):
        lines += _describe_pin(pin, screen)
    for refused in result.refused:
        lines += screen.wrap(make_printable(describe_refusal(refused)))
    return "\n".join(lines)


def _describe_pin(pin: PinBehind, screen: Screen) -> list[str]:
    said = f"{pin.dataset} is as before its source changed: {pin.pin} is behind {pin.version}"
    return screen.wrap(make_printable(said))


def describe_refusal(refused: UnexportedFile) -> str:
    """Return what could not be exported, why, and what to do."""
    place = f"{refused.file} from {refused.ref}" if refused.file else refused.ref
    hint = f"; {refused.hint}" if refused.hint else ""
    return f"not written: {place}, {refused.reason}{hint}"


def document_export(result: ExportResult) -> Any:
    """Return the JSON document, with the texts if they were not written."""
    text = "text" if result.out is None else ""
    digest = {"sha256": lambda file: sha256(file.text.encode()).hexdigest()}
    row = ("file ref", digest, f"left_out behind {text}")
    return {
        **select_json_keys(result, "format out"),
        "files": [select_json_keys(file, *row) for file in result.files],
        **select_json_keys(result, "refused"),
    }


def text_store(result: CreatedStore, screen: Screen = PAPER) -> str:
    """Return what was created."""
    if not (
        result.repository or result.written or result.merged or result.kept or result.next_steps
    ):
        return f"{make_printable(str(result.root))} is a store already; nothing changed"
    is_new = "evalstore.yaml" in result.written
    made = "made a store" if is_new else "the store is"
    if result.repository:
        made = "made a git repository and a store"
    lines = [
        screen.paint_verb(f"{made} in {make_printable(str(result.root))}"),
        *(f"  wrote {make_printable(name)}" for name in result.written),
        *(f"  added to {make_printable(name)}" for name in result.merged),
        *(f"in every clone: {command}" for command in result.next_steps),
    ]
    if result.example:
        lines.append(f"First score: {format_percent(result.example.score)} ({result.example.run})")
    elif is_new:
        lines.append(
            "evalstore migrate FILE turns legacy grader files into rubrics and datasets here"
        )
    return "\n".join(lines)


def text_lock(result: LockResult, screen: Screen = PAPER) -> str:
    """Return a line for each new, moved or removed reference, and how many the lock holds."""
    rows = [
        *(_reference_row(reference) for reference in result.refs if reference.changed),
        *(("-", ref, "") for ref in result.removed),
    ]
    holds = (
        f"{result.path} holds {count_noun(len(result.refs), 'reference')} and "
        f"{count_noun(result.ledgers, 'ledger')}"
    )
    summary_line = make_printable(
        f"{holds}; {'written' if result.written else 'it was already up to date'}"
    )
    lines = (
        [screen.paint_words(line, _SIGNS) for line in format_columns(rows).splitlines()]
        if rows
        else []
    )
    return "\n".join([*screen.shorten_list(lines), summary_line])


def _reference_row(reference: LockedRef) -> tuple[str, str, str]:
    if reference.previous is None:
        return "+", reference.ref, reference.version
    return (
        "~",
        reference.ref,
        reference.version
        if reference.previous == reference.version
        else f"{reference.previous} -> {reference.version}",
    )


def text_file(file: StartedFile, screen: Screen = PAPER) -> str:
    """Return the file and what it refers to."""
    refers = f", which refers to {join_names(file.refers_to)}" if file.refers_to else ""
    return screen.paint_verb(f"wrote {file.file}{refers}")


def text_site(site: WrittenSite, screen: Screen = PAPER) -> str:
    """Return the first page's path, how many pages there are, and what was left out."""
    notes = [screen.paint_lead(f"note: {make_printable(note)}") for note in site.notes]
    return "\n".join(
        [
            (
                f"{make_printable(site.folder)}/index.html and "
                f"{count_noun(site.pages - 1, 'more page')}"
            ),
            *notes,
        ]
    )
