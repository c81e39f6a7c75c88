"""Judged calls to an endpoint that answers after 50 ms, beside urllib3 alone in as many threads.

Seconds of the clock, and of the processor. The peer asks in threads of its own and keeps nothing;
ours plans, tries again, and keeps every reply on disk.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import urllib3
from measuring import Measured

from evalstore.model import JudgeCall
from evalstore.scoring.judging.dispatch import ask_all
from evalstore.scoring.judging.endpoint import Endpoint
from evalstore.scoring.judging.reply_cache import ReplyCache
from evalstore.scoring.judging.request import build_body

CLOCK, PROCESSOR = 1.3, 2  # of those of urllib3
WAIT = 0.05  # seconds that the endpoint takes for a reply
TEXT = "Does the answer name the cache tag? " * 60
ANSWER = {"choices": [{"finish_reason": "stop", "message": {"content": '{"score": 1}'}}]}


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    count = 400 if quick else 2_000
    calls = [
        JudgeCall("judge/tag@1.0.0", f"{number}. {TEXT}", {"id": "m"}) for number in range(count)
    ]
    server = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().strip() if server.stdout else ""
        url = f"http://127.0.0.1:{port}/v1"
        before = None
        for at_once in (8, 32, 128):
            beside = _ask_with_threads(url, calls, at_once)
            found = _ask_ours(folder / f"{at_once}.sqlite", url, calls, at_once)
            for times, name, one, peer in zip(
                (CLOCK, PROCESSOR), ("clock", "processor"), found, beside, strict=True
            ):
                what = f"{count:,} judged calls, {at_once} at once ({name})"
                budget = f"{times} × urllib3 in threads, {peer:.2f} s"
                yield Measured(what, one, times * peer, budget)
            seconds = found[0]
            if before is not None:
                what = f"{count:,} judged calls, {at_once} at once, beside fewer (clock)"
                yield Measured(what, seconds, before, "more is never slower")
            before = seconds
    finally:
        server.terminate()
        server.wait()


def _read_clocks() -> tuple[float, float]:
    return time.monotonic(), time.process_time()


def _count_seconds(start: tuple[float, float]) -> tuple[float, float]:
    """Return the seconds of the clock, and of the processor, since both were read."""
    now = _read_clocks()
    return now[0] - start[0], now[1] - start[1]


def _ask_ours(path: Path, url: str, calls: list[JudgeCall], at_once: int) -> tuple[float, float]:
    start = _read_clocks()
    with ReplyCache(path) as cache:
        failures = ask_all(calls, Endpoint(url, concurrency=at_once), cache)
    if failures:
        raise SystemExit(next(iter(failures.values())))
    return _count_seconds(start)


def _ask_with_threads(url: str, calls: list[JudgeCall], at_once: int) -> tuple[float, float]:
    start = _read_clocks()
    with urllib3.PoolManager(maxsize=at_once) as pools, ThreadPoolExecutor(at_once) as threads:

        def ask(call: JudgeCall) -> str:
            response = pools.request("POST", f"{url}/chat/completions", json=build_body(call))
            return str(response.json()["choices"][0]["message"]["content"])

        for _ in threads.map(ask, calls):  # until all have answered
            pass
    return _count_seconds(start)


def _serve() -> None:
    """Answer on a free port, whose number is printed, until this process is ended."""
    import asyncio

    body = json.dumps(ANSWER).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    answer = head.encode() + body

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(asked.partition(b"content-length:")[2].split()[0]))
                await asyncio.sleep(WAIT)
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(respond, "127.0.0.1", 0, backlog=512)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


if __name__ == "__main__":
    _serve()
