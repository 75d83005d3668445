"""`python -m proofs_tests.patterns [PATTERN…] [--gpu]`: each pattern in each place through search, compiler and device.

With `--gpu` the texts for a GPU, which are certified and not run.  It prints what is not right, and what certificates
leave open, and exits with 1 if anything is not right.
"""

from __future__ import annotations

import sys
from collections import Counter

from proofs_tests.egraph.pattern_table import PATTERNS_OF, PLACES, outcome, program_of
from relift.device import CPU, GPU


def main(arguments: list[str]) -> int:
    """Run the patterns that are named, all without any."""
    gpu = "--gpu" in arguments
    names = [name for name in arguments if not name.startswith("--")] or list(PATTERNS_OF)
    said: Counter[str] = Counter()
    for name in names:
        marks: list[str] = []
        unknown: set[str] = set()
        for place in PLACES:
            found = outcome(program_of(name, place), GPU if gpu else CPU, run=not gpu)
            said[found.said] += 1
            marks.append("." if found.said == "right" else found.said)
            unknown |= set(found.unknown)
            if found.said != "right":
                print(f"{name}, {place}: {found.said}, {found.why}", flush=True)
        print(f"{name:18} {' '.join(marks)}  {', '.join(sorted(unknown))}".rstrip(), flush=True)
    print(", ".join(f"{count} {what}" for what, count in said.most_common()))
    return int(set(said) != {"right"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
