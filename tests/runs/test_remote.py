"""Outputs and runs behind a URL that the user typed: read as local ones, shown by their URL, and none but those."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from evalstore.errors import EvalstoreError, LoadError, UsageError
from evalstore.runs import GradedRow, Run, read_outputs, read_rows
from evalstore.runs.remote import UrlBudget, locate_file
from tests.runs.conftest import find_unread

fsspec = pytest.importorskip("fsspec", reason="URLs need fsspec")


@pytest.fixture
def memory() -> Iterator[Any]:
    """Return the memory file system, empty before and after."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


@pytest.fixture
def uploaded(memory: Any, written: Callable[..., Run]) -> Callable[[Run], str]:
    """Upload the files of a run; return the URL of its aggregate."""

    def upload(run: Run) -> str:
        done = written(run)
        for path in (done.path, done.samples):
            memory.pipe(f"/bucket/runs/{path.name}", path.read_bytes())
        return f"memory://bucket/runs/{done.path.name}"

    return upload


def test_a_run_behind_a_url_is_read_as_a_local_one(
    uploaded: Callable[[Run], str], run: Run, rows: tuple[GradedRow, ...]
) -> None:
    url = uploaded(run)
    found = Run.read(url)
    assert (str(found.path), str(found.samples)) == (url, url.replace(".json", "_samples.jsonl"))
    assert tuple(read_rows(found)) == rows
    assert replace(found, path=Path(), samples=Path()) == run
    assert Run.read(str(found.samples)).id == run.id


def test_outputs_behind_a_url_are_named_by_it(memory: Any) -> None:
    memory.pipe("/b/model_a.jsonl", b'{"id": "a", "output": "x"}\n{"id": "b"}\n')
    path = locate_file("memory://b/model_a.jsonl")
    assert (path.stem, path.suffix, Path("below") / path) == ("model_a", ".jsonl", path)
    assert "no `output`" in find_unread(path).reason


def test_no_address_in_a_file_is_opened(memory: Any, uploaded: Callable[[Run], str], run: Run) -> None:
    url = uploaded(run)
    name = url.removeprefix("memory://bucket")
    for other in ("memory://other/x_samples.jsonl", "../x_samples.jsonl", "/etc/x.jsonl"):
        record = json.loads(memory.cat(f"/bucket{name}"))
        record["eval_library"]["additional_details"]["evalstore_samples"] = other
        memory.pipe("/bucket/runs/odd.json", json.dumps(record).encode())
        with pytest.raises(LoadError):
            Run.read("memory://bucket/runs/odd.json")
    # What another tool wrote names a file somewhere; only its last part, beside the aggregate, counts.
    del record["eval_library"]["additional_details"]["evalstore_samples"]
    memory.pipe("/other/rows.jsonl", b"{}")
    memory.pipe(
        "/bucket/runs/foreign.json",
        json.dumps({**record, "detailed_evaluation_results": {"file_path": "memory://other/rows.jsonl"}}).encode(),
    )
    found = Run.read("memory://bucket/runs/foreign.json")
    assert str(found.samples) == "memory://bucket/runs/foreign_samples.jsonl"
    with pytest.raises(LoadError, match=r"foreign\.json: the rows of this run are not next to it") as raised:
        list(read_rows(found))
    assert raised.value.hint == "put foreign_samples.jsonl there"


