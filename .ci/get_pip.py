"""Put pip into the environment that runs this.

Debian's plain python3 makes environments without it.

The wheel comes from the index that pip asks (PIP_INDEX_URL), and is held against the digest written
here.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

WHEEL = "pip-25.1.1-py3-none-any.whl"
SHA256 = "2913a38a2abf4ea6b64ab507bd9e967f3b53dc1ede74b01b0931e1ce548751af"
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"


def main() -> None:
    """Fetch the wheel of pip, and let it install itself."""
    with urllib.request.urlopen(INDEX) as answer:
        page = answer.read().decode()
    link = re.search(rf'href="([^"]*/{re.escape(WHEEL)})[#"]', page)
    if link is None:
        sys.exit(f"{WHEEL} is not in the package index: install python3-venv, and run make again")
    with urllib.request.urlopen(urllib.parse.urljoin(INDEX, link[1])) as answer:
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != SHA256:
        sys.exit(
            f"{WHEEL} has other content than its release: install python3-venv, and run make again"
        )
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder, WHEEL)
        wheel.write_bytes(content)
        subprocess.run([sys.executable, wheel / "pip", "install", "--quiet", wheel], check=True)


if __name__ == "__main__":
    main()
