"""The rules of Lift and RISE by their own names, and the rules of Relift that say the same.

Every named rule of the sources has an entry: the rules of the library that state it, the false rules (see
`refuted`) that it is as written, or the reason why it has no counterpart.  A rule that is right in one reading
and false in another has both.

LIFT   lift-project/lift at 5e8a18df, src/main/rewriting: 140 rules
RISE   rise-lang/shine at 7212084e, rise/elevate/rules: 146 rules
EQSAT  rise-lang/shine at 7212084e, rise/eqsat/rules.scala: those that RISE does not have under another name
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Reason(Enum):
    """Why a named rule of the literature is no rule here."""

    BETA = "beta, eta or composition: terms here have no applied or first-class functions"
    DEAD = "it never applies: its pattern has the wrong number of arguments"
    MISSING = "its pattern does not exist here"
    PREDICATE = "it asks about a term and rewrites nothing"
    RENAMING = "it renames variables: terms here are equal up to the names of binders"
    SELECT = "select works on scalars here, and arrays are selected element by element"
    TRIVIAL = "both sides are the same term here"
    TYPES = "it checks types or erases them"


@dataclass(frozen=True)
class Counterparts:
    """What is known of one rule: its counterparts, its false readings, or why it has none."""

    rules: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()
    reason: Reason | None = None


def same(*rules: str) -> Counterparts:
    """The rule holds as it is written."""
    return Counterparts(rules)


def false(*refuted: str, holds: tuple[str, ...] = ()) -> Counterparts:
    """The rule is false as it is written; `holds` are rules for cases of it that are right."""
    return Counterparts(holds, refuted)


def no(reason: Reason) -> Counterparts:
    """The rule has no counterpart."""
    return Counterparts(reason=reason)


LIFT: Mapping[str, Mapping[str, Counterparts]] = {
    "Rules": {
        "slidePromotion": false("slide_promotion_wildcard"),
        "slideSwap": false("slide_swap_wildcard"),
        "joinSwap": false("join_swap_wildcard"),
        "transposeSwap": false("transpose_swap_wildcard"),
        "slideTransposeSwap": false("slide_transpose_swap_wildcard"),
        "slideTransposeReordering": false("slide_transpose_reordering_wildcard"),
        "transposeMapJoinReordering": false("transpose_map_join_reordering_wildcard"),
        "idTransposeTranspose": same("transpose_transpose"),
        "gatherToScatter": false("gather_to_scatter_same"),
        "scatterToGather": false("gather_to_scatter_same"),
        "slideTiling": false("slide_tiling_any_growth"),
        "mapSeqSlide": same("map_slide_to_map_seq_slide"),
        "mapSeqSlideSeq": same("map_seq_slide_fusion"),
        "splitJoin": false("split_join_any_size"),
        "splitJoinMapSeq": same("map_seq_split_join"),
        "joinSplit": false("join_split_capturing"),
        "splitJoinReduce": same("reduce_as_one_chunk"),
        "reorderBothSidesWithStride": same("map_reordered_with_stride", "map_reordered"),
        "mapSplitTranspose": same("transpose_map_split"),
        "mapTransposeSplit": same("split_map_transpose"),
        "transposeMapSplit": same("map_split_transpose"),
        "splitTranspose": same("split_transpose"),
        "mapTransposeTransposeMapTranspose": same("transpose_braid"),
        "splitIntoZip": same("split_zip"),
        "joinFromZip": same("join_zip"),
        "transposeMapTransposeReorder": same("transpose_map_transpose_gather"),
        "reorderTranspose": same("scatter_transpose"),
        "bSearch": no(Reason.DEAD),
        "lSearch": no(Reason.DEAD),
        "absSearchB": no(Reason.DEAD),
        "absSearchL": no(Reason.DEAD),
    },
    "FissionRules": {
        "extractFromMap": same("extract_from_map"),
        "mapFission": false("map_fission_capturing", holds=("map_fusion",)),
        "mapFissionCreateZip": same("map_fission_with_zip"),
        "mapFissionWithZipInside": same("map_fission_with_zip_inside"),
        "mapFissionWithZipOutside": same("map_fission_with_zip_outside"),
        "tupleFission": same("tuple_fission"),
    },
    "FusionRules": {
        "reduceSeqMapSeqFusion": same("reduce_map_fusion"),
        "mapFusion": same("map_fusion", "map_seq_fusion"),
        "mapFusionWithZip": same("map_fission_with_zip_outside"),
        "fuseZipTuple": same("zip_of_maps", "unzip_zip", "zip_unzip"),
        "reduceFusionInZip": false("reduce_fusion_in_zip_unequal"),
        "tupleMap": same("map_outside_pair"),
        "mapFusionInZip": same("zip_map_map", "zip_map_left", "zip_map_right"),
    },
    "InterchangeRules": {
        "mapMapTransposeZipOutside": same("map_interchange_zip_outside"),
        "mapMapTransposeZipInside": same("map_interchange_zip_inside"),
        "transposeBothSides": false("transpose_both_sides_capturing"),
        "mapMapInterchange": same("map_interchange"),
        "mapReduceInterchange": false(
            "map_reduce_interchange_capturing", "map_reduce_interchange_untransposed"
        ),
        "mapReduceInterchangeWithZipOutside": same("map_reduce_interchange_captured"),
        "mapReducePartialReduce": false("map_reduce_partial_reduce_unguarded"),
    },
    "IterateRules": {
        "iterate1": same("iterate_once", "iterate_sizes_once"),
        "iterateId": same("iterate_none", "iterate_sizes_none"),
    },
    "ReduceRules": {
        "partialReduce": false("partial_reduce_unguarded"),
        "partialReduceToReduce": same("partial_reduce_as_reduce", "partial_reduce_whole"),
        "partialReduceReorder": false("partial_reduce_reorder_unguarded"),
        "partialReduceSplitJoin": same("partial_reduce_split_join"),
    },
    "OpenCLRules": {
        "mapSeq": same("map_to_seq"),
        "mapGlb": same("map_to_glb"),
        "mapWrg": same("map_to_wrg"),
        "mapLcl": same("map_to_lcl"),
        "mapWarp": same("map_to_warp"),
        "mapLane": same("map_to_lane"),
        "mapAtomWrg": no(Reason.MISSING),
        "mapAtomLcl": no(Reason.MISSING),
        "reduceSeq": same("reduce_to_seq"),
        "reduceSeqUnroll": same("reduce_seq_to_unroll"),
        "privateMemory": same("store_private"),
        "localMemory": same("store_local"),
        "globalMemory": same("store_global"),
        "dotBuiltin": no(Reason.MISSING),
        "dotBuiltinSeq": no(Reason.MISSING),
        "vectorize": false("vectorize_map_any_width"),
        "vectorizeToAddressSpace": same("vectorize_map"),
        "vectorizeMapZip": same("vectorize_map_zip"),
        "partialReduceVectorize": false("vectorize_reduce_unguarded"),
    },
    "SimplificationRules": {
        "asScalarAsVectorId": same("as_vector_as_scalar"),
        "asVectorAsScalarId": same("as_scalar_as_vector"),
        "transposeTransposeId": same("transpose_transpose"),
        "transposeTransposeId2": same("transpose_transpose"),
        "joinSplitId": same("join_split"),
        "splitJoinId": same("split_of_join"),
        "scatterGatherId": same("scatter_gather"),
        "gatherScatterId": false("shift_by_two", holds=("gather_scatter",)),
        "removeDuplicateZipArg": same("zip_same"),
        "flattenZips": same("zip_rotate_right"),
        "removeEmptyMap": same("map_identity"),
        "lambdaInline": same("let_inline"),
        "lambdaInlineParam": same("let_inline"),
        "tupleInline": no(Reason.TRIVIAL),
        "dropId": false("drop_identity_wildcard"),
    },
    "CopyRules": {
        "implementOneLevelOfId": same("insert_copy"),
        "implementIdAsDeepCopy": same("insert_copy_of_rows"),
        "addId": same("insert_copy"),
        "addIdRed": same("insert_copy"),
        "addIdAfterReduce": same("store_private"),
        "addIdValue": same("store_private"),
        "addIdForMapWrgParam": same("insert_copy"),
        "addIdForMapParam": same("store_before_map"),
        "addIdBeforeMapLcl": same("insert_copy"),
        "addIdBeforeMapSeq": same("insert_copy"),
        "addIdForCurrentValueInReduce": same("store_private"),
        "addCopy": same("insert_copy"),
        "tupleToStruct": no(Reason.TRIVIAL),
    },
    "EnablingRules": {
        "transposeMapMap": same("map_map_transpose"),
        "transposeMapMapNoFission": same("map_map_transpose"),
        "mapTransposeTransposeMapTranspose": same("transpose_braid"),
        "transposeMapSplit": same("map_split_transpose"),
        "mapSplitTranspose": same("transpose_map_split"),
        "movingJoin": same("map_join"),
        "movingSplit": same("split_map"),
    },
    "MacroRules": {
        "userFunCompositionToPrivate": same("composition_through_private"),
        "mapComposedWithReduceAsSequential": same("map_to_seq", "reduce_operator_map_fusion"),
        "mapFissionAtPosition": same("map_fusion"),
        "reshapeMapMap": same("map_map_flat", "split_rows_join"),
        "vectorizeReduce": false("vectorize_reduce_unguarded"),
        "partialReduceWithReorder": false("partial_reduce_with_reorder_unguarded"),
        "splitJoinId": same("map_map_flat"),
        "reduceMapFusion": same("reduce_operator_map_fusion"),
        "moveReduceOutOneLevel": same("map_reduce_interchange", "column_sums"),
        "mapMapInterchange": same("map_interchange"),
        "interchange": same("map_interchange"),
    },
    "MapSeqSlideRewrite": {
        "mapSeqSlide2DSeq": false("map_seq_slide_2d_untransposed"),
        "mapSeqSlide2D": false("map_seq_slide_2d_untransposed"),
        "mapSeqSlide3DSlideNDSeq": same("map_seq_slide_3d"),
        "mapSeqSlide3DSlideND": same("map_seq_slide_3d"),
    },
    "ReuseRules": {
        "tileMapMap": same("tile_map_map"),
        "apply1DRegisterBlocking": same("register_blocking_1d"),
        "apply2DRegisterBlocking": same("register_blocking_2d", "register_blocking_reduce"),
        "apply2DRegisterBlockingNoReorder": same("register_blocking_2d"),
        "tileTranspose": same("tile_of_transpose"),
        "finishRectangularTiles": same("tile_map"),
        "moveTransposeInsideTiling": same("transpose_inside_tiling"),
        "finishTiling": same("tile_map"),
        "introduceReuseFromMap": same("register_blocking_1d"),
    },
    "SlideTiling": {
        "tileStencils": false("slide_tiling_any_growth", holds=("stencil_tiling",)),
        "tileSlide2D": same("slide_tiling_2d"),
        "tile2DStencils": same("stencil_tiling_2d"),
        "tile2DStencilsZip": same("stencil_tiling_2d_zip"),
        "tile2DStencilsZip6": same("stencil_tiling_2d_zip"),
    },
}
"""The rules of Lift, by their file."""

RISE: Mapping[str, Mapping[str, Counterparts]] = {
    "algorithmic": {
        "splitJoin": false("split_join_any_size"),
        "splitJoin2": false("split_join_any_size", holds=("join_split",)),
        "mapFusion": same("map_fusion"),
        "mapFstFusion": same("map_first_fusion"),
        "mapSndFusion": same("map_second_fusion"),
        "padEmptyFusion": same("pad_empty_fusion"),
        "reduceMapFusion": same("reduce_map_fusion", "reduce_operator_map_fusion"),
        "reduceMapFission": false(
            "reduce_map_fission_capturing_argument", "reduce_map_fission_capturing_operator"
        ),
        "mapLastFission": same("map_fusion"),
        "idAfter": no(Reason.TRIVIAL),
        "idToCopy": no(Reason.TRIVIAL),
        "liftId": same("map_identity"),
        "createTransposePair": same("transpose_transpose"),
        "removeTransposePair": same("transpose_transpose"),
        "slideOverlap": false("slide_tiling_any_growth"),
        "dropInSlide": same("drop_in_slide"),
        "takeInSlide": same("take_in_slide"),
        "dropNothing": same("drop_nothing"),
        "takeAll": same("take_all"),
        "padEmptyNothing": same("pad_empty_nothing"),
        "mapIdentity": same("map_identity"),
        "slideAfter": same("join_slide_one"),
        "slideAfter2": same("first_of_slide_one"),
        "zipFstAfter": same("zip_second"),
        "zipSndAfter": same("zip_first"),
        "dropBeforeJoin": same("drop_join", "join_drop"),
        "takeBeforeJoin": same("take_join", "join_take"),
        "removeTakeBeforePadEmpty": false("pad_empty_take_as_equation", holds=("pad_empty_take",)),
        "mapOutsideMakeArray": same("map_outside_make_array"),
        "mapOutsideGenerateSelect": same("map_outside_generate"),
        "fOutsideSelect": no(Reason.SELECT),
        "fOutsideMakeArray": same("function_outside_make_array"),
        "mapOutsideZip": same("zip_map_map"),
        "mapOutsidePair": same("map_outside_pair"),
        "zipSame": same("zip_same"),
        "zipSwap": same("zip_swap"),
        "zipRotateLeft": same("zip_rotate_left"),
        "zipRotateRight": same("zip_rotate_right"),
        "mapIdentityAfter": same("map_identity", "insert_copy"),
        "fstReduction": no(Reason.TRIVIAL),
        "sndReduction": no(Reason.TRIVIAL),
        "slideOutsideZip": same("slide_outside_zip"),
        "slideInsideZip": same("slide_inside_zip"),
        "fBeforeZipMap": false("map_before_zip_capturing"),
        "transposeBeforeMapZip": same("map_zip_transpose"),
        "unzipZipIsPair": same("unzip_zip"),
        "unzipZipIdentity": same("zip_unzip", "unzip_zip"),
        "zipUnzipAccessSimplification": same("zip_unzip", "zip_unzip_swapped", "zip_unzip_first"),
        "zipAsVectorUnzipSimplification": same("zip_as_vector_unzip"),
        "mapProjZipUnification": same("map_zip_unify_first", "map_zip_unify_second"),
        "freshLambdaIdentifier": no(Reason.RENAMING),
        "freshIdentifier": no(Reason.RENAMING),
        "replaceIdentifier": no(Reason.RENAMING),
        "blockedReduce": false("blocked_reduce_unguarded"),
        "separateDotHV": false("separate_dot_hv_any_weights"),
        "separateDotVH": false("separate_dot_vh_any_weights"),
        "separateSumHV": same("reduce_join"),
        "separateSumVH": same("reduce_join_columns"),
    },
    "movement": {
        "mapMapFBeforeTranspose": same("map_map_transpose"),
        "transposeBeforeMapMapF": same("map_map_transpose"),
        "slideBeforeMapMapF": same("map_slide", "split_map"),
        "slideBeforeMap": same("map_slide"),
        "splitBeforeMap": same("split_map"),
        "joinBeforeMapF": same("map_join"),
        "mapMapFBeforeJoin": same("map_join"),
        "dropBeforeMap": same("drop_map"),
        "takeBeforeMap": same("take_map"),
        "takeAfterMap": same("take_map"),
        "takeInZip": same("take_zip"),
        "takeOutisdeZip": same("take_zip"),
        "takeOutsidePair": no(Reason.TRIVIAL),
        "dropInZip": same("drop_zip"),
        "takeInSelect": no(Reason.SELECT),
        "dropInSelect": no(Reason.SELECT),
        "dropBeforeTake": same("drop_take"),
        "takeBeforeDrop": same("drop_take"),
        "takeBeforeSlide": same("take_slide"),
        "dropBeforeSlide": same("drop_slide"),
        "padEmptyBeforeSlide": false("pad_empty_slide_as_equation", holds=("pad_empty_slide",)),
        "padEmptyBeforeMap": false("pad_empty_map_as_equation", holds=("pad_empty_map",)),
        "padEmptyBeforeTranspose": same("pad_empty_transpose"),
        "padEmptyInsideZip": same("pad_empty_zip"),
        "padEmptyBeforeZip": same("pad_empty_zip"),
        "transposeBeforeSlide": same("split_transpose", "transpose_slide"),
        "transposeBeforeMapSlide": same("transpose_map_split", "transpose_map_slide"),
        "mapSlideBeforeTranspose": same("map_split_transpose", "map_slide_transpose"),
        "joinBeforeTranspose": same("join_transpose"),
        "transposeBeforeMapJoin": same("transpose_map_join"),
        "mapTransposeBeforeJoin": same("map_transpose_join"),
        "mapJoinBeforeTranspose": same("map_join_transpose"),
        "joinBeforeJoin": same("join_join"),
        "mapJoinBeforeJoin": same("join_join"),
        "slideBeforeSplit": false("slide_before_split_any_step"),
        "slideBeforeSlide": same("slide_before_slide"),
        "liftReduce": false(
            "lift_reduce_function_lost",
            "lift_reduce_pair_flipped",
            holds=("map_reduce_interchange", "map_reduce_zip_interchange"),
        ),
        "mapFstBeforeMapSnd": same("map_first_before_map_second"),
    },
    "lowering": {
        "mapSeq": same("map_to_seq"),
        "mapPar": no(Reason.MISSING),
        "mapStream": same("map_to_stream"),
        "iterateStream": same("map_to_iterate_stream"),
        "mapSeqUnroll": same("map_to_seq_unroll"),
        "mapGlobal": same("map_to_glb"),
        "reduceSeq": same("reduce_to_seq"),
        "reduceSeqUnroll": same("reduce_to_seq_unroll", "reduce_seq_to_unroll"),
        "mapSeqCompute": same("map_to_seq"),
        "circularBuffer": same("slide_to_circular_buffer"),
        "rotateValues": same("slide_to_rotate_values"),
        "circularBufferLoadFusion": same("circular_buffer_load_fusion"),
        "copyAfterReduce": same("store_private", "insert_copy"),
        "copyAfterReduceInit": same("store_private", "insert_copy"),
        "copyAfterGenerate": same("insert_copy"),
        "insertCopyAfter": same("insert_copy"),
        "mapSeqUnrollWrite": same("insert_copy_unrolled"),
        "toMemAfterMapSeq": same("store_and_name"),
        "toMemAfterAsScalar": same("store_and_name"),
        "toMemAfter": same("store_and_name"),
        "toMemBefore": same("store_before_map"),
        "vectorize": false("vectorize_map_any_width"),
        "mapParCompute": no(Reason.MISSING),
        "unroll": same("reduce_seq_to_unroll"),
        "ocl.reduceSeqUnroll": same("reduce_to_seq_unroll", "reduce_seq_to_unroll"),
        "ocl.circularBuffer": same("slide_to_circular_buffer"),
        "ocl.circularBufferLoadFusion": same("circular_buffer_load_fusion"),
        "ocl.rotateValues": same("slide_to_rotate_values"),
        "isCopy": no(Reason.PREDICATE),
        "isId": no(Reason.PREDICATE),
        "containsComputation": no(Reason.PREDICATE),
        "isComputation": no(Reason.PREDICATE),
        "isMappingZip": no(Reason.PREDICATE),
    },
    "vectorize": {
        "after": false("as_scalar_as_vector_any_width"),
        "roundUpAfter": same("as_vector_rounded_up"),
        "alignedAfter": same("as_vector_to_aligned", "as_scalar_as_vector"),
        "asScalarAsVectorId": same("as_vector_as_scalar"),
        "beforeMapReduce": same("as_vector_map_reduce"),
        "beforeMapDot": same("as_vector_map_dot"),
        "beforeMap": same("as_vector_map", "as_vector_map_zip"),
        "asScalarOutsidePair": no(Reason.TRIVIAL),
        "asScalarOutsideZip": no(Reason.TRIVIAL),
        "padEmptyBeforeAsScalar": same("pad_empty_as_scalar"),
        "padEmptyBeforeAsVector": same("pad_empty_as_vector"),
        "alignSlide": same("slide_as_vector", "as_vector_rounded_up"),
        "mapAfterShuffle": false("map_after_shuffle_any_function"),
        "padEmptyBeforeZipAsVector": same("pad_empty_zip_as_vector"),
    },
    "package": {
        "etaAbstraction": no(Reason.BETA),
        "idxReduction": same("first_of_three", "second_of_three", "third_of_three"),
        "checkType": no(Reason.TYPES),
    },
}
"""The rules of RISE's ELEVATE code, by their file; those in backquotes go by the name of their definition."""

