"""Untrusted text cannot act on a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.text import (
    add_article,
    find_nearest,
    find_only_near,
    hide_url_secrets,
    is_device_name,
    make_excerpt,
    make_printable,
)


@given(st.text())
def test_nothing_printed_acts(text: str) -> None:
    shown = make_printable(text)
    assert not any(
        ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u2066\u200b\u2028\ufeff" for char in shown
    )
    shown.encode("utf-8")


def test_what_can_be_read_stays() -> None:
    assert make_printable("naïve 日本 – ok") == "naïve 日本 – ok"
    assert make_printable("\x1b[31m\u202e") == "\\x1b[31m\\u202e"


def test_long_text_is_cut() -> None:
    assert len(make_excerpt("x" * 1000)) == 200


def test_the_nearest_name() -> None:
    assert find_nearest("expecteed_facts", ["expected", "expected_facts"]) == "expected_facts"
    assert find_nearest("zzz", ["expected"]) is None


def test_a_small_word_of_other_letters_is_another_name() -> None:
    for word, meant in (("names_all", "names_any"), ("is_on", "is_in"), ("part_a", "part_b")):
        assert find_only_near(word, (meant,)) is None
    for word, meant in (("names_ayn", "names_any"), ("named_any", "names_any"), ("min_matchs", "min_matches")):
        assert find_only_near(word, (meant,)) == meant


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://h/a.json", "https://h/a.json"),
        ("https://ada:pw@h:8080/a.json", "https://***@h:8080/a.json"),
        ("https://ghp_token@h/a.git", "https://***@h/a.git"),
        ("https://ada:p@w@h/a", "https://***@h/a"),
        ("https://ada:p/w?#@h/a", "https://***@h/a"),
        ("HTTPS://ada:pw@h/a", "HTTPS://***@h/a"),
        ("https://h:8080/a@v1", "https://h:8080/a@v1"),
        ("https://h/a?X-Sig=s/t&b=c#d", "https://h/a?***"),
        ("https://h/a#access_token=s", "https://h/a#***"),
        ("https://h/a?", "https://h/a?"),
        ("see 'https://u:p@h/a?b=c', or http://u@i/; done", "see 'https://***@h/a?***', or http://***@i/; done"),
        ("ssh://git@h/a.git git+ssh://git@h/b", "ssh://git@h/a.git git+ssh://git@h/b"),
        ("ssh://git:pw@h/a.git", "ssh://***@h/a.git"),
        ("git@h:a.git", "git@h:a.git"),
        ("postgresql://u:p@h/db", "postgresql://***@h/db"),
        ("give http(s)://host[:port][?api-version=…]", "give http(s)://host[:port][?api-version=…]"),
    ],
)
def test_no_url_in_a_text_shows_its_secrets(text: str, shown: str) -> None:
    assert hide_url_secrets(text) == shown
    assert hide_url_secrets(shown) == shown


def test_urls_are_looked_through_in_linear_time() -> None:
    for part in ("a", "://", "a://", "a:@", "a://b:", "a://b:1/", "a+"):
        assert len(hide_url_secrets(part * 50_000)) <= 50_000 * len(part)


def test_a_name_that_windows_keeps_for_a_device_is_one_with_any_ending() -> None:
    devices = ["con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))]
    assert [name for name in devices if not (is_device_name(name) and is_device_name(f"{name}.jsonl"))] == []
    assert [name for name in ("com0", "com10", "console", "web") if is_device_name(name)] == []


@pytest.mark.parametrize(
    "said", ["a regex", "an llm_judge", "a php_lint", "an output", "a required llm_judge", "an SQL query"]
)
def test_an_article_is_that_of_the_word_as_it_is_said(said: str) -> None:
    assert add_article(said.partition(" ")[2]) == said
