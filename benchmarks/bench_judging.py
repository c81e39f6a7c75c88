"""Asking judges beside the least that it can cost: a bare connection, the bare client, and plain SQLite.

    python benchmarks/bench_judging.py [CALLS]

The endpoint is that of the tests, in a separate process, and answers at once; a model takes a thousand times as long.
Asking is measured with its cache in memory, because a busy disk makes every other number small; `put` is the disk's.
"""

from __future__ import annotations

import http.client
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import repeat
from pathlib import Path

from evalstore.judging import CallQueue, Endpoint, ReplyCache, ask_all
from evalstore.model import JudgeCall, JudgeReply

SERVER = Path(__file__).parents[1] / "tests" / "judging" / "server.py"
PROMPT = (
    "Is the answer right? " + "The block is rendered once and kept until somebody says that it is out of date. " * 25
)
TEXT = json.dumps({"score": 0.5, "rationale": "The answer names the tags, and says nothing of max-age. " * 6})


def calls(count: int, kind: str) -> list[JudgeCall]:
    model = {"id": "m", "temperature": 0}
    return [JudgeCall("judge/accuracy@1.0.0", f"{kind}/{n} {PROMPT}", model) for n in range(count)]


@contextmanager
def serving() -> Iterator[str]:
    with subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()  # type: ignore[union-attr]  # it is a pipe
        process.terminate()


def per_call(runs: dict[str, Callable[[list[JudgeCall]], object]], count: int) -> dict[str, float]:
    """Return the milliseconds of a call by each of the runs: their best of five rounds, taken in turns."""
    best = dict.fromkeys(runs, float("inf"))
    for round_ in range(5):
        for name, run in runs.items():
            work = calls(count, f"{name} / {round_}")
            start = time.perf_counter()
            run(work)
            best[name] = min(best[name], (time.perf_counter() - start) / count * 1e3)
    return best


def bare(url: str, work: list[JudgeCall]) -> list[str]:
    replies = []
    with closing(http.client.HTTPConnection(url.removeprefix("http://"))) as line:
        for call in work:
            body = {"model": "m", "messages": [{"role": "user", "content": call.prompt}], "temperature": 0}
            line.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
            replies.append(json.loads(line.getresponse().read())["choices"][0]["message"]["content"])
    return replies


def client(url: str, work: list[JudgeCall]) -> list[str]:
    import httpx

    replies = []
    with httpx.Client() as asked:
        for call in work:
            body = {"model": "m", "messages": [{"role": "user", "content": call.prompt}], "temperature": 0}
            answer = asked.post(f"{url}/v1/chat/completions", json=body)
            replies.append(answer.json()["choices"][0]["message"]["content"])
    return replies


def asking(url: str, count: int, folder: Path) -> None:
    client(url, calls(1, "first"))  # loads it, which the first round should not pay
    with ReplyCache(folder / "asked.db") as cache:
        ms = per_call(
            {
                "bare": lambda work: bare(url, work),
                "client": lambda work: client(url, work),
                "one": lambda work: ask_all(work, Endpoint(url, concurrency=1), cache),
                "eight": lambda work: ask_all(work, Endpoint(url, concurrency=8), cache),
            },
            count,
        )
    print(f"a call: bare connection {ms['bare']:.2f} ms, httpx {ms['client']:.2f} ms ({over(ms, 'client')})")
    print(f"  asked one at a time and kept: {ms['one']:.2f} ms ({over(ms, 'one')}, {over(ms, 'one', 'client')})")
    print(f"  eight at once and kept: {ms['eight']:.2f} ms ({over(ms, 'eight')}, {over(ms, 'eight', 'client')})")


def keeping(count: int, folder: Path) -> None:
    reply, into = JudgeReply(TEXT, "m-served", "stop"), "INSERT OR REPLACE INTO reply VALUES (?, ?)"
    out = "SELECT text FROM reply WHERE key = ?"
    with (
        closing(sqlite3.connect(folder / "plain.db", isolation_level=None)) as plain,
        ReplyCache(folder / "kept.db") as cache,
        ThreadPoolExecutor(8) as pool,
        CallQueue() as spool,
    ):
        plain.execute("CREATE TABLE reply (key TEXT PRIMARY KEY, text TEXT)")
        ms = per_call(
            {
                "plain put": lambda work: [plain.execute(into, (number(call), TEXT)) for call in work],
                "put": lambda work: [cache.put(call, reply) for call in work],
                "put by eight": lambda work: list(pool.map(cache.put, work, repeat(reply))),
                "plain get": lambda work: [plain.execute(out, (number(call),)).fetchone() for call in work],
                "key": lambda work: [call.key for call in work],
                "get": lambda work: [
                    cache.get(replace(call, prompt=call.prompt.replace("get", "put", 1))) for call in work
                ],
                "note": lambda work: [spool.add_call(call) for call in work],
            },
            count,
        )
    for name, peer in (
        ("put", "plain put"),
        ("put by eight", "plain put"),
        ("get", "plain get"),
        ("note", "plain get"),
    ):
        print(f"{name}: {1e3 / ms[name]:,.0f}/s ({over(ms, name, peer)}, which does {1e3 / ms[peer]:,.0f}/s)")
    print(f"  the key alone, a hash of the prompt: {1e3 / ms['key']:,.0f}/s")


def number(call: JudgeCall) -> str:
    """Return what two calls to do with one reply have in common: the round and the number."""
    return call.prompt[call.prompt.index("/") : call.prompt.index(PROMPT)]


def was_put(call: JudgeCall) -> JudgeCall:
    return replace(call, prompt=call.prompt.replace("get", "put", 1))


def over(ms: dict[str, float], name: str, peer: str = "bare") -> str:
    return f"{ms[name] / ms[peer]:.1f} x {peer}"


def main(count: int) -> None:
    memory = Path("/dev/shm")  # noqa: S108  # a folder of ours in it
    with serving() as url, tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        asking(url, count, Path(name))
    with tempfile.TemporaryDirectory() as name:
        keeping(count, Path(name))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
