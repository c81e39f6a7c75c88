"""The engine and the automaton give one answer, and no text takes more steps than the bound of its length says."""

from __future__ import annotations

import random
import re
import time
from itertools import pairwise
from math import log2

import pytest

from evalstore.budget import OutOfStepsError
from evalstore.languages.patterns.automaton_search import build_regular_matcher
from evalstore.languages.patterns.engine import OUTPUT_LIMIT, compile_pattern
from evalstore.languages.patterns.letters import ENGINE_STEPS
from evalstore.languages.patterns.matcher import PatternMatcher, compile_matcher
from evalstore.languages.patterns.parser import parse_pattern
from evalstore.languages.patterns.syntax_tree import UndecidedError, refuse_engine_faults
from evalstore.languages.patterns.work_bound import WorkBound
from tests.patterns.counting_engine import CountingEngine

ATOMS = [
    *"abcA1 _-ksißσ", "\\n", ".", ".", r"\d", r"\w", r"\s", r"\W", r"\S", r"\D", "[ab]", "[^a]", "[a-c]", "[^\\n]",
    "[\\w-]", "[^ab]", r"\x61", "[A-C1]", r"\p{Lu}", "[[:alpha:]]", "\u0131", "\u212a",
]  # fmt: skip
PLACES = ["^", "$", r"\b", r"\B", r"\A", r"\Z"]
COUNTS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "*?", "+?", "??", "{1,2}?"]
CHARS = "aabbcAB1_ -\n\n\u0130\u0131\u017f\u212a\u00df\u1e9e\u03a3\u03c3\u0301\u00b2\u001c\U0001f600"


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


def draw_text(draw: random.Random) -> str:
    return "".join(draw.choice(CHARS) for _ in range(draw.randint(0, 9)))


def hold_against_the_engine(draw: random.Random) -> int:
    """Return how many answers about one random pattern were compared; each of ours is the engine's."""
    pattern = draw_pattern(draw, draw.randint(1, 4), [0])
    flags, mode = "".join(flag for flag in "ims" if draw.random() < 0.2), draw.choice(["search", "match", "fullmatch"])
    compiled = compile_pattern(pattern, flags)
    if isinstance(compiled, str):
        return 0
    try:
        tree = parse_pattern(pattern, flags)
        refuse_engine_faults(tree)
        automaton = build_regular_matcher(tree, mode)
    except (UndecidedError, OutOfStepsError):
        return 0
    texts = [draw_text(draw) for _ in range(6)]
    for text in texts:
        wanted = getattr(compiled, mode)(text) is not None
        assert automaton.is_found(text) is wanted, (pattern, flags, mode, text)
    return len(texts)


