"""Loops replaced: the file with guarded calls before its loops, and a second file with what they call.

replacing    the file, its calls, and what is kept as it was
standing     what C can say where a loop stands: variables, and the values they hold
lowered      a lifted program as a low-level one, which rounds as the loops do
guarded      the functions that check and call a kernel; `ranges`: checks that whole numbers do not wrap
blas         calls of a BLAS in the place of a kernel; `sparse_calls`: of a sparse library
inspecting   loops that find out, before a kernel, how long arrays are
passing      sparse products in one pass, which finds that out on the way
counting     histograms of whole numbers by several threads
offloading   kernels of OpenCL, and what has a host library in C run them; `reaching`: which cells of an array are read
writing      expressions as C, for loops that are written out; `spelling`: what values and sizes are called there
"""
