"""Times listing, resolving and verifying a store of 1,000 rubrics with 10 versions each, against raw git in one run.

Ratios hold on other machines, absolute times do not: `python benchmarks/bench_store.py [rubrics] [versions]`.
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

from evalstore.integrity import verify
from evalstore.store.listing import list_artifacts

PEELED = "--format=%(refname) %(objecttype) %(*objectname)"


def stream(rubrics: int, versions: int) -> Iterator[str]:
    """Yield a fast-import stream: every version is a commit of its own with an annotated tag."""
    person = "Bench <bench@example.org> 1760000000 +0000"
    ledgers: dict[str, str] = {}
    for version in range(versions):
        for number in range(rubrics):
            name = f"rule_{number:04}"
            text = (
                f'id: {name}\nversion: "1.{version}.0"\nchecks:\n  - kind: must_contain_any\n'
                f"    values: [word {version}]\nscoring:\n  combine: all_pass\n"
            )
            yield f"commit refs/heads/main\ncommitter {person}\ndata 7\nrelease\n"
            yield f"M 100644 inline rubrics/{name}.yaml\ndata {len(text)}\n{text}\n"
            ledger = f"{ledgers.get(name, '')}1.{version}.0 {hashlib.sha256(text.encode()).hexdigest()}\n"
            yield f"M 100644 inline .evalstore/sums/rubric/{name}\ndata {len(ledger)}\n{ledger}\n"
            ledgers[name] = ledger
            yield f"tag rubric/{name}@1.{version}.0\nfrom refs/heads/main\ntagger {person}\ndata 7\nrelease\n"
    yield "done\n"


def process(*argv: str) -> Callable[[], object]:
    """Return an action that runs a command to its end."""
    return lambda: subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def everything(folder: Path) -> Callable[[], object]:
    """Return an action that lets git print every object that a verification reads: nothing is parsed or hashed."""
    git = ["git", "-C", str(folder)]
    listed = subprocess.run(
        [*git, "for-each-ref", "--format=%(objectname) %(object) %(refname:lstrip=3)", "refs/tags"],
        check=True, capture_output=True, text=True,
    ).stdout.split("\n")[:-1]  # fmt: skip
    names = []
    for tag, commit, name in (line.split(" ") for line in listed):
        file = f"{commit}:rubrics/{name.partition('@')[0]}.yaml"
        names += [tag, commit, f"{commit}^{{tree}}", f"{commit}:rubrics", file]
    check = [*git, "cat-file", "--batch-check=%(objectname)"]
    oids = subprocess.run(check, input="\n".join(names).encode(), check=True, capture_output=True).stdout
    return lambda: subprocess.run([*git, "cat-file", "--batch"], input=oids, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Build the store, time everything in one run, and print the ratios to raw git."""
    rubrics, versions = (int(word) for word in [*sys.argv[1:], "1000", "10"][:2])
    os.environ |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store")
        build(store, stream(rubrics, versions))
        evalstore = (sys.executable, "-m", "evalstore", "-C", str(store))
        every = [f"rubric/rule_{number:04}" for number in range(rubrics)]
        actions = {
            "git for-each-ref, names": process("git", "-C", str(store), "for-each-ref", "refs/tags"),
            "git for-each-ref, peeled": process("git", "-C", str(store), "for-each-ref", PEELED, "refs/tags"),
            "open": within(store, lambda store: store.root),
            "open + one exact pin": within(store, lambda store: store.resolve("rubric/rule_0007@1.3.0")),
            "open + one range": within(store, lambda store: store.resolve("rubric/rule_0007@^1")),
            "open + all releases": within(store, lambda store: store.releases()),
            "open + whole listing": within(store, list_artifacts),
            f"open + {rubrics:,} references": within(store, lambda store: [store.resolve(name) for name in every]),
            "git cat-file, all objects": everything(store),
            "open + verify all": within(store, verify),
            "process: evalstore --version": process(sys.executable, "-m", "evalstore", "--version"),
            "process: evalstore resolve": process(*evalstore, "resolve", "rubric/rule_0007@1.3.0"),
            "process: evalstore list": process(*evalstore, "list"),
        }
        times = {name: median(action) for name, action in actions.items()}
    raw = times["git for-each-ref, peeled"]
    print(f"{rubrics:,} rubrics x {versions} versions = {rubrics * versions:,} tags; medians of {ROUNDS}")
    for name, milliseconds in times.items():
        print(f"{name:32} {milliseconds:9.1f} ms   {milliseconds / raw:6.2f} x git, peeled")


if __name__ == "__main__":
    main()
