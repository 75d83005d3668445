"""A process for each request: forked from one that has everything imported, and ended with the client that asked."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import select
import signal
import tempfile
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from multiprocessing.connection import Connection
from tempfile import TemporaryDirectory
from typing import Any, Literal

from relift.display.blocks import Block
from relift.display.printing import html
from relift.semantics.errors import ReliftError, in_a_line, users_line
from relift.web import guard
from relift.web.requests import CheckRule, Request

LARGEST = 4 << 20
"""Bytes of one section; one that is larger is left out, and that is said."""

KEPT = 64
"""So many rules are answered again by what was said before; those in Python are not kept."""

HEARTBEAT = 5.0
"""Seconds after which a client that waits is told how many are before it."""

Event = dict[str, Any]


class Nursery:
    """Processes for requests, as many at once as there are cores; other requests wait in order."""

    def __init__(self, at_once: int = 0, waiting: float = guard.WAITING) -> None:
        self.at_once = at_once or max(2, os.cpu_count() or 2)
        self.waiting = waiting
        self.running: set[int] = set()
        self._waiting: list[asyncio.Future[Literal[True]]] = []
        self._turn = asyncio.Semaphore(self.at_once)
        self.kept: OrderedDict[Request, list[Event]] = OrderedDict()
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["relift.web.warm"])

    def warm(self) -> None:
        """Have the first process imported what the others need; it takes a second or two."""
        started = self._context.Process(target=_nothing)
        started.start()
        started.join()

    async def answers(self, request: Request) -> AsyncGenerator[Event]:
        """What is said on a request, as it is said; whoever stops listening ends the work."""
        turn = asyncio.ensure_future(self._turn.acquire())
        self._waiting.append(turn)
        try:
            while not turn.done() and request not in self.kept:
                before = self._waiting.index(turn)
                yield {"kind": "progress", "text": f"waiting, with {before} before"}
                await asyncio.wait({turn}, timeout=HEARTBEAT)
            self._waiting.remove(turn)
            work = self._again(request) if request in self.kept else self._heard(request)
            try:
                async for event in work:
                    yield event
            finally:
                await work.aclose()
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)
            if turn.done() and not turn.cancelled():
                self._turn.release()
            turn.cancel()

    async def _again(self, request: Request) -> AsyncGenerator[Event]:
        """What was said before."""
        self.kept.move_to_end(request)
        for event in self.kept[request]:
            yield event

    async def _heard(self, request: Request) -> AsyncGenerator[Event]:
        """What is said now; kept where it is said of a rule, and no Python of a user's was run."""
        said: list[Event] = []
        with TemporaryDirectory(prefix="relift-", ignore_cleanup_errors=True) as folder:
            async with aclosing(self._work(request, folder)) as work:
                async for event in work:
                    said.append(event)
                    yield event
        is_done = bool(said) and said[-1]["kind"] == "done"
        if is_done and isinstance(request, CheckRule) and request.language == "printed":
            self.kept[request] = [e for e in said if e["kind"] != "progress"]
            if len(self.kept) > KEPT:
                self.kept.popitem(last=False)

    async def _work(self, request: Request, folder: str) -> AsyncGenerator[Event]:
        """The process of a request, all of whose temporary files are in a folder that does not depend on its end."""
        reader, writer = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_child, args=(request, writer, folder))
        await asyncio.to_thread(process.start)  # the first waits for the imports
        writer.close()
        pid = process.pid or 0
        self.running.add(pid)
        stream = asyncio.StreamReader(limit=2 * LARGEST)
        loop = asyncio.get_running_loop()
        file = os.fdopen(os.dup(reader.fileno()), "rb", buffering=0)
        reader.close()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), file
        )
        last: Event = {}
        end = loop.time() + self.waiting
        try:
            while line := await asyncio.wait_for(stream.readline(), end - loop.time()):
                last = json.loads(line)
                yield last
                if last["kind"] in ("done", "error"):
                    return
            yield {"kind": "error", "text": _ended(process)}
        except TimeoutError:
            yield {"kind": "error", "text": f"stopped: it had not ended after {self.waiting:g} s"}
        finally:
            transport.close()
            _end(pid)
            self.running.discard(pid)

    def close(self) -> None:
        """End all that runs."""
        for pid in list(self.running):
            _end(pid)


def _ended(process: Any) -> str:
    process.join(5)
    status = process.exitcode
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"stopped: it used {guard.SECONDS} s of processor time, or more memory than there is"
    return f"stopped: its process ended with status {status}"


def _end(pid: int) -> None:
    """End a process and all that it started."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _nothing() -> None:
    """What the first process does, for which the others' imports are made."""


def _child(request: Request, writer: Connection, folder: str) -> None:
    """The part of the process: limits, work, and one line of JSON for each thing that is said."""
    os.setsid()
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    to = writer.fileno()
    threading.Thread(target=_end_with_listener, args=(to,), daemon=True).start()

    def say(event: Event) -> None:
        line = json.dumps(event).encode() + b"\n"
        while line:
            line = line[os.write(to, line) :]

    def show(section: str, blocks: Sequence[Block]) -> None:
        text = html(blocks)
        if len(text) > LARGEST // 2:
            text = "<p>too large to be shown</p>"
        say({"kind": "section", "name": section, "html": _without_folders(text)})

    from relift.web.work import work

    try:
        guard.limit()
        if request.language == "python":
            guard.cut_off()
            guard.enclose(folder)
        work(request, show, lambda text: say({"kind": "progress", "text": text}))
        say({"kind": "done"})
    except ReliftError as error:
        say({"kind": "error", "text": _without_folders(str(error))})
    except MemoryError:
        say({"kind": "error", "text": f"stopped: it took more than {guard.MEMORY >> 30} GiB"})
    except RecursionError:
        say({"kind": "error", "text": "stopped: it is nested too deeply"})
    except BrokenPipeError:
        pass
    except Exception as error:  # noqa: BLE001  whatever happens, the client is told
        told = in_a_line(error)[:300]
        if (place := users_line(error)) is not None:
            say({"kind": "error", "text": _without_folders(f"{place}: {told}")})
        else:
            say({"kind": "error", "text": f"internal error: {told} (a defect of Relift)"})
    finally:
        os._exit(0)


def _end_with_listener(pipe: int) -> None:
    """End with whoever listens, also where the server was killed and ends nothing itself."""
    listening = select.poll()
    listening.register(pipe, 0)  # what is always told: nobody reads any more
    listening.poll()
    os.killpg(0, signal.SIGKILL)


def _without_folders(text: str) -> str:
    """The user's file by its name alone: where it lay is no concern of the client's."""
    return re.sub(r"(/[\w.+-]+)+/yours\.py", "yours.py", text)
