"""How fast the workbench answers: `python -m proofs_tests.workbench_times`, on a machine with nothing else to do.

First paint in a browser; for rules of several kinds the seconds to the verdicts of tiers 1 to 3 and of all, and to the
end; and for fifty clients at once how long the last one waits, while the page is asked for beside them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from selenium.webdriver.support.wait import WebDriverWait

from proofs_tests.web.browsing import PATIENCE, browser_in
from proofs_tests.web.serving import Served, served
from relift.web import picks

RULES = (
    "map_fusion",
    "split_join",
    "partial_reduce_chunks",
    "slide_tiling",
    "transpose_transpose",
    "zip_swap",
)
FLIP = (
    "flip(h: Fun[A, B, C], xs: A[n], ys: B[n]): map(lambda x: map(lambda y: h(x, y), ys), xs) =="
    " map(lambda y: map(lambda x: h(x, y), xs), ys)"
)
CLIENTS = 50


def tiers(workbench: Served, **request: str) -> tuple[float, float, float]:
    """Seconds until tier 3, until the last tier, and until all is said."""
    started, seen = time.monotonic(), list[float]()
    for event in workbench.events(ask="rule", **request):
        if event["kind"] == "error":
            raise SystemExit(event["text"])
        if event.get("name") == "tiers":
            seen.append(time.monotonic() - started)
    return seen[min(2, len(seen) - 1)], seen[-1], time.monotonic() - started


def paints(address: str) -> Iterator[float]:
    """Seconds to the first paint of the page, of a browser that is there already."""
    with browser_in() as browser:
        for _ in range(5):
            browser.get("about:blank")
            browser.get(address)
            WebDriverWait(browser, PATIENCE, 0.01).until(
                lambda b: b.execute_script("return performance.getEntriesByType('paint').length")
            )
            found = browser.execute_script(
                "return performance.getEntriesByType('paint')[0].startTime"
            )
            yield float(found) / 1000


def main() -> None:
    """Print all of it."""
    started = time.monotonic()
    with served() as workbench:
        workbench.nursery.warm()
        print(
            f"ready {time.monotonic() - started:.1f} s after its start; a request before waits for that"
        )
        print(f"first paint: {statistics.median(paints(workbench.address)):.2f} s")
        print("rule                     tiers 1-3     all tiers     with guards, in s")
        asked = [(name, {"name": name}) for name in RULES] + [
            ("flip, which is wrong", {"source": FLIP})
        ]
        for name, request in asked:
            print(f"{name:24}" + "".join(f"{s:10.2f}    " for s in tiers(workbench, **request)))
        texts = [picks.RULE_AS_PRINTED.replace("split_sum", f"sum_{n}") for n in range(CLIENTS)]
        with ThreadPoolExecutor(CLIENTS) as pool:
            started = time.monotonic()
            waiting = [pool.submit(tiers, workbench, source=text) for text in texts]
            pages = list[float]()
            while not all(w.done() for w in waiting):
                before = time.monotonic()
                assert workbench.answer("GET", "/").status == 200
                pages.append(time.monotonic() - before)
            ends = [w.result()[2] for w in waiting]
        took = time.monotonic() - started
        print(
            f"{CLIENTS} clients at once: all answered in {took:.1f} s, the first after {min(ends):.1f} s,"
        )
        print(f"the page meanwhile in {max(pages):.2f} s at most, {len(pages)} times")


if __name__ == "__main__":
    main()
