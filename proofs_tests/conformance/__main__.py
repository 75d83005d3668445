"""`python -m proofs_tests.conformance [NAME…]`: all cases of Lift's tests on every level, as a table; 1 if one fails."""

from __future__ import annotations

import sys

from proofs_tests.conformance.all_cases import CASES
from proofs_tests.conformance.levels import LEVELS, Outcome, run, table


def main(names: list[str]) -> int:
    """Run the cases whose names begin so, all without any."""
    outcomes: dict[str, list[Outcome]] = {}
    for name, case in CASES.items():
        if not names or any(name.startswith(wanted) for wanted in names):
            outcomes[name] = [run(case, level) for level in LEVELS]
            print(f"{name}: {[each.ok for each in outcomes[name]]}", file=sys.stderr, flush=True)
    print(table(outcomes))
    return int(any(each.ok is False for found in outcomes.values() for each in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
