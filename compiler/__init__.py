"""How a low-level term becomes OpenCL kernels, and how they run.

Read in this order: `spec` (what a low-level term may contain), `stages` (which kernels it needs), `threads`
(how many work-items), `expressions`, `cells` and `trees` (scalars, memory and tuples in C), `barriers`,
`generate` (terms as C), `shared_indices` (what addresses have in common), `program` (all kernels of a program),
`spans` (which sizes an int can count), `launch` and `kernel` (what is saved and run), `drivers`,
`verdicts` and `self_test` (which OpenCL there is, and what of it works), `devices`, `building` and `runtime`
(pyopencl), `race` (the race-checking simulator), `verification` (agreement),
`lexing`, `kernel_text`, `accesses`, `work_items`, `coverage` and `certificates` (bounds, races and what is written, proved
from the text of a kernel), `symbols`, `c_types`, `machine`, `translation`, `lockstep`, `validation` and `evidence` (the
text run on symbols, and what that shows).
Apart from these: `analyses` (what can be switched off), `benchmarks`, `benchmark_times`, `bundle`, `candidates`
and `bundle_runner` (how fast the kernels are, here and elsewhere).
"""

from relift.compiler.kernel import Compiled
from relift.compiler.program import compile_program

__all__ = ["Compiled", "compile_program"]