def test_random_patterns_are_answered_as_by_the_engine() -> None:
    draw = random.Random(14)  # noqa: S311  # a sample that repeats
    assert sum(hold_against_the_engine(draw) for _ in range(150)) > 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_many_random_patterns_are_answered_as_by_the_engine(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    assert sum(hold_against_the_engine(draw) for _ in range(5_000)) > 15_000


# A pattern, what its texts are made of, and whether many of that match.
WORST = [
    (r"\s*(foo|bar)", " ", False), ("a*[bc]", "a", False), ("a*a*a*[bc]", "a", False), ("foo.*bar", "foo", False),
    (r"\w+@\w+\.\w+", "a", False), (r"a.*b.*c", "ab", False), (r'"(?:[^"\\]|\\.)*"', '"\\', False), (r"(a+)+b", "a", False),
    (r"(?m)^\s*\d+\.", "\n", False), (r"(?:\w+\s+)*!", "a ", False), (".{0,40}x.{0,40}y", "x", False), (r"(x+x+)+y", "x", False),
    (r"(?:foo|bar|baz)+!", "foo", False), (r"(?:a|b)*a(?:a|b){50}c", "ab", False), (r"^(?=.*foo)(?!.*bar)", "foo", True),
    ("(?s)(?=.*foo)(?=.*bar)", "foo ", False), (r"(?<!x)foo$", "foo", True), (r"(?<=a+)b", "a", False), (r"a{200}b", "a", False),
]  # fmt: skip


def matcher(pattern: str, mode: str = "search") -> PatternMatcher:
    found = compile_matcher(pattern, "", mode)
    assert not isinstance(found, str), found
    return found


@pytest.mark.heavy
@pytest.mark.parametrize(("pattern", "unit", "wanted"), WORST)
def test_the_worst_texts_end_soon_and_alike(pattern: str, unit: str, *, wanted: bool) -> None:
    one = matcher(pattern)
    began = time.process_time()
    for length in (1_000, 10_000, 100_000):
        assert one.is_found((unit * length)[: length // len(unit) * len(unit)]) is wanted
    assert time.process_time() - began < 10
    assert not one.may_exceed


@pytest.mark.parametrize(("pattern", "unit"), [(r"\s*(foo|bar)", " "), (r"(\w+)@x", "a"), ("(?i)(ok).*done", "o k")])
def test_the_automaton_takes_over_without_a_trace(pattern: str, unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [unit * count + end for count in (1, 30) for end in ("", "foo", "@x", "OK.. done")]
    answers = []
    for steps in (1, 200, 5_000, ENGINE_STEPS):
        monkeypatch.setattr("evalstore.languages.patterns.matcher.ENGINE_STEPS", steps)
        compile_matcher.cache_clear()
        found = matcher(pattern)
        answers.append([found.is_found(text) for text in texts])
    compile_matcher.cache_clear()
    assert all(one == other for one, other in pairwise(answers))


def test_what_no_bound_and_no_automaton_takes_is_refused() -> None:
    for pattern, mode in [(r"^((?:a|aa)+)\1$", "search"), ("(a|aa)+b", "findall"), ("(?>(?:a|aa)+)b", "search")]:
        sentence = compile_matcher(pattern, "", mode)
        assert isinstance(sentence, str)
        assert sentence.startswith("the pattern cannot be run in counted steps: a repeated part can match")


@pytest.mark.parametrize(("pattern", "mode"), [(r"(\w+) \1!", "search"), (r"score: (.*) of", "findall")])
def test_a_text_is_too_long_from_a_length_on_that_the_pattern_has(pattern: str, mode: str) -> None:
    one = matcher(pattern, mode)
    assert 2_000 < one.longest < OUTPUT_LIMIT
    answer = one.list_captures if mode == "findall" else one.is_found
    began = time.process_time()
    assert answer("a" * one.longest) is not None
    assert answer("a" * (one.longest + 1)) is None
    assert time.process_time() - began < 5


def test_what_the_engine_gets_wrong_is_answered_rightly() -> None:
    assert matcher("[^a]|[^b]").is_found("a")
    assert matcher("[^ab]|(?i:c)").is_found("A")
    assert matcher(r"(?:b|[^a]){1,2}?|[^\n]|[ab]", "fullmatch").is_found("\n-")
    assert "alternatives with a negated class" in str(compile_matcher("([^a]|[^b])", "", "findall"))


def test_ordinary_patterns_never_take_too_many_steps() -> None:
    ordinary = [
        "cache tags?", r"\bfoo\b|\bbar\b", r"(?i)\b(yes|no)\b", r"\d{4}-\d{2}-\d{2}", r"^\s*\{.*\}\s*$", r"[\w.+-]+@[\w-]+\.\w+",
        r"(?s)```(?:php)?\n.*?```", r"foo.{0,40}bar", r"^(?!.*(?:TODO|FIXME)).*$", r"#\w+\['cache'\]", r"\$\d+(?:,\d{3})*(?:\.\d\d)?",
        r"https?://[^\s)]+", r"(?m)^#{1,6}\s+\S", r"(\w+\s?)+!", "|".join(f"word{n}" for n in range(20)),
    ]  # fmt: skip
    assert [pattern for pattern in ordinary if matcher(pattern).may_exceed] == []


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
    assert (None if short is None or long is None else round(log2(long / short))) == degree


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
def test_what_takes_an_engine_forever_ends_soon(pattern: str, text: str) -> None:
    began = time.process_time()
    assert matcher(pattern).is_found(text) is False
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
        most = WorkBound(tree, mode).count_steps(len(text))
        steps = CountingEngine(text, limit=100_000).run(tree, mode)
    except OutOfStepsError:
        steps = 100_000
    except (UndecidedError, RecursionError):
        return False
    assert most is None or steps <= 3 * most + 10, (pattern, mode, text, steps, most)
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
    longest = bound.find_longest(ENGINE_STEPS, OUTPUT_LIMIT)
    within, beyond = bound.count_steps(longest), bound.count_steps(longest + 1)
    assert within is not None
    assert beyond is not None
    assert within <= ENGINE_STEPS < beyond


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
    engine = matcher(pattern)
    automaton = build_regular_matcher(parse_pattern(pattern, ""), "search")
    for text in EDGED:
        wanted = re.search(pattern, text) is not None
        assert engine.is_found(text) is wanted, text
        assert automaton.is_found(text) is wanted, text
