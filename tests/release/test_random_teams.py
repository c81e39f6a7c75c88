"""A storm of rounds: people with clones of one store bump, edit, lock, fetch, pull, push and number anew, in any order.

After each round one of them does what the hints say until a push arrives. Nobody may be stuck, and nothing may be lost.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_yaml
from evalstore.store.pipeline_files import write_attributes
from evalstore.store.scratch_clone import DRIVER
from tests.release.shop import Shop, rubric

pytestmark = [pytest.mark.process, pytest.mark.chaos]

Cli = Callable[..., Any]
RUBRICS = ("tone", "voice")
DATASET = (
    "id: web\nversion: 1.0.0\nquestions:\n  - {id: a, input: Why?, rubric_ref: rubric/tone}\n"
    "  - {id: b, input: How?, rubric_ref: rubric/voice@1.0.0}\n"
)
_ROUNDS = 10
_STEPS = 8  # commands that hints may name one after the other


@dataclass
class Storm:
    """Clones of one bare repository, and what they have done so far."""

    cli: Cli
    people: list[Shop]
    far: Path
    draw: random.Random
    log: list[str] = field(default_factory=list)
    words: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in RUBRICS})
    pushed: dict[str, str] = field(default_factory=dict)

    def run(self, shop: Shop, *argv: str) -> Any:
        ran = self.cli("-C", shop.root, *argv)
        self.log.append(f"{shop.top.name}$ evalstore {' '.join(argv)} -> {ran.code}\n{ran.out}{ran.err}")
        assert ran.code in {0, 1, 3}, self.log[-1]
        return ran

    def git(self, shop: Shop, *argv: str) -> bool:
        try:
            shop.git(*argv)
        except Exception as error:  # git's own refusals are part of the weather
            self.log.append(f"{shop.top.name}$ git {' '.join(argv)} -> {getattr(error, 'stderr', error)}")
            return False
        self.log.append(f"{shop.top.name}$ git {' '.join(argv)} -> 0")
        return True

    def act(self, shop: Shop) -> None:
        """Do one thing, whatever comes of it."""
        actions: dict[str, Callable[[], object]] = {
            "edit": lambda: self.edit(shop),
            "bump": lambda: self.run(shop, "bump", "--all"),
            "one": lambda: self.run(shop, "bump", f"rubric/{self.draw.choice(RUBRICS)}"),
            "follow": lambda: self.run(shop, "bump", "--all", "--dependents"),
            "lock": lambda: self.run(shop, "lock"),
            "update": lambda: self.run(shop, "lock", "--update"),
            "commit": lambda: self.commit(shop),
            "fetch": lambda: self.git(shop, "fetch", "-q"),
            "tags": lambda: self.git(shop, "fetch", "-q", "--tags", "--force"),
            "again": lambda: self.run(shop, "bump", "--again"),
            "push": lambda: self.run(shop, "bump", "--all", "--push"),
            "plain": lambda: self.git(shop, "push", "-q", "origin", "main"),
            "pull": lambda: self.pull(shop),
        }
        actions[self.draw.choice([*actions, "edit", "edit", "bump", "commit"])]()

    def edit(self, shop: Shop) -> None:
        name, number = self.draw.choice(RUBRICS), sum(map(len, self.words.values()))
        word = f"w{number}"
        text = shop.read(f"rubrics/{name}.yaml").decode()
        check = f"  - id: {word}\n    kind: must_not_contain\n    values: [{word}]\n"
        shop.write(f"rubrics/{name}.yaml", text.replace("scoring:", f"{check}scoring:"))
        self.words[name].add(word)

    def commit(self, shop: Shop) -> None:
        shop.git("add", "-A")
        self.git(shop, "commit", "-qm", "Work")

    def pull(self, shop: Shop) -> bool:
        if shop.git("status", "--porcelain"):
            self.commit(shop)
        return self.join(shop, "pull", "-q", "--no-rebase", "--no-edit", "--tags", "origin", "main")

    def join(self, shop: Shop, *argv: str) -> bool:
        """Pull or merge; what is torn is left, but for a lock: one side whole, then evalstore lock, as its error says."""
        if self.git(shop, *argv):
            return True
        if not (shop.top / ".git/MERGE_HEAD").exists():
            return False
        torn = shop.git("diff", "--name-only", "--diff-filter=U").split()
        if torn != ["evalstore.lock"]:
            self.git(shop, "merge", "--abort")
            return False
        shop.git("checkout", self.draw.choice(["--ours", "--theirs"]), "evalstore.lock")
        shop.git("add", "evalstore.lock")
        shop.git("commit", "-q", "--no-edit")
        if self.run(shop, "lock").code == 0:
            self.commit(shop)
        return True

    def settle(self, shop: Shop) -> None:
        """Do what the hints say until a push arrives, then look at the store as everybody gets it."""
        start = len(self.log)
        for _ in range(_STEPS):
            if shop.git("status", "--porcelain"):
                self.commit(shop)
            ran = self.run(shop, "bump", "--all", "--push")
            if ran.code == 0:
                break
            self.follow(shop, ran)
        else:
            pytest.fail(f"stuck:\n{chr(10).join(self.log[start:])}")
        for argv in (("verify",), ("lock",), ("verify", "--remote")):
            ran = self.run(shop, *argv)
            assert ran.code == 0, "\n".join(self.log[start:])
        self.commit(shop)
        self.check(shop)

    def follow(self, shop: Shop, ran: Any) -> None:
        words = " ".join((ran.out + ran.err + ran.next_steps).split())
        if "bump --again" in words:
            self.again(shop)
        elif found := re.search(r"git update-ref \S+ [0-9a-f]{40}", words):
            self.git(shop, *found[0].split()[1:])
        elif found := re.search(r"evalstore verify (\w+/\w+)", words):
            self.follow(shop, self.run(shop, "verify", found[1]))
        elif "git pull" in words:
            self.pull(shop)
        elif found := re.search(r"git fetch [^;`]*--tags", words):
            self.git(shop, *found[0].split()[1:])
            self.ask_for_tag(shop, words)
        elif (found := re.search(r"git merge (\w+/\S+)", words)) and not self.join(
            shop, "merge", "-q", "--no-edit", found[1]
        ):
            self.again(shop)

    def ask_for_tag(self, shop: Shop, words: str) -> None:
        """Let who released it push a tag that a plain `git push` of the branch left behind, as the hint says."""
        found = re.search(r"git push origin (refs/tags/(\S+?));", words)
        if found and found[2] not in shop.tags():
            owner = next(one for one in self.people if found[2] in one.tags())
            self.git(owner, "push", "-q", "origin", found[1])
            self.git(shop, "fetch", "-q", "--tags")

    def again(self, shop: Shop) -> None:
        ran = self.run(shop, "bump", "--again", "--push")
        words = " ".join((ran.out + ran.err).split())
        # Both followed other versions: what both want is theirs, as the hint shows it; then run it again.
        if found := re.search(r"theirs: git show (\w+):(datasets/web\.yaml)\)", words):
            pins = re.findall(r"rubric_ref: (\S+)}", shop.git("show", f"{found[1]}:{found[2]}"))
            text = shop.read(found[2]).decode()
            for old, new in zip(re.findall(r"rubric_ref: (\S+)}", text), pins, strict=True):
                text = text.replace(f"rubric_ref: {old}}}", f"rubric_ref: {new}}}")
            shop.write(found[2], text)
            self.run(shop, "bump", "--again", "--push")
        elif ran.code == 1 and "git pull" in words:
            self.pull(shop)

    def check(self, shop: Shop) -> None:
        """No release that ever arrived is another one now, or gone; no word of it is lost."""
        lines = shop.run("for-each-ref", "--format=%(refname) %(objectname)", "refs/tags", cwd=self.far).split("\n")
        there = dict(line.split(" ") for line in lines)
        assert self.pushed.items() <= there.items(), "\n".join(self.log[-12:])
        self.pushed |= there

    def finish(self) -> None:
        """Let everybody push in turn, and find every word that anybody wrote."""
        for shop in (*self.people, *self.people):
            self.settle(shop)
        last = self.people[-1]
        for name in RUBRICS:
            checks = read_yaml(last.read(f"rubrics/{name}.yaml"), name).value["checks"]
            assert {check.get("id") for check in checks} >= self.words[name]


def make_storm(cli: Cli, git: Callable[..., str], folder: Path, seed: int) -> Storm:
    far, draw = folder / f"far{seed}.git", random.Random(seed)  # noqa: S311  # the same storm every time
    git("init", "-q", "--bare", str(far))
    people = []
    for number in range(draw.choice([2, 3])):
        shop = Shop(folder / f"p{seed}_{number}", git)
        git("clone", "-q", str(far), str(shop.top))
        shop.git("config", "merge.evalstore.driver", DRIVER)
        (shop.top / ".git/info").mkdir(exist_ok=True)
        (shop.top / ".git/info/attributes").write_bytes(write_attributes(None, "", diff=False, merge=True))
        people.append(shop)
        if not number:
            for name in RUBRICS:
                shop.write(f"rubrics/{name}.yaml", rubric(name))
            shop.write("datasets/web.yaml", DATASET)
            shop.bump()
            shop.git("branch", "-M", "main")
            shop.git("push", "-q", "-u", "origin", "main", "--tags")
            git("symbolic-ref", "HEAD", "refs/heads/main", cwd=far)
    return Storm(cli, people, far, draw)


def test_nobody_is_stuck_and_nothing_is_lost(
    cli: Cli, git: Callable[..., str], tmp_path: Path, samples: Callable[[int], int]
) -> None:
    """A thousand rounds of four commands in the long form, ten to a storm; the short one has a short storm."""
    if samples(1000) < 1000:
        blow(make_storm(cli, git, tmp_path, 28), 4)
        return
    for seed in range(1000 // _ROUNDS):
        blow(make_storm(cli, git, tmp_path, seed), _ROUNDS)


def blow(storm: Storm, rounds: int) -> None:
    for _ in range(rounds):
        for _ in range(4):
            storm.act(storm.draw.choice(storm.people))
        storm.settle(storm.draw.choice(storm.people))
    storm.finish()
