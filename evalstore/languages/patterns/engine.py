r"""Untrusted regular expressions: compiled once and bounded in size; sole user of `regex`.

The dialect is Python's `re`. The engine is `regex` (its version 0 behaviour), which knows Unicode's
properties, too. No clock stops it: `matcher` decides which texts it gets. The two agree on ordinary
patterns (tests/checks/test_patterns.py has the table) and differ in these:

- `\w`, `\b` and their opposites count combining marks as part of a word and superscript digits as
  none;
- `\s` leaves out the four separators U+001C to U+001F; `\B` also matches in an empty text;
- with flag i, the dotless and the dotted I of Turkish match only themselves;
- `[[:alpha:]]` is a class of letters (`find_problems` says so);
- of what `re` refuses and `regex` knows, some is run, and `find_problems` says so (`\p{L}`,
  `(?<name>…)`); the rest (fuzzy matches, recursion, ...) is refused by `parser`.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

from evalstore.languages.limits import PATTERNS
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    import regex

# Characters of an output; a longer one is not graded at all.
OUTPUT_LIMIT = 1 << 20

_ITEM = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|(?P<open>\()|(?P<close>\))"
    r"|(?P<repeat>\+|\{(?P<least>[0-9]+)[0-9,]*\})|(?P<blank>\s)|.",
    re.DOTALL,
)
_CLASS = re.compile(r"\\.|\[(?P<negation>\^)?(?P<body>\]?(?:\\.|[^\]\\])*+)\]", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_OPPOSITES = ({"s", "S"}, {"w", "W"}, {"d", "D"})
_NEVER = "(?:(?!))"  # no character
_ONCE = frozenset({"{1}", "{1,1}"})
_VERBOSE_FLAG = re.compile(r"\(\?[a-zA-Z]*x")
_POSIX = re.compile(r"(?<!\\)\[[^\]]*\[:\^?[a-z]+:\]")
_FUZZY = re.compile(r"(?<![\\{])\{[^{}]*(?<![A-Za-z])[desi](?![A-Za-z])[^{}]*\}")


@lru_cache(maxsize=512)
def compile_pattern(pattern: str, flags: str) -> regex.Pattern[str] | str:
    """Return the compiled pattern, or a sentence that says why not; `flags` are from `imsx`."""
    import regex

    if len(pattern) > PATTERNS.length:
        return f"the pattern is longer than {PATTERNS.length:,} characters"
    if count_items(pattern, flags) > PATTERNS.items:
        return f"the pattern's repeats expand to more than {PATTERNS.items:,} items"
    known_flags = sum((regex.RegexFlag[flag.upper()] for flag in flags), regex.VERSION0)
    try:
        compiled = regex.compile(_CLASS.sub(_respell_class, pattern), known_flags)
        return compiled if len(pattern) <= PATTERNS.literal else _disable_literal_search(compiled)
    except (regex.error, ValueError, KeyError, RecursionError) as error:
        # Releases before 2025 raise KeyError for flags that exclude each other.
        return f"the pattern does not compile: {_word_error(error)}"


def _respell_class(found: re.Match[str]) -> str:
    r"""Return a class in a form that the engine reads right: it takes `[^\s\S]` for any."""
    known = set(_ESCAPE.findall(found["body"] or "")) if found["negation"] else set()
    return _NEVER if any(pair <= known for pair in _OPPOSITES) else found[0]


def name_engine() -> str:
    """Return the name of the engine as results record it.

    Whichever searcher answers, the semantics are those of this version.
    """
    import regex

    return f"regex {regex.__version__}"


def find_dialect_difference(pattern: str, flags: str) -> str | None:
    """Say how Python's `re` reads a pattern differently from the engine; None if it does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(
                pattern, sum((re.RegexFlag[flag.upper()] for flag in flags), re.RegexFlag(0))
            )
    except (re.error, ValueError, RecursionError, OverflowError) as error:
        return f"Python's re does not know this syntax: {_word_error(error)}"
    if _POSIX.search(pattern):
        return (
            "a class such as [[:alpha:]] means its characters in Python's re, and a class of "
            "letters here"
        )
    if _FUZZY.search(pattern):
        return "braces such as {e<=1} are plain text in Python's re, and ask for a fuzzy match here"
    return None


def _disable_literal_search(compiled: regex.Pattern[str]) -> regex.Pattern[str]:
    """Return the pattern with an alternative that never matches, to disable literal search."""
    import regex

    end = "\n" if compiled.flags & regex.VERBOSE else ""  # the pattern may end in a comment
    return regex.compile(f"(?:{compiled.pattern}{end}|(?!))", compiled.flags)


def count_items(pattern: str, flags: str = "") -> int:
    """Return roughly how many items a pattern has with its repeats written out as the engine does.

    What must occur n times is written n times, and once more for what may follow: nested groups
    that all end in `+` double at each level.
    """
    # There, a comment may come between a group and its repeat, so any group before counts.
    is_verbose = "x" in flags or _VERBOSE_FLAG.search(pattern) is not None
    levels, last = [0], 0
    for item in _ITEM.finditer(pattern):
        if item["open"]:
            levels.append(0)
            last = 0
            continue
        if item["close"] and len(levels) > 1:
            last = levels.pop()
            levels[-1] += last
        elif item["repeat"]:
            if item["repeat"] not in _ONCE:
                levels[-1] += last * int((item["least"] or "1")[:9])
            last = 0
        else:
            last = max(last, 1) if is_verbose or item["blank"] else 1
            levels[-1] += 1
    return sum(levels)


def _word_error(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else make_excerpt(str(error))
