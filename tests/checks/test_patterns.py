"""Where the engine and Python's `re` agree, where they do not, and what bounds an untrusted pattern."""

from __future__ import annotations

import re
import sys
import time
import warnings

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evalstore.checks import KINDS
from evalstore.checks.context import NO_CONTEXT
from evalstore.languages.limits import PATTERNS
from evalstore.languages.patterns.engine import compile_pattern, find_dialect_difference, name_engine
from evalstore.languages.patterns.matcher import compile_matcher
from evalstore.model import Output, Sample
from tests.rows import each

MODES = ("search", "match", "fullmatch")
ORDINARY = [
    r"a", r"a.c", r"^a$", r"\Aa\Z", r"a|ab", r"(a|ab)(c|bcd)?", r"(a*)*", r"(?:a+)+b", r"a{2}", r"a{2,}", r"a{,2}b",
    r"a{", r"a{1", r"{", r"}", r"]", r"[]a]", r"[^]a]", r"[a-]", r"[\]\\]", r"[\d.-]+", r"\d+", r"\D", r"[0-9]{1,3}%",
    r"\s", r"\S+", r"\w+", r"\W", r"\bcache\b", r"\Bache", r"\.", r"\$\{[a-z]+\}", r"\x41", r"\u00e9", r"\n", r"\t",
    r"\N{LATIN SMALL LETTER A}", r"\101", r"\0", r"[\b]", r"a*?b", r"a+?", r"a??", r"a++b", r"(?>a+)b", r"(a)?b\1",
    r"(?P<n>a)(?P=n)", r"(a)?(?(1)b|c)", r"(?=a)", r"(?!a)", r"(?<=a)b", r"(?<!a)b", r"(?i)cache", r"(?i:A)b", r"(?s)a.b",
    r"(?m)^b$", r"(?x) a b # c", r"(?a)\w", r"(?a)\d", r"(?#note)a", r"|a", r"()", r"a|", r"[^\n]", r"(?-i:a)", r"^", r"$",
    r"(?i)straße", r"(?i)σ", r"(?i)[^a]", r"(?i)[a-h]", r"(?i)ﬁ", r"[à-ÿ]", r"漢", r"[[]", r"[a&&b]", r"[a||b]",
    r"[^\s\S]", r"a|[^x\W\w]+", r"[\s\S]", r"[^\\s\\S]", r"(?:[^\d\D])?a", r"[c[^\s\S]",
]  # fmt: skip
TEXTS = [
    "", "a", "A", "b", "ab", "abc", "abcd", "aab", "aaab", "a.c", "a\nb", "b\na", "a\n", "\n", "\r\n", "\t", " ", "cache",
    "Cache tag", "no_cache", "12", "1.5%", "100 %", "${name}", "{", "}", "]", "a{", "a{1", "-", "&", "|", "é", "É", "straße",
    "STRASSE", "σ", "ς", "Σ", "ﬁ", "fi", "漢字", "٣", "\0", "\x08", "k", "s", "\u212a", "ſ", "\u2028", "\u00a0", "😀", "c", "bc",
]  # fmt: skip


def _ours(pattern: str, mode: str, text: str, flags: str = "") -> bool | None:
    matcher = compile_matcher(pattern, flags, mode)
    assert not isinstance(matcher, str), matcher
    return matcher.is_found(text)


def _python(pattern: str, mode: str, text: str, flags: int = 0) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = re.compile(pattern, flags)
    return getattr(compiled, mode)(text) is not None


@each(ORDINARY)
def test_ordinary_patterns_answer_as_in_python(pattern: str) -> None:
    apart = [
        (text, mode) for text in TEXTS for mode in MODES if _ours(pattern, mode, text) != _python(pattern, mode, text)
    ]
    assert apart == []
    assert find_dialect_difference(pattern, "") is None


@pytest.mark.parametrize(
    ("flags", "python"),
    [
        ("i", re.IGNORECASE),
        ("m", re.MULTILINE),
        ("s", re.DOTALL),
        ("x", re.VERBOSE),
        ("imsx", re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE),
    ],
)
def test_flags_answer_as_in_python(flags: str, python: re.RegexFlag) -> None:
    for pattern in ("^B a$", "a . b", "a b", "[A-C]+$", "É"):
        for text in ("a\nb a\nc", "b a", "ba", "a\nb", "aXb", "abc", "é", "a . b"):
            for mode in MODES:
                assert _ours(pattern, mode, text, flags) == _python(pattern, mode, text, python)


def test_a_flag_that_is_said_twice_is_said_once() -> None:
    for flags in ("im", "imi", ["i", "m"], ["i", "im"], ["im", "m"]):
        grade = KINDS["regex"].prepare_grading({"pattern": "^b$", "flags": flags}, NO_CONTEXT)
        assert grade(Sample(Output("a\nB"))).score == 1


_atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\.", "1"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "*?", "{1,2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        inner.map(lambda pattern: f"({pattern})"),
        inner.map(lambda pattern: f"(?={pattern})"),
        inner.map(lambda pattern: f"^{pattern}$"),
    )


@given(st.recursive(_atoms, _larger, max_leaves=6), st.text("ab1.\n", max_size=8), st.sampled_from(MODES))
def test_generated_patterns_answer_as_in_python(pattern: str, text: str, mode: str) -> None:
    assume(not str(compile_matcher(pattern, "", mode)).endswith("not supported"))  # which is an answer, too
    assert _ours(pattern, mode, text) == _python(pattern, mode, text)


