"""A remote on another machine, as far as git can tell: ssh is a line to this process, which may be cut.

What serves the remote is not a child of the bump: who kills the one does not reach the other, as with a real machine.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

# What stands for ssh: it joins its two ends to the line, and says which program is asked for.
_SSH = """\
#!{python}
import os, socket, sys, threading
line = socket.socket(socket.AF_UNIX)
line.connect({path!r})
line.sendall(sys.argv[-1].encode() + b"\\n")
def up():
    while piece := os.read(0, 65536):
        line.sendall(piece)
    line.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while piece := line.recv(65536):
    os.write(1, piece)
"""


@dataclass(slots=True)
class Line:
    """`ssh` is what GIT_SSH_COMMAND names; after `budget` bytes from this end (None: never) the line is cut."""

    ssh: Path
    budget: int | None = None
    carried: int = 0
    _server: socket.socket = field(default_factory=lambda: socket.socket(socket.AF_UNIX))

    def serve(self, path: Path) -> None:
        self._server.bind(str(path))
        self._server.listen()
        while True:
            with suppress(OSError):
                connection, _ = self._server.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
                continue
            return

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _answer(self, connection: socket.socket) -> None:
        asked = b""
        while not asked.endswith(b"\n"):
            asked += connection.recv(1)
        program, folder = shlex.split(asked.decode())
        assert program in {"git-receive-pack", "git-upload-pack"}
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        far = subprocess.Popen(
            ["git", program.removeprefix("git-"), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        )
        assert far.stdin
        assert far.stdout
        down = threading.Thread(target=self._down, args=(far.stdout.fileno(), connection), daemon=True)
        down.start()
        self.carried = 0
        with suppress(OSError):
            while piece := connection.recv(65536 if self.budget is None else max(1, self.budget - self.carried)):
                far.stdin.write(piece)
                far.stdin.flush()
                self.carried += len(piece)
                if self.budget is not None and self.carried >= self.budget:
                    break
        with suppress(OSError):
            far.stdin.close()
        if self.budget is not None and self.carried >= self.budget:
            connection.close()
        far.wait()
        down.join()
        far.stdout.close()
        connection.close()

    @staticmethod
    def _down(source: int, connection: socket.socket) -> None:
        with suppress(OSError):
            while piece := os.read(source, 65536):
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)


@contextmanager
def serving(folder: Path) -> Iterator[Line]:
    """Serve repositories of this machine over a line that begins in `folder`, which must be short."""
    path = folder / "line"
    ssh = folder / "ssh"
    ssh.write_text(_SSH.format(python=sys.executable, path=str(path)))
    ssh.chmod(0o755)
    line = Line(ssh)
    threading.Thread(target=line.serve, args=(path,), daemon=True).start()
    yield line
    line.close()