EQSAT: Mapping[str, Counterparts] = {
    "eta": no(Reason.BETA),
    "eta-wfi": no(Reason.BETA),
    "eta-abstraction": no(Reason.BETA),
    "map-eta-abstraction": no(Reason.BETA),
    "beta": no(Reason.BETA),
    "beta-nat": no(Reason.BETA),
    "beta-extract": no(Reason.BETA),
    "beta-nat-extract": no(Reason.BETA),
    "composition-intro": no(Reason.BETA),
    "composition-elim": no(Reason.BETA),
    "composition-assoc-1": no(Reason.BETA),
    "composition-assoc-2": no(Reason.BETA),
    "composition-left-id": no(Reason.BETA),
    "composition-right-id": no(Reason.BETA),
    "idx-reduction-0-1": same("index_first"),
    "idx-reduction-0-2": same("index_first"),
    "idx-reduction-1-2": same("index_behind_first"),
    "idx-reduction-0-3": false("idx_reduction_0_3"),
    "idx-reduction-1-3": same("second_of_three"),
    "idx-reduction-2-3": false("idx_reduction_2_3"),
    "map-fission": same("map_fusion"),
    "split-join-n": false("split_join_any_size"),
    "split-join-1m-n": false("split_join_any_size", holds=("split_join",)),
    "split-join-2m-n": false("split_join_any_size", holds=("split_join",)),
    "split-join-3m-n": false("split_join_any_size", holds=("split_join",)),
    "split-join-4m-n": false("split_join_any_size", holds=("split_join",)),
    "split-join-5m-n": false("split_join_any_size", holds=("split_join",)),
    "split-join-6m-n": false("split_join_any_size", holds=("split_join",)),
    "blocked-reduce-n": false("blocked_reduce_unguarded"),
    "lift-reduce-seq": same("map_reduce_interchange", "lift_reduce_seq"),
    "lift-reduce-seq-2": false("lift_reduce_seq_2"),
    "lift-reduce-seq-3": false("lift_reduce_seq_3"),
    "reduce-seq-map-fusion": same("reduce_map_fusion"),
    "reduce-seq-map-fission": false(
        "reduce_map_fission_capturing_argument", "reduce_map_fission_capturing_operator"
    ),
    "undo-reduce-seq-for-add": same("reduce_to_seq"),
    "transpose-pair-after": same("transpose_transpose"),
    "transpose-pair-after-2": same("transpose_transpose"),
    "transpose-pair-after-3": same("transpose_transpose"),
    "transpose-pair-after-4": same("transpose_transpose"),
    "map-outside-make-array-2": same("map_outside_make_array"),
    "map-outside-zip": same("zip_map_map", "zip_map_left", "zip_map_right"),
    "fst-unzip-as-map": same("unzip_first"),
    "snd-unzip-as-map": same("unzip_second"),
    "transpose-around-map-map-f": same("transpose_both_sides", "map_interchange_rows"),
    "transpose-around-map-map-f-1m": same("transpose_both_sides"),
    "transpose-around-map-map-f-2m": same("transpose_both_sides"),
    "transpose-around-map-map-f-3m": same("transpose_both_sides"),
    "transpose-around-map-map-f-4m": same("transpose_both_sides"),
    "transpose-around-map-map-f-5m": same("transpose_both_sides"),
    "store-to-mem": same("store_and_name"),
    "hoist-let-app-1": same("let_out_of_function"),
    "hoist-let-app-2": same("let_out_of_function"),
    "hoist-let-app-3": same("let_out_of_function"),
    "hoist-let-lam": false("let_out_of_map_capturing"),
    "let-swap": false("let_swap_unrenamed"),
    "let-same": same("let_same"),
    "map-array": same("insert_copy"),
    "map-seq-array": same("insert_copy"),
    "map-seq-unroll-map-seq-write": same("insert_copy_of_rows"),
    "reduce-seq-one": no(Reason.MISSING),
    "map-par": no(Reason.MISSING),
    "promote-aligned": same("as_vector_to_aligned"),
    "vec-after-n": false("as_scalar_as_vector_any_width"),
    "vec-before-map-f32": same("as_vector_map"),
    "vec-before-map-f32xf32": same("as_vector_map_zip"),
    "vec-before-map-f32x(f32xf32)": same("as_vector_map_zip_three"),
}
"""The rules of RISE's e-graph that are not among those of `RISE`, or differ from them."""

