"""Kernels as people write them, at about 10,000 work-items: `python -m proofs_tests.foreign_kernels`.

Of twenty kernels, and those of `styles`, `habits`, `given_by_the_language`, `data_decides`, `records`, `in_sub_groups`, `textbooks` and `requiring` at their own sizes, each as it should be and with one fault: what `relift validate --kernel` says, how long it takes,
and what devices give on the inputs at which it was found to be wrong.  Exit status 1 where a right one is not
validated within 30 seconds of the processor or differs on a device, or a wrong one is not refuted or no device shows it.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

from proofs_tests.compiler.foreign.data_decides import DATA_DECIDES
from proofs_tests.compiler.foreign.given_by_the_language import GIVEN_BY_THE_LANGUAGE
from proofs_tests.compiler.foreign.habits import HABITS
from proofs_tests.compiler.foreign.in_sub_groups import IN_SUB_GROUPS
from proofs_tests.compiler.foreign.kernels import LARGE, SMALL, ByHandKernel, kernels
from proofs_tests.compiler.foreign.records import RECORDS
from proofs_tests.compiler.foreign.requiring import REQUIRING
from proofs_tests.compiler.foreign.styles import STYLES
from proofs_tests.compiler.foreign.textbooks import TEXTBOOKS
from relift.compiler.devices.survey import survey
from relift.compiler.dialects.backend import backend_of
from relift.compiler.foreign.comparison import validate_foreign
from relift.compiler.foreign.on_device import OnDevice, on_device
from relift.semantics.errors import ReliftError

SECONDS = 30.0
"""A right kernel is validated within so many of the processor, whatever else runs beside."""

NOT_THERE = (
    "use of undeclared identifier 'work_group_",
    "use of undeclared identifier 'sub_group_",
    "use of undeclared identifier 'intel_sub_group_",
    "use of undeclared identifier 'get_sub_group",
)
"""What the compiler of a device says that lacks the functions of groups: it shows nothing of such a kernel."""


def judged(k: ByHandKernel, devices: list[str]) -> tuple[bool, str]:
    """Whether both kernels are judged rightly, and a row of the table."""
    program, required = k.program(), k.required()
    began = time.process_time()
    right = validate_foreign(k.right(), program, required)
    between = time.process_time()
    wrong = validate_foreign(k.wrong(), program, required)
    ended = time.process_time()
    ran = {device: on_device(k.right(), program, device, "", required) for device in devices}
    there = [device for device, found in ran.items() if not lacks(found)]
    agree = [ran[device] for device in there]
    show = [on_device(k.wrong(), program, device, wrong.inputs, required) for device in there]
    ok = right.ok and between - began < SECONDS and not any(found.differs for found in agree)
    found = wrong.verdict == "refuted" and any(each.differs for each in show)
    row = [
        f"{k.name:32} {math.prod(k.range):6}",
        f"right: {'validated' if right.ok else right.verdict} in {between - began:5.1f} s",
        *(each.text() for each in agree if each.differs),
        f"wrong: {wrong.verdict}, {wrong.fault}, in {ended - between:5.1f} s",
        _shown(show),
    ]
    return ok and found, "; ".join(row)


def lacks(found: OnDevice) -> bool:
    """Whether a device has not got the functions that a kernel calls."""
    return any(said in found.text() for said in NOT_THERE)


def _shown(show: list[OnDevice]) -> str:
    """What the devices that show a fault give."""
    return ", ".join(each.text() for each in show if each.differs) or "NO DEVICE SHOWS IT"


def in_opencl() -> list[str]:
    """The devices here that run OpenCL C."""
    found = [d for d in survey() if d.works and d.device is not None]
    return [d.name for d in found if d.device is not None and backend_of(d.device).name == "opencl"]


def main() -> int:
    """Judge all; see the module."""
    parser = argparse.ArgumentParser(description="Kernels as people write them.")
    parser.add_argument("--small", action="store_true", help="at the sizes of the tests")
    parser.add_argument("--device", action="append", help="as in relift devices; all if none")
    parser.add_argument("--kernel", help="only those with this in their name")
    given = parser.parse_args()
    devices = given.device or in_opencl()
    failed = 0
    every = [
        *kernels(SMALL if given.small else LARGE),
        *STYLES,
        *HABITS,
        *GIVEN_BY_THE_LANGUAGE,
        *DATA_DECIDES,
        *RECORDS,
        *IN_SUB_GROUPS,
        *TEXTBOOKS,
        *REQUIRING,
    ]
    asked = [k for k in every if not given.kernel or given.kernel in k.name]
    if not asked:
        parser.error(f"no kernel has {given.kernel!r} in its name; --help says where they are")
    for k in asked:
        try:
            ok, row = judged(k, devices)
        except ReliftError as error:
            ok, row = False, f"{k.name}: {error.message}"
        failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {row}", flush=True)
    print(f"devices: {', '.join(devices)}; {failed} of {len(asked)} pairs failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
