"""Untrusted archives: what lies, swells, overlaps or is cut off ends in one sentence, and nothing is unpacked to disk."""

from __future__ import annotations

import json
import random
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from evalstore.errors import EvalstoreError, LimitError, LoadError
from evalstore.model import Output
from evalstore.runs import MissingOutput, StoredOutput, read_outputs
from evalstore.runs.packed import zstd

STORED, DEFLATED, ZSTD = 0, 8, 93


def sample(id_: str, text: str = "x", epoch: int = 1) -> bytes:
    """One sample as Inspect writes it, as far as it matters."""
    message = {"role": "assistant", "content": text, "source": "generate"}
    output = {"choices": [{"message": message}], "completion": text}
    return json.dumps({"id": id_, "epoch": epoch, "messages": [message], "output": output}).encode()


@dataclass(frozen=True)
class Member:
    """A member of an archive as its two headers announce it, whether or not that is true."""

    name: str
    packed: bytes
    method: int = STORED
    size: int = 0
    crc: int = 0
    flags: int = 0
    at: int | None = None

    def local(self) -> bytes:
        name, where = self.name.encode(), (self.crc, len(self.packed), self.size)
        flags = self.flags | 0x800
        return struct.pack("<4s5H3I2H", b"PK\3\4", 20, flags, self.method, 0, 0, *where, len(name), 0) + name

    def central(self, offset: int) -> bytes:
        name, where = self.name.encode(), (self.crc, len(self.packed), self.size)
        flags, at = self.flags | 0x800, offset if self.at is None else self.at
        head = struct.pack("<4s6H3I", b"PK\1\2", 20, 20, flags, self.method, 0, 0, *where)
        return head + struct.pack("<5H2I", len(name), 0, 0, 0, 0, 0, at) + name


def member(name: str, data: bytes, method: int = DEFLATED) -> Member:
    """Return a valid member."""
    packers = {ZSTD: zstd.compress, DEFLATED: lambda data: zlib.compress(data, 9, -15)}
    packed = packers.get(method, bytes)(data)
    return Member(name, packed, method, len(data), zlib.crc32(data))


HEADER = member("header.json", b'{"version": 2, "status": "success", "eval": {"model": "m"}, "results": {"x": NaN}}')
SAMPLE = member("samples/a_epoch_1.json", sample("a"))


@pytest.fixture
def archive(tmp_path: Path) -> Callable[..., Path]:
    def write(*members: Member, overlapping: bool = False) -> Path:
        body, directory = b"", b""
        for one in members:
            directory += one.central(len(body))
            if not (overlapping and body):
                body += one.local() + one.packed
        end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(members), len(members), len(directory), len(body), 0)
        path = tmp_path / "log.bin"
        path.write_bytes(body + directory + end)
        return path

    return write


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTD])
def test_every_way_of_packing_that_inspect_has_used_is_unpacked(method: int, archive: Callable[..., Path]) -> None:
    data = sample("a", "x" * 500_000 + "🦊")
    path = archive(HEADER, member("samples/a_epoch_1.json", data, method), member("summaries.json", b"[NaN]"))
    assert list(read_outputs(path)) == [StoredOutput("a", Output("x" * 500_000 + "🦊"), 1, "m")]


def test_of_several_members_with_one_name_the_last_counts(archive: Callable[..., Path]) -> None:
    path = archive(
        SAMPLE, HEADER, replace(HEADER, name="_journal/start.json"), member(SAMPLE.name, sample("a", "again"))
    )
    assert [found.output.text for found in read_outputs(path) if isinstance(found, StoredOutput)] == ["again"]


def test_names_are_never_paths(archive: Callable[..., Path], tmp_path: Path) -> None:
    names = ["samples/../../../evil_epoch_1.json", "samples//etc/passwd_epoch_1.json", "samples/\x1b[31m_epoch_1.json"]
    path = archive(HEADER, *(member(name, sample(name)) for name in names), member("../outside.json", b"{}"))
    parts = {"evil_epoch_1.json", "passwd_epoch_1.json", "outside.json", "samples", "etc"}

    def unpacked() -> list[Path]:
        return [
            found
            for folder in (Path.cwd(), tmp_path, *tmp_path.parents)
            for found in folder.iterdir()
            if found.name in parts
        ]

    before, inside = unpacked(), sorted(tmp_path.rglob("*"))
    assert [found.id for found in read_outputs(path)] == names
    assert (unpacked(), sorted(tmp_path.rglob("*"))) == (before, inside)


def swollen(size: int) -> bytes:
    """A sample of `size` spaces, in a few kilobytes of Zstandard."""
    packer = zstd.ZstdCompressor(level=1)
    return b"".join(packer.compress(b" " * (1 << 24)) for _ in range(size >> 24)) + packer.flush()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("announced", "error", "sentence"),
    [
        (1 << 31, LimitError, "unpacks to far more than a log can have"),
        (50 << 20, LimitError, "unpacks to more than 16,777,216 bytes, the limit for a packed file of its size"),
        (15 << 20, LoadError, "its content does not match the archive's index"),
    ],
)
def test_a_bomb_is_refused_whatever_it_announces(
    announced: int, error: type[LoadError], sentence: str, archive: Callable[..., Path]
) -> None:
    path = archive(HEADER, Member("samples/a_epoch_1.json", swollen(1 << 29), ZSTD, announced, 0))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(error, match=sentence):
        list(read_outputs(path))
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


DENSE = {
    "read": ("messages", b"{},", 6 << 20),
    "skipped": ("scores", (b"[" * 900 + b"]" * 900 + b","), 8 << 20),
}


