"""What bash is told to complete our command lines: a reference is one word of it."""

from __future__ import annotations

from click.shell_completion import BashComplete, add_completion_class


@add_completion_class
class BashReferenceComplete(BashComplete):
    """Bash as it is set up ends a word at an @, so it would ask for the version of nothing."""

    source_template = BashComplete.source_template + "COMP_WORDBREAKS=${COMP_WORDBREAKS//@}\n"
