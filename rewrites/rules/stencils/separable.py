"""Separable stencils: a sum over two dimensions of a window is one over each.

reduce op z . join            =  reduce op z . map (reduce op z)      in every window
dot (join (outer vs hs)) . join  =  dot vs . map (dot hs)  =  dot hs . map (dot vs) . transpose

where dot ws xs is the sum of the products.  The weights must be an outer product: without that the rules of
RISE are refuted (`refuted`).
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.conditions import associative, commutative, distributive, neutral
from relift.rewrites.notation import MONOID, A, B, k, m, n, q, size
from relift.rewrites.rule import rule
from relift.semantics.language.multidimensional import map_nd, slide_nd
from relift.semantics.language.vocabulary import join, map, reduce, slide, transpose, zip
from relift.semantics.syntax.signatures import Fun, Op


@rule(where=MONOID, source="RISE separateSumHV, in the stencil of its binomial filter")
def separable_sum(op: Op[A], z: A, xss: A[size + k, size + q]):
    """A sum over square windows is one over rows of windows, then one over columns."""
    rows = map(lambda xs: map(reduce(op, z), slide(size, 1, xs)), xss)
    return (
        map_nd(2, lambda v: reduce(op, z, join(v)), slide_nd((size, size), (1, 1), xss)),
        transpose(
            map(lambda xs: map(reduce(op, z), slide(size, 1, xs)), transpose(rows))
        ),
    )  # fmt: skip


# The inner sums have an element each: no law says that a factor of z is z.

_SEMIRING = (
    associative("plus"), neutral("plus", "z"), associative("times"), distributive("times", "plus"),
)  # fmt: skip


def weighted_sum(times: Any, plus: Any, z: Any, ws: Any, xs: Any) -> Any:
    """The sum, from z, of each element of `xs` times its weight."""
    return reduce(plus, z, map(lambda p: times(p[0], p[1]), zip(ws, xs)))


# The proofs: the flat sum is one of sums (by rows, or by columns), each of them has a common factor, and
# what is left is related to the other side.  `left` and `right` say that what is related to something is
# related to itself.

_START = "intros A R m n times times' plus plus' z z' vs vs' hs hs' xss xss' P As Ne At Di"

_RELATED = """
assert (left : forall a b, R a b -> R a a) by (intros a b Q; exact (per_left P _ _ Q)).
assert (right : forall a b, R a b -> R b b) by (intros a b Q; exact (per_right P _ _ Q)).
assert (Tr : Rfun R (Rfun R R) times times) by (intros a b Q c d S; eapply (per_trans P); [exact
  (Ti a b Q c d S) | apply (per_sym P); apply Ti; eauto]).
assert (Pr : Rfun R (Rfun R R) plus plus) by (intros a b Q c d S; eapply (per_trans P); [exact
  (Pl a b Q c d S) | apply (per_sym P); apply Pl; eauto]).
assert (Zr : R z z) by eauto.
assert (same : forall k x y, (forall i, i < k -> R (x i) (y i)) -> R (fold plus z k x) (fold
  plus z k y)) by (intros k x y L; apply (@fold_related A A A A R); auto; intros; apply Pr;
  auto).
assert (related : forall k x y, (forall i, i < k -> R (x i) (y i)) -> R (fold plus z k x) (fold
  plus' z' k y)) by (intros k x y L; apply (@fold_related A A A A R); auto; intros; apply Pl;
  auto).
