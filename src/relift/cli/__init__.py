"""The command line: each verb calls one part of Relift and prints what it returns.

A file for each family of verbs: `rules` (check, ledger), `searching` (optimize, explain), `proving` (prove), `building`
(compile, build), `kernels` (run, verify), `validating` (validate), `fuzzing` (fuzz), `lifting` (lift), `machines`
(bench, devices), `drawing` (plot), `installation` (doctor, cache), `serving` (serve).  What they share: `options` that they read, `output` that they print.

Exit status: 0 success, 1 the answer is "no" (refuted, mismatch), 2 bad input, 3 neither yes nor no (`check`: a
rule is tested only; `validate`: unknown), 70 a defect of Relift, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated, NoReturn

import typer

from relift.cli.building import build, compile_
from relift.cli.drawing import plot
from relift.cli.fuzzing import fuzz
from relift.cli.installation import cache, doctor
from relift.cli.kernels import run, verify
from relift.cli.lifting import lift
from relift.cli.machines import bench, devices
from relift.cli.options import Refusal, require_words
from relift.cli.output import fail, set_loudness
from relift.cli.proving import prove
from relift.cli.rules import check, ledger
from relift.cli.searching import explain, optimize
from relift.cli.serving import serve
from relift.cli.validating import validate
from relift.semantics.errors import Refuted, ReliftError, in_a_line, users_line

app = typer.Typer(
    name="relift",
    help="Validate rewrite rules, extract optimised kernels, test compilers and devices.",
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

app.command()(check)
app.command()(ledger)
app.command()(optimize)
app.command(name="compile")(compile_)
app.command()(build)
app.command()(run)
app.command()(verify)
app.command()(validate)
app.command()(fuzz)
app.command()(explain)
app.command()(prove)
app.command()(lift)
app.command()(bench)
app.command()(devices)
app.command()(plot)
app.command()(doctor)
app.command()(cache)
app.command()(serve)


def _show_version(wanted: bool) -> None:
    if wanted:
        import relift

        print(f"relift {relift.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Its version.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing but the answer and errors.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Say every phase; of a defect, where it is."),
    ] = False,
) -> None:
    """Validate rewrite rules, extract optimised kernels, test compilers and devices.

    Colours are left out where standard output is no terminal, and where NO_COLOR is set.
    """
    if quiet and verbose:
        raise Refusal("--quiet and --verbose: give one of them")
    set_loudness(quiet=quiet, verbose=verbose)
    if verbose:
        os.environ["RELIFT_TRACEBACK"] = "1"


def main() -> None:
    """Run the command line; every error is one message on standard error."""
    try:
        require_words(sys.argv[1:])
        status = app(standalone_mode=False)  # the status of typer.Exit, or what the verb returned
        sys.exit(status if isinstance(status, int) else 0)
    except (typer.Abort, KeyboardInterrupt):
        fail("interrupted", 130)
    except SystemExit as stop:
        if stop.code == 130:  # how typer ends on Ctrl-C, without a word
            fail("interrupted", 130)
        if isinstance(stop.__context__, BrokenPipeError):  # nobody reads on, as after `| head -1`
            sys.exit(141)
        raise
    except BrokenPipeError:  # where typer does not say so itself
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except MemoryError:
        fail("this process may take no more memory; ulimit -v says how much it may, raise it", 2)
    except OSError as error:
        if error.errno not in _OF_THE_SYSTEM:
            _unforeseen(error)
        what = error.filename or "what a command writes"
        fail(
            f"{what}: {error.strerror}; name another place, or see to it that this one can be used",
            2,
        )
    except Refuted as error:
        fail(str(error), 1)
    except ReliftError as error:
        fail(str(error), 2)
    except Exception as error:  # noqa: BLE001  # a usage error of click's, or a defect
        usage = getattr(error, "format_message", None)  # what click's usage errors have
        if usage is not None:
            message = usage()
            sys.exit(2) if not message else fail(message, 2)  # empty: the help has been printed
        _unforeseen(error)


_OF_THE_SYSTEM = (
    errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.ELOOP, errno.ENAMETOOLONG,
)  # fmt: skip
"""What no file of Relift's and no argument is to blame for."""


def _unforeseen(error: Exception) -> NoReturn:
    """End with what a user's own code raised, where it stands, or with a defect of Relift."""
    if os.environ.get("RELIFT_TRACEBACK"):
        raise error
    said = in_a_line(error)
    if (place := users_line(error)) is not None:
        fail(f"{place}: {said}", 2)
    fail(f"internal error: {said} (this is a defect of Relift; relift --verbose shows where)", 70)
