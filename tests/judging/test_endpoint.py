"""What is sent to an endpoint, and what is never sent; which URLs and keys are accepted."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalstore.about import suggest_install
from evalstore.errors import EvalstoreError, RefusedError, UsageError
from evalstore.model import JudgeCall
from evalstore.scoring.judging import Endpoint, ReplyCache, ask_all

KEY = "sk-a-key-that-must-not-be-shown"
ENVIRONMENT = {
    "OPENAI_API_KEY": "sk-of-somebody-else",
    "OPENAI_ADMIN_KEY": "sk-of-an-admin",
    "OPENAI_ORG_ID": "org-of-somebody-else",
    "OPENAI_PROJECT_ID": "proj-of-somebody-else",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/elsewhere",
    "OPENAI_WEBHOOK_SECRET": "whsec-of-somebody-else",
    "OPENAI_CUSTOM_HEADERS": "X-Secret: of-somebody-else\nAuthorization: Bearer of-somebody-else\nCookie: a=b",
    "OPENAI_API_TYPE": "azure",
    "OPENAI_LOG": "debug",
}


def one(**model: Any) -> JudgeCall:
    return JudgeCall("judge/accuracy@1.0.0", "Is «it» good?\n\u2028{{ input }}", {"id": "small", **model})


def test_the_body_is_one_message_and_the_parameters_of_the_model(
    judge_server: Any, endpoint: Callable[..., Endpoint], cache: ReplyCache
) -> None:
    model = {"temperature": Decimal("0.70"), "top_p": 1, "max_tokens": 64, "seed": 7, "x_note": "ours"}
    assert ask_all([one(**model), one()], endpoint(concurrency=1), cache) == {}
    message = [{"role": "user", "content": one().prompt}]
    assert judge_server.bodies == [
        {"model": "small", "messages": message, "temperature": 0.7, "top_p": 1, "max_tokens": 64, "seed": 7},
        {"model": "small", "messages": message},
    ]


def test_a_system_message_comes_first_and_extra_parameters_are_sent_as_they_are(
    judge_server: Any, endpoint: Callable[..., Endpoint], cache: ReplyCache
) -> None:
    extra = {"max_completion_tokens": 64, "reasoning_effort": "low", "nested": {"budget": [Decimal("0.5"), None]}}
    form = {"type": "json_schema", "json_schema": {"name": "judgement"}}
    model = {"temperature": 0, "system": "Be strict.", "response_format": form, "extra": {**extra, "temperature": 1}}
    assert ask_all([one(**model)], endpoint(), cache) == {}
    messages = [{"role": "system", "content": "Be strict."}, {"role": "user", "content": one().prompt}]
    assert judge_server.bodies == [
        {
            "model": "small",
            "messages": messages,
            "response_format": form,
            **extra,
            "nested": {"budget": [0.5, None]},
            "temperature": 1,
        }
    ]


def test_every_part_of_a_request_is_part_of_the_replys_key() -> None:
    parts = [{}, {"system": "a"}, {"system": "b"}, {"extra": {"a": 1}}, {"extra": {"a": 2}}, {"response_format": {}}]
    assert len({one(**part).key for part in parts}) == len(parts)


def test_extra_parameters_never_take_the_place_of_the_question(
    judge_server: Any, endpoint: Callable[..., Endpoint], cache: ReplyCache
) -> None:
    assert ask_all([one(extra={"model": "other", "messages": []})], endpoint(), cache) == {}
    [body] = judge_server.bodies
    assert body == {"model": "small", "messages": [{"role": "user", "content": one().prompt}]}


@pytest.mark.parametrize("key", [KEY, ""])
def test_the_version_of_azures_api_is_kept(
    key: str, judge_server: Any, endpoint: Callable[..., Endpoint], cache: ReplyCache
) -> None:
    url = f"{judge_server.url}/openai/deployments/small?api-version=2024-10-21"
    assert ask_all([one()], endpoint(url=url, key=key), cache) == {}
    assert judge_server.paths == ["/openai/deployments/small/chat/completions?api-version=2024-10-21"]
    assert judge_server.headers[0].get("api-key", "") == key


@pytest.mark.parametrize("key", [KEY, ""])
def test_the_headers_are_ours_whatever_the_environment_says(
    key: str,
    judge_server: Any,
    endpoint: Callable[..., Endpoint],
    cache: ReplyCache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert ask_all([one()], endpoint(key=key), cache) == {}
    [headers] = judge_server.headers
    assert headers.pop("host") == judge_server.url.removeprefix("http://")
    assert int(headers.pop("content-length")) > 0
    assert headers == {
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "evalstore",
        **({"authorization": f"Bearer {KEY}"} if key else {}),
    }


@pytest.mark.process
def test_the_key_is_in_no_error_no_log_and_no_repr(judge_server: Any, tmp_path: Path) -> None:
    judge_server.play("401")
    program = f"""
import logging, pathlib
logging.basicConfig(level=logging.DEBUG)
from evalstore.scoring.judging import ReplyCache, Endpoint, ask_all
from evalstore.model import JudgeCall
endpoint = Endpoint({judge_server.url!r}, {KEY!r})
print(endpoint)
try:
    ask_all([JudgeCall("j", "p", {{"id": "m"}})], endpoint, ReplyCache(pathlib.Path("replies.db")))
except Exception:
    logging.exception("seen")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "refuses the key (401: Incorrect API key provided: Bearer [key])" in done.stderr
    assert "DEBUG" in done.stderr
    assert KEY not in done.stdout + done.stderr


