"""The languages in which a kernel is printed: OpenCL C, and others that say the same.

backend   what is asked of a back end: a folder here
printing  how a tree is written, in languages like C
types     what type an expression has in C
reading   OpenCL C as a tree, to be printed anew
opencl    OpenCL C
cuda      CUDA C++
c         C with OpenMP
"""