OTHERS: Mapping[str, Counterparts] = {
    "LIFT docs/rules.rst: reduce(z, map(f) o zip)": same("reduce_map_zip"),
    "LIFT docs/rules.rst: map(map(f) o T) o slide": false("window_map_exchange_untransposed"),
    "LIFT docs/rules.rst: mapSeq(f) o slide": same("map_seq_slide_fusion"),
    "RISE reorderWithStride": false("stride_is_its_own_inverse"),
    "RISE scan.blockScanStepRec": same("scan_blocked"),
    "RISE workEfficientScan.expandBlockScan": same("scan_blocked"),
    "RISE workEfficientScan.lowerToSequential": no(Reason.MISSING),
    "LIAR CoreRules: e -> (build N (lambda i. e))[j]": false("index_of_build_any_index"),
}
"""Documented rules, rules of other files, and a false one of another system."""


def entries() -> dict[str, Counterparts]:
    """Every rule of the literature by its source, its file and its name.

    >>> from relift.rewrites.ledger.literature import entries
    >>> entries()["LIFT Rules joinSplit"].refuted
    ('join_split_capturing',)
    """
    named = {
        f"{source} {file} {name}": entry
        for source, files in (("LIFT", LIFT), ("RISE", RISE))
        for file, rules in files.items()
        for name, entry in rules.items()
    }
    return {**named, **{f"EQSAT {name}": e for name, e in EQSAT.items()}, **OTHERS}
