"""How a low-level term becomes OpenCL kernels, how they run, and what is known of them.

Read in this order:

lowering       what a low-level term may contain, which kernels it needs, and how many work-items
codegen        terms as the statements of a kernel: scalars, memory, barriers, loops
program        all kernels of a program: its source, and how it is launched
text           OpenCL C as text: names, types, and the reader that gives the tree of a kernel back
dialects       the languages that kernels are printed in, and how they run
certificates   bounds, races, barriers, initialisation and coverage, proved from the text
validation     the text run on symbols, against the interpreter
meaning        the same for all numbers of groups, turns of loops and sizes
foreign        OpenCL C that others wrote, against a program
devices        which OpenCL there is, and what of it works
running        kernels built, launched, timed, and kept in folders
ahead          a library in C for a program, which needs nothing of Relift
agreement      results against the interpreter's, on devices and on the race-checking simulator
bench          how fast the kernels are, here and elsewhere
fuzzing        random programs, and whose fault a difference is
idioms         the other way: C that exists, its loops as programs
"""

from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled

__all__ = ["Compiled", "compile_program"]
