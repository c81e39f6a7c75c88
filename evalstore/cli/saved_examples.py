"""The option `--save-example`, and what its commands say about the saved examples."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from evalstore.cli.context import CommandSettings
from evalstore.model import Verdict

if TYPE_CHECKING:
    from evalstore.api import ArtifactStore
    from evalstore.model import Sample

_F = TypeVar("_F", bound=Callable[..., Any])
_VERDICTS = tuple(map(str, Verdict))


class ExampleRequest(NamedTuple):
    """What to save, by its name in the result of the command.

    Without a verdict, that of the result is expected.
    """

    name: str
    verdict: Verdict | None

    def save(  # noqa: PLR0913, PLR0917  # where, what, and what is expected
        self,
        settings: CommandSettings,
        store: ArtifactStore,
        artifact: str,
        sample: Sample,
        result: Verdict | Fraction,
        note: str = "",
    ) -> None:
        """Add the example to the working file of the artifact, and say where it is."""
        from evalstore.api import save_example
        from evalstore.model.example import describe_expected

        saved = save_example(store, artifact, sample, self.verdict or result, note)
        where = f"{saved.place.file}:{saved.place.line}"
        expected = describe_expected(saved.expected)
        if saved.added:
            settings.print_message(f"saved an example that expects {expected}: {where}")
        else:
            settings.print_message(f"{where} has this example already, and expects {expected}")


def _parse(
    _: click.Context, __: click.Parameter, words: tuple[str, ...]
) -> tuple[ExampleRequest, ...]:
    return tuple(map(_read_word, words))


def _read_word(word: str) -> ExampleRequest:
    name, equals, verdict = word.rpartition("=")
    return (
        ExampleRequest(name, Verdict(verdict))
        if equals and verdict in _VERDICTS
        else ExampleRequest(word, None)
    )


def add_save_option(name: str, help_text: str) -> Callable[[_F], _F]:
    """Return a decorator that adds the option.

    Its value is a name from the result, with =VERDICT to expect another verdict.
    """
    metavar = f"{name}[=VERDICT]"
    return click.option(
        "--save-example", "saves", metavar=metavar, multiple=True, callback=_parse, help=help_text
    )
