"""What follows from a status and its headers, and how long is waited."""

from __future__ import annotations

import pytest

from evalstore.scoring.judging import Endpoint
from evalstore.scoring.judging.dispatch import choose_pause
from evalstore.scoring.judging.response import FailureEffect, read_failure, read_retry_after, read_shutdown_dates
from evalstore.scoring.judging.secret_mask import SecretMask

DATE = "Mon, 05 Oct 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Mon, 05 Oct 2026 10:01:30 GMT", "date": DATE}, 90.0),
        ({"retry-after": "Mon, 05 Oct 2026 12:01:30 +0200", "date": DATE}, 90.0),
        ({"retry-after": "Mon, 05 Oct 2026 09:59:00 GMT", "date": DATE}, None),
        ({"retry-after": "Mon, 05 Oct 2026 10:01:30 GMT"}, None),
        ({"retry-after": "Mon, 05 Oct 2026 10:01:30 GMT", "date": "yesterday"}, None),
        ({"retry-after": "Mon, 05 Oct 99999 10:01:30 GMT", "date": DATE}, None),
    ],
)
def test_retry_after_is_read_without_a_clock(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("attempt", "asked", "least"),
    [
        (0, None, 1),
        (1, None, 2),
        (3, None, 8),
        (9, None, 60),
        (5000, None, 60),
        (0, 7.0, 7),
        (3, 0.5, 0.5),
        (0, 3600.0, 60),
        (2, 0.0, 4),
    ],
)
def test_pauses_double_are_bounded_and_heed_what_the_endpoint_asks(
    attempt: int, asked: float | None, least: float
) -> None:
    pauses = {choose_pause(Endpoint("http://x"), attempt, asked) for _ in range(100)}
    assert len(pauses) > 90
    assert all(least <= seconds <= 1.25 * least for seconds in pauses)


@pytest.mark.parametrize(
    ("status", "then"),
    [
        *((status, FailureEffect.STOP_ALL) for status in (300, 301, 302, 303, 304, 307, 308, 401, 402, 404, 405)),
        *((status, FailureEffect.RETRY) for status in (408, 409, 425, 429, 500, 501, 502, 503, 504, 520, 529, 599)),
        *((status, FailureEffect.SKIP) for status in (400, 406, 410, 413, 415, 418, 422, 451, 499)),
        (403, FailureEffect.STOP_IF_FIRST),
    ],
)
def test_what_follows_from_a_status(status: int, then: FailureEffect) -> None:
    for body in ("", "{", "[]", "null", '{"error": null}', '{"error": "no"}', '{"detail": ["no"]}', "[" * 100_000):
        trouble = read_failure(status, {}, body)
        assert trouble.effect is then
        assert trouble.problem.isprintable()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [("600", ""), ("601", "10 minutes"), ("3600", "1 hour"), ("86400", "24 hours"), ("1e300", "hours")],
)
def test_a_long_wait_ends_all_with_its_sentence(seconds: str, words: str) -> None:
    failure = read_failure(429, {"retry-after": seconds}, "")
    assert failure.effect is (FailureEffect.STOP_ALL if words else FailureEffect.RETRY)
    assert failure.problem.endswith(f"{words}" if words else "(429)")
    assert len(failure.problem) < 500


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": {"message": "no\\nsuch"}}', ": no such)"),
        ('{"error": "no such"}', ": no such)"),
        ('{"message": "no such"}', ": no such)"),
        ('{"detail": "no such"}', ": no such)"),
        ("plain words", ": plain words)"),
        ("x" * 500, ": " + "x" * 119 + "…)"),
    ],
)
def test_the_endpoints_own_words_are_told(body: str, words: str) -> None:
    assert read_failure(400, {}, body).problem == f"the endpoint refuses the request (400{words}"


@pytest.mark.parametrize("text", [r"\u0073k-\u002D\u006cong\u002Fkey", r"sk-\-long\/key", r"\\u0073k--long\\\/key"])
def test_a_key_is_hidden_however_json_spells_it(text: str) -> None:
    mask = SecretMask("sk--long/key")
    assert mask.hide(f"before {text} after") == "before [key] after"
    assert mask.hide_in_reply("sk--long/key") == "[key]"
    assert "long" not in repr(mask)


def test_a_word_in_place_of_a_key_may_be_a_word_of_a_reply() -> None:
    mask = SecretMask("none")
    assert (mask.hide("none"), mask.hide_in_reply("none")) == ("[key]", "none")
    assert SecretMask("").hide("") == ""


@pytest.mark.parametrize(
    ("listing", "days"),
    [
        ('{"data": [{"id": "m", "shutdown_date": "2027-01-14T00:00:00Z"}, {"id": "n"}]}', {"m": "2027-01-14"}),
        ('{"data": [{"id": "m", "shutdown_date": 1800000000}]}', {"m": "2027-01-15"}),
        ('{"data": [null, {"id": 7, "shutdown_date": "2027-01-14"}, {"id": "m", "shutdown_date": 1e99}]}', {}),
        ('{"data": [{"id": "m", "shutdown_date": true}, {"id": "n", "shutdown_date": "soon"}]}', {}),
        ('{"data": {"m": 1}}', {}),
        ("[1]", {}),
        ("null", {}),
        ("[" * 100_000, {}),
        ("<html>", {}),
        ("\udcff", {}),
    ],
)
def test_a_list_of_models_has_days_or_nothing(listing: str, days: dict[str, str]) -> None:
    found = read_shutdown_dates(listing.encode("utf-8", "surrogateescape"))
    assert {id_: str(day) for id_, day in found.items()} == days
