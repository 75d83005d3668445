"""The one gate: every linter and type checker, then the tests.

`python -m proofs_tests [PYTEST ARGUMENT...]` runs them all whatever fails, and exits with 1 if
any did. Without arguments the tests run on all cores. pytest comes last, so that its closing line is the last one printed.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))

CHECKS = (
    ("ruff", "check"),
    ("ruff", "format", "--check"),
    ("mypy",),
    ("pyright", "--pythonpath", sys.executable),
    ("lint-imports", "--no-logo"),
)


def passes(tool: str, *arguments: str) -> bool:
    """Whether the tool that is installed beside this Python succeeds, run from the root."""
    print(f"== {tool} {' '.join(arguments)}".rstrip(), flush=True)
    if not (SCRIPTS / tool).exists():
        print(f"{tool} is not installed beside {sys.executable}: pip install -e '.[test]'")
        return False
    # lint-imports imports nothing but must find the package
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = (str(SCRIPTS / tool), *arguments)
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def main() -> int:
    """Run every check, then pytest, and report all failures."""
    failed = [check for check in CHECKS if not passes(*check)]
    if failed:
        names = (" ".join(word for word in check[:2] if word[0] != "-") for check in failed)
        print(f"== FAILED before the tests: {', '.join(names)}", flush=True)
    tests_pass = passes("pytest", *(sys.argv[1:] or ("-n", "auto")))
    return 0 if tests_pass and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
