"""What LLVM says of C.

source    the compiler, and the one normal form that llvmlite makes of what it says
unused    what a loop carries and nothing uses is kept
reading   LLVM's text as a graph, of what is in `ir`
declared  the types that the C file declares, with the names of fields
layout    how many bytes a type takes, and where its parts are; `numbers`: constants
"""
