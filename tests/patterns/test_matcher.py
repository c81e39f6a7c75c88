"""No text takes more steps than its bound says, and one that might take too many is not searched."""

from __future__ import annotations

import random
import re
import time
from math import inf, log2

import pytest

from evalstore.budget import OutOfStepsError
from evalstore.languages.limits import PATTERNS
from evalstore.languages.patterns.engine import OUTPUT_LIMIT, compile_pattern
from evalstore.languages.patterns.matcher import PatternMatcher, compile_matcher
from evalstore.languages.patterns.parser import parse_pattern
from evalstore.languages.patterns.syntax_tree import UndecidedError
from evalstore.languages.patterns.work_bound import WorkBound
from tests.patterns.counting_engine import CountingEngine
from tests.rows import thin

ATOMS = [
    *"abcA1 _-ksißσ", "\\n", ".", ".", r"\d", r"\w", r"\s", r"\W", r"\S", r"\D", "[ab]", "[^a]", "[a-c]", "[^\\n]",
    "[\\w-]", "[^ab]", r"\x61", "[A-C1]", r"\p{Lu}", "[[:alpha:]]", "\u0131", "\u212a",
]  # fmt: skip
PLACES = ["^", "$", r"\b", r"\B", r"\A", r"\Z"]
COUNTS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "*?", "+?", "??", "{1,2}?"]


def draw_pattern(draw: random.Random, depth: int, groups: list[int]) -> str:
    def inner() -> str:
        return draw_pattern(draw, depth - 1, groups)

    kind = 0.0 if depth == 0 else draw.random()
    if kind < 0.25:
        return draw.choice(ATOMS)
    if kind < 0.45:
        return inner() + inner()
    if kind < 0.58:
        return f"(?:{inner()}|{inner()})"
    if kind < 0.75:
        return f"(?:{inner()}){draw.choice(COUNTS)}"
    if kind < 0.80:
        return draw.choice(PLACES)
    if kind < 0.86:
        groups[0] += 1
        return f"({inner()})"
    if kind < 0.94:
        return f"{draw.choice(['(?=', '(?!', '(?<=', '(?<!', '(?i:', '(?>'])}{inner()})"
    if kind < 0.97 and groups[0]:
        return f"\\{draw.randint(1, groups[0])}"
    return f"(?({draw.randint(1, groups[0])}){inner()}|{inner()})" if groups[0] else ""


# A pattern, what its texts are made of, and whether many of that match.
WORST = [
    (r"^(?=.*foo)(?!.*bar)", "foo", True), (r"^(?:foo|bar|baz)+!", "foo", False), (r"a{200}b", "a", False), (r"(?m)^\d+!", "1\n", False),
    (r"\b\w+\s+\w+\b!", "a ", False), ("cache.{0,3}tag", "cache", False), (r"(?:a|b)*a(?:a|b){5}c", "c", False), (r"\b\d{1,3}\.\d+!", "1.1 ", False),
]  # fmt: skip
# Of these no length of 10,000 characters is always searched; of some a shorter one is.
MANY_WAYS = [
    (r"\s*(foo|bar)", " "), ("a*[bc]", "a"), ("a*a*a*[bc]", "a"), ("foo.*bar", "foo"), (r'"(?:[^"\\]|\\.)*"', '"\\'), (r"\w+@\w+\.\w+", "a"), (r"a.*b.*c", "ab"), (r"(a+)+b", "a"),
    (r"(x+x+)+y", "x"), (r"(?:\w+\s+)*!", "a "), (r"(?<=a+)b", "a"), (r"(\w+)@x", "a"), (r"(\w+) \1!", "a"), (r"^((?:a|aa)+)\1$", "a"), ("(?>(?:a|aa)+)b", "a"),
]  # fmt: skip


def matcher(pattern: str, mode: str = "search") -> PatternMatcher:
    found = compile_matcher(pattern, "", mode)
    assert not isinstance(found, str), found
    return found