@pytest.mark.parametrize(
    ("url", "error", "sentence"),
    [
        ("memory://b/nothing.jsonl", LoadError, r"^memory://b/nothing\.jsonl: cannot be read: no such file"),
        (
            "http://127.0.0.1:1/x.jsonl",
            LoadError,
            r"^http://127\.0\.0\.1:1/x\.jsonl: cannot be read: [Cc]onnection refused$",
        ),
        ("memory://b/", UsageError, "is not a supported URL"),
        ("reference://x.json", UsageError, "is not a supported URL"),
        ("file:///etc/passwd", UsageError, "is not a supported URL"),
        ("memory://a.zip::zip://b.jsonl", UsageError, "is not a supported URL"),
        ("gcs://bucket/x.jsonl", LoadError, r"^gcs://bucket/x\.jsonl: cannot be read: .*[Ii]nstall"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(
    url: str, error: type[EvalstoreError], sentence: str, memory: Any
) -> None:
    with pytest.raises(error, match=sentence) as raised:
        next(read_outputs(locate_file(url)))
    assert "\n" not in str(raised.value)


def test_commands_take_urls(uploaded: Callable[[Run], str], run: Run, cli: Callable[..., Any], tmp_path: Path) -> None:
    url = uploaded(run)
    shown = cli("show", url, "--format", "json", cwd=tmp_path)
    assert shown.code == 0
    assert url in shown.out
    assert "no such file" in cli("show", "memory://bucket/none.json", cwd=tmp_path).err


@pytest.fixture
def stranger() -> Iterator[str]:
    """Return the address of a server whose files never end, never come, or are elsewhere."""
    is_over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            leads = {"/elsewhere.json": "http://u:pass@localhost:1/other.json?sig=s", "/heavy.json": "/empty.json"}
            self.send_response(302 if self.path in leads else 200)
            if self.path in leads:
                self.send_header("Location", leads[self.path])
            self.end_headers()
            try:
                while self.path in {"/endless.json", "/heavy.json"} and not is_over.is_set():
                    self.wfile.write(b" " * 10_000)
            except OSError:
                return
            if self.path == "/begun.json":
                self.wfile.write(b'{"id": "a", ')
            if self.path in {"/silent.json", "/begun.json"}:
                is_over.wait(20)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        is_over.set()
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "limits", "sentence"),
    [
        ("endless", {"EVALSTORE_URL_BYTES": "100000"}, "is larger than 100,000 bytes"),
        ("silent", {"EVALSTORE_URL_SECONDS": "1"}, "takes longer than 1 seconds"),
        ("elsewhere", {}, "redirects to another host: http://***@localhost:1\n"),
    ],
)
def test_what_a_stranger_sends_is_bounded(
    name: str, limits: dict[str, str], sentence: str, stranger: str, cli: Callable[..., Any], tmp_path: Path
) -> None:
    done = cli("show", f"{stranger}/{name}.json", cwd=tmp_path, **limits)
    assert done.code == 3
    assert f"error: {stranger}/{name}.json: {sentence}" in done.err
    assert all(f"hint: copy the file yourself and name the copy, or allow more: {one}" in done.err for one in limits)


def test_a_server_that_falls_silent_is_not_waited_for(stranger: str) -> None:
    for name in ("silent.json", "begun.json"):
        path = locate_file(f"{stranger}/{name}", UrlBudget(silence=0.3))
        with pytest.raises(LoadError, match=f"{name}: sends nothing for 0.3 seconds"):
            list(read_outputs(path))


def test_a_limit_that_is_not_a_number_is_a_wrong_command_line(cli: Callable[..., Any], tmp_path: Path) -> None:
    done = cli("show", "http://127.0.0.1:1/a.json", cwd=tmp_path, EVALSTORE_URL_BYTES="4G")
    assert done.code == 2
    assert "EVALSTORE_URL_BYTES is 4G, and not a whole number from 1" in done.err


def test_the_body_of_a_redirect_is_not_read(stranger: str) -> None:
    budget = UrlBudget(size=1_000, seconds=20)
    assert locate_file(f"{stranger}/heavy.json", budget).read_bytes() == b""


@pytest.fixture
def guarded() -> Iterator[str]:
    """Return the address of a server that answers those alone who have the password and the signature."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = self.headers["Authorization"] == "Basic Ym9iOnA0c3N3MHJk" and "sig=s1gned" in self.path
            status = {"/absent": 404, "/broken": 500}.get(self.path.partition(".")[0], 200 if is_known else 403)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b'{"id": "a", "output": "30 days"}\n' if status == 200 else b"")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"bob:p4ssw0rd@127.0.0.1:{server.server_port}"
        server.shutdown()


SECRETS = ("bob", "p4ss", "w0rd", "s1gne")
DATASET = 'id: d\nversion: "1.0.0"\nquestions: [{id: a, input: hi, rubric_ref: rubric/r@worktree}]\n'
RUBRIC = 'id: r\nversion: "1.0.0"\nchecks: [{kind: must_contain_any, values: [day]}]\nscoring: {combine: all_pass}\n'


@pytest.mark.parametrize("format_", ["text", "json"])
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://{guarded}/model_a.jsonl?sig=s1gned&n=a/b#s1gned", 0),
        ("http://{guarded}/absent.jsonl?sig=s1gned", 3),
        ("http://{guarded}/broken.jsonl?sig=s1gned", 3),
        ("http://{guarded}/other.jsonl?sig=s1gne", 3),
        ("http://bob:p4ssw0rd@127.0.0.1:1/a.jsonl?sig=s1gned", 3),
        ("http://bob:p4ssw0rd@127.0.0.1:x/a.jsonl?sig=s1gned", 3),
        ("http://bob:p4ss/w0rd@127.0.0.1:1/a.jsonl?sig=s1gned", 3),
        ("http://bob:p4ssw0rd@127.0.0.1:1/a b.jsonl?sig=s1gned", 3),
        ("ftp://bob:p4ssw0rd@127.0.0.1:1/a.jsonl?sig=s1gned", 2),
        ("http://bob:p4ssw0rd@127.0.0.1:1/folder/?sig=s1gned", 2),
    ],
)
def test_what_is_secret_in_a_url_is_neither_shown_nor_kept(
    url: str, code: int, format_: str, guarded: str, cli: Callable[..., Any], tmp_path: Path
) -> None:
    for name, text in (("datasets/d.yaml", DATASET), ("rubrics/r.yaml", RUBRIC), ("evalstore.yaml", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    cli("init", cwd=tmp_path)
    url = url.format(guarded=guarded)
    done = cli("score", "dataset/d@worktree", url, "--worktree", "--out", "runs", "--format", format_, cwd=tmp_path)
    assert done.code == code, done.err
    shown = cli("show", url, "--format", format_, cwd=tmp_path)
    asked = cli("resolve", url.replace(" ", ""), "--format", format_, cwd=tmp_path)
    said = f"{done.out}{done.err}{shown.out}{shown.err}{asked.out}{asked.err}"
    kept = "".join(f"{path}{path.read_text()}" for path in tmp_path.glob("runs/*"))
    assert [secret for secret in SECRETS if secret in said or secret in kept] == []
    if code == 0:
        assert "model_a" in kept