@pytest.mark.parametrize("kind", ["read", "skipped"])
def test_values_without_end_are_refused_by_the_steps_that_they_take(kind: str, archive: Callable[..., Path]) -> None:
    key, unit, size = DENSE[kind]
    data = b'{"id": "a", "epoch": 1, "%s": [%s1]}' % (key.encode(), unit * (size // len(unit)))
    with pytest.raises(
        LimitError, match="takes more than 16,777,216 steps to read, the limit for a packed file"
    ) as raised:
        list(read_outputs(archive(HEADER, member(SAMPLE.name, data))))
    assert raised.value.hint == "convert the log: inspect log convert --to json"


def test_a_long_log_that_packs_well_is_read(archive: Callable[..., Path]) -> None:
    def write_sample(number: int) -> bytes:
        text = random.Random(number).randbytes(8_000).hex()  # noqa: S311  # no secret
        turns = [{"role": "user", "content": text, "id": str(number)}] * 24
        return json.dumps({**json.loads(sample(str(number))), "events": turns}).encode()

    members = [member(f"samples/{number}_epoch_1.json", write_sample(number)) for number in range(60)]
    path = archive(HEADER, *members)
    assert 20 < sum(one.size for one in members) / path.stat().st_size < 60
    assert sum(one.size for one in members) > 20 << 20
    assert len(list(read_outputs(path))) == 60


def test_many_members_of_the_same_bytes_are_refused(archive: Callable[..., Path]) -> None:
    one = member("samples/a_epoch_1.json", sample("a", "x" * 5000), STORED)
    members = [replace(one, name=f"samples/{number}_epoch_1.json", at=0) for number in range(100)]
    with pytest.raises(LimitError, match="far more than a log can have"):
        list(read_outputs(archive(*members, HEADER, overlapping=True)))


@pytest.mark.parametrize(
    ("members", "sentence", "inside"),
    [
        ([HEADER, replace(SAMPLE, flags=1)], "this archive is encrypted", None),
        ([HEADER, replace(SAMPLE, method=99)], "cannot be unpacked", SAMPLE.name),
        ([HEADER, replace(SAMPLE, crc=1)], "is damaged|Bad CRC", SAMPLE.name),
        ([HEADER, replace(SAMPLE, size=SAMPLE.size - 1)], "is damaged|Bad CRC", SAMPLE.name),
        ([HEADER, replace(SAMPLE, size=SAMPLE.size + 1)], "is damaged|Bad CRC|not JSON|cannot be", SAMPLE.name),
        ([HEADER, replace(SAMPLE, packed=b"\xff" * 40)], "cannot be unpacked", SAMPLE.name),
        ([HEADER, replace(SAMPLE, packed=b"\xff" * 40, method=ZSTD)], "cannot be unpacked", SAMPLE.name),
        ([HEADER, member(SAMPLE.name, sample("a") + b"{}")], "unexpected text after", SAMPLE.name),
        ([HEADER, member(SAMPLE.name, b'{"id": "a"')], "not JSON", SAMPLE.name),
        ([HEADER, SAMPLE, replace(SAMPLE, name="samples/b_epoch_1.json")], "the log has this sample twice", "samples/b_epoch_1.json"),
        ([HEADER, member("samples/a_epoch_1/sample.json", b"{}")], "stored in pieces", "samples/a_epoch_1/sample.json"),
        ([member("header.json", b'{"version": 9, "eval": {}}'), SAMPLE], "has version 9", None),
        ([member("header.json", b'{"eval": '), SAMPLE], "ends in the middle|the text ends", "header.json"),
        ([SAMPLE], "unknown format; expected lines like", None),
        ([], "unknown format; expected lines like", None),
    ],
)  # fmt: skip
def test_what_is_no_log_is_one_sentence_with_its_place(
    members: list[Member], sentence: str, inside: str | None, archive: Callable[..., Path]
) -> None:
    path = archive(*members)
    with pytest.raises(LoadError, match=sentence) as raised:
        list(read_outputs(path))
    assert raised.value.place is not None
    assert raised.value.place.file == (f"{path}/{inside}" if inside else str(path))


def test_a_log_cut_off_anywhere_is_one_sentence(archive: Callable[..., Path]) -> None:
    path = archive(HEADER, SAMPLE, member("samples/b_epoch_1.json", sample("b"), ZSTD))
    whole = path.read_bytes()
    for size in range(4, len(whole), 11):
        path.write_bytes(whole[:size])
        with pytest.raises(LoadError):
            list(read_outputs(path))


@pytest.mark.heavy
def test_no_change_of_a_log_ends_in_a_traceback(archive: Callable[..., Path]) -> None:
    path = archive(HEADER, SAMPLE, member("samples/b_epoch_1.json", sample("b"), ZSTD))
    whole, dice, refused = path.read_bytes(), random.Random(0), 0  # noqa: S311  # the same every time
    for _ in range(500):
        changed = bytearray(whole)
        for _ in range(dice.randint(1, 3)):
            changed[dice.randrange(len(changed))] = dice.choice((0, 1, 0x7F, 0xFF, dice.randrange(256)))
        path.write_bytes(changed)
        try:
            found = list(read_outputs(path))
        except EvalstoreError:
            refused += 1
        else:
            assert {entry.id for entry in found} <= {"a", "b"}
    assert refused > 250


def test_a_place_in_an_archive_is_written_like_a_path(archive: Callable[..., Path]) -> None:
    path = archive(HEADER, member(SAMPLE.name, b'{"id": null}'))
    (missing,) = read_outputs(path)
    assert isinstance(missing, MissingOutput)
    assert missing.reason.startswith(f"{Path(SAMPLE.name).name} cannot be read: ")