@pytest.mark.heavy
@pytest.mark.parametrize(("pattern", "unit", "wanted"), WORST)
def test_the_worst_texts_end_soon(pattern: str, unit: str, *, wanted: bool) -> None:
    one = matcher(pattern)
    began = time.process_time()
    for length in (1_000, 10_000, 100_000):
        assert one.is_found((unit * length)[: length // len(unit) * len(unit)]) is wanted
    assert time.process_time() - began < 10


@pytest.mark.heavy
@pytest.mark.parametrize(("pattern", "unit"), thin(MANY_WAYS, 3))
def test_a_text_that_takes_too_many_steps_is_not_searched(pattern: str, unit: str) -> None:
    one = matcher(pattern)
    assert one.longest < 10_000
    began = time.process_time()
    within, beyond = ((unit * 200_000)[:length] for length in (one.longest, 200_000))
    assert one.is_found(within) is not None
    assert one.is_found(beyond) is None
    sentence = f"an output longer than {one.longest:,} characters may be unscored: the pattern can take too many steps"
    assert one.limit_problem == (sentence if one.longest < PATTERNS.ordinary else None)
    assert one.describe_excess(beyond) == (
        f"can take too many steps on 200,000 characters; every output up to {one.longest:,} characters is searched"
    )
    assert time.process_time() - began < 10


PROSE = "The block is rendered once, and kept until its cache tag is out of date: see foo@example.org, 12 MB.\n" * 1_000


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        (r"\s*(foo|bar)", True), (r"\w+@\w+\.\w+", True), ("rendered.*tag", True), ("tag.*rendered", False), (r"\d+ MB", True), (r"\s+$", True),
        (r"\w+ \w+ \d+ GB", False), (r"(\w+) \1", False), (r"b.*c.*d", True), ("(a|aa)+b", False), (r"(?<=[0-9]+ )MB", True),
    ],
)  # fmt: skip
def test_a_long_text_is_searched_where_its_lines_and_words_are_short(pattern: str, *, wanted: bool) -> None:
    one = matcher(pattern)
    assert one.longest < len(PROSE)
    assert one.is_found(PROSE) is wanted
    assert (one.list_captures(PROSE) == []) is not wanted


@pytest.mark.parametrize(("pattern", "mode"), [("foo.*bar", "search"), (r"score: (.*) of", "findall")])
def test_up_to_its_length_every_text_is_searched(pattern: str, mode: str) -> None:
    one = matcher(pattern, mode)
    assert 2_000 < one.longest < OUTPUT_LIMIT
    answer = one.list_captures if mode == "findall" else one.is_found
    began = time.process_time()
    assert answer("a" * one.longest) is not None
    assert answer(("score: " if mode == "findall" else "foo") * one.longest) is None
    assert time.process_time() - began < 5


@pytest.mark.parametrize("pattern", ["[^a]|[^b]", "[^ab]|(?i:c)", r"(?:b|[^a]){1,2}?|[^\n]|[ab]"])
def test_what_the_engine_gets_wrong_is_refused(pattern: str) -> None:
    for mode in ("search", "findall"):
        sentence = compile_matcher(pattern, "", mode)
        assert isinstance(sentence, str)
        assert sentence.startswith("the pattern cannot be run in counted steps: ")
        assert "negated class" in sentence


def test_ordinary_patterns_search_every_ordinary_output() -> None:
    ordinary = [
        "cache tags?", r"\bfoo\b|\bbar\b", r"(?i)\b(yes|no)\b", r"\d{4}-\d{2}-\d{2}", r"^\s*\{.*\}\s*$", r"[\w.+-]+@[\w-]+\.\w+",
        r"(?s)```(?:php)?\n.*?```", r"foo.{0,40}bar", r"^(?!.*(?:TODO|FIXME)).*$", r"#\w+\['cache'\]", r"\$\d+(?:,\d{3})*(?:\.\d\d)?",
        r"https?://[^\s)]+", r"(?m)^#{1,6}\s+\S", r"(-?[$0-9.,]{2,})|(-?[0-9]+)", "|".join(f"word{n}" for n in range(20)),
    ]  # fmt: skip
    assert [pattern for pattern in ordinary if matcher(pattern).ordinary_length is not None] == []
    assert [matcher(pattern).is_found(PROSE) for pattern in ordinary].count(None) == 0


