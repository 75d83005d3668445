"""A workbench that is served for tests, at a free port of this machine."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from relift.web.nursery import Nursery
from relift.web.server import Access, application

PATIENCE = 120
"""Seconds after which a test gives up on an answer."""


@dataclass(frozen=True)
class Served:
    """Where it is served, and the processes that it has."""

    port: int
    nursery: Nursery

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(
        self, method: str, path: str, body: str = "", **headers: str
    ) -> http.client.HTTPResponse:
        """What is answered; the body is still to be read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body or None, named)
        return connection.getresponse()

    def events(self, **request: str) -> Iterator[dict[str, Any]]:
        """What is said on a request, as it is said."""
        answer = self.answer("POST", "/ask", json.dumps(request))
        assert answer.status == 200, answer.read()
        for line in answer:
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))


@contextmanager
def served(*, public: bool = False, token: str = "", host: str = "127.0.0.1") -> Generator[Served]:
    """A workbench, until the end of the block."""
    nursery = Nursery()
    app = application(Access(host, token), public=public, nursery=nursery)
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield Served(listening.getsockname()[1], nursery)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()
