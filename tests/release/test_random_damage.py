"""Random damage to refs, objects, ledgers and the lock: where verify finds nothing, everything is what it was."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from evalstore.errors import EvalstoreError
from evalstore.release.integrity.verify import Verification, verify
from evalstore.store import ArtifactStore
from evalstore.store.release_reader import ReleaseReader
from tests.release.shop import Shop, mixed
from tests.rows import mark_slow

HELD = ("rubric/tone@1.0.0", "rubric/tone@1.1.0", "rubric/tone@^1", "judge/accuracy@1.0.0")
PINS = (*HELD, "rubric/tone@2.0.0", "rubric/other@1.0.0", "dataset/answers@1.0.0")
SHORT, LONG = 12, 1000


def tags(stocked: Shop) -> list[str]:
    return stocked.git("tag", "--list").split()


def objects(stocked: Shop) -> list[str]:
    return sorted(path.parent.name + path.name for path in (stocked.top / ".git/objects").glob("??/*"))


def flipped(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ random.randrange(1, 256)]) + data[at + 1 :]


def point(stocked: Shop, random: Random) -> None:
    stocked.git("update-ref", f"refs/tags/{random.choice(tags(stocked))}", random.choice(objects(stocked)))


def retag(stocked: Shop, random: Random) -> None:
    stocked.git(
        "tag",
        "-f",
        "-a",
        "-m",
        "x",
        random.choice(tags(stocked)),
        random.choice(stocked.git("rev-list", "HEAD").split()),
    )


def evil(stocked: Shop, random: Random) -> None:
    tag = random.choice([tag for tag in tags(stocked) if tag.startswith("rubric/tone@")])
    stocked.git("tag", "-f", "-a", "-m", "x", tag, stocked.commit_evil(tag.partition("@")[2]))


def delete(stocked: Shop, random: Random) -> None:
    stocked.git("tag", "-d", random.choice(tags(stocked)))


def invent(stocked: Shop, random: Random) -> None:
    version = f"{random.randrange(4)}.{random.randrange(9)}.9"
    stocked.git("tag", "-a", "-m", "x", f"rubric/tone@{version}", stocked.commit_evil(version))


def forge(stocked: Shop, random: Random) -> None:
    path = stocked.find_loose(random.choice(objects(stocked)))
    path.chmod(0o644)
    raw = zlib.decompress(path.read_bytes())
    start = raw.index(b"\0") + 1
    path.write_bytes(zlib.compress(raw[:start] + flipped(raw[start:], random)))


def damage(stocked: Shop, random: Random) -> None:
    path = stocked.find_loose(random.choice(objects(stocked)))
    path.chmod(0o644)
    path.write_bytes(flipped(path.read_bytes(), random))


def lose(stocked: Shop, random: Random) -> None:
    stocked.find_loose(random.choice(objects(stocked))).unlink()


def replace(stocked: Shop, random: Random) -> None:
    stocked.git("replace", "-f", *random.sample(objects(stocked), 2), check=False)


def set_back(stocked: Shop, random: Random) -> None:
    stocked.git("update-ref", "refs/heads/main", random.choice(stocked.git("rev-list", "HEAD").split()))


def ledger(stocked: Shop, random: Random) -> None:
    path = random.choice(sorted((stocked.top / ".evalstore/sums").rglob("*/*")))
    lines = path.read_bytes().splitlines(keepends=True)
    random.shuffle(lines)
    changed = [flipped(path.read_bytes(), random), b"".join(lines), b"".join(lines[:-1])]
    path.write_bytes(random.choice(changed))
    stocked.git("commit", "-q", "--allow-empty", "-a", "-m", "x", check=False)


def lock(stocked: Shop, random: Random) -> None:
    path = stocked.top / "evalstore.lock"
    lines = path.read_bytes().splitlines(keepends=True)
    cut = random.randrange(len(lines))
    path.write_bytes(random.choice([flipped(path.read_bytes(), random), b"".join(lines[:cut] + lines[cut + 1 :])]))


def redraft(stocked: Shop, random: Random) -> None:
    stocked.write("rubrics/tone.yaml", mixed(version="2.0.0", word=f"draft {random.random()}"))


WAYS = (point, retag, evil, delete, invent, forge, damage, lose, replace, set_back, ledger, lock, redraft)


def answers(store: ArtifactStore) -> dict[str, str]:
    found = {}
    for pin in PINS:
        try:
            found[pin] = store.resolve(pin).digest
        except EvalstoreError:
            found[pin] = "refused"
    return found


def told(folder: Path) -> object:
    """Return what verify says of a store, or the words with which it ends."""
    try:
        with ArtifactStore.open(folder) as store:
            return verify(store)
    except EvalstoreError as error:
        return str(error)


def check(template: Shop, folder: Path, seed: int) -> tuple[list[str], bool]:
    """Damage a copy in one to three ways; return which, and whether verify said anything."""
    random = Random(seed)  # noqa: S311  # damage, and no secret
    shutil.copytree(template.top, folder, symlinks=True)
    stocked = template.at(folder)
    before = stocked.ask(answers)
    ways = [random.choice(WAYS) for _ in range(random.randrange(1, 4))]
    for way in ways:
        try:
            way(stocked, random)
        except (AssertionError, IndexError, OSError, ValueError, zlib.error):  # an earlier one leaves no room for it
            continue
    names = [way.__name__ for way in ways]
    said = told(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReleaseReader, "find", lambda *_: None)
        assert told(folder) == said, (seed, names)  # releases that are read by the hundred are as each by itself
    found = not (isinstance(said, Verification) and said.ok)
    try:
        with ArtifactStore.open(folder) as store:
            after = answers(store)
    except EvalstoreError:
        return names, True
    if "lock" not in names:  # whoever writes the lock may let a range go on
        assert [pin for pin in HELD if after[pin] not in {before[pin], "refused"}] == [], (seed, names)
    assert found or after == before, (seed, names)
    return names, found


@pytest.mark.parametrize("format_", ["sha256", mark_slow("sha1")])
def test_what_verify_does_not_find_changed_nothing(
    of_format: Callable[[str], Shop], tmp_path: Path, format_: str
) -> None:
    template = of_format(format_)
    checked = [check(template, tmp_path / str(seed), seed) for seed in range(SHORT)]
    assert sum(found for _, found in checked) > SHORT / 2


@pytest.mark.slow
def test_what_verify_does_not_find_changed_nothing_long(of_format: Callable[[str], Shop], tmp_path: Path) -> None:
    template = of_format("sha1")
    for seed in range(LONG):
        check(template, tmp_path / str(seed), seed)
        shutil.rmtree(tmp_path / str(seed))
