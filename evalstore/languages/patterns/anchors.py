"""Tells whether an anchor holds, from what is before it and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evalstore.languages.patterns.syntax_tree import AnchorKind

# As bits; 0 is any other letter, NOTHING an end of the text, LAST comes with a NEWLINE that no
# letter follows.
NEWLINE, WORD, NOTHING, LAST = 1, 2, 4, 8
Neighbour = int
# Whether an anchor holds, by what is before and after it: no bit says that it does not.
HOLDS_AT: Mapping[AnchorKind, Callable[[Neighbour, Neighbour], int]] = {
    AnchorKind.TEXT_START: lambda before, _: before & NOTHING,
    AnchorKind.LINE_START: lambda before, _: before & (NOTHING | NEWLINE),
    AnchorKind.TEXT_END: lambda _, after: after & NOTHING,
    AnchorKind.LINE_END: lambda _, after: after & (NOTHING | NEWLINE),
    AnchorKind.LAST_LINE_END: lambda _, after: after & (NOTHING | LAST),
    AnchorKind.WORD_EDGE: lambda before, after: (before ^ after) & WORD,
    AnchorKind.NO_WORD_EDGE: lambda before, after: ~(before ^ after) & WORD,
}
# The kinds of letters that an anchor tells apart.
KINDS_ASKED: Mapping[AnchorKind, int] = {
    AnchorKind.LINE_START: NEWLINE,
    AnchorKind.LINE_END: NEWLINE,
    AnchorKind.WORD_EDGE: WORD,
    AnchorKind.NO_WORD_EDGE: WORD,
}
