"""The names that OpenCL C has taken, in its versions 1.2 to 3.0: nothing in a kernel is called like one of them.

Keywords, types, built-in functions, constants and macros, those of extensions by how they begin; the functions of C's
own library, which compilers know by name whoever defines them; and the names that this compiler gives.

>>> from relift.compiler.text.opencl_words import is_taken
>>> [name for name in ("half", "float4", "M_PI_F", "fabsf", "cl_khr_fp64", "out_0", "gamma") if is_taken(name)]
['half', 'float4', 'M_PI_F', 'fabsf', 'cl_khr_fp64', 'out_0']
"""

from __future__ import annotations

import re

from relift.compiler.codegen.values.scalars import WIDTHS
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.types import SCALARS

KEYWORDS = frozenset(
    [
        "asm", "auto", "bool", "break", "case", "char", "complex", "const", "constant", "continue",
        "default", "do", "double", "else", "enum", "event_t", "extern", "false", "float", "for",
        "generic", "global", "goto", "half", "if", "imaginary", "inline", "int", "kernel", "local",
        "long", "main", "pipe", "private", "queue_t", "read_only", "read_write", "register",
        "restrict", "return", "sampler_t", "short", "signed", "size_t", "sizeof", "static",
        "struct", "switch", "true", "typedef", "typeof", "uchar", "uint", "ulong", "uniform",
        "union", "unsigned", "ushort", "vec_step", "void", "volatile", "while", "write_only",
        "bool_", "clk_event_t", "clk_profiling_info", "intptr_t", "kernel_enqueue_flags_t",
        "ptrdiff_t", "uintptr_t", "ndrange_t", "reserve_id_t", "wchar_t", "assert", "defined",
        "linux", "unix", "i386",
    ]
)  # fmt: skip
"""Keywords, and types that are no vectors."""

_MATHEMATICS = [
    "acos", "acosh", "acospi", "asin", "asinh", "asinpi", "atan", "atan2", "atan2pi", "atanh",
    "atanpi", "cbrt", "ceil", "copysign", "cos", "cosh", "cospi", "erf", "erfc", "exp", "exp10",
    "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "fract", "frexp",
    "hypot", "ilogb", "ldexp", "lgamma", "lgamma_r", "log", "log10", "log1p", "log2", "logb", "mad",
    "maxmag", "minmag", "modf", "nan", "nextafter", "pow", "pown", "powr", "remainder", "remquo",
    "rint", "rootn", "round", "rsqrt", "sin", "sincos", "sinh", "sinpi", "sqrt", "tan", "tanh",
    "tanpi", "tgamma", "trunc", "nearbyint", "lrint", "llrint", "lround", "llround", "nexttoward",
    "scalbn", "scalbln", "significand", "drem", "gamma", "j0", "j1", "jn", "y0", "y1", "yn",
    "pow10", "finite", "cabs",
]  # fmt: skip

FUNCTIONS = frozenset(
    [
        "abs", "abs_diff", "add_sat", "all", "any", "barrier", "bit_reverse", "bitselect",
        "capture_event_profiling_info", "clamp", "clz", "create_user_event", "cross", "ctz",
        "degrees", "distance", "dot", "dot_acc_sat", "fast_distance", "fast_length",
        "fast_normalize", "hadd", "is_valid_event", "is_valid_reserve_id", "isequal", "isfinite",
        "isgreater", "isgreaterequal", "isinf", "isless", "islessequal", "islessgreater", "isnan",
        "isnormal", "isnotequal", "isordered", "isunordered", "length", "mad24", "mad_hi",
        "mad_sat", "max", "mem_fence", "min", "mix", "mul24", "mul_hi", "normalize", "popcount",
        "prefetch", "printf", "radians", "read_mem_fence", "release_event", "retain_event", "rhadd",
        "rotate", "select", "set_user_event_status", "shuffle", "shuffle2", "sign", "signbit",
        "smoothstep", "step", "sub_sat", "to_addr", "to_global", "to_local", "to_private",
        "upsample", "wait_group_events", "workDimension", "write_mem_fence",
    ]
).union(set(_MATHEMATICS) - {"gamma"})  # fmt: skip
"""The built-in functions."""

