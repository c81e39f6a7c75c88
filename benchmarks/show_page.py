"""The page of 20,000 outputs: what it costs beside scoring them, its memory, and how soon a browser has it."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from measuring import (
    Measured,
    measure,
    measure_peak,
    ours,
    run,
    write_outputs,
    write_rows,
    write_scored_store,
)
from score_outputs import FLAT

sys.path.append(str(Path(__file__).parents[1]))
from tests.report.browser import (  # of the tests, beside this folder
    CHROMIUM,
    Browser,
    start_browser,
)

RUN = "runs/many-1.0.0-{}.json"
SENTENCES = 14  # of an output, so that one file holds 20,000 of them
LIMIT = 50  # MB of one file
PAIR = 2  # pages of one run
PAINT, FOUND = 3, 0.3  # seconds
TYPE = "o=document.querySelector('#find-text');o.value='{}';o.dispatchEvent(new Event('input'));t=performance.now();0"
STATUS = "document.querySelector('.status').textContent"


def measure_budgets(folder: Path, *, quick: bool) -> Iterator[Measured]:
    """Yield the lines of this budget."""
    count = 5_000 if quick else 20_000
    store = folder / "store"
    write_scored_store(store, write_rows(count))
    written, scored, peaks = list[float](), 0.0, list[float]()
    for size in (count // 4, count):
        outputs = write_outputs(folder / f"{size}.jsonl", size, good=3, size=SENTENCES)
        scored = measure(ours(store, "score", "dataset/many@1.0.0", str(outputs), "-q"))
        show = ours(
            store,
            "show",
            RUN.format(size),
            "--format",
            "html",
            "-q",
            "--out",
            str(folder / f"{size}.html"),
        )
        written.append(measure(show))
        peaks.append(measure_peak(show))
    name = f"page of {count:,} outputs"
    yield Measured(f"{name}, written", written[-1], 2 * scored, f"2 × scoring them, {scored:.2f} s")
    yield Measured(f"{name}, MB beside that of a quarter", peaks[1], peaks[0] + FLAT, "flat memory")
    yield from _measure_pairs(folder, count // 4, written[0])
    page = folder / f"{count}.html"
    yield Measured(f"{name}, MB of the file", page.stat().st_size / 1e6, LIMIT, "one file")
    if CHROMIUM:
        with tempfile.TemporaryDirectory() as profile, start_browser(Path(profile)) as browser:
            yield Measured(
                f"{name}, seconds to the first paint", paint(browser, page), PAINT, "issue 49"
            )
            yield Measured(
                f"{name}, seconds to a search", search(browser, count), FOUND, "issue 49"
            )


def _measure_pairs(folder: Path, count: int, alone: float) -> Iterator[Measured]:
    """Yield what the page of two runs of one rubric takes, beside the page of one of them."""
    store, out = folder / "store", ("--format", "html", "-q", "--out", str(folder / "pairs.html"))
    outputs = write_outputs(folder / "other.jsonl", count, good=4, size=SENTENCES)
    run(ours(store, "score", "dataset/many@1.0.0", str(outputs), "-q"))
    argv = ours(store, "show", RUN.format(count), RUN.format("other"), *out)
    budget = f"{PAIR} × the page of one, {alone:.2f} s"
    yield Measured(f"page of 2 × {count:,} outputs", measure(argv), PAIR * alone, budget)


def paint(browser: Browser, page: Path) -> float:
    """Open a page, and return the seconds to its first contentful paint."""
    browser.open(page)
    entry = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    while (found := browser.evaluate(entry)) is None:
        time.sleep(0.05)
    return float(found) / 1000


def search(browser: Browser, count: int) -> float:
    """Return the median of the seconds from a word that is typed to what is found."""
    seconds = []
    while not browser.evaluate(f"{STATUS}.startsWith('{count:,}')"):
        time.sleep(0.05)
    for number in range(5):
        # The worker has read the rows when it answers for the first time.
        word = f"{count - 1 - number} Use" if number else "nothing"
        browser.evaluate(
            f"new MutationObserver((_,it)=>{{if(/ of /.test({STATUS})){{found=performance.now();it.disconnect()}}}})"
            ".observe(document.querySelector('.status'),{childList:true});found=0"
        )
        browser.evaluate(TYPE.format(word))
        while not browser.evaluate("found"):
            time.sleep(0.05)
        seconds.append(float(browser.evaluate("found-t")) / 1000)
        time.sleep(0.5)
    return sorted(seconds)[len(seconds) // 2]
