"""What a back end is made of: what its devices are, how kernels are printed for them, and how they run.

`Backend` says what is asked of one, `Opened` what it gives when it is used.  A `Driver` is what it is found by, a
`Platform` what that calls itself, `SessionTrial` the self-test of a device.  One that builds on C has the `compilers`
of this machine, the printer `C`, and `CSession`, in which kernels run.
"""

from __future__ import annotations

from relift.compiler.devices.drivers import Driver
from relift.compiler.devices.naming import IS_CPU, Platform
from relift.compiler.devices.trial import SessionTrial
from relift.compiler.dialects.backend import Backend, Opened
from relift.compiler.dialects.c import compiler as compilers
from relift.compiler.dialects.c.printer import C
from relift.compiler.dialects.c.session import CSession

__all__ = [
    "IS_CPU", "Backend", "C", "CSession", "Driver", "Opened", "Platform", "SessionTrial", "compilers",
]  # fmt: skip
