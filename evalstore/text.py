"""Makes untrusted text safe to show, and finds the name that a misspelt word means."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

# Characters of a text quoted within a sentence: a name or a value, the value that the sentence is
# about, and a list.
SHORT_EXCERPT, EXCERPT, LONG_EXCERPT = 60, 80, 400
# Characters of a digest or commit that a message shows, and of a digest that is unique within one
# file.
SHORT_DIGEST, LONG_DIGEST = 12, 16
_SUGGESTED = 5  # names that a hint lists when none is near
SLIPS = 2  # of the keyboard; with more it is a different word
_SHORT_WORD = 5  # a word up to this length may have one slip only
# Words this short within a name may be opposites, although two slips apart (`all`, `any`); a slip
# keeps at least this many letters.
_SMALL_WORD, _SHARED_LETTERS = 3, 2
_NONCHARACTERS = "\ufffe\uffff"  # not allowed in XML
_VOWELS = frozenset("aeiouy")
_SAID_AFTER_AN = "aefhilmnorsx"  # letters whose names begin with a vowel
# File names that Windows, and git there, reserve for devices, whatever follows the first dot.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\.|\Z)", re.IGNORECASE | re.ASCII)
# Commands in a CI system's log: `##[…]` anywhere in a line (Azure Pipelines), `::…` at its start
# (GitHub Actions).
_CI_COMMANDS = re.compile(r"(?P<anywhere>#(?=#\w*\[))|^(?P<blank>[^\S\n]*):(?=:)", re.MULTILINE)

# A URL in a text: its scheme, user, host and path, and what follows. A password may contain
# characters that end a host.
_URL = re.compile(
    r"""(?P<scheme>[a-z][a-z0-9+.-]*://)"""
    r"""(?P<user>[^\s/?#'"<>]*@|[^\s/?#'"<>:]*:(?!\d*(?:[/?#]|$))[^\s'"<>]*@)?"""
    r"""(?P<path>[^\s?#'"<>]*)(?P<rest>[?#][^\s'"<>]*)?""",
    re.IGNORECASE,
)
_HIDDEN = "***"


def spell_out(name: str) -> str:
    """Return a name in ASCII, with a code for each letter that looks like one of another script."""
    return name.encode("ascii", "backslashreplace").decode("ascii")


def make_printable(text: str) -> str:
    """Escape control, bidirectional and zero-width characters, surrogates and non-characters."""
    if text.isprintable():
        return text
    return "".join(_escape_character(char) for char in text)


def hide_url_secrets(text: str) -> str:
    """Return a text whose URLs show no user, password, query or fragment; an ssh user stays."""
    return _URL.sub(_hide_in_url, text) if "://" in text else text


def _hide_in_url(url: re.Match[str]) -> str:
    scheme, user, path, rest = url["scheme"], url["user"] or "", url["path"], url["rest"] or ""
    is_login = scheme.lower().endswith("ssh://") and ":" not in user
    shown = user if is_login or not user else f"{_HIDDEN}@"
    return f"{scheme}{shown}{path}{rest[0] + _HIDDEN if rest[1:] else rest}"


def make_excerpt(text: str, limit: int = 200) -> str:
    """Return `text` made printable and shortened to `limit` characters."""
    return make_printable(text if len(text) <= limit else text[: limit - 1] + "…")


def list_odd_letters(text: str) -> list[str]:
    """Return the characters that are invisible or look like others: a long s, a no-break space."""
    if text.isascii():
        return []
    return [char for char in dict.fromkeys(text) if not char.isascii() and _is_odd(char)]


def _is_odd(char: str) -> bool:
    cases = char.lower(), char.upper()
    return (
        unicodedata.category(char)[0] in "CZ"
        or char.isdigit()
        or unicodedata.normalize("NFKC", char) != char
        or len(cases[0]) > 1
        or any(len(case) == 1 and case.isascii() for case in cases)
    )


def name_letter(char: str) -> str:
    """Return a character with its code and name, as in `(U+017F, LATIN SMALL LETTER LONG S)`."""
    name = unicodedata.name(char, "")
    return f"{make_printable(char)} (U+{ord(char):04X}{', ' if name else ''}{name})"


