"""What `evalstore resolve` does, behind click; and without it where the command line has no options, as in scripts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalstore.cli.context import CommandSettings
from evalstore.cli.process import end_process, prepare_process, run_action
from evalstore.cli.ref_words import check_ref
from evalstore.cli.streams import write_safely
from evalstore.errors import ExitCode

if TYPE_CHECKING:
    from evalstore.store import Resolved


def show_meanings(settings: CommandSettings, refs: Sequence[str], *, strict: bool = False) -> ExitCode:
    """Print what references mean, and which of them float: an error with `strict`, or where the settings forbid it."""
    from evalstore.store.resolve import Resolution

    with settings.open_store() as store:
        resolved = store.resolve_all(refs)
        policy = store.settings.get("unpinned", "warn")
        strict = strict or store.strict or policy == "forbid"
    settings.print_result(Resolution(resolved))
    floating = [target for target in resolved if target.floating]
    if strict or policy != "allow":
        for target in floating:
            settings.print_message(_describe_floating(target, "error" if strict else "warning"))
    return ExitCode.NO if strict and floating else ExitCode.DONE


def run_plain(directory: str, words: Sequence[str]) -> None:
    """Run `resolve` with words that are no options, and leave the process; click takes 70 ms to read the same."""
    prepare_process()
    settings = CommandSettings(directory)

    def resolve() -> int:
        try:
            return show_meanings(settings, [check_ref(word, settings.path, of_content=True) for word in words])
        except KeyboardInterrupt:  # a terminal shows ^C on the line of the error, which click ends, too
            write_safely(sys.stderr, "\n")
            raise

    end_process(run_action(resolve, settings), settings)


def _describe_floating(resolved: Resolved, level: str) -> str:
    why = "floats" if "@" in resolved.ref else "has no pin"
    return f"{level}: {resolved.ref} {why}: today it is {resolved.name}@{resolved.version}; pin that to keep it"
