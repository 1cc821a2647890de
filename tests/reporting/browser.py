"""A real headless Chromium, driven over the WebDriver protocol with the standard library alone."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def missing() -> str:
    """Why there is no browser to test with; empty when there is one."""
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(absent)} not installed" if absent else ""


class Browser:
    """One browser window."""

    def __init__(self, port: int, profile: Path) -> None:
        self._base = f"http://127.0.0.1:{port}"
        options = {
            "binary": shutil.which("chromium"),
            "args": [*FLAGS, f"--user-data-dir={profile}"],
        }
        capabilities = {
            "alwaysMatch": {
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL"},
                "unhandledPromptBehavior": "ignore",
            }
        }
        session = self._send("POST", "/session", {"capabilities": capabilities})
        self._base += f"/session/{session['sessionId']}"

    def open(
        self,
        page: Path,
        fragment: str = "",
        *,
        width: int = 1280,
        dark: bool = False,
        ready: str = "document.documentElement.dataset.ready",
    ) -> None:
        """Load a file afresh at `width` CSS pixels and wait until the page is `ready`."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._devtools("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._devtools("Emulation.setEmulatedMedia", {"features": [scheme]})
        self._send("POST", "/url", {"url": "about:blank"})
        self._send("POST", "/url", {"url": page.as_uri() + fragment})
        self.wait(ready)

    def run(self, script: str) -> Any:
        """The value of a script's `return`."""
        return self._send("POST", "/execute/sync", {"script": script, "args": []})

    def wait(self, condition: str) -> None:
        """Return once a JavaScript expression is true; the browser's own time-out raises."""
        self._send(
            "POST",
            "/execute/async",
            {
                "script": "const done = arguments[0];"
                f"const look = () => ({condition}) ? done() : requestAnimationFrame(look); look();",
                "args": [],
            },
        )

    def press(self, keys: str) -> None:
        """Type `keys` into whatever has the focus."""
        strokes = [{"type": kind, "value": k} for k in keys for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keyboard", "actions": strokes}]
        self._send("POST", "/actions", {"actions": actions})

    def log(self) -> list[str]:
        """What the console said since it was last asked, refused scripts included."""
        entries = self._send("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries]

    def alert(self) -> str:
        """The text of an open dialogue, empty when there is none."""
        try:
            return str(self._send("GET", "/alert/text"))
        except urllib.error.HTTPError:
            return ""

    def picture(self) -> bytes:
        """The whole page as PNG."""
        shot = self._devtools("Page.captureScreenshot", {"captureBeyondViewport": True})
        return base64.b64decode(shot["data"])

    def close(self) -> None:
        self._send("DELETE", "")

    def _devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _send(self, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            self._base + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method=verb,
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own, gone with its driver at the end."""
    driver = subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        browser = Browser(_port(driver), profile)
        try:
            yield browser
        finally:
            browser.close()
    finally:
        driver.terminate()
        driver.communicate()


def _port(driver: subprocess.Popen[str]) -> int:
    """The port the driver chose, as it says itself."""
    assert driver.stdout is not None
    for line in driver.stdout:
        if "on port" in line and "successfully" in line:
            return int(line.rstrip().rstrip(".").rsplit(" ", 1)[1])
    raise RuntimeError("chromedriver ended before it listened")
