"""Write what the README lists from the code: the commands, as the command line does, and the check kinds."""

import re
import textwrap
from pathlib import Path

from evalstore.checks import KINDS
from evalstore.cli.main import COMMANDS

README = Path(__file__).resolve().parents[2] / "README.md"
_COMMANDS = re.compile(r"(?<=\| command \| what it does \|\n\|---\|---\|\n)(?:\|.*\n)+")
# A number before it may stand there from the time when it was counted by hand.
_KINDS = re.compile(r"The (?:\w+ )?check kinds are [^.]*\.\n")


def render_commands() -> str:
    """Return the rows of the table of commands."""
    return "".join(f"| `{name}` | {what} |\n" for name, what in COMMANDS.items())


def render_kinds() -> str:
    """Return the sentence that names every check kind."""
    *others, last = (f"`{kind}`" for kind in KINDS)
    return textwrap.fill(f"The check kinds are {', '.join(others)} and {last}.", 120, break_on_hyphens=False) + "\n"


def render_readme(text: str) -> str:
    """Return the README with both parts as they are now."""
    return _KINDS.sub(render_kinds(), _COMMANDS.sub(render_commands().replace("\\", r"\\"), text, count=1), count=1)


if __name__ == "__main__":
    README.write_text(render_readme(README.read_text("utf-8")), "utf-8")