@pytest.mark.parametrize(
    ("pattern", "text", "ours"),
    [
        (r"\w", "\u0301", True),  # a combining mark
        (r"\w", "²", False),
        (r"\s", "\x1c", False),
        (r"\B", "", True),
        (r"(?i)i", "ı", False),
        (r"[[:alpha:]]", "x", True),
    ],
)
def test_the_differences_that_the_module_names_are_the_engines(pattern: str, text: str, *, ours: bool) -> None:
    assert _ours(pattern, "search", text) is ours


@pytest.mark.parametrize(
    "pattern", [r"\p{L}", r"(?<n>a)", r"(?<=a+)b", r"\h", "[[:alpha:]]", "a*+", "(?P<n>a)|(?P<n>b)"]
)
def test_what_python_reads_otherwise_is_run_and_said(pattern: str) -> None:
    assert not isinstance(compile_matcher(pattern, "", "search"), str)
    assert find_dialect_difference(pattern, "") or sys.version_info >= (3, 11)


@pytest.mark.parametrize(
    "pattern",
    [
        "a(?i)b",
        "(?e)a",
        "(?R)?a",
        "a{e}",
        "a{i<=1}",
        "a{2i+1e<=4}",
        "(?|(a)|b)",
        r"\X",
        r"a\K",
        "(?r)a",
        "^*a",
        "(?a:s)",
        "(?i)(?u:s)",
        "(?ia:s)",
    ],
)
def test_what_cannot_be_run_in_counted_steps_is_refused(pattern: str) -> None:
    sentence = compile_matcher(pattern, "", "search")
    assert isinstance(sentence, str)
    assert sentence.startswith("the pattern cannot be run in counted steps: ")
    (problem,) = KINDS["regex"].find_problems({"pattern": pattern})
    assert (problem.message, problem.blocks) == (sentence, True)
    assert KINDS["regex"].prepare_grading({"pattern": pattern}, NO_CONTEXT)(Sample(Output("a"))).score is None


@pytest.mark.parametrize(
    "pattern", [r"a\{e\}", "{{ e }}", "{id}", r"[:alpha:]", r"\[[:alpha:]]x", "a{2,3}", "{desired}"]
)
def test_what_both_read_alike_is_left_alone(pattern: str) -> None:
    assert find_dialect_difference(pattern, "") is None


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "does not compile: missing )"),
        ("*a", "does not compile: nothing to repeat"),
        ("a" * (PATTERNS.length + 1), "longer than 20,000"),
        ("(" * 3000 + "a" + ")" * 3000, "nested too deep"),
        ("(?:(?:(?:a{99}){99}){99}){99}", "repeats expand"),
        ("a{10000000}", "repeats expand"),
        ("a{99999999999999999999}", "repeats expand"),
        (r"(?:[)]\){9}){90000}", "repeats expand"),
        ("(?V1)[a--b]", "does not compile"),
    ],
)
def test_hostile_patterns_end_in_one_sentence_at_once(pattern: str, said: str) -> None:
    start = time.process_time()
    sentence = compile_pattern(pattern, "")
    assert isinstance(sentence, str)
    assert said in sentence
    assert "\n" not in sentence
    assert time.process_time() - start < 5


STRETCHES = {
    "plain": ("b" + "a" * 4_500, ""),
    "plain_and_long": ("b" + "a" * 19_000, ""),
    "any_case": ("b" + "a" * 9_000, "i"),
    "in_groups": ("b" + f"(?:{'a' * 900})" * 9, ""),
    "repeated_once": ("b" + f"(?:{'a' * 900}){{1}}" * 9, ""),
    "as_classes": ("[b]" + "[a]" * 6_000, ""),
    "required": (".*b" + "a" * 9_000, ""),
    "with_comments": ("b" + ("a" * 900 + " # |\n") * 9 + "# end", "x"),
    "with_comments_inside": ("(?x)b" + ("a" * 900 + " # |\n") * 9 + "# end", ""),
}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name != "plain" else name for name in STRETCHES]
)
def test_a_long_stretch_is_searched_in_time_and_found(name: str) -> None:
    pattern, flags = STRETCHES[name]
    start = time.process_time()
    assert _ours(pattern, "search", "a" * 20_000, flags) is not True
    assert _ours(pattern, "search", "a" * 20_000 + "b" + "a" * 20_000, flags) is not False
    assert time.process_time() - start < 10


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["a", "ab", "abc", "b", "xab", ""])
def test_a_long_pattern_answers_as_in_python(mode: str, text: str) -> None:
    pattern = "(a|ab)(?:c|bcd)?" + "x?" * 20
    assert _ours(pattern, mode, text) == _python(pattern, mode, text)


@pytest.mark.parametrize("pattern", ["a{1000}", "(?:ab{20}){20}", "[(]{3}", r"\({3}", "x{0}", ")", "a{,5}", "(a)(b)"])
def test_moderate_repeats_are_not_refused(pattern: str) -> None:
    sentence = compile_pattern(pattern, "")
    assert not isinstance(sentence, str) or "counted" not in sentence


def test_a_pattern_is_compiled_once() -> None:
    assert compile_pattern("once", "i") is compile_pattern("once", "i")


def test_the_engine_is_recorded_with_its_version() -> None:
    assert re.fullmatch(r"regex [0-9.]+", name_engine())