"""

_BY_ROWS = """
assert (body : forall i j, i < n -> j < m + 1 -> R (times (hs j) (xss i j)) (times' (hs' j)
  (xss' i j))) by (intros i j I J; apply Ti; [apply H; auto | apply X; auto]).
unfold reduce. eapply (per_trans P).
- apply (@fold_blocks A R plus z P Pr Zr As Ne (m * n + n) n (m + 1)); [nia |].
  intros q Q. unfold map, zip, join. simpl.
  assert (q / (m + 1) < n) by (apply Nat.div_lt_upper_bound; nia).
  assert (q mod (m + 1) < m + 1) by (apply Nat.mod_upper_bound; nia).
  apply Tr; [apply Tr; [eapply left; apply V; auto | eapply left; apply H; auto] | eapply left;
    apply X; auto].
- apply related. intros i I.
  unfold map, zip, join. simpl. eapply (per_trans P).
  + apply (same _ _ (fun j => times (vs i) (times (hs j) (xss i j)))). intros j J.
    rewrite (Nat.add_comm (i * (m + 1)) j), Nat.div_add, Nat.mod_add, Nat.div_small,
      Nat.mod_small by lia. simpl.
    assert (Vi : R (vs i) (vs i)) by (eapply left; apply V; auto).
    assert (Hj : R (hs j) (hs j)) by (eapply left; apply H; auto).
    assert (Xi : R (xss i j) (xss i j)) by (eapply left; apply X; auto).
    apply (per_sym P); apply At; auto.
  + eapply (per_trans P).
    * apply (@fold_factor A R plus times); auto; [eapply left; apply V; auto | intros j J;
      eapply left; apply body; auto].
    * apply Ti; [apply V; auto |]. apply related. intros j J. apply body; auto.
"""

_BY_COLUMNS = """
assert (body : forall i j, i < n + 1 -> j < m -> R (times (vs i) (xss i j)) (times' (vs' i)
  (xss' i j))) by (intros i j I J; apply Ti; [apply V; auto | apply X; auto]).
unfold reduce. eapply (per_trans P).
- apply (@fold_strided A R plus z P Pr Zr As Ne Cp (m * n + m) (n + 1) m); [nia |].
  intros q Q. unfold map, zip, join. simpl.
  assert (q / m < n + 1) by (apply Nat.div_lt_upper_bound; nia).
  assert (q mod m < m) by (apply Nat.mod_upper_bound; nia).
  apply Tr; [apply Tr; [eapply left; apply V; auto | eapply left; apply H; auto] | eapply left;
    apply X; auto].
- apply related. intros j J.
  unfold map, zip, join, transpose. simpl. eapply (per_trans P).
  + apply (same _ _ (fun i => times (hs j) (times (vs i) (xss i j)))). intros i I.
    rewrite (Nat.add_comm (i * m) j), Nat.div_add, Nat.mod_add, Nat.div_small, Nat.mod_small by
      lia. simpl.
    assert (Vi : R (vs i) (vs i)) by (eapply left; apply V; auto).
    assert (Hj : R (hs j) (hs j)) by (eapply left; apply H; auto).
    assert (Xi : R (xss i j) (xss i j)) by (eapply left; apply X; auto).
    eapply (per_trans P); [apply Tr; [apply Ct; auto | exact Xi] | apply (per_sym P); apply At;
      auto].
  + eapply (per_trans P).
    * apply (@fold_factor A R plus times); auto; [eapply left; apply H; auto | intros i I;
      eapply left; apply body; auto].
    * apply Ti; [apply H; auto |]. apply related. intros i I. apply body; auto.
"""


@rule(where=_SEMIRING, source="RISE separateDotHV, separate-dot-hv, with its missing guard: "
      "the weights are an outer product",
      proof=f"{_START} Ti Pl Z V H X.{_RELATED}{_BY_ROWS}")  # fmt: skip
def separate_dot_hv(
    times: Op[A], plus: Op[A], z: A, vs: A[n], hs: A[m + 1], xss: A[n, m + 1]
):  # fmt: skip
    """A weighted sum of a window is one of its rows, then one of their sums."""
    weights = map(lambda v: map(lambda h: times(v, h), hs), vs)
    return (
        weighted_sum(times, plus, z, join(weights), join(xss)),
        weighted_sum(times, plus, z, vs, map(lambda xs: weighted_sum(times, plus, z, hs, xs), xss)),
    )


@rule(where=[*_SEMIRING, commutative("plus"), commutative("times")], source="RISE separateDotVH, "
      "separate-dot-vh, with its missing guard: the weights are an outer product",
      proof=f"{_START} Cp Ct Ti Pl Z V H X.{_RELATED}{_BY_COLUMNS}")  # fmt: skip
def separate_dot_vh(
    times: Op[A], plus: Op[A], z: A, vs: A[n + 1], hs: A[m], xss: A[n + 1, m]
):  # fmt: skip
    """A weighted sum of a window is one of its columns, then one of their sums."""
    weights = map(lambda v: map(lambda h: times(v, h), hs), vs)
    return (
        weighted_sum(times, plus, z, join(weights), join(xss)),
        weighted_sum(
            times, plus, z, hs, map(lambda xs: weighted_sum(times, plus, z, vs, xs), transpose(xss))
        ),
    )


@rule(source="RISE mapFission, of a weighted sum")
def map_weighted_sum_fission(
    times: Op[A], plus: Op[A], z: A, ws: A[m], g: Fun[B, A[m]], xs: B[n]
):  # fmt: skip
    """The weighted sums of what is computed from each element may wait until all of it is there."""
    return (
        map(lambda x: weighted_sum(times, plus, z, ws, g(x)), xs),
        map(lambda ys: weighted_sum(times, plus, z, ws, ys), map(g, xs)),
    )