_OF_C = frozenset(
    [
        "abort", "alloca", "atexit", "atof", "atoi", "atol", "bcmp", "bcopy", "bsearch", "bzero",
        "calloc", "div", "exit", "ffs", "ffsl", "ffsll", "fflush", "fprintf", "fputc", "fputs",
        "fputs", "fread", "free", "fscanf", "fwrite", "getc", "getchar", "getenv", "gets",
        "isalnum", "isalpha", "isascii", "isblank", "iscntrl", "isdigit", "isgraph", "islower",
        "isprint", "ispunct", "isspace", "isupper", "isxdigit", "labs", "ldiv", "llabs", "lldiv",
        "malloc", "memalign", "memccpy", "memchr", "memcmp", "memcpy", "memmove", "mempcpy",
        "memset", "mktime", "perror", "posix_memalign", "putc", "putchar", "puts", "qsort", "raise",
        "read", "realloc", "rand", "remove", "rewind", "scanf", "signal", "snprintf", "sprintf",
        "srand", "sscanf", "stpcpy", "strcasecmp", "strcat", "strchr", "strcmp", "strcoll",
        "strcpy", "strcspn", "strdup", "strlen", "strncat", "strncmp", "strncpy", "strndup",
        "strpbrk", "strrchr", "strspn", "strstr", "strtod", "strtof", "strtok", "strtol", "strtoll",
        "strtoul", "system", "toascii", "tolower", "toupper", "uname", "unlink", "valloc",
        "vfprintf", "vprintf", "vsnprintf", "vsprintf", "write",
    ]
).union(f"{name}{end}" for name in _MATHEMATICS for end in "fl")  # fmt: skip
"""Functions of C's library: a compiler may compute what C says that they do, not what is written."""

MACROS = frozenset(
    [
        "NULL", "NAN", "INFINITY", "HUGE_VAL", "HUGE_VALF", "MAXFLOAT", "CHAR_BIT", "INT_MAX",
        "INT_MIN", "LONG_MAX", "LONG_MIN", "SHRT_MAX", "SHRT_MIN", "CHAR_MAX", "CHAR_MIN",
        "SCHAR_MAX", "SCHAR_MIN", "UCHAR_MAX", "USHRT_MAX", "UINT_MAX", "ULONG_MAX", "MAX_WORK_DIM",
        "kernel_exec",
    ]
)  # fmt: skip
"""Macros and constants that do not begin like others."""

_STARTS = (
    r"_[_A-Z].*|(?:_cl_|pocl_|CL_|cl_|cles_|CLK_|M_|FLT_|DBL_|HALF_|FP_|ATOMIC_|IMAGE_|QUEUE_|"
    r"vload|vstore|convert_|as_|get_|native_|half_|atomic_|atom_|async_|read_image|write_image|"
    r"read_pipe|write_pipe|memory_|work_group_|sub_group_|intel_|amd_|arm_|nv_|qcom_|enqueue_|reserve_|"
    r"commit_|ndrange_|image\d|bitfield_|dot_(?:acc_sat_)?4x8).*(?<!_)"
)
_VECTOR = r"(?:u?(?:char|short|int|long)|float|double|half|bool|quad)(?:\d+)?(?:x\d+)?"
_SCALAR = "|".join(SCALARS)
_LANES = rf"(?:x(?:{'|'.join(map(str, WIDTHS))}))?"
_OWN = (
    r"(?:out|tmp)(?:_\d+)*|(?:glb|wrg|lcl)_\d(?:_count)?|"
    rf"(?:{'|'.join(SCALAR_FUNCTIONS)})_(?:from_)?(?:{_SCALAR})(?:{_LANES}|_at_once(?:_global)?)"
)
"""Results, numbers of work-items, and functions that kernels bring along."""

_OF_OPENCL = re.compile(f"{_STARTS}|{_VECTOR}")
_TAKEN = re.compile(f"{_OF_OPENCL.pattern}|{_OWN}")
_WORDS = KEYWORDS | FUNCTIONS | _OF_C | MACROS


def is_of_opencl(name: str) -> bool:
    """Whether a name means something in OpenCL C.

    >>> from relift.compiler.text.opencl_words import is_of_opencl
    >>> is_of_opencl("get_global_id"), is_of_opencl("sqrt"), is_of_opencl("maximum_f32")
    (True, True, False)
    """
    return name in _WORDS or _OF_OPENCL.fullmatch(name) is not None


def is_taken(name: str) -> bool:
    """Whether a name means something in OpenCL C, or is given by this compiler."""
    return name in _WORDS or _TAKEN.fullmatch(name) is not None
