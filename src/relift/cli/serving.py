"""The verb that serves the workbench."""

from __future__ import annotations

from typing import Annotated

import typer

from relift.cli.options import Refusal


def serve(
    port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 8321,
    host: Annotated[
        str, typer.Option(help="The address; beyond this machine a token is asked for.")
    ] = "127.0.0.1",
    token: Annotated[
        str, typer.Option(help="The token, instead of one that is made.", envvar="RELIFT_TOKEN")
    ] = "",
    public: Annotated[
        bool, typer.Option("--public", help="Take the printed language only, never Python.")
    ] = False,
) -> None:
    """Serve the workbench: rules and programs in the browser, with all that is known of them."""
    try:
        from relift.web.server import serve as run
    except ModuleNotFoundError as error:
        raise Refusal(f"the workbench needs {error.name}: pip install 'relift[web]'") from None
    run(
        host,
        port,
        public=public,
        token=token,
        say=lambda url: print(f"the workbench is at {url}", flush=True),
    )
