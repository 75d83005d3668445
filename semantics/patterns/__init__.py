"""The patterns: name, typing rule, meaning, documentation, each in one place.

    algorithmic   what is computed
    layout        where elements are
    opencl        who computes, and where it is stored

Arrays mean Python lists, tuples mean tuples, vectors mean lists of their lanes.  `meaning` is a function of
the pattern's parameters, by name, of any size that its signature names, of `number`, which makes a whole
number of the domain, and of `unspecified`, which makes an element whose content is left open.  OpenCL patterns mean what their algorithmic counterpart means: where something
is computed or stored changes no value.  The docstring of each names the law that characterises it; the
tests check that law on free symbols.

Sources: LIFT (CGO'17) section 3; RISE where it is more exact (a window ends at the end, chunks divide).
"""

from __future__ import annotations

from typing import TypeAlias

from relift.semantics.patterns.algorithmic import (
    AtRuntime,
    AtRuntimeUnsafe,
    BinarySearch,
    FilterSeq,
    GatherIndices,
    Generate,
    InsertionSortSeq,
    Iterate,
    IterateSizes,
    Let,
    LinearSearch,
    LiteralArray,
    Map,
    PartialReduce,
    Reduce,
    ReduceSeq,
    ReduceWhile,
    Repeat,
    ScanSeq,
    ScatterIndices,
    Unzip,
    Zip,
)
from relift.semantics.patterns.layout import (
    At,
    Concat,
    Drop,
    Gather,
    Head,
    Join,
    PadClamp,
    PadConstant,
    PadEmpty,
    PadMirror,
    PadWrap,
    Scatter,
    Slide,
    Split,
    Tail,
    Take,
    Transpose,
)
from relift.semantics.patterns.opencl import (
    AsScalar,
    AsVector,
    AsVectorAligned,
    CircularBuffer,
    IterateStream,
    MapGlb,
    MapLane,
    MapLcl,
    MapSeq,
    MapSeqSlide,
    MapSeqUnroll,
    MapStream,
    MapVec,
    MapWarp,
    MapWrg,
    ReduceSeqUnroll,
    RotateValues,
    Splat,
    ToGlobal,
    ToLocal,
    ToPrivate,
)
from relift.semantics.syntax.terms import Pattern

AnyPattern: TypeAlias = (
    Map | Zip | Unzip | Reduce | PartialReduce | Iterate | IterateSizes | Let | Generate
    | LiteralArray | Repeat | ReduceSeq | ScanSeq | ReduceWhile | FilterSeq | InsertionSortSeq | LinearSearch
    | BinarySearch | AtRuntime | AtRuntimeUnsafe | GatherIndices | ScatterIndices
    | Split | Join | Transpose | Slide | PadClamp | PadConstant | PadMirror | PadWrap | PadEmpty
    | Take | Drop | At | Head | Tail | Concat | Gather | Scatter
    | MapSeq | MapGlb | MapWrg | MapLcl | MapSeqUnroll | MapWarp | MapLane | MapStream
    | IterateStream | ReduceSeqUnroll | MapSeqSlide | CircularBuffer | RotateValues | ToGlobal
    | ToLocal | ToPrivate | AsVector | AsVectorAligned | AsScalar | MapVec | Splat
)  # fmt: skip

PATTERNS: dict[str, type[Pattern]] = {
    p.name: p
    for p in (
        Map, Zip, Unzip, Reduce, PartialReduce, Iterate, IterateSizes, Let, Generate,
        LiteralArray, Repeat,
        ReduceSeq, ScanSeq, ReduceWhile, FilterSeq, InsertionSortSeq, LinearSearch,
        BinarySearch, AtRuntime, AtRuntimeUnsafe, GatherIndices, ScatterIndices,
        Split, Join, Transpose, Slide, PadClamp, PadConstant, PadMirror, PadWrap, PadEmpty,
        Take, Drop, At, Head, Tail, Concat, Gather, Scatter,
        MapSeq, MapGlb, MapWrg, MapLcl, MapSeqUnroll, MapWarp, MapLane, MapStream,
        IterateStream, ReduceSeqUnroll, MapSeqSlide, CircularBuffer, RotateValues, ToGlobal,
        ToLocal, ToPrivate, AsVector, AsVectorAligned, AsScalar, MapVec, Splat,
    )
}  # fmt: skip
"""Every pattern by its name, in the order of the three parts."""

__all__ = [
    "PATTERNS",
    "AnyPattern",
    "AsScalar",
    "AsVector",
    "AsVectorAligned",
    "At",
    "AtRuntime",
    "AtRuntimeUnsafe",
    "BinarySearch",
    "CircularBuffer",
    "Concat",
    "Drop",
    "FilterSeq",
    "Gather",
    "GatherIndices",
    "Generate",
    "Head",
    "InsertionSortSeq",
    "Iterate",
    "IterateSizes",
    "IterateStream",
    "Join",
    "Let",
    "LinearSearch",
    "LiteralArray",
    "Map",
    "MapGlb",
    "MapLane",
    "MapLcl",
    "MapSeq",
    "MapSeqSlide",
    "MapSeqUnroll",
    "MapStream",
    "MapVec",
    "MapWarp",
    "MapWrg",
    "PadClamp",
    "PadConstant",
    "PadEmpty",
    "PadMirror",
    "PadWrap",
    "PartialReduce",
    "Reduce",
    "ReduceSeq",
    "ReduceSeqUnroll",
    "ReduceWhile",
    "Repeat",
    "RotateValues",
    "ScanSeq",
    "Scatter",
    "ScatterIndices",
    "Slide",
    "Splat",
    "Split",
    "Tail",
    "Take",
    "ToGlobal",
    "ToLocal",
    "ToPrivate",
    "Transpose",
    "Unzip",
    "Zip",
]  # fmt: skip
