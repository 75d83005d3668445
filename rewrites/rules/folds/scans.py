"""Scans: running reductions.

scan f z . map g             =  scan (\\acc x. f acc (g x)) z
index i . scan f z           =  reduce_seq f z . take (i + 1)
scan f z (concat xs ys)      =  concat (scan f z xs) (scan f (reduce_seq f z xs) ys)
take m . scan f z            =  scan f z . take m
map (op x) . scan op z       =  scan op x                                (op a monoid)
scan op z                    =  join . map (\\(s, c). scan op s c) . zip (exclusive scan of chunk results) . split m
take n (concat [z] (scan op z xs))  =  map (\\i. fold op z (map (\\(j, x). if j < i then x else z) (zip places xs))) places
scan (\\(a, b) x. (f a x, g b x)) (y, z)  =  \\xs. zip (scan f y xs) (scan g z xs)
fold g y (zip (scan f z xs) ys)  =  second of a fold of pairs over zip xs ys
transpose . map (scan f z)   =  scan (zip-with f) (repeat n z) . transpose
scan (\\ys x. map (\\y. f y x) ys) zs xs  =  transpose (map (\\z. scan f z xs) zs)
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.conditions import neutral
from relift.rewrites.families import Number
from relift.rewrites.notation import MONOID, A, B, C, D, k, m, n, r
from relift.rewrites.proof_scripts import (
    FOLD_ROLLED,
    REDUCE_SCAN_FUSION,
    REDUCE_SCAN_FUSION_DEFINED,
    REDUCE_SCAN_FUSION_IN_ZIP,
    REDUCE_SCAN_FUSION_IN_ZIP_DEFINED,
    SCAN_BLOCKED,
    SCAN_SEQ_ROLLED_DEFINED,
    SCAN_SPLIT,
    SCAN_SPLIT_DEFINED,
)
from relift.rewrites.proofs_of_bins import BEFORE_EACH_MASKED
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    concat,
    generate,
    join,
    let,
    map,
    reduce,
    reduce_seq,
    repeat,
    scan_seq,
    select,
    split,
    take,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import tup


@rule(source="Bird, theory of lists, accumulations; RISE scanSeq")
def scan_map_fusion(f: Fun[B, C, B], g: Fun[A, C], z: B, xs: A[n]):
    """A scan applies a map as it goes."""
    return (
        scan_seq(f, z, map(g, xs)),
        scan_seq(lambda acc, x: f(acc, g(x)), z, xs),
    )


@rule(source="Bird, theory of lists, accumulations: the last element of a scan")
def scan_last(f: Fun[B, A, B], z: B, xs: A[n + 1]):
    """The last element of a scan is the fold."""
    return scan_seq(f, z, xs)[n], reduce_seq(f, z, xs)


@rule(source="Bird, theory of lists, accumulations: scan is a fold of each prefix")
def scan_index(f: Fun[B, A, B], z: B, xs: A[m + 1 + r]):
    """An element of a scan is the fold of the elements up to there."""
    return scan_seq(f, z, xs)[m], reduce_seq(f, z, take(m + 1, xs))


@rule(source="Bird, theory of lists, accumulations")
def scan_take(f: Fun[B, A, B], z: B, xs: A[m + r]):
    """A scan does not look ahead."""
    return take(m, scan_seq(f, z, xs)), scan_seq(f, z, take(m, xs))


@rule(source="Bird, theory of lists, accumulations")
def scan_concat(f: Fun[B, A, B], z: B, xs: A[n], ys: A[m]):
    """The second array is scanned from the result of the first."""
    return (
        scan_seq(f, z, concat(xs, ys)),
        concat(scan_seq(f, z, xs), scan_seq(f, reduce_seq(f, z, xs), ys)),
    )


@rule(where=MONOID, source="Blelloch, prefix sums and their applications; RISE workEfficientScan")
def scan_start(op: Op[A], x: A, z: A, xs: A[n]):
    """What is combined with every running result may start the scan."""
    return (
        map(lambda y: op(x, y), scan_seq(lambda acc, y: op(acc, y), z, xs)),
        scan_seq(lambda acc, y: op(acc, y), x, xs),
    )


def _before(op: Op[A], z: A, xs: A[k * m]) -> Any:
    """What the chunks before each chunk reduce to, and last what all do."""
    totals = map(reduce(op, z), split(m, xs))
    return concat(repeat(1, z), scan_seq(lambda acc, y: op(acc, y), z, totals))


@rule(
    where=MONOID,
    source="RISE scan.blockScanStepRec, workEfficientScan.expandBlockScan; Blelloch, blocked scan",
    proof=SCAN_BLOCKED,
)
def scan_blocked(op: Op[A], z: A, xs: A[k * m]):
    """Chunks are scanned on their own, each from what the chunks before it reduce to."""
    return (
        scan_seq(lambda acc, y: op(acc, y), z, xs),
        join(
            map(
                lambda p: scan_seq(lambda acc, y: op(acc, y), p[0], p[1]),
                zip(take(k, _before(op, z, xs)), split(m, xs)),
            )
        ),
    )


@rule(
    where=[neutral("op", "z")],
    lowering=True,
    source="Ladner and Fischer, parallel prefix computation, 1980; Blelloch, exclusive scans",
    proof=BEFORE_EACH_MASKED,
)
def before_each_masked_number(op: Op[Number], z: Number, xs: Number[n]):
    """What the elements ({number}) before each come to is a fold of all, of which those from there on count for nothing."""
    places = generate(n, lambda i: i)

    def masked(i: Any) -> Any:
        return reduce(op, z, map(lambda p: select(p[0] < i, p[1], z), zip(places, xs)))

    return (
        take(n, concat(repeat(1, z), scan_seq(lambda acc, y: op(acc, y), z, xs))),
        map(masked, places),
    )


@rule(
    source="RISE scanSeq over chunks; LIFT splitJoin for a loop that carries a value",
    proof=SCAN_SPLIT,
    defined=SCAN_SPLIT_DEFINED,
)
def scan_split(f: Fun[B, A, B], z: B, xs: A[k * m]):
    """A scan goes chunk by chunk, each from the fold of the elements before it."""
    folds = scan_seq(lambda acc, c: reduce_seq(f, acc, c), z, split(m, xs))
    return (
        scan_seq(f, z, xs),
        join(
            map(
                lambda p: scan_seq(f, p[0], p[1]),
                zip(take(k, concat(repeat(1, z), folds)), split(m, xs)),
            )
        ),
    )


_SCANS = "intros A RA B RB k m f f' z z' xs xs' "

_LAST_OF_THOSE_BEFORE = """(fold (fun (ys : arr B) (c : arr A) p => fold f' (ys m) (S p) c) (fun _ => z') i
  (fun a b => xs' (a * (m + 1) + b)) m)"""

_FROM_THE_LAST = f"""
assert (within : forall i j, i < k -> j < m + 1 -> i * (m + 1) + j < k * m + k).
{{ intros i j I J. assert (S i * (m + 1) <= k * (m + 1)) by (apply Nat.mul_le_mono_r; lia). lia. }}
assert (next : forall i j, i < k -> j <= m + 1 -> RB (fold f z (i * (m + 1)) xs) {_LAST_OF_THOSE_BEFORE} ->
  RB (fold f z (i * (m + 1) + j) xs) (fold f' {_LAST_OF_THOSE_BEFORE} j (fun b => xs' (i * (m + 1) + b)))).
{{ intros i j I J E. rewrite fold_append. apply fold_related; [exact E |].
  intros p b c L G. apply F; [exact G |]. apply X. apply within; lia. }}
assert (before : forall i, i <= k -> RB (fold f z (i * (m + 1)) xs) {_LAST_OF_THOSE_BEFORE}).
{{ induction i as [| i IH]; intros I; [exact Z |].
  replace (S i * (m + 1)) with (i * (m + 1) + S m) by lia.
  exact (next i (S m) I ltac:(lia) (IH ltac:(lia))). }}
"""
"""Where an element of a chunk is folded both sides have the same accumulator: the last of the chunk before, and those since."""

_IN_CHUNKS_OF_SOME = """
assert (Q : i / (m + 1) < k) by (apply Nat.div_lt_upper_bound; [lia | rewrite Nat.mul_comm; lia]).
assert (L : i mod (m + 1) < m + 1) by (apply Nat.mod_upper_bound; lia).
"""

_SEQ_CHUNKS = (
    f"{_SCANS} PA PB F Z X.\n{_FROM_THE_LAST}opened.\nreduced.\nintros i I.{_IN_CHUNKS_OF_SOME}"
    + """
assert (V : S i = i / (m + 1) * (m + 1) + S (i mod (m + 1))) by (rewrite Nat.add_succ_r, divided; reflexivity).
rewrite V at 1.
exact (next _ _ Q L (before _ (Nat.lt_le_incl _ _ Q))).
"""
)

_SEQ_CHUNKS_DEFINED: dict[Direction, str] = {
    "forward": f"{_SCANS} Dz Dz' Dx Dx' Df Df' PA PB F Z X Ez Ex Ef [K Kf].\n{_FROM_THE_LAST}"
    + """
split; [tauto |].
intros i I j J.
apply (Ef _ _ (next i j I (Nat.lt_le_incl _ _ J) (before i (Nat.lt_le_incl _ _ I))) _ _ (X _ (within i j I J))).
apply Kf. exact (within i j I J).
""",
    "backward": f"{_SCANS} Dz Dz' Dx Dx' Df Df' PA PB F Z X Ez Ex Ef [K Kf].\n{_FROM_THE_LAST}"
    + f"split; [tauto |].\nintros i I.{_IN_CHUNKS_OF_SOME}"
    + """
assert (V : i = i / (m + 1) * (m + 1) + i mod (m + 1)) by (rewrite divided; reflexivity).
rewrite V.
apply (Ef _ _ (next _ _ Q (Nat.lt_le_incl _ _ L) (before _ (Nat.lt_le_incl _ _ Q))) _ _ (X _ (within _ _ Q L))).
exact (Kf _ Q _ L).
""",
}


@rule(
    source="RISE scanSeq over chunks; LIFT splitJoin for a loop that carries a value",
    proof=_SEQ_CHUNKS,
    defined=_SEQ_CHUNKS_DEFINED,
)
def scan_seq_chunks(f: Fun[B, A, B], z: B, xs: A[k * (m + 1)]):
    """A scan goes chunk by chunk, each from the last running result of the one before."""
    return (
        scan_seq(f, z, xs),
        join(
            scan_seq(
                lambda ys, c: scan_seq(f, ys[m], c), repeat(m + 1, z), split(m + 1, xs)
            )
        ),
    )  # fmt: skip


@rule(source="Meijer, Fokkinga and Paterson, FPCA'91, tupling; LIFT reduceFusionInZip, for scans")
def scan_zip(f: Fun[C, A, C], g: Fun[D, B, D], y: C, z: D, xs: A[n], ys: B[n]):
    """Two scans over arrays of one length are one scan of pairs."""
    return (
        zip(scan_seq(f, y, xs), scan_seq(g, z, ys)),
        scan_seq(lambda acc, p: (f(acc[0], p[0]), g(acc[1], p[1])), (y, z), zip(xs, ys)),
    )


@rule(source="Meijer, Fokkinga and Paterson, FPCA'91, tupling, backwards")
def scan_pair_apart(f: Fun[B, A, B], g: Fun[C, A, C], y: B, z: C, xs: A[n]):
    """Two running results that do not need each other are two scans."""
    return (
        scan_seq(lambda s, x: (f(s[0], x), g(s[1], x)), (y, z), xs),
        zip(scan_seq(f, y, xs), scan_seq(g, z, xs)),
    )


@rule(source="LIFT mapReduceInterchange, for scans; Bird, theory of lists")
def map_scan_interchange(f: Fun[B, A, B], z: B, xss: A[n, m]):
    """Scanning every row is scanning all columns at once."""
    return (
        transpose(map(lambda row: scan_seq(f, z, row), xss)),
        scan_seq(
            lambda accs, col: map(lambda p: f(p[0], p[1]), zip(accs, col)),
            repeat(n, z),
            transpose(xss),
        ),
    )


@rule(source="RISE liftReduce in general, for scans; LIFT mapReduceInterchange")
def map_scan_interchange_rows(h: Fun[A, C, B, C], z: Fun[A, C], g: Fun[A, B[m]], xs: A[n]):
    """Function, start and array of a scan may all depend on the element of the map."""
    return (
        map(lambda x: scan_seq(lambda acc, y: h(x, acc, y), z(x), g(x)), xs),
        transpose(
            scan_seq(
                lambda accs, col: map(
                    lambda p: h(p[0], p[1][0], p[1][1]), zip(xs, zip(accs, col))
                ),
                map(z, xs),
                transpose(map(g, xs)),
            )
        ),
    )  # fmt: skip


@rule(
    source="Bird, theory of lists: a fold after a scan in one pass",
    proof=REDUCE_SCAN_FUSION,
    defined=REDUCE_SCAN_FUSION_DEFINED,
)
def reduce_scan_fusion(f: Fun[B, A, B], g: Fun[C, B, C], y: C, z: B, xs: A[n]):
    """A fold of running results keeps both accumulators."""
    return (
        reduce_seq(g, y, scan_seq(f, z, xs)),
        reduce_seq(
            lambda acc, x: let(lambda b: (b, g(acc[1], b)), f(acc[0], x)), (z, y), xs
        )[1],
    )  # fmt: skip


@rule(
    source="Bird, theory of lists: a fold after a scan in one pass, with what lies beside the scan",
    proof=REDUCE_SCAN_FUSION_IN_ZIP,
    defined=REDUCE_SCAN_FUSION_IN_ZIP_DEFINED,
)
def reduce_scan_fusion_in_zip(
    f: Fun[B, A, B], g: Fun[D, tup(B, C), D], y: D, z: B, xs: A[n], ys: C[n]
):  # fmt: skip
    """A fold of running results, and of what lies beside them, keeps both accumulators."""
    return (
        reduce_seq(g, y, zip(scan_seq(f, z, xs), ys)),
        reduce_seq(
            lambda acc, p: let(lambda b: (b, g(acc[1], (b, p[1]))), f(acc[0], p[0])),
            (z, y),
            zip(xs, ys),
        )[1],
    )


@rule(source="Bird, theory of lists, accumulations; map promotion")
def scan_seq_map(f: Fun[B, A, B], zs: B[m], xs: A[n]):
    """A scan that changes each element on its own is a scan for each element."""
    return (
        scan_seq(lambda ys, x: map(lambda y: f(y, x), ys), zs, xs),
        transpose(map(lambda z: scan_seq(f, z, xs), zs)),
    )


@rule(source="Bird, theory of lists, accumulations; map promotion, beside what stays as it is")
def scan_seq_map_beside(f: Fun[B, C, A, B], zs: B[m], cs: C[m], xs: A[n]):
    """A scan that changes each element on its own, with what stands beside it, is a scan for each element."""
    return (
        scan_seq(lambda ys, x: map(lambda p: f(p[0], p[1], x), zip(ys, cs)), zs, xs),
        transpose(map(lambda p: scan_seq(lambda y, x: f(y, p[1], x), p[0], xs), zip(zs, cs))),
    )


@rule(source="Bird, theory of lists, accumulations; map promotion, with rows of the steps")
def scan_seq_map_rows(f: Fun[B, C, A, B], g: Fun[A, C[m]], zs: B[m], xs: A[n]):
    """A scan that changes each element on its own, with one of a row of its step, is a scan of each column."""
    return (
        scan_seq(lambda ys, x: map(lambda p: f(p[0], p[1], x), zip(ys, g(x))), zs, xs),
        transpose(
            map(
                lambda p: scan_seq(lambda y, q: f(y, q[0], q[1]), p[0], zip(p[1], xs)),
                zip(zs, transpose(map(g, xs))),
            )
        ),
    )


@rule(
    source="Backhouse, fixed-point calculus, the rolling rule",
    proof=FOLD_ROLLED,
    defined=SCAN_SEQ_ROLLED_DEFINED,
)
def scan_seq_rolled(f: Fun[B, A, C], g: Fun[C, B], c: C, xs: A[n]):
    """A scan of what something is seen as is a scan of that thing."""
    return (
        scan_seq(lambda s, x: let(g, f(s, x)), let(g, c), xs),
        map(g, scan_seq(lambda q, x: f(let(g, q), x), c, xs)),
    )


@rule(
    source="Meijer, Fokkinga and Paterson, FPCA'91, mutual recursion, of which one needs no other"
)
def scan_seq_first_alone(
    f: Fun[B, A, B], g: Fun[tup(B, C), A, C], y: B, z: C, xs: A[n]
):  # fmt: skip
    """The first of two running results that needs no other is scanned alone."""
    return (
        map(lambda s: s[0], scan_seq(lambda s, x: (f(s[0], x), g(s, x)), (y, z), xs)),
        scan_seq(f, y, xs),
    )


@rule(
    source="Meijer, Fokkinga and Paterson, FPCA'91, mutual recursion, of which one needs no other"
)
def scan_seq_second_alone(
    f: Fun[tup(B, C), A, B], g: Fun[C, A, C], y: B, z: C, xs: A[n]
):  # fmt: skip
    """The second of two running results that needs no other is scanned alone."""
    return (
        map(lambda s: s[1], scan_seq(lambda s, x: (f(s, x), g(s[1], x)), (y, z), xs)),
        scan_seq(g, z, xs),
    )
