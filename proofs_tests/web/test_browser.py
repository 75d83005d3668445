"""The workbench in a browser: real clicks, keys, links, and what it looks like; one browser for all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from urllib.parse import urlencode

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.wait import WebDriverWait

from proofs_tests.web.browsing import PATIENCE, browser_in
from proofs_tests.web.serving import Served, served

pytestmark = pytest.mark.skipif(
    "CI" not in os.environ
    and (shutil.which("chromium") is None or shutil.which("chromedriver") is None),
    reason="chromium and chromedriver are not installed; .ci/run sees to them",
)

DOT = "dot(x: f32[n], y: f32[n]) = reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y)))"


@pytest.fixture(scope="module")
def workbench() -> Generator[Served]:
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Generator[WebDriver]:
    with browser_in() as found:
        yield found


def text(browser: WebDriver, where: str) -> str:
    found = browser.find_elements(By.CSS_SELECTOR, where)
    return found[0].text if found else ""


def wait(browser: WebDriver, where: str, words: str = "") -> str:
    """The text of an element, when it is there and says these words."""
    WebDriverWait(browser, PATIENCE, 0.05).until(
        lambda b: b.find_elements(By.CSS_SELECTOR, where) and words in text(b, where)
    )
    return text(browser, where)


def opened(browser: WebDriver, workbench: Served, fragment: str = "") -> None:
    """The page, loaded anew, with what it offers."""
    browser.get("about:blank")
    browser.get(f"{workbench.address}/{fragment}")
    wait(browser, "#begin option:nth-child(2)")


def test_a_picked_rule_is_proved_tier_by_tier(browser: WebDriver, workbench: Served) -> None:
    opened(browser, workbench)
    browser.find_element(By.ID, "rule").send_keys("split_join", Keys.TAB)
    wait(browser, "#progress", "done")
    assert "split_join: proved" in text(browser, "#section-verdict")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#section-tiers tbody tr")) == 6
    assert "forall" in text(browser, "#section-statement")
    assert "name=split_join" in browser.current_url


def test_a_link_restores_the_picture(browser: WebDriver, workbench: Served) -> None:
    """What is kept of a rule of the ledger is shown again, by the link of the page, as it looked."""
    opened(browser, workbench, "#ask=rule&name=split_join")
    wait(browser, "#progress", "done")
    link = browser.current_url
    before = browser.find_element(By.ID, "section-verdict").screenshot_as_png
    browser.get("about:blank")
    browser.get(link)
    wait(browser, "#progress", "done")
    assert browser.find_element(By.ID, "section-verdict").screenshot_as_png == before
    assert len(set(before)) > 20  # there is something to be seen


def test_a_wrong_rule_is_drawn_with_its_guard_and_run_by_keys(
    browser: WebDriver, workbench: Served
) -> None:
    opened(browser, workbench)
    browser.find_element(By.ID, "source").send_keys(
        "flip(h: Fun[A, B, C], xs: A[n], ys: B[n]):"
        " map(lambda x: map(lambda y: h(x, y), ys), xs) =="
        " map(lambda y: map(lambda x: h(x, y), xs), ys)",
        Keys.CONTROL + Keys.ENTER,
    )
    wait(browser, "#progress", "done")
    assert "holds if n is at most 1" in text(browser, "#section-verdict")
    marked = browser.find_elements(By.CSS_SELECTOR, "#section-verdict td.marked")
    assert {m.text for m in marked} == {"h(x0, y1)", "h(x1, y0)"}


def test_a_program_from_its_link_to_its_roofline(browser: WebDriver, workbench: Served) -> None:
    source = urlencode({"ask": "program", "source": DOT, "sizes": "n=4096", "language": "printed"})
    opened(browser, workbench, f"#{source}")
    wait(browser, "#progress", "done")
    assert browser.find_element(By.ID, "source").get_attribute("value") == DOT
    for name in ("program", "interpreter", "search", "candidates", "derivation", "kernel"):
        assert text(browser, f"#section-{name} div"), name
    assert "n = 4" in text(browser, "#section-interpreter")
    assert browser.find_elements(By.CSS_SELECTOR, "#section-derivation mark")
    assert "bounds proved" in text(browser, "#section-kernel .note.good")
    assert browser.find_elements(By.CSS_SELECTOR, "#section-roofline svg circle")
    assert browser.find_elements(By.CSS_SELECTOR, "#section-egraph svg.graph rect.class")


def test_python_of_a_link_is_not_run_before_it_is_asked_for(
    browser: WebDriver, workbench: Served
) -> None:
    link = urlencode(
        {"ask": "rule", "source": "raise ValueError('<b>x</b>')", "language": "python"}
    )
    opened(browser, workbench, f"#{link}")
    assert "runs when you press Run" in text(browser, "#progress")
    assert "no jail" in text(browser, "#means")
    browser.find_element(By.ID, "run").click()
    assert wait(browser, "#output .failed").endswith("yours.py:1: ValueError: <b>x</b>")


def test_whoever_chooses_python_is_offered_a_beginning(
    browser: WebDriver, workbench: Served
) -> None:
    """Which goes with the choice, and does not replace what is written."""
    opened(browser, workbench)
    languages = {
        o.get_attribute("value"): o
        for o in browser.find_elements(By.CSS_SELECTOR, "#language option")
    }
    source = browser.find_element(By.ID, "source")
    languages["python"].click()
    assert "@rl.rule" in str(source.get_attribute("value"))
    languages["printed"].click()
    assert "==" in str(source.get_attribute("value"))
    source.clear()
    source.send_keys("mine")
    languages["python"].click()
    assert source.get_attribute("value") == "mine"


def test_the_tabs_by_keyboard(browser: WebDriver, workbench: Served) -> None:
    opened(browser, workbench)
    browser.find_element(By.ID, "tab-rule").send_keys(Keys.ARROW_RIGHT)
    selected = browser.switch_to.active_element
    assert selected.get_attribute("id") == "tab-program"
    assert selected.get_attribute("aria-selected") == "true"
    assert not browser.find_element(By.ID, "pick-rule").is_displayed()
    assert browser.find_element(By.ID, "sizes").is_displayed()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_shows_all_without_scrolling_sideways(
    browser: WebDriver, workbench: Served, scheme: str
) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    feature = {"name": "prefers-color-scheme", "value": scheme}
    command = browser.execute_cdp_cmd
    command("Emulation.setDeviceMetricsOverride", size)
    command("Emulation.setEmulatedMedia", {"features": [feature]})
    opened(browser, workbench, "#ask=rule&name=split_join")
    wait(browser, "#progress", "done")
    width = browser.execute_script("return document.documentElement.scrollWidth")
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, paper.removeprefix("rgb(").removesuffix(")").split(","))) / 3
    command("Emulation.clearDeviceMetricsOverride", {})
    command("Emulation.setEmulatedMedia", {"features": []})
    assert width <= 390
    assert (brightness > 128) == (scheme == "light")
