"""Chromium without a window, as the tests of the workbench use it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

from selenium import webdriver
from selenium.webdriver.remote.webdriver import WebDriver

PATIENCE = 120
"""Seconds after which something is taken never to come; nothing waits that long where it comes."""


@contextmanager
def browser_in() -> Generator[WebDriver]:
    """A browser with a folder of its own, until the end of the block."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for flag in (
            "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
            "disable-component-update", "disable-sync", "disable-dev-shm-usage", "window-size=1100,900",
            f"user-data-dir={folder}",
        ):  # fmt: skip
            options.add_argument(f"--{flag}")
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        driver.set_page_load_timeout(PATIENCE)
        try:
            yield driver
        finally:
            driver.quit()
