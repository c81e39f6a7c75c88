"""Patterns compared by their languages: what is claimed of two is held against the engine that runs them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.checks import evaluate
from evalstore.diff import compare
from evalstore.languages.pattern_comparison import (
    QUESTION_STEPS,
    Expression,
    LanguageComparison,
    LanguageRelation,
    UndecidedError,
    build_pattern_language,
    build_phrase_language,
    compare_languages,
    compare_patterns,
    count_visible,
)
from evalstore.languages.pattern_comparison.automaton import AlternatingAutomaton, make_literal
from evalstore.languages.pattern_comparison.languages import CASED_CODES
from evalstore.languages.patterns.alphabet import build_alphabet, find_ranges
from evalstore.languages.patterns.anchors import NOTHING
from evalstore.languages.patterns.engine import OUTPUT_LIMIT, compile_pattern
from evalstore.languages.patterns.matcher import compile_matcher
from evalstore.languages.patterns.pattern_graph import PatternGraph
from evalstore.languages.patterns.syntax_tree import CharClass, Chars, FoldedChar, RegexTree
from tests.rows import each

EQUAL, NARROWER, WIDER, INCOMPARABLE, UNDECIDED = LanguageRelation

# Letters with odd relatives: both Turkish i, the long s, the kelvin sign, both sharp s, sigma in three forms; a combining
# mark, which is part of a word; a superscript, which is not a digit; a separator that is a blank for some.
ODD = "\u0130\u0131\u017f\u212a\u00df\u1e9e\u03a3\u03c3\u03c2\u0301\u00b2\u001c\U0001f600"
CHARS = [*"aabbikIKsSAB1_ #-]{}\n\n\t", *ODD]


def expression(spec: str | tuple[str, ...]) -> Expression:
    return Expression(spec) if isinstance(spec, str) else Expression(*spec)


def found(one: Expression, text: str) -> bool | None:
    matcher = compile_matcher(*one)
    return None if isinstance(matcher, str) else matcher.is_found(text)


EQUALS: list[tuple[Any, Any]] = [
    ("abc", "(?:a)(b)c"), ("a|b", "[ab]"), ("a|b", "b|a"), ("aa*", "a+"), ("a{2,3}", "aaa?"), ("a*?b", "a*b"),
    ("(?P<n>a)", "a"), (r"\.", "[.]"), (r"\x61", "a"), (r"\u00e9", "é"), ("a{1}", "a"), ("a{0}b", "b"), ("a{,2}", "a{0,2}"),
    ("(?i)foo", ("foo", "i")), ("(?i)foo", "[fF][oO][oO]"), ("(?i)k", "[kK\u212a]"), ("(?i)s", "[sS\u017f]"),
    ("(?i)#1.", ("#1.", "")), ("(?i:a)b", "[aA]b"), ("(?s).", "[\\s\\S]"), (".", "[^\\n]"), ("(?x) a b # c", "ab"),
    ("(?m)^a", r"(?:\A|\n)a"), ("^$", r"\A\n?\Z"), (r"a\Z", ("(?s).*a", "", "fullmatch")), ("^a", ("a", "", "match")),
    ((r"\Aa\Z", "", "search"), ("a", "", "fullmatch")), ("a*", ""), ("(?s)(?=.*a)(?=.*b)", "(?s)a.*b|b.*a"),
    ("a(?!b)", r"a(?:\Z|[^b])"), (r"a\b", r"a(?!\w)"), (r"\Ba", r"(?:\A(?!a)|\w)a"), ("(?=a)a", "a"), ("(?!)|a", "a"),
    (("a", "s"), ("a", "m")), ("x(?:ab|ac)", "xa[bc]"), ("(a|ab)(c|bcd)", "ac|abcd|abc|abbcd"), ("[]a]", r"[a\]]"), ('{"a', r'\{"a'),
    (r"\101", "A"), (r"\0", r"\x00"), (r"\N{DIGIT ONE}", "1"), ("(?#note)a", "a"), ("(?<n>a)", "a"), ("(?a)a", "a"),
    ("[[:alpha:]]", r"\p{Alphabetic}"),
]  # fmt: skip
DIFFERENT: list[tuple[Any, Any, LanguageRelation, str | None, str | None]] = [
    ("cim", "cim|deploy", WIDER, None, "deploy"),
    ("cache tag", "cache tags", NARROWER, "cache tag", None),
    (r"\d", "[0-9]", NARROWER, "\u0669", None),
    ("^x$", ("x", "", "fullmatch"), NARROWER, "x\n", None),
    (("a", ""), ("a", "i"), WIDER, None, "A"),
    (("[^a]", ""), ("[^a]", "i"), NARROWER, "A", None),
    (("a(?!b)", ""), ("a(?!b)", "i"), INCOMPARABLE, "aB", "A"),
    (("a.b", ""), ("a.b", "s"), WIDER, None, "a\nb"),
    (("^a", ""), ("^a", "m"), WIDER, None, "\na"),
    ("a$", r"a\Z", NARROWER, "a\n", None),
    (r"\bfoo\b", "foo", WIDER, None, "afoo"),
    ("(?i)i", "[iI]", NARROWER, "\u0130", None),
    ("(?i)\u0131", "[I\u0131]", EQUAL, None, None),
    ("(?i)ß", "ß", NARROWER, "\u1e9e", None),
    (r"\s", r"[ \t\n\r\f\v]", NARROWER, "\u0085", None),
    ("foo.{0,40}bar", "foo.{0,60}bar", WIDER, None, "foo" + "a" * 41 + "bar"),
    ("a{2,4}", "a{3}", NARROWER, "aa", None),
    ("(a*)b", "(a+)b", NARROWER, "b", None),
    ("a.*b", "b.*a", INCOMPARABLE, "ab", "ba"),
]
REFUSED = [
    r"(a)\1", "(?P<n>a)(?P=n)", "(?<=a)b", "(?<!a)b", "a++", "(?>a)", "(a)?(?(1)b|c)", "a{e<=1}",
    "(?|a|b)", r"\X", r"\R", "(?r)a", "(?V1)a", "a(?i)b", "^*", r"\b+",
    "(?=a)*", "(*FAIL)", r"\K", r"\G", r"\m", "a" * 1001, "(?:a{50}){50}", "(", "a{e}", "(?:" * 60 + "a" + ")" * 60, "(?=a)" * 31,
]  # fmt: skip
SLOW = [
    "(a+)+b",
    "(?:a|aa)+$",
    "(a*)*b",
    "(x+x+)+y",
    r"(\w+\s?)*$",
    "(?:ab?b?)*c",
    "(a|a)*b",
    "(?:.*,)*x",
]
# All texts up to ten characters are searched for it, and for it or itself; of longer ones fewer for the latter.
TWICE_AS_SLOW = r"1(A|\A){2}|(\ns(?i:-)+|.?(?=\Z|[ab][\s-]))+1"


@each(EQUALS)
def test_equal_languages_are_found_equal(row: tuple[Any, Any]) -> None:
    old, new = row
    assert compare_patterns(expression(old), expression(new)) == LanguageComparison(EQUAL)


@pytest.mark.parametrize(("old", "new", "relation", "only_old", "only_new"), DIFFERENT)
def test_the_shortest_texts_show_what_differs(
    old: Any, new: Any, relation: LanguageRelation, only_old: str | None, only_new: str | None
) -> None:
    assert compare_patterns(expression(old), expression(new)) == LanguageComparison(relation, only_old, only_new)
    mirror = {NARROWER: WIDER, WIDER: NARROWER}.get(relation, relation)
    assert compare_patterns(expression(new), expression(old)) == LanguageComparison(mirror, only_new, only_old)


@each(REFUSED)
def test_what_is_not_known_for_sure_is_left_open(pattern: str) -> None:
    for old, new in ((pattern, "a"), ("a", pattern)):
        answer = compare_patterns(Expression(old), Expression(new))
        assert answer.relation is UNDECIDED
        assert answer.why


@pytest.mark.parametrize(
    ("pattern", "tree"), [("[^a]|[^b]", r"[\s\S]"), ("x[^a]|x[^b]", r"x[\s\S]"), ("(?:[^a]|x)|[^b]", r"[\s\S]")]
)
def test_what_the_engine_gets_wrong_is_left_open(pattern: str, tree: str) -> None:
    for old, new in ((pattern, tree), (tree, pattern)):
        assert compare_patterns(Expression(old), Expression(new)).relation is UNDECIDED


@pytest.mark.parametrize("pattern", SLOW)
def test_what_an_engine_tries_in_many_ways_is_left_open_with_a_text(pattern: str) -> None:
    answer = compare_patterns(Expression(pattern), Expression("zz"))
    assert answer.relation is UNDECIDED
    assert answer.only_old is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a*[bc]", "a*a*a*[bc]"),
        ("(a|a)*b", "b"),
        ("(a+)+$", "a$"),
        ("(?:a?){30}a{30}", "a{30}"),
        (TWICE_AS_SLOW, f"{TWICE_AS_SLOW}|{TWICE_AS_SLOW}"),
    ],
)
def test_a_slower_way_to_say_it_is_left_open(old: str, new: str) -> None:
    for one, other in ((old, new), (new, old)):
        assert compare_patterns(Expression(one), Expression(other)).relation is UNDECIDED


@pytest.mark.parametrize(
    ("old", "new"), [("(a+)+b", "(?:a+)+b"), (r"\s*(foo|bar)", "(foo|bar)"), ("foo.*bar", "foo(.*)bar")]
)
def test_another_way_to_say_it_that_is_as_fast_is_equal(old: str, new: str) -> None:
    assert compare_patterns(Expression(old), Expression(new)) == LanguageComparison(EQUAL)


def test_what_can_take_too_many_steps_is_left_open_and_still_shown() -> None:
    answer = compare_patterns(Expression("q|x(?:a?b?){50}y"), Expression("zz"))
    assert answer.relation is UNDECIDED
    assert answer.only_old is not None


def test_flags_that_no_check_has_are_left_open() -> None:
    assert compare_patterns(Expression("a", "q"), Expression("a")).relation is UNDECIDED


def test_a_slow_pattern_that_is_read_alike_is_equal() -> None:
    assert compare_patterns(Expression("(a+)+b"), Expression("(?:a+)+b", "m")).relation is EQUAL


@pytest.mark.parametrize(
    ("old", "new"), [("a.{20}b", "a.{20}c"), ("(?:a|b)*a(?:a|b){15}", "(?:a|b)*b(?:a|b){15}"), ("(?=.*a.{9}b)(?!.*c.{9}d)", "x")]
)  # fmt: skip
def test_the_budget_ends_what_explodes_at_the_same_step_every_time(old: str, new: str) -> None:
    answers = set()
    for _ in range(2):
        budget = SharedBudget(20_000)
        answer = compare_patterns(Expression(old), Expression(new), budget)
        assert answer.relation is UNDECIDED
        assert "steps" in answer.why
        answers.add(budget.left)
    assert len(answers) == 1


def test_an_example_stands_where_both_sides_confirm_it() -> None:
    old, new = (build_pattern_language(Expression(pattern)) for pattern in ("a", "b"))
    compared = compare_languages(old, new, SharedBudget(QUESTION_STEPS))
    assert compared.is_confirmed_by(lambda text: "a" in text, lambda text: "b" in text)
    for answer in (False, True, None):
        assert not compared.is_confirmed_by(lambda _, answer=answer: answer, lambda text: "b" in text)  # type: ignore[misc]
        assert not compared.is_confirmed_by(lambda text: "a" in text, lambda _, answer=answer: answer)  # type: ignore[misc]


def test_a_scorer_that_disagrees_leaves_the_question_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LanguageComparison, "is_confirmed_by", lambda *_: False)
    sides = (
        {"id": "r", "version": "1.0.0", "checks": [{"id": "c", "kind": "regex", "pattern": pattern}],
         "scoring": {"combine": "min"}} for pattern in "ab"
    )  # fmt: skip
    (finding,) = compare(*sides).findings
    assert "the scorer and the comparison disagree" in str(finding.reason)
    assert finding.witness, "what an output shows is certain all the same"


@pytest.mark.parametrize(
    ("atom", "source", "flags"),
    [
        *((FoldedChar(char), char, "i") for char in "kKsiI1é" + ODD),
        *((CharClass(source, ""), source, "") for source in (r"\w", r"\D", ".", "[^a-c]", r"[\s-]")),
        (CharClass("[^k]", "i"), "[^k]", "i"),
        (CharClass("[h-k\u0131]", "i"), "[h-k\u0131]", "i"),
        (CharClass(".", "s"), ".", "s"),
        (Chars("ab\n"), "[ab\\n]", ""),
    ],
)
def test_an_atom_is_what_the_engine_matches_one_by_one(atom: Any, source: str, flags: str) -> None:
    compiled = compile_pattern(source, flags)
    assert not isinstance(compiled, str)
    ranges = find_ranges([atom], SharedBudget(QUESTION_STEPS))[atom]
    held = {code for start, end in ranges for code in range(start, end)}
    codes = {
        0,
        9,
        10,
        0xD7FF,
        0xE000,
        0x10FFFF,
        *range(0x250),
        *map(ord, ODD),
        *(end for pair in ranges for end in pair),
    }
    for code in codes - {0x110000}:
        assert (compiled.fullmatch(chr(code)) is not None) is (code in held), hex(code)


def test_beyond_two_planes_no_character_has_another_case() -> None:
    beyond = map(chr, range(CASED_CODES, sys.maxunicode + 1))
    assert [char for char in beyond if char != char.lower() or char != char.upper() or char.isspace()] == []


def test_a_word_ends_where_the_engine_says() -> None:
    edge, word = compile_pattern(r"a\b(?s:.)", ""), compile_pattern(r"\w", "")
    assert not isinstance(edge, str)
    assert not isinstance(word, str)
    for char in map(chr, range(0x3000)):
        assert (edge.fullmatch("a" + char) is None) is (word.fullmatch(char) is not None)


# Random patterns: their trees against the engine, and every claim about two of them.
PLAIN = st.sampled_from([*"aabbikIKsS1_ #", "\\n", *ODD, "é", r"\.", r"\x61", r"\u0062", r"\ ", r"\t", "{}", "}", "]"])
CLASS = st.sampled_from(
    ["[ab]", "[^a]", "[a-k]", "[^\\n]", "[iı]", "[^İ]", "[^\\W_]", "[\\s\\d]", "[]a]", "[^]]", "[a-]", "[k-s]", "[^K]", "[ß]",
     "[^\\s\\S]", "[\\b\\t]", "[a--b]", "[[]", "[&&a]", ".", ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"]
)  # fmt: skip
PLACE = st.sampled_from(["^", "$", r"\A", r"\Z", r"\b", r"\B"])
COUNT = st.sampled_from(
    ["*", "+", "?", "*?", "+?", "??", "{2}", "{1}", "{0}", "{0,2}", "{1,2}?", "{,2}", "{2,}", "{,}", "{0,3}"]
)
SCOPE = st.sampled_from(["", "?:", "?i:", "?-i:", "?s:", "?m:", "?-m:", "?x:", "?i-s:", "?im:", "?=", "?!"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.tuples(SCOPE, inner).map(lambda pair: f"({pair[0]}{pair[1]})"),
        st.tuples(PLAIN | CLASS | inner.map("(?:{})".format), COUNT).map("".join),
    )


PATTERNS = st.recursive(PLAIN | CLASS | PLACE, _larger, max_leaves=8)
FLAGS = st.sampled_from(["", "", "i", "i", "m", "s", "x", "im", "is", "imsx"])
MODES = st.sampled_from(["search", "search", "match", "fullmatch"])
EXPRESSIONS = st.builds(Expression, PATTERNS, FLAGS, MODES)
TEXTS = st.lists(st.text(st.sampled_from(CHARS), max_size=6), min_size=12, max_size=12)


@st.composite
def edited(draw: st.DrawFn) -> tuple[Expression, Expression]:
    """Return an expression, and one that is near it."""
    old = draw(EXPRESSIONS)
    pattern, flags, mode = old
    at = draw(st.integers(0, len(pattern)))
    new = draw(
        st.one_of(
            st.builds(lambda more: pattern[:at] + more + pattern[at:], PATTERNS | COUNT),
            st.just(pattern[:at] + pattern[at + 1 :]),
            st.builds(lambda more: f"{pattern}|{more}", PATTERNS),
            st.builds(lambda count: f"(?:{pattern}){count}", COUNT),
            st.just(f"(?:{pattern}|{pattern})"),
            st.just(f"({pattern})"),
            st.just(pattern),
        )
    )
    return old, Expression(new, draw(st.just(flags) | FLAGS), draw(st.just(mode) | MODES))


def reader(tree: RegexTree, chars: list[str]) -> Callable[[str], bool]:
    """Return a reader of texts of `chars` by the automaton of a tree."""
    budget = SharedBudget(QUESTION_STEPS)
    # Each of the characters is a separate letter.
    alphabet = build_alphabet([tree, *map(Chars, chars)], budget)
    graph = PatternGraph(alphabet.masks, budget)
    start, automaton = make_literal(graph.add_tree(tree, graph.any_rest)), AlternatingAutomaton(graph)
    numbers = {char: alphabet.masks[Chars(char)].bit_length() - 1 for char in chars}
    neighbours = {
        char: next(sort for sort, mask in alphabet.by_neighbour.items() if mask >> numbers[char] & 1) for char in chars
    }

    def read(text: str) -> bool:
        state, before = start, NOTHING
        for char in text:
            neighbour = neighbours[char]
            state = automaton.read_letter(automaton.expand(state, before, neighbour), numbers[char])
            before = neighbour
        return automaton.can_end(state, before)

    return read


QUICK = settings(max_examples=300, suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=20_000)


def holds_as_the_engine_does(one: Expression, texts: list[str]) -> None:
    assume(not isinstance(compile_matcher(*one), str))
    try:
        read = reader(build_pattern_language(one), CHARS)
        for text in texts:
            assert read(text) is found(one, text), (one, text)
    except (OutOfStepsError, UndecidedError):
        assume(False)


def holds_for_all_texts(old: Expression, new: Expression, texts: list[str]) -> None:
    answer = compare_patterns(old, new)
    assert "otherwise" not in answer.why, (old, new)
    shown = [text for text in (answer.only_old, answer.only_new) if text is not None]
    if answer.only_old is not None:
        assert (found(old, answer.only_old), found(new, answer.only_old)) == (True, False)
    if answer.only_new is not None:
        assert (found(old, answer.only_new), found(new, answer.only_new)) == (False, True)
    if answer.relation in {UNDECIDED, INCOMPARABLE}:
        return
    assert (answer.only_old is not None) is (answer.relation is NARROWER)
    assert (answer.only_new is not None) is (answer.relation is WIDER)
    near = [more for one in shown for more in (one + "\n", "\n" + one, one + "a", "a" + one, one * 2)]
    for text in (*texts, *near):
        before, after = found(old, text), found(new, text)
        assert before is after or (answer.relation is (WIDER if after else NARROWER)), (old, new, answer, text)


@QUICK
@given(EXPRESSIONS, TEXTS)
def test_a_tree_reads_a_text_as_the_engine_does(one: Expression, texts: list[str]) -> None:
    holds_as_the_engine_does(one, texts)


@QUICK
@given(edited(), TEXTS)
def test_no_text_contradicts_what_is_claimed_of_two_patterns(
    pair: tuple[Expression, Expression], texts: list[str]
) -> None:
    holds_for_all_texts(*pair, texts)


@pytest.mark.slow
@LONG
@given(EXPRESSIONS, TEXTS)
def test_many_trees_read_texts_as_the_engine_does(one: Expression, texts: list[str]) -> None:
    holds_as_the_engine_does(one, texts)


@pytest.mark.slow
@LONG
@given(edited(), TEXTS)
def test_no_text_contradicts_what_is_claimed_of_many_patterns(
    pair: tuple[Expression, Expression], texts: list[str]
) -> None:
    holds_for_all_texts(*pair, texts)


# Phrases, as a language.
PHRASES = st.lists(
    st.text(st.sampled_from([*"abikKs\n ", "\u0130", "\u0307", "\u017f", "\u212a", "ß", "ẞ"]), max_size=3), max_size=3
)


@QUICK
@given(
    PHRASES, st.booleans(), st.lists(st.text(st.sampled_from([*CHARS, "\u0307"]), max_size=5), min_size=12, max_size=12)
)
def test_phrases_are_found_as_the_check_finds_them(values: list[str], case_sensitive: bool, texts: list[str]) -> None:  # noqa: FBT001  # drawn
    check = {"kind": "must_not_contain", "values": values, "case_sensitive": case_sensitive}
    rubric = {"checks": [check], "scoring": {"combine": "all_pass"}}
    try:
        read = reader(build_phrase_language(values, case_sensitive=case_sensitive), [*CHARS, "\u0307"])
    except (OutOfStepsError, UndecidedError):
        assume(False)
    for text in texts:
        assert read(text) is (evaluate(rubric, text).score == 0), (values, text)


@pytest.mark.parametrize("phrase", ["Σ", "ΑΣ", "ς", "a\u0307", "\u0130"])
def test_a_phrase_whose_lower_case_looks_around_is_left_open(phrase: str) -> None:
    with pytest.raises(UndecidedError):
        build_phrase_language([phrase], case_sensitive=False)
    assert build_phrase_language([phrase], case_sensitive=True)


def test_patterns_of_one_language_are_equal_however_long_they_are_written() -> None:
    def rubric(pattern: str) -> dict[str, Any]:
        check = {"id": "a", "kind": "regex", "pattern": pattern}
        return {"id": "r", "version": "1.0.0", "checks": [check], "scoring": {"combine": "min", "errors": "fail"}}

    old, new = rubric("ab"), rubric("(?x)ab#".ljust(900, "c"))
    (finding,) = compare(old, new).findings
    assert finding.rule == "regex-pattern-equivalent"
    long = "ab".rjust(OUTPUT_LIMIT)
    assert evaluate(old, long).score == evaluate(new, long).score == 1


@pytest.mark.parametrize(
    ("pattern", "flags", "visible"),
    [
        ("CASE-[0-9]{4}|Appeal No", "", 8),
        (r"\d{3}\s*x", "i", 4),
        ("a b", "x", 2),
        ("(?=abc)d?", "", 0),
        (r"[^a]{5}", "", 0),
        # `str.strip()` takes four characters more than `\s` has.
        (r"[^\s]{5}", "", 0),
        (r"[^\s\x1c-\x1f]{5}", "", 5),
        ("(ab|c){2,3}", "", 2),
        (".{9}", "s", 0),
    ],
)
def test_every_text_of_a_language_has_so_many_visible_characters(pattern: str, flags: str, visible: int) -> None:
    assert count_visible(build_pattern_language(Expression(pattern, flags))) == visible
