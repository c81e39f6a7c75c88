"""Three searchers give one answer: each is held against the engine, and against the length at which the next takes over."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from itertools import pairwise

import pytest

from evalstore.budget import OutOfStepsError
from evalstore.patterns.backtracker import Backtracker
from evalstore.patterns.engine import compile_pattern
from evalstore.patterns.first_texts import find_needed_texts
from evalstore.patterns.limits import BACKTRACKER_STEPS, ENGINE_STEPS, OUTPUT_LIMIT
from evalstore.patterns.matcher import PatternMatcher, compile_matcher
from evalstore.patterns.parser import parse_pattern
from evalstore.patterns.regular_matcher import build_regular_matcher
from evalstore.patterns.run_bound import RunBound
from evalstore.patterns.syntax_tree import CharClass
from evalstore.patterns.text_runs import measure_runs
from evalstore.patterns.unsupported import UndecidedError, refuse_engine_faults
from evalstore.patterns.work_bound import bound_work

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
    searchers = {}
    try:
        tree = parse_pattern(pattern, flags)
        refuse_engine_faults(tree)
        searchers["backtracker"] = lambda text: backtracker.is_found(text, mode, BACKTRACKER_STEPS)
        backtracker = Backtracker(tree)
    except UndecidedError:
        return 0
    with suppress(UndecidedError, OutOfStepsError):  # of no regular language
        searchers["automaton"] = build_regular_matcher(tree, mode).is_found
    texts = [draw_text(draw) for _ in range(6)]
    for text in texts:
        wanted = getattr(compiled, mode)(text) is not None
        found = {name: search(text) for name, search in searchers.items()}
        assert set(found.values()) == {wanted}, (pattern, flags, mode, text, wanted, found)
    if compiled.groups:
        found = [one if isinstance(one, str) else one[0] for one in compiled.findall(texts[0])]
        assert backtracker.list_captures(texts[0], BACKTRACKER_STEPS) == found, (pattern, flags, texts[0])
    return len(texts) * len(searchers)


def test_random_patterns_are_answered_as_by_the_engine() -> None:
    draw = random.Random(14)  # noqa: S311  # a sample that repeats
    assert sum(hold_against_the_engine(draw) for _ in range(150)) > 800


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_many_random_patterns_are_answered_as_by_the_engine(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    assert sum(hold_against_the_engine(draw) for _ in range(5_000)) > 20_000


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
def test_the_next_searcher_takes_over_without_a_trace(pattern: str, unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [unit * count + end for count in (1, 30) for end in ("", "foo", "@x", "OK.. done")]
    answers = []
    for steps in (1, 200, 5_000, ENGINE_STEPS):
        monkeypatch.setattr("evalstore.patterns.matcher.ENGINE_STEPS", steps)
        compile_matcher.cache_clear()
        found, captured = matcher(pattern), matcher(pattern, "findall")
        answers.append([(found.is_found(text), captured.list_captures(text)) for text in texts])
    compile_matcher.cache_clear()
    assert all(one == other for one, other in pairwise(answers))


@pytest.mark.heavy
def test_what_depends_on_a_group_is_counted() -> None:
    one = matcher(r"^((?:a|aa)+)\1$")
    assert one.may_exceed
    assert (one.is_found("aaaa"), one.is_found("b")) == (True, False)
    assert one.is_found("a" * 70 + "b") is None
    assert matcher(r"^((?:a|aa)+)\1$", "findall").list_captures("a" * 70 + "b") is None


def test_what_the_engine_gets_wrong_is_answered_rightly() -> None:
    assert matcher("[^a]|[^b]").is_found("a")
    assert matcher("[^ab]|(?i:c)").is_found("A")
    assert matcher(r"(?:b|[^a]){1,2}?|[^\n]|[ab]", "fullmatch").is_found("\n-")
    assert matcher("([^a]|[^b])", "findall").list_captures("ab") == ["a", "b"]


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
    ],
)  # fmt: skip
def test_the_bound_grows_as_an_engine_does(pattern: str, degree: int | None) -> None:
    bound = bound_work(parse_pattern(pattern, ""), "search")
    found = None if bound is None else max(place for place, number in enumerate(bound.coefficients) if number)
    assert found == degree


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


PROSE = "To clear the page, add the key with its tags (see docs); 3 of 4 editors write me.x@here and forget it. " * 250


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b(\w+)\s+\1\b!", r"[\w.+-]+@[\w-]+\.\w+", r"\s*(foo|bar)", r"\w+\s*=\s*\w+", r"(\w+\.)+com", r"\d+%",
        r'(?:\\\w|[^"\\\s])*"', r"(?<!not )\b\w+ing\b", r"(?P<a>\w)\w*\s(?P=a)\w*\?", r"\w+(?=\s+again)",
    ],
)  # fmt: skip
def test_a_long_text_of_short_words_is_for_the_engine(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalstore.patterns.position_automaton.PositionAutomaton.is_found", None)
    monkeypatch.setattr("evalstore.patterns.backtracker.Backtracker.is_found", None)
    for flags in ("", "i"):
        one = compile_matcher(pattern, flags, "search")
        assert not isinstance(one, str)
        assert one.is_found(PROSE) is False


def test_the_runs_of_a_text_are_never_less_than_they_are() -> None:
    draw = random.Random(5)  # noqa: S311  # a sample that repeats
    for source in [r"\w", r"\s", ".", r"[^\W\d]", "[^a]", r"[\s\S]", "[a-c]", r"\p{L}"]:
        union = frozenset({CharClass(source, "")})
        run = compile_pattern(f"{source}++", "")
        assert not isinstance(run, str)
        for _ in range(20):
            text = "".join(draw.choice(["a", "ab", " ", "\n", "a" * 30, "é" * 25, "b " * 20]) for _ in range(30))
            longest = max(map(len, run.findall(text)), default=0)
            assert longest <= measure_runs(text)[union] <= max(longest, 24)
    assert measure_runs("a" * 9_000 + " b")[frozenset({CharClass(r"\w", "")})] == 9_002  # as good as all of it


def count_engine_like_steps(pattern: str, mode: str, text: str) -> tuple[int, float, int | None]:
    """Return the instructions of a matcher that forgets where it was, and what both bounds say of the text."""
    tree = parse_pattern(pattern, "")
    backtracker = Backtracker(tree)
    backtracker._keeps_track = False
    run = backtracker._start_run(text, BACKTRACKER_STEPS)
    places = range(len(text) + 1) if mode == "search" else (0,)
    end = len(text) if mode == "fullmatch" else -1
    any(run.find_match(backtracker._program, (0, place, backtracker._slots), end=end) for place in places)
    by_runs = RunBound(tree, ends_early=mode != "fullmatch").count_steps(measure_runs(text), len(places))
    by_length = bound_work(tree, mode)
    return run.budget.spent - len(text), by_runs, None if by_length is None else by_length.count_steps(len(text))


def hold_against_the_bounds(draw: random.Random) -> bool:
    pattern, mode = draw_pattern(draw, draw.randint(2, 4), [0]), draw.choice(["search", "match", "fullmatch"])
    text = draw.choice("ab a-") * draw.choice([12, 40]) + draw.choice(["", "!", "b"])
    try:
        steps, by_runs, by_length = count_engine_like_steps(pattern, mode, text)
    except (UndecidedError, OutOfStepsError):
        return False
    assert steps <= 3 * by_runs + 10, (pattern, mode, text, steps, by_runs)
    assert by_length is None or steps <= 4 * by_length + 10, (pattern, mode, text, steps, by_length)
    return True


def test_random_patterns_take_no_more_steps_than_their_bounds() -> None:
    draw = random.Random(6)  # noqa: S311
    assert sum(hold_against_the_bounds(draw) for _ in range(300)) > 200


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_random_patterns_take_no_more_steps_than_their_bounds(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    assert sum(hold_against_the_bounds(draw) for _ in range(5_000)) > 3_000


def test_the_longest_text_is_just_within_the_steps() -> None:
    bound = bound_work(parse_pattern("foo.*bar", ""), "search")
    assert bound is not None
    longest = bound.find_longest(ENGINE_STEPS, OUTPUT_LIMIT)
    assert bound.count_steps(longest) <= ENGINE_STEPS < bound.count_steps(longest + 1)


def test_what_every_match_holds_is_looked_for_first() -> None:
    assert find_needed_texts(parse_pattern(r"(foo)ba[rz]x*(?=q)!", "")) == {"foo", "ba", "!"}
    assert find_needed_texts(parse_pattern(r"a|b", "")) == find_needed_texts(parse_pattern("(?i)a(?:b)?", "")) == set()
    email = matcher(r"[\w.]+@[\w.]+\.\w+")
    assert [email.is_found("a" * 50_000 + end) for end in ("", "@", "@b.c")] == [False, False, True]
