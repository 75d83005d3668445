"""Who is answered, what user code may do, and that what nobody waits for ends."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proofs_tests.web.serving import PATIENCE, Served, served
from relift.web import guard, picks


@pytest.fixture(scope="module")
def workbench() -> Generator[Served]:
    with served() as found:
        yield found


def last(workbench: Served, source: str, ask: str = "rule") -> str:
    """The last thing that is said on Python of a user's."""
    *_, end = workbench.events(ask=ask, source=source, language="python")
    return str(end.get("text", end["kind"]))


def test_the_page_needs_nothing_from_elsewhere(workbench: Served) -> None:
    answer = workbench.answer("GET", "/")
    page = answer.read().decode()
    assert answer.status == 200
    assert "default-src 'none'" in (answer.getheader("content-security-policy") or "")
    assert "//" not in page.replace("<!doctype html>", "")
    for name in ("workbench.js", "workbench.css", "display.css"):
        assert workbench.answer("GET", f"/static/{name}").status == 200


@pytest.mark.parametrize("name", ["..%2Fserver.py", "server.py", "nothing.js"])
def test_only_the_files_of_the_page_are_served(workbench: Served, name: str) -> None:
    assert workbench.answer("GET", f"/static/{name}").status == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "elsewhere.example"}, 421),
    ],
)
def test_other_origins_are_refused(workbench: Served, headers: dict[str, str], status: int) -> None:
    named = {name.replace("-", "_"): value for name, value in headers.items()}
    answer = workbench.answer("POST", "/ask", '{"ask": "rule", "name": "split_join"}', **named)
    assert answer.status == status
    assert json.loads(answer.read())["error"]


def test_beyond_the_loopback_a_token_is_asked_for() -> None:
    with served(host="0.0.0.0", token="a token") as workbench:
        assert workbench.answer("GET", "/").status == 401
        assert workbench.answer("GET", "/begin", Authorization="Bearer another").status == 401
        assert workbench.answer("GET", "/begin", Authorization="Bearer a token").status == 200
        first = workbench.answer("GET", "/?token=a%20token")
        cookie = first.getheader("set-cookie") or ""
        assert first.status == 303
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert workbench.answer("GET", "/", Cookie=cookie.split(";")[0]).status == 200


def test_a_public_workbench_takes_no_python() -> None:
    with served(public=True) as workbench:
        body = json.dumps({"ask": "rule", "source": "1", "language": "python"})
        answer = workbench.answer("POST", "/ask", body)
        assert answer.status == 400
        assert "never Python" in json.loads(answer.read())["error"]
        assert json.loads(workbench.answer("GET", "/begin").read())["public"]


@pytest.mark.parametrize(
    "body", ["", "{", "[]", '{"ask": "x"}', '{"ask": "program"}', '{"ask": "rule", "x": 1}']
)
def test_what_is_no_request_is_refused(workbench: Served, body: str) -> None:
    assert workbench.answer("POST", "/ask", body).status == 400


def test_a_request_has_a_longest_length(workbench: Served) -> None:
    assert workbench.answer("POST", "/ask", "x" * 300_000).status == 413


@pytest.mark.parametrize(
    "source",
    [
        "open('/etc/hostname')",
        "open('new', 'w')",
        "import os; os.listdir('/')",
        "import os; os.remove('yours.py')",
        "import os; os.fork()",
        "import subprocess; subprocess.run(['true'])",
        "import os, threading; threading.Thread(target=os.getpid).start()",
        "import socket; socket.create_connection(('127.0.0.1', 1))",
        "import ctypes; ctypes.CDLL(None)",
        "exec(\"open('/etc/hostname')\")",
        "import os, functools; print(list(map(functools.partial(os.listdir), ['/'])))",
    ],
)
def test_python_of_a_user_reaches_nothing(workbench: Served, source: str) -> None:
    assert "the workbench refuses" in last(workbench, source)


def test_python_of_a_user_takes_no_more_memory_than_it_may(workbench: Served) -> None:
    assert "MemoryError" in last(workbench, "x = [0] * 10**10")
    assert last(workbench, picks.PROGRAM_IN_PYTHON.replace("rl.add", "rl.mul"), "program") == "done"


def test_python_that_loops_is_stopped(workbench: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench.nursery, "waiting", 0.3)
    said = last(workbench, "while True: pass")
    assert said == "stopped: it had not ended after 0.3 s"


def test_names_are_escaped(workbench: Served) -> None:
    source = picks.RULE_IN_PYTHON.replace(
        "Map interchange", "<script>alert(1)</script> interchange"
    )
    events = workbench.events(ask="rule", source=source, language="python")
    rule = next(e for e in events if e.get("name") == "rule")
    assert "&lt;script&gt;" in rule["html"]
    assert "<script>" not in rule["html"]


DEAF = """
import time
while True:
    try:
        time.sleep(1000)
    except BaseException:
        pass
"""
"""Takes no processor time, and hears no alarm."""


def test_a_client_that_disappears_frees_its_work(
    workbench: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends, and what it wrote is gone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    body = json.dumps({"ask": "rule", "source": DEAF, "language": "python"})
    answer = workbench.answer("POST", "/ask", body)
    wait_for(lambda: bool(workbench.nursery.running) and any(tmp_path.rglob("yours.py")))
    [child] = workbench.nursery.running
    answer.close()
    wait_for(lambda: not workbench.nursery.running and not alive(child))
    wait_for(lambda: not any(tmp_path.iterdir()))


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


def test_fifty_clients_at_once_are_all_answered(workbench: Served) -> None:
    def one(number: int) -> str:
        source = (
            f"twice(x: A[n]): map(lambda v: v, x) == map(lambda v: v, map(lambda v: w, x{number}))"
        )
        *_, end = workbench.events(ask="rule", source=source)
        return str(end.get("text", end["kind"]))

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(one, range(50)))
    assert all("means nothing" in said for said in answers)
    assert not workbench.nursery.running


def test_a_rule_is_kept_and_a_waiting_client_hears_of_it(workbench: Served) -> None:
    """Of clients that ask the same, those that wait are answered by what the first one hears."""
    again = "again(xs: A[k * m]): join(split(m, xs)) == xs"

    def one(number: int) -> list[str]:
        events = workbench.events(ask="rule", source=again)
        return [e["html"] for e in events if e.get("name") == "rule"]

    with ThreadPoolExecutor(6) as pool:
        first, *others = pool.map(one, range(6))
    assert first
    assert all(other == first for other in others)
    asked = [request for request in workbench.nursery.kept if again in str(request)]
    assert len(asked) == 1


def test_the_limits_are_those_of_the_page(workbench: Served) -> None:
    limits = json.loads(workbench.answer("GET", "/begin").read())["limits"]
    assert limits["seconds"] == guard.SECONDS
    assert os.cpu_count()
