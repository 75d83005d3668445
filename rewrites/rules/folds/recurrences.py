"""Recurrences whose steps are affine in what they carry: a chunk of them is one such step.

A step x takes acc to a(x) * acc + b(x), where * distributes over +.  Of two steps the one after the other comes to

    a2 * (a1 * acc + b1) + b2  =  (a2 * a1) * acc + (a2 * b1 + b2)

which is a step again, so that any number of them come to a pair, whatever they start from:

reduce_seq step z  =  (\\(p, q). p * z + q) (fold of pairs from (1, 0))

So are steps by an associative operator, which need no neutral element where there is a first, and steps that combine or begin anew:

reduce_seq op z  =  op z . (\\xs. reduce_seq op (head xs) (tail xs))
reduce_seq (\\acc x. if c x then op acc (b x) else w x) z  =  (\\(kept, v). if kept then op z v else v) (fold of pairs)

Source: Kogge and Stone, A parallel algorithm for the efficient solution of a general class of recurrence equations (1973);
Blelloch, prefix sums and their applications (1990), first-order recurrences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relift.rewrites.conditions import associative, distributive, neutral
from relift.rewrites.families import Number
from relift.rewrites.notation import MONOID, A, B, n
from relift.rewrites.proof_scripts import IN_ORDER
from relift.rewrites.rule import rule
from relift.semantics.language.coercion import as_term
from relift.semantics.language.vocabulary import drop, let, reduce_seq, select
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import boolean

_SOURCE = (
    "Kogge and Stone (1973); Blelloch, prefix sums and their applications, first-order recurrences"
)

_SEMIRING = (
    associative("plus"), neutral("plus", "zero"), associative("times"), neutral("times", "one"),
    distributive("times", "plus"),
)  # fmt: skip


def _composed(times: Any, plus: Any, a: Any, b: Any) -> Callable[[Any, Any], Any]:
    """What a pair for some steps, and one more step, come to."""
    return lambda q, x: (times(a(x), q[0]), plus(times(a(x), q[1]), b(x)))


# The proof: by induction the left side is, up to R, what the pair of the steps so far makes of the start.

_RELATED = """
assert (left : forall u v, R u v -> R u u) by (intros u v E; exact (per_left P _ _ E)).
assert (right : forall u v, R u v -> R v v) by (intros u v E; exact (per_right P _ _ E)).
assert (sym : forall u v, R u v -> R v u) by (intros u v; apply (per_sym P)).
assert (trans : forall u v w, R u v -> R v w -> R u w) by (intros u v w; apply (per_trans P)).
assert (Tr : Rfun R (Rfun R R) times times) by (intros u v E c d W; apply (trans _ (times' v d));
  [apply Ti; assumption | apply sym; apply Ti; [exact (right _ _ E) | exact (right _ _ W)]]).
assert (Pr : Rfun R (Rfun R R) plus plus) by (intros u v E c d W; apply (trans _ (plus' v d));
  [apply Pl; assumption | apply sym; apply Pl; [exact (right _ _ E) | exact (right _ _ W)]]).
assert (step : forall f g p q s, R f f -> R g g -> R p p -> R q q -> R s s ->
  R (plus (times f (plus (times p s) q)) g) (plus (times (times f p) s) (plus (times f q) g))).
{ intros f g p q s Hf Hg Hp Hq Hs.
  assert (R (times p s) (times p s)) by (apply Tr; assumption).
  assert (R (times f q) (times f q)) by (apply Tr; assumption).
  apply (trans _ (plus (plus (times f (times p s)) (times f q)) g)).
  - apply Pr; [| exact Hg]. apply Di; assumption.
  - apply (trans _ (plus (times f (times p s)) (plus (times f q) g))).
    + apply sym. apply Ap; [apply Tr; assumption | assumption | assumption].
    + apply Pr; [apply At; assumption | apply Pr; assumption]. }
"""

_PAIRS = """
assert (af : forall i, i < n -> R (a (xs i)) (a (xs i)) /\\ R (b (xs i)) (b (xs i))).
{ intros i L. split; [exact (left _ _ (Fa _ _ (X i L))) | exact (left _ _ (Fb _ _ (X i L)))]. }
assert (next : forall x x' u u', S x x' -> Rpair R R u u' -> Rpair R R
  (times (a x) (fst u), plus (times (a x) (snd u)) (b x)) (times' (a' x') (fst u'), plus' (times' (a' x') (snd u')) (b' x'))).
{ intros x x' u u' E [E1 E2]. split; cbn [fst snd]; [apply Ti; [apply Fa, E | exact E1] |].
  apply Pl; [apply Ti; [apply Fa, E | exact E2] | apply Fb, E]. }
"""
"""What a step adds to related pairs is related."""

_AS_ONE_STEP = (
    "intros A R B S n times times' plus plus' one one' zero zero' a a' b b' z z' xs xs' "
    f"P Q Ap Np At Nt Di Ti Pl I O Fa Fb Z X.\n{_RELATED}{_PAIRS}"
    + """
unfold reduce_seq, let_in.
set (pair := fun k => fold (fun q x => (times (a x) (fst q), plus (times (a x) (snd q)) (b x))) (one, zero) k xs).
assert (H : forall k, k <= n -> R (fst (pair k)) (fst (pair k)) /\\ R (snd (pair k)) (snd (pair k)) /\\
  R (fold (fun acc x => plus (times (a x) acc) (b x)) z k xs) (plus (times (fst (pair k)) z) (snd (pair k)))).
{ assert (Zl : R z z) by exact (left _ _ Z). assert (Il : R one one) by exact (left _ _ I).
  assert (Ol : R zero zero) by exact (left _ _ O).
  assert (more : forall k, pair (Datatypes.S k) = (times (a (xs k)) (fst (pair k)),
    plus (times (a (xs k)) (snd (pair k))) (b (xs k)))) by reflexivity.
  induction k as [| k IH]; intros L.
  - change (pair 0) with (one, zero). cbn [fold fst snd]. split; [exact Il | split; [exact Ol |]]. apply sym. apply (trans _ (times one z)).
    + apply Np. apply Tr; assumption.
    + apply Nt. exact Zl.
  - rewrite more. cbn [fold fst snd]. destruct (IH ltac:(lia)) as [H1 [H2 H3]]. destruct (af k ltac:(lia)) as [Ha Hb].
    split; [apply Tr; assumption | split; [apply Pr; [apply Tr; assumption | exact Hb] |]].
    apply (trans _ (plus (times (a (xs k)) (plus (times (fst (pair k)) z) (snd (pair k)))) (b (xs k)))).
    + apply Pr; [apply Tr; assumption | exact Hb].
    + apply step; assumption. }
destruct (H n (le_n n)) as [_ [_ E]].
apply (trans _ _ _ E).
match goal with |- R _ (plus' (times' (fst ?f) _) _) => assert (G : Rpair R R (pair n) f) end.
{ apply fold_related; [split; assumption |]. intros i u u' L W. apply next; [exact (X i L) | exact W]. }
destruct G as [G1 G2]. apply Pl; [apply Ti; [exact G1 | exact Z] | exact G2].
"""
)


@rule(where=_SEMIRING, source=_SOURCE, proof=_AS_ONE_STEP)
def recurrence_as_one_step(
    times: Op[A], plus: Op[A], one: A, zero: A, a: Fun[B, A], b: Fun[B, A], z: A, xs: B[n]
):  # fmt: skip
    """Affine steps come to an affine step, whatever they start from."""
    return (
        reduce_seq(lambda acc, x: plus(times(a(x), acc), b(x)), z, xs),
        let(
            lambda p: plus(times(p[0], z), p[1]),
            reduce_seq(_composed(times, plus, a, b), (one, zero), xs),
        ),
    )


_FROM_FIRST = (
    "intros A R n op op' z z' xs xs' P As F Z X.\nopened.\nreduced.\n"
    + IN_ORDER
    + """
assert (Xs : forall i, i < n + 1 -> R (xs i) (xs i)) by (intros i I; exact (left _ _ (X i I))).
set (later := fun i => xs (1 + i)).
assert (Fl : forall k, k <= n -> R (fold op (xs 0) k later) (fold op (xs 0) k later)) by (intros k K; apply fold_related;
  [apply Xs; lia | intros i b c I E; apply Op; [exact E | apply Xs; lia]]).
apply (trans _ (op z (fold op (xs 0) n later))).
- assert (H : forall k, k <= n -> R (fold op z (S k) xs) (op z (fold op (xs 0) k later))).
  { induction k as [| k step]; intros K; [apply Op; [exact (left _ _ Z) | apply Xs; lia] |].
    change (fold op z (S (S k)) xs) with (op (fold op z (S k) xs) (xs (S k))).
    apply (trans _ (op (op z (fold op (xs 0) k later)) (xs (S k)))); [apply Op; [apply step; lia | apply Xs; lia] |].
    apply sym, As; [exact (left _ _ Z) | apply Fl; lia | apply Xs; lia]. }
  rewrite Nat.add_1_r. apply H. lia.
- apply F; [exact Z |]. apply fold_related; [apply X; lia |]. intros i b c I E. apply F; [exact E | apply X; lia].
"""
)


@rule(
    where=[associative("op")],
    source="Bird, theory of lists, foldl1 of a semigroup",
    proof=_FROM_FIRST,
)
def fold_from_first(op: Op[A], z: A, xs: A[n + 1]):
    """What elements come to by an associative operator is found without the start: there is a first."""
    return (
        reduce_seq(lambda acc, x: op(acc, x), z, xs),
        let(lambda p: op(z, p), reduce_seq(lambda acc, x: op(acc, x), xs[0], drop(1, xs))),
    )


_RESETS = (
    """
hnf. intros.
opened.
reduced.
match goal with N : neutral ?S op z |- _ => pose (R := S) end.
assert (P : PER R) by first [match goal with H : PER _ |- _ => exact H end | constructor; unfold R; congruence].
assert (F : Rfun R (Rfun R R) op op') by match goal with H : Rfun _ (Rfun _ _) op op' |- _ => exact H end.
assert (As : associative R op) by match goal with H : associative _ op |- _ => exact H end.
assert (Ne : neutral R op z) by match goal with H : neutral _ op z |- _ => exact H end.
assert (Z : R z z') by match goal with H : _ z z' |- _ => exact H end.
assert (Y : R x x') by match goal with H : _ x x' |- _ => exact H end.
match goal with C : Rfun ?T eq keep keep', G : Rfun ?T ?S added added', W : Rfun ?T ?S anew anew', X : Rarr n ?T xs xs' |- _ =>
  assert (C1 : forall i, i < n -> keep (xs i) = keep' (xs' i)) by (intros i I; apply C, X, I);
  assert (G1 : forall i, i < n -> R (added (xs i)) (added' (xs' i))) by (intros i I; apply G, X, I);
  assert (W1 : forall i, i < n -> R (anew (xs i)) (anew' (xs' i))) by (intros i I; apply W, X, I) end.
"""
    + IN_ORDER
    + """
set (pair := fun k => fold (fun q y => (if keep y then fst q else false, if keep y then op (snd q) (added y) else anew y)) (true, z) k xs).
assert (both : forall k, k <= n -> R (snd (pair k)) (snd (pair k)) /\\ R (fold (fun acc y => if keep y then op acc (added y) else anew y) x k xs)
  (if fst (pair k) then op x (snd (pair k)) else snd (pair k))).
{ assert (more : forall k, pair (Datatypes.S k) = (if keep (xs k) then fst (pair k) else false,
    if keep (xs k) then op (snd (pair k)) (added (xs k)) else anew (xs k))) by reflexivity.
  assert (Yl : R x x) by exact (left _ _ Y).
  induction k as [| k step]; intros K.
  - split; [exact (left _ _ Z) |]. apply sym. exact (proj2 (Ne x Yl)).
  - rewrite more. cbn [fold fst snd]. destruct (step ltac:(lia)) as [proper_k known].
    assert (Bk : R (added (xs k)) (added (xs k))) by (apply (left _ (added' (xs' k))), G1; lia).
    assert (Wk : R (anew (xs k)) (anew (xs k))) by (apply (left _ (anew' (xs' k))), W1; lia).
    destruct (keep (xs k)); [| split; exact Wk]. split; [apply Op; assumption |].
    destruct (fst (pair k)); [| apply Op; assumption].
    apply (trans _ (op (op x (snd (pair k))) (added (xs k)))); [apply Op; assumption | apply sym, As; assumption]. }
apply (trans _ _ _ (proj2 (both n (le_n n)))).
match goal with |- _ _ (if fst ?f then _ else _) => assert (V : Rpair eq R (pair n) f) end.
{ apply fold_related; [split; [reflexivity | exact Z] |]. intros i u u' I [E1 E2]. rewrite <- (C1 i I).
  destruct (keep (xs i)); split; cbn [fst snd]; [exact E1 | apply F; [exact E2 | apply G1, I] | reflexivity | apply W1, I]. }
destruct V as [V1 V2]. rewrite <- V1. destruct (fst (pair n)); [apply F; assumption | exact V2].
"""
)


@rule(
    where=MONOID,
    source="Blelloch, prefix sums and their applications, segmented scans",
    proof=_RESETS,
)
def resets_as_one_step_number(
    op: Op[Number],
    z: Number,
    keep: Fun[B, boolean],
    added: Fun[B, Number],
    anew: Fun[B, Number],
    x: Number,
    xs: B[n],
):
    """Steps that combine or begin anew come to one that does either, whatever they start from ({number})."""

    def either(q: Any, y: Any) -> Any:
        return select(keep(y), q[0], False), select(keep(y), op(q[1], added(y)), anew(y))

    return (
        reduce_seq(lambda acc, y: select(keep(y), op(acc, added(y)), anew(y)), x, xs),
        let(lambda p: select(p[0], op(x, p[1]), p[1]), reduce_seq(either, (True, z), xs)),
    )


_FILLS = """
hnf. intros.
opened.
reduced.
match goal with Y : ?S x x' |- _ => pose (R := S) end.
assert (P : PER R) by first [match goal with H : PER _ |- _ => exact H end | constructor; unfold R; congruence].
assert (Y : R x x') by match goal with H : _ x x' |- _ => exact H end.
match goal with C : Rfun ?T eq keep keep', W : Rfun ?T ?S anew anew', X : Rarr n ?T xs xs' |- _ =>
  assert (C1 : forall i, i < n -> keep (xs i) = keep' (xs' i)) by (intros i I; apply C, X, I);
  assert (W1 : forall i, i < n -> R (anew (xs i)) (anew' (xs' i))) by (intros i I; apply W, X, I); clear X end.
match goal with |- _ _ (if fst ?f then _ else snd ?f) => assert (V : if fst f
  then R (fold (fun acc y => if keep y then acc else anew y) x n xs) x'
  else R (fold (fun acc y => if keep y then acc else anew y) x n xs) (snd f)) end.
{ induction n as [| k step]; cbn [fold fst snd]; [exact Y |].
  rewrite <- (C1 k ltac:(lia)). destruct (keep (xs k)); cbn [fst snd].
  - apply step; intros; [apply C1 | apply W1]; lia.
  - apply W1. lia. }
match goal with |- _ _ (if ?c then _ else _) => destruct c; exact V end.
"""


def _kept_or_new(keep: Any, anew: Any, x: Any, xs: Any) -> tuple[Any, Any]:
    def either(q: Any, y: Any) -> Any:
        return select(keep(y), q[0], False), select(keep(y), q[1], anew(y))

    start = True, as_term(0, x.type)
    return (
        reduce_seq(lambda acc, y: select(keep(y), acc, anew(y)), x, xs),
        let(lambda p: select(p[0], x, p[1]), reduce_seq(either, start, xs)),
    )


@rule(source="Blelloch, prefix sums and their applications, segmented copies", proof=_FILLS)
def fills_as_one_step_number(keep: Fun[B, boolean], anew: Fun[B, Number], x: Number, xs: B[n]):
    """Steps that keep what there is or begin anew come to one that does either ({number})."""
    return _kept_or_new(keep, anew, x, xs)


@rule(source="HOL, if_swap; a condition that does not hold is one that holds")
def select_swapped_number(c: boolean, x: Number, y: Number):
    """Of two values ({number}) the other one is chosen where the condition does not hold."""
    return select(c, x, y), select(select(c, False, True), y, x)