def escape_ci_commands(text: str) -> str:
    """Escape what a CI system would take for a command in its log.

    `text` is whole lines, as printed.
    """
    return _CI_COMMANDS.sub(
        lambda found: "\\x23" if found["anywhere"] else f"{found['blank']}\\x3a", text
    )


def find_nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name most like `name`; None when none is near."""
    import difflib

    return next(iter(difflib.get_close_matches(name, list(names), n=1, cutoff=0.7)), None)


def suggest_known(word: str, known: Iterable[str], what: str) -> str | None:
    """Return a hint for an unknown name; None if nothing is known.

    It is the name that was probably meant, or else the first known ones. `what` is the singular
    noun for what has them.
    """
    names = [*known]
    folded = word.casefold()
    same = next((name for name in names if name.casefold() == folded), None)
    if near := same or find_nearest(word, names):
        return f"did you mean {make_excerpt(near)}?"
    shown = ", ".join(make_excerpt(name, SHORT_EXCERPT) for name in names[:_SUGGESTED])
    more = f" and {len(names) - _SUGGESTED:,} more" if len(names) > _SUGGESTED else ""
    plural = "" if len(names) == 1 else "s"
    return f"its {what}{plural}: {shown}{more}" if names else None


def _escape_character(char: str) -> str:
    if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} or char in _NONCHARACTERS:
        return char.encode("unicode_escape").decode("ascii")
    return char


def find_only_near(word: str, names: tuple[str, ...]) -> str | None:
    """Return the one name that `word` misspells; None if there is none, or more than one."""
    near = [name for name in names if find_near_word(word, (name,), SLIPS)]
    return near[0] if len(near) == 1 else None


@lru_cache(maxsize=4096)
def find_near_word(key: str, names: tuple[str, ...], most: int) -> str | None:
    """Return the name nearest to `key`, at most `most` slips away; None if there is none."""
    bare = _strip_separators(key)
    if len(bare) <= 1:
        return None
    # `input2` is not a slip: a number sets a key apart from its neighbours.
    alike = (name for name in names if _digits(name) == _digits(key))
    alike = (name for name in alike if not _has_other_small_word(key, name))
    near = ((_count_slips(bare, _strip_separators(name)), name) for name in alike)
    slips, name = min(near, default=(SLIPS + 1, ""))
    limit = 1 if len(bare) <= _SHORT_WORD else most
    return name if slips <= limit else None


def _digits(word: str) -> list[str]:
    return [letter for letter in word if letter.isdigit()]


def _has_other_small_word(key: str, name: str) -> bool:
    """Whether a small word of `name` shares hardly a letter with the word in its place in `key`."""
    pairs = zip(key.split("_"), name.split("_"), strict=False)
    small = ((word, other) for word, other in pairs if word != other and len(other) <= _SMALL_WORD)
    return any(len({*word} & {*other}) < _SHARED_LETTERS for word, other in small)


def _strip_separators(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")


def _count_slips(one: str, other: str) -> int:
    """Return the Damerau-Levenshtein distance of two words; above the limit, just a bound.

    The variant is optimal string alignment.
    """
    # A slip changes the length by at most one and the set of letters by at most two: a quick lower
    # bound.
    if abs(len(one) - len(other)) > SLIPS or len(set(one) ^ set(other)) > 2 * SLIPS:
        return SLIPS + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def count_noun(number: int, word: str) -> str:
    """Return `1 rubric`, `1,200 rubrics`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def add_article(noun: str) -> str:
    """Return a noun with its article as it is spoken: `a regex`, `an output`, `an llm_judge`.

    A word without a vowel is spelled out, so the article follows the name of its first letter.
    """
    word = re.split(r"[\s_-]", noun.casefold(), maxsplit=1)[0]
    letters = _SAID_AFTER_AN if _VOWELS.isdisjoint(word) else "aeio"
    return f"{'an' if word.startswith(tuple(letters)) else 'a'} {noun}"


def is_device_name(name: str) -> bool:
    """Whether Windows reserves a file name for a device, so that no file can have it there."""
    return _DEVICE.match(name) is not None
