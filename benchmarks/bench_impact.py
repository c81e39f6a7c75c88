"""Times status, impact and log over 1,000 rubrics, 10 judges and 200 datasets of 50 questions, against raw git.

Ratios hold on other machines, absolute times do not: `python benchmarks/bench_impact.py [rubrics] [datasets]`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from stores import ROUNDS, build, median, within

from evalstore.model import parse_ref
from evalstore.references.impact import find_impact
from evalstore.status import read_status
from evalstore.status.release_log import read_release_log

QUESTIONS, JUDGES, RELEASES = 50, 10, 100
PERSON = "Bench <bench@example.org> 1760000000 +0000"


def files(rubrics: int, datasets: int) -> Iterator[tuple[str, str]]:
    """Yield (path, text): a third of the rubrics pins a judge, every question a rubric."""
    for number in range(JUDGES):
        yield f"judges/judge_{number}", f'template: "Right? {{{{ output }}}}"\nmodel: {{id: m_{number}}}\n'
    for number in range(rubrics):
        pin = "" if number % 300 == 0 else "@^1" if number % 30 == 0 else "@1.0.0"
        judged = f"  - {{kind: llm_judge, judge_prompt_ref: 'judge/judge_{number % JUDGES}{pin}'}}\n"
        checks = f"  - {{kind: must_contain_any, values: [word {number}]}}\n" + (judged if number % 3 == 0 else "")
        yield f"rubrics/rule_{number:04}", f"checks:\n{checks}scoring: {{combine: all_pass}}\n"
    for number in range(datasets):
        questions = "".join(
            f"  - {{id: q{one}, input: What is {one}?, rubric_ref: rubric/rule_{rule % rubrics:04}@1.0.0}}\n"
            for one, rule in enumerate(range(number * 37, number * 37 + QUESTIONS * 11, 11))
        )
        yield f"datasets/set_{number:03}", f"questions:\n{questions}"


def release(path: str, text: str, version: str, ledger: str) -> Iterator[str]:
    """Yield one release for fast-import: a commit of the file and its ledger, and an annotated tag."""
    name = path.replace("s/", "/", 1)
    text = f"id: {path.partition('/')[2]}\nversion: {version}\n{text}"
    ledger += f"{version} {hashlib.sha256(text.encode()).hexdigest()}\n"
    yield f"commit refs/heads/main\ncommitter {PERSON}\ndata 7\nrelease\n"
    yield f"M 100644 inline {path}.yaml\ndata {len(text)}\n{text}\n"
    yield f"M 100644 inline .evalstore/sums/{name}\ndata {len(ledger)}\n{ledger}\n"
    yield f"tag {name}@{version}\nfrom refs/heads/main\ntagger {PERSON}\ndata 7\nrelease\n"


def stream(rubrics: int, datasets: int) -> Iterator[str]:
    """Yield the whole store, and one more rubric with many releases."""
    for path, text in files(rubrics, datasets):
        yield from release(path, text, "1.0.0", "")
    for number in range(RELEASES):
        checks = (
            f"checks: [{{kind: must_contain_any, values: [word {number // 10}]}}]\nscoring: {{combine: all_pass}}\n"
        )
        yield from release("rubrics/tone", f"title: Number {number}\n{checks}", f"1.{number}.0", "")
    yield "done\n"


def every_blob(folder: Path) -> Callable[[], object]:
    """Return an action that lets git list all tags and print the file of each: what a version's impact has to read."""
    git = ["git", "-C", str(folder)]

    def action() -> None:
        tags = subprocess.run(
            [*git, "for-each-ref", "--format=%(object) %(refname:lstrip=2)", "refs/tags"],
            check=True, capture_output=True, text=True,
        ).stdout.split("\n")[:-1]  # fmt: skip
        names = []
        for commit, name in (line.split(" ") for line in tags):
            kind, _, rest = name.partition("/")
            names.append(f"{commit}:{kind}s/{rest.partition('@')[0]}.yaml")
        asked = "\n".join(names).encode()
        subprocess.run([*git, "cat-file", "--batch"], input=asked, check=True, stdout=subprocess.DEVNULL)

    return action


def main() -> None:
    """Build the store, time everything in one run, and print the ratios to raw git."""
    rubrics, datasets = (int(word) for word in [*sys.argv[1:], *("1000", "200")[len(sys.argv) - 1 :]][:2])
    os.environ |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store")
        build(store, stream(rubrics, datasets))
        judge = store / "judges/judge_3.yaml"
        released = judge.read_text("utf-8")
        times = {"git for-each-ref and cat-file": median(every_blob(store))}
        times["status, nothing changed"] = median(within(store, read_status))
        judge.write_text(released.replace("Right", "Wrong"), "utf-8")
        times["status, a judge changed"] = median(within(store, read_status))
        judge.write_text(released, "utf-8")
        for ref in ("judge/judge_3", "judge/judge_3@1.0.0"):
            times[f"impact {ref}"] = median(within(store, lambda opened, ref=ref: find_impact(opened, ref)))
        for name, limit in (("--short", 0), ("", 30), ("--all", None)):
            question = lambda opened, limit=limit: read_release_log(opened, parse_ref("rubric/tone"), limit=limit)  # noqa: E731
            times[f"log of {RELEASES} releases {name}".rstrip()] = median(within(store, question))
        raw = next(iter(times.values()))
        print(f"{rubrics:,} rubrics, {datasets:,} datasets x {QUESTIONS} questions; medians of {ROUNDS}")
        for name, milliseconds in times.items():
            print(f"{name:32} {milliseconds:9.1f} ms   {milliseconds / raw:6.2f} x git")


if __name__ == "__main__":
    main()