def test_nothing_follows_a_redirect(judge_server: Any, endpoint: Callable[..., Endpoint], cache: ReplyCache) -> None:
    judge_server.play("redirect here", "ok")
    with pytest.raises(EvalstoreError):
        ask_all([one()], endpoint(), cache)
    assert judge_server.calls == 1


def test_no_cookie_is_sent_back(judge_server: Any, endpoint: Callable[..., Endpoint], cache: ReplyCache) -> None:
    judge_server.play("cookie")
    assert (
        ask_all([JudgeCall("j", str(number), {"id": "m"}) for number in range(3)], endpoint(concurrency=1), cache) == {}
    )
    assert len(judge_server.headers) == 3
    assert all("cookie" not in headers for headers in judge_server.headers)


@pytest.mark.heavy
def test_a_connection_is_used_again(judge_server: Any, endpoint: Callable[..., Endpoint], cache: ReplyCache) -> None:
    calls = [JudgeCall("j", str(number), {"id": "m"}) for number in range(20)]
    assert ask_all(calls, endpoint(concurrency=2), cache) == {}
    assert judge_server.connections <= 2


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("https://api.example.org/", "https://api.example.org/v1"),
        ("https://api.example.org/v1", "https://api.example.org/v1"),
        ("https://api.example.org/v1/", "https://api.example.org/v1"),
        ("https://api.example.org/api/v1beta/openai/", "https://api.example.org/api/v1beta/openai"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("http://judge_server", "http://judge_server/v1"),
        (
            "https://x.example.org/openai/deployments/m?api-version=2024-10-21",
            "https://x.example.org/openai/deployments/m",
        ),
    ],
)
def test_urls_that_can_be_asked(url: str, base: str) -> None:
    assert Endpoint(url).base == base


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "localhost",
            "ftp://x",
            "http://",
            "http:///v1",
            "http://a b",
            "http://x\n",
            "http://x/\x00",
            "http://é.fr",
        ),
        *(
            "https://me:secret@x/v1",
            "http://x?key=secret",
            "http://x?api-version=1&key=secret",
            "http://x#secret",
            "http://x/v1/chat/completions",
        ),
        *(
            "http://x:99999",
            "http://x:0",
            "http://a..b",
            "http://.a",
            "http://999.1.1.1",
            "http://[::::]",
            "http://[1]",
        ),
        *("file:///etc/passwd", "-o", "http://x:", "http://" + "a" * 64),
    ],
)
def test_urls_that_cannot(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        Endpoint(url)
    assert "secret" not in f"{caught.value} {caught.value.hint}"
    assert "http(s)://host[:port][/v1]" in str(caught.value.hint)


@pytest.mark.parametrize("key", ["a b", "a\n", "ключ", "a\r\nX-Evil: 1", "\x00", "\x7f"])
def test_keys_that_no_header_carries(key: str) -> None:
    with pytest.raises(UsageError, match="did you copy all of it") as caught:
        Endpoint("http://x", key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"retries": -1},
        {"concurrency": 0},
        {"first_wait": -1},
        {"longest_wait": -1},
        {"patience": 0},
        {"timeout": 1e300},
        {"longest_wait": 1e10},
        {"concurrency": 1000},
    ],
)
def test_values_that_make_no_sense(value: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"has {next(iter(value))} "):
        Endpoint("http://x", **value)


def test_without_the_client_a_sentence_says_what_to_install(
    endpoint: Callable[..., Endpoint], cache: ReplyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "urllib3", None)
    monkeypatch.delitem(sys.modules, "evalstore.scoring.judging.connections", raising=False)
    with pytest.raises(RefusedError, match="not installed") as caught:
        ask_all([one()], endpoint(), cache)
    assert caught.value.hint == suggest_install("judge")
    assert ask_all([], endpoint(), cache) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("ALL_PROXY", url) for url in ("socks5://127.0.0.1:9", "ftp://x", "http://x:port", "http://[::1", ":bad")),
        *(("HTTP_PROXY", url) for url in (":bad", "http://x:port", "http://a\x01b", "ftp://bob:s3cret@x")),
        *(("HTTPS_PROXY", url) for url in ("http://bob:s3cret@x:port", "http://bob:s3c/ret@x")),
        ("SSL_CERT_FILE", "/nowhere"),
    ],
)
def test_surroundings_that_the_client_does_not_take_are_named(
    name: str, value: str, endpoint: Callable[..., Endpoint], cache: ReplyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_PROXY")
    asked = {} if name in {"ALL_PROXY", "HTTP_PROXY"} else {"url": "https://127.0.0.1:9"}
    with pytest.raises(RefusedError, match="no judge can be asked: ") as caught:
        ask_all([one()], endpoint(**asked), cache)
    assert name in str(caught.value.hint)
    assert "s3c" not in str(caught.value)


def test_an_address_that_does_not_answer_leaves_the_next_its_turn(
    endpoint: Callable[..., Endpoint], cache: ReplyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = importlib.import_module("evalstore.scoring.judging.connections")
    connect, silent = connections.create_connection, "192.0.2.1"

    def connect_to(address: tuple[str, int], *args: Any, **more: Any) -> Any:
        if address[0] == silent:
            raise TimeoutError("timed out")
        return connect(address, *args, **more)

    monkeypatch.setattr(connections, "create_connection", connect_to)
    monkeypatch.setattr(connections, "_look_up", lambda *_: [silent, "127.0.0.1"])
    assert ask_all([one()], endpoint(), cache) == {}


@pytest.mark.process
def test_the_client_is_not_loaded_before_something_is_asked() -> None:
    program = (
        "import json, sys, evalstore.scoring.judging as judging; judging.Endpoint('http://x');"
        "print(json.dumps([name for name in ('urllib3', 'ssl') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
