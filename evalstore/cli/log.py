"""`evalstore log`: the releases of an artifact."""

from __future__ import annotations

import click

from evalstore.cli.context import Settings, examples, options


@click.command(
    epilog=examples(
        "evalstore log rubric/answer_style",
        "evalstore log 'rubric/answer_style@^1'",
        "evalstore log judge/tone --format json",
    )
)
@click.argument("ref")
@options()
def command(settings: Settings, ref: str) -> None:
    """List the releases of REF, newest first: version, date, author, bump and summary.

    With a version or a range, only the releases that it covers.
    """
    from evalstore.model import parse_ref
    from evalstore.store.history import read_history

    with settings.store() as store:
        settings.emit(read_history(store, parse_ref(ref)))