@pytest.mark.parametrize(
    ("pattern", "degree"),
    [
        ("foo", 1), (r"foo\d+bar", 1), ("foo.*bar", 2), (r"\s*(foo|bar)", 2), ("a*a*a*[bc]", 4), ("a.*b.*c", 3), ("^a.*b", 1),
        (r"\b\w+\s+\w+\b", 1), (r"(?:\w+\s+)*!", 2), (r"\d{1,3}(?:,\d{3})*", 1), ("(a+)+b", None), ("(?:a|a)*b", None), ("(a*)*b", None),
        (r"(\w+) \1", 2), (r"^(?:foo|bar|baz)+$", 1), (r"^(?=.*foo)(?!.*bar)", 1), (r"(?m)^\d+", 1), ("foo.*", 1), (r"\w++!", 2),
    ],
)  # fmt: skip
def test_the_bound_grows_as_an_engine_does(pattern: str, degree: int | None) -> None:
    short, long = (WorkBound(parse_pattern(pattern, ""), "search").count_steps(length) for length in (10_000, 20_000))
    assert (None if long == inf else round(log2(long / short))) == degree


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        # A place within a text, letters that no sample has, and a match that a look-around may still refuse.
        (r"\Bfoo.*.*.*[bc]", "xfoo" + "a" * 20_000),
        (r"^(\p{Thai}|\p{Thai}\p{Thai})+$", "\u0e01" * 60 + "!"),
        (r".+(?<!a)", "a" * 20_000),
        (r"(?:\w+\s?)+(?!.)$|\w+(?<![\w])", "a" * 20_000 + "!"),
    ],
)
def test_what_takes_an_engine_forever_is_not_begun(pattern: str, text: str) -> None:
    began = time.process_time()
    assert matcher(pattern).is_found(text) is None
    assert time.process_time() - began < 2


def hold_against_the_bound(draw: random.Random) -> bool:
    pattern, mode = (
        draw_pattern(draw, draw.randint(2, 4), [0]),
        draw.choice(["search", "match", "fullmatch", "findall"]),
    )
    text = draw.choice("ab a-") * draw.choice([6, 12, 30]) + draw.choice(["", "!", "b"])
    if isinstance(compile_pattern(pattern, ""), str):
        return False
    try:
        tree = parse_pattern(pattern, "")
        bound = WorkBound(tree, mode)
        most, most_here = bound.count_steps(len(text)), bound.count_steps_in(text)
        steps = CountingEngine(text, limit=100_000).run(tree, mode)
    except OutOfStepsError:
        steps = 100_000
    except (UndecidedError, RecursionError):
        return False
    assert most_here <= most
    assert steps <= 4 * most_here + 10  # empty rounds are counted as one, (pattern, mode, text, steps, most_here)
    return True


def test_random_patterns_take_no_more_steps_than_their_bound() -> None:
    draw = random.Random(6)  # noqa: S311
    assert sum(hold_against_the_bound(draw) for _ in range(600)) > 400


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_random_patterns_take_no_more_steps_than_their_bound(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    assert sum(hold_against_the_bound(draw) for _ in range(5_000)) > 3_000


def test_the_longest_text_is_just_within_the_steps() -> None:
    bound = WorkBound(parse_pattern("foo.*bar", ""), "search")
    longest = bound.find_longest(PATTERNS.steps, OUTPUT_LIMIT)
    assert bound.count_steps(longest) <= PATTERNS.steps < bound.count_steps(longest + 1)


EDGES = [
    r"(?a)\bok\b",
    r"(?ai)\bok\b",
    r"(?a)\Bk\B",
    r"(?a)\b",
    r"(?a)(?:\bok\b|\bno\b)+",
    r"(?a)\ba\b|\bb\b|\bc\b|\bd\b|\bok\b|\bf\b|\bg\b|\bh\b|\bi\b|\bj\b",
]
EDGED = [
    "ok",
    "\u00e9ok\u00e9",
    "xok",
    "ok_",
    "ok.",
    "OK",
    "o\u212a",
    "xkx",
    "\u00e9k\u00e9",
    "\u00e9",
    "a",
    "so j",
    "",
]


@pytest.mark.parametrize("pattern", EDGES)
def test_a_word_edge_of_ascii_is_found_as_python_finds_it(pattern: str) -> None:
    one = matcher(pattern)
    for text in EDGED:
        assert one.is_found(text) is (re.search(pattern, text) is not None), text
