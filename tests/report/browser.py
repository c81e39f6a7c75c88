"""A headless Chromium, driven over its DevTools protocol: opens a page, presses keys, measures, and takes pictures."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# name -> (code, virtual key, text): what a keyboard sends.
KEYS = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Space": ("Space", 32, " "),
    "ArrowDown": ("ArrowDown", 40, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "Home": ("Home", 36, ""),
}
_PATIENCE = 60  # seconds: of a machine that is busy with other tests
# What the browser says of a page: these are complaints, and any request but that for the page itself is one.
_COMPLAINTS = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening"}


class Browser:
    """One browser with one tab; `events` are those since the page was opened."""

    def __init__(self, reads: IO[bytes], writes: IO[bytes]) -> None:
        self._in, self._out = reads, writes
        self._number, self._rest, self.events = 0, b"", list[dict[str, Any]]()
        self._session = ""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> Any:
        """Send one command, and return its result; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        message |= {"sessionId": self._session} if self._session else {}
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while (reply := self._receive()).get("id") != self._number:
            self.events.append(reply)
        assert "error" not in reply, (method, reply)
        return reply["result"]

    def open(self, page: Path, width: int = 1400, **media: str) -> None:
        """Open a file at a width; `media` are features: `prefers_color_scheme="dark"`, or `media="print"`."""
        kind = media.pop("media", "")
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        self.send("Emulation.setEmulatedMedia", media=kind, features=features)
        self.resize(width)
        self.events.clear()
        self.send("Page.navigate", url=page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def resize(self, width: int, height: int = 900) -> None:
        """Make the window so large, in pixels of CSS."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression; it runs beside the page's policy, as in the console."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, *names: str) -> None:
        """Press keys one after the other: names of `KEYS`, or single characters."""
        for name in names:
            code, number, text = KEYS.get(name) or (f"Key{name.upper()}", ord(name.upper()), name)
            key = {"Space": " "}.get(name, name)
            event = {"key": key, "code": code, "windowsVirtualKeyCode": number}
            self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **event)
            self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def list_complaints(self) -> list[dict[str, Any]]:
        """Return what the console said, and the requests that leave the page."""
        self.evaluate("0")  # what was said before has arrived then
        said = [event for event in self.events if event.get("method") in _COMPLAINTS]
        asked = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        # A worker's code comes from the page itself.
        return [*said, *(one for one in asked[1:] if not one["params"]["request"]["url"].startswith("blob:"))]

    def take_picture(self, file: Path) -> None:
        """Write a picture of the whole page."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(found["data"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._in], [], [], _PATIENCE)[0], "the browser says nothing"
            block = os.read(self._in.fileno(), 1 << 20)
            assert block, "the browser is gone"
            self._rest += block
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def start_browser(folder: Path) -> Iterator[Browser]:
    """Start Chromium with an empty profile; it talks through two pipes, so no port is open."""
    (theirs, writes), (reads, answers) = os.pipe(), os.pipe()
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--hide-scrollbars",
        "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
        "--remote-debugging-pipe", f"--user-data-dir={folder}",
    ]  # fmt: skip
    # Chromium reads commands from descriptor 3, and answers on 4; other shells know descriptors below ten only.
    script = f'exec "$0" "$@" 3<&{theirs} 4>&{answers}'
    with (folder / "said").open("wb") as said:
        child = subprocess.Popen(
            ["bash", "-c", script, str(CHROMIUM), *options], pass_fds=(theirs, answers), stdout=said, stderr=said
        )
    os.close(theirs)
    os.close(answers)
    try:
        with os.fdopen(reads, "rb") as read, os.fdopen(writes, "wb") as written:
            browser = Browser(read, written)
            yield browser
            browser.send("Browser.close")
    finally:
        child.terminate()
        child.wait(timeout=20)
