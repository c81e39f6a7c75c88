"""Untrusted text cannot act on a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evalstore.text import find_nearest, make_excerpt, make_printable


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
