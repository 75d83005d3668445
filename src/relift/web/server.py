"""What is served, and to whom: this machine alone, or whoever has the token; never on behalf of another page."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from anyio import create_task_group, to_thread
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from relift.display.printing import style
from relift.semantics.errors import ReliftError
from relift.web import guard, picks
from relift.web.nursery import Nursery
from relift.web.requests import LONGEST, BadRequest, read

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

COOKIE = "relift_token"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

_TYPES = {
    "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "html": "text/html; charset=utf-8", "svg": "image/svg+xml",
}  # fmt: skip


@dataclass(frozen=True)
class Access:
    """Who may ask: `host` is the address that is served, `token` what is asked for there, empty on the loopback."""

    host: str
    token: str = ""

    @classmethod
    def of(cls, host: str, token: str = "") -> Access:
        """A token is made where it is needed and none is given."""
        needed = host not in LOOPBACK
        return cls(host, token or (secrets.token_urlsafe(24) if needed else ""))

    def refusal(self, request: HttpRequest) -> tuple[int, str] | None:
        """The status and the reason with which a request is refused, None where it is not."""
        name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
        if self.host in LOOPBACK and name not in LOOPBACK:
            return 421, f"this workbench is at {self.host}, not at {name}"
        origin = request.headers.get("origin")
        own = request.headers.get("host", "")
        if origin is not None and urlsplit(origin).netloc != own:
            return 403, "another page asks; requests come from the page of the workbench only"
        if (
            request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
            and request.method != "GET"
        ):
            return 403, "another page asks; requests come from the page of the workbench only"
        if self.token and not self._has_token(request):
            return 401, "a token is needed: open the address that relift serve printed"
        return None

    def _has_token(self, request: HttpRequest) -> bool:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = (request.query_params.get("token", ""), request.cookies.get(COOKIE, ""), bearer)
        return any(secrets.compare_digest(g.encode(), self.token.encode()) for g in given)


class Guarded:
    """The application behind the question who asks, with the headers that every answer has."""

    def __init__(self, app: Any, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        refused = self.access.refusal(HttpRequest(scope))
        answer = self.app if refused is None else _refusal(*refused)
        await answer(scope, receive, with_headers)


def _refusal(status: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, status)


def application(access: Access, *, public: bool = False, nursery: Nursery | None = None) -> Guarded:
    """The workbench; `public`: it takes the printed language only.

    >>> from relift.web.server import Access, application
    >>> application(Access.of("127.0.0.1")).access.token
    ''
    """
    work = nursery or Nursery()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with create_task_group() as tasks:
            tasks.start_soon(to_thread.run_sync, work.warm)  # the page is served meanwhile
            yield
            work.close()

    async def ask(request: HttpRequest) -> Response:
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > LONGEST:
                return _refusal(413, f"a request has at most {LONGEST} bytes")
        try:
            asked = read(data, public=public)
        except BadRequest as error:
            return _refusal(400, error.message)

        async def events() -> AsyncGenerator[str]:
            answers = work.answers(asked)
            try:
                async for event in answers:
                    yield f"data: {json.dumps(event)}\n\n"
            finally:
                await answers.aclose()

        return StreamingResponse(events(), media_type="text/event-stream")

    async def page(request: HttpRequest) -> Response:
        if access.token and "token" in request.query_params:
            answer = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, access.token, httponly=True, samesite="strict")
            return answer
        return _static("index.html")

    async def static(request: HttpRequest) -> Response:
        return _static(request.path_params["name"])

    async def begin(request: HttpRequest) -> Response:
        return JSONResponse(await to_thread.run_sync(_beginnings, public))

    routes = [
        Route("/", page),
        Route("/static/{name}", static),
        Route("/begin", begin),
        Route("/ask", ask, methods=["POST"]),
    ]
    return Guarded(Starlette(routes=routes, lifespan=lifespan), access)


def _static(name: str) -> Response:
    kind = name.rpartition(".")[2]
    if name == "display.css":
        return Response(style(), media_type=_TYPES["css"])
    file = files("relift.web").joinpath("static", name)
    if kind not in _TYPES or not file.is_file():
        return _refusal(404, "there is no such file")
    return Response(file.read_bytes(), media_type=_TYPES[kind])


def _beginnings(public: bool) -> dict[str, Any]:
    """What the page offers: the rules of the ledger, programs, and what the limits are."""
    from relift.rewrites.ledger.book import known_rules

    return {
        "public": public,
        "rules": list(known_rules()),
        "programs": {n: {"source": p.source, "sizes": p.sizes} for n, p in picks.PROGRAMS.items()},
        "printed": picks.RULE_AS_PRINTED,
        "python": {"rule": picks.RULE_IN_PYTHON, "program": picks.PROGRAM_IN_PYTHON},
        "limits": {
            "seconds": guard.SECONDS,
            "waiting": guard.WAITING,
            "gigabytes": guard.MEMORY >> 30,
        },
    }


class CannotServe(ReliftError):
    """The workbench cannot be served at this address."""


def serve(host: str, port: int, *, public: bool, token: str, say: Callable[[str], None]) -> None:
    """Serve until interrupted; `say` is told the address."""
    import socket

    import uvicorn

    access = Access.of(host, token)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise CannotServe(
            f"cannot serve at {host}:{port}: {error.strerror}; give another --port or --host",
            place="",
        ) from None
    shown = f"[{host}]" if ":" in host else host
    query = f"/?token={access.token}" if access.token else "/"
    say(f"http://{shown}:{listening.getsockname()[1]}{query}")
    config = uvicorn.Config(
        application(access, public=public), log_level="warning", timeout_graceful_shutdown=2,
        lifespan="on", server_header=False,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])
