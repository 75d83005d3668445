"""OpenCL C as text: its names, its types, and the reader that gives the tree of a kernel back.

tree               a kernel as code generation builds it, and as it is read
lexing             a text as tokens, and what would be cut in another way; `macros` are replaced before
cursor             a place in a row of tokens: names and types
expression_reader  expressions; `statement_reader` is what stands around them
reader             a source: kernels and functions
expressions        a tree as text, in messages
c_types            what C does to types
at_once            functions that update cells of floats
memories           its words for the memories of a device, and for the flags of barriers
names              names that C leaves to programs, by `opencl_words`
turned_back        a loop that fetches ahead as one that does not
"""
