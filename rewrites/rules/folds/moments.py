"""Moments: sums of products of differences from values that are known later, by sums of differences from any others.

(x - m) (y - k)           =  ((x - p) (y - q) + (x - p) (q - k)) + ((p - m) (y - q) + (p - m) (q - k))
sum (f x + g x)           =  sum (f x) + sum (g x)
sum (c * f x)             =  c * sum (f x)
sum (x, 2 n times)        =  s + s      where s = sum (x, n times)

for any p and q.  So the squares of the differences of numbers from their mean are summed in the pass that finds the mean:

sum (x - m)^2  =  sum (x - p)^2 + (p - m) sum (x - p) + (p - m) sum (x - p) + n (p - m)^2

p is best near m, such as one of the numbers: of numbers all of which are far from 0 nothing is lost then.
Source: Chan, Golub, LeVeque, Algorithms for computing the sample variance, The American Statistician 37 (1983), shifted data.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.conditions import distributive, neutral, telescoping
from relift.rewrites.notation import COMMUTATIVE_MONOID, MONOID, A, B, k, n
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import let, map, reduce, repeat
from relift.semantics.syntax.signatures import Fun, Op

_SOURCE = "Chan, Golub, LeVeque (1983), sample variance, shifted data"

_RELATED = """assert (same : forall o o', Rfun R (Rfun R R) o o' -> Rfun R (Rfun R R) o o).
{ intros o o' Oo a b Eab u v Euv. apply (per_trans P _ (o' b v)); [apply Oo; assumption |].
  apply (per_sym P), Oo; [exact (per_right P _ _ Eab) | exact (per_right P _ _ Euv)]. }
"""
"""What relates two operators relates each to itself."""


@rule(
    where=[distributive("times", "plus"), telescoping("minus", "plus")],
    source=_SOURCE,
    proof="intros A R B T n times times' plus plus' minus minus' z z' f f' g g' xs xs' m m' k k' p p' q q' "
    "P PT Di Te Ti Pl Mi Z F G L M K Pp Q.\n"
    + _RELATED
    + """unfold reduce, map. apply fold_related; [exact Z | intros i acc acc' I Acc; apply Pl; [exact Acc |]].
pose proof (F _ _ (L i I)) as X. pose proof (G _ _ (L i I)) as Y.
set (x := f (xs i)) in *. set (x' := f' (xs' i)) in *. set (y := g (xs i)) in *. set (y' := g' (xs' i)) in *.
pose proof (same _ _ Ti) as Tt. pose proof (same _ _ Pl) as S. pose proof (same _ _ Mi) as D.
pose proof (per_left P _ _ X) as Hx. pose proof (per_left P _ _ M) as Hm. pose proof (per_left P _ _ Pp) as Hp.
pose proof (per_left P _ _ Y) as Hy. pose proof (per_left P _ _ K) as Hk. pose proof (per_left P _ _ Q) as Hq.
assert (a := D _ _ Hx _ _ Hp). assert (c := D _ _ Hp _ _ Hm).
assert (b := D _ _ Hy _ _ Hq). assert (e := D _ _ Hq _ _ Hk). assert (be := S _ _ b _ _ e).
apply (per_trans P _ (times (plus (minus x p) (minus p m)) (plus (minus y q) (minus q k)))).
{ apply Tt; apply Te; assumption. }
apply (per_trans P _ (plus (times (minus x p) (plus (minus y q) (minus q k)))
  (times (minus p m) (plus (minus y q) (minus q k))))).
{ apply Di; assumption. }
apply (per_trans P _ (plus (plus (times (minus x p) (minus y q)) (times (minus x p) (minus q k)))
  (plus (times (minus p m) (minus y q)) (times (minus p m) (minus q k))))).
{ apply S; apply Di; assumption. }
assert (a' := Mi _ _ X _ _ Pp). assert (c' := Mi _ _ Pp _ _ M).
assert (b' := Mi _ _ Y _ _ Q). assert (e' := Mi _ _ Q _ _ K).
apply Pl; apply Pl; apply Ti; assumption.""",
)
def reduce_products_about(
    times: Op[A], plus: Op[A], minus: Op[A], z: A, f: Fun[B, A], g: Fun[B, A], xs: B[n],
    m: A, k: A, p: A, q: A,
):  # fmt: skip
    """Products of differences from two values, by differences from two others."""

    def about(x: Any) -> Any:
        of_f, of_g = minus(f(x), p), minus(g(x), q)
        return plus(
            plus(times(of_f, of_g), times(of_f, minus(q, k))),
            plus(times(minus(p, m), of_g), times(minus(p, m), minus(q, k))),
        )

    return (
        reduce(plus, z, map(lambda x: times(minus(f(x), m), minus(g(x), k)), xs)),
        reduce(plus, z, map(about, xs)),
    )


@rule(where=COMMUTATIVE_MONOID, source=_SOURCE)
def reduce_of_sums(op: Op[A], z: A, f: Fun[B, A], g: Fun[B, A], xs: B[n]):
    """A reduction of what two functions combine to is two reductions."""
    return (
        reduce(op, z, map(lambda x: op(f(x), g(x)), xs)),
        op(reduce(op, z, map(f, xs)), reduce(op, z, map(g, xs))),
    )


@rule(
    where=[neutral("plus", "z"), distributive("times", "plus")],
    source=_SOURCE,
    proof="intros A R B S n times times' plus plus' z z' c c' f f' xs xs' P Q Ne Di Ti Pl Z C F X.\n"
    + _RELATED
    + """unfold reduce, map. apply (per_trans P _ (times c (fold plus z (n + 1) (fun i => f (xs i))))).
{ apply fold_factor; try assumption;
    [exact (same _ _ Pl) | exact (same _ _ Ti) | exact (per_left P _ _ Z) | exact (per_left P _ _ C) |].
  intros i I. exact (per_left P _ _ (F _ _ (X i I))). }
apply Ti; [exact C |].
apply fold_related; [exact Z | intros i b d I E; apply Pl; [exact E | apply F, X, I]].""",
)
def reduce_factor(times: Op[A], plus: Op[A], z: A, c: A, f: Fun[B, A], xs: B[n + 1]):
    """A factor of all that is summed, from the neutral element, is a factor of the sum."""
    return (
        reduce(plus, z, map(lambda x: times(c, f(x)), xs)),
        times(c, reduce(plus, z, map(f, xs))),
    )


@rule(where=MONOID, source=_SOURCE)
def reduce_repeat_twice(op: Op[A], z: A, x: A):
    """A value repeated an even number of times is reduced as two halves, which are the same."""
    return (
        reduce(op, z, repeat(2 * k, x)),
        let(lambda half: op(half, half), reduce(op, z, repeat(k, x))),
    )


@rule(source="the definition of map")
def map_constant(x: A, xs: B[n]):
    """What does not depend on the elements is the same for each."""
    return map(lambda _: x, xs), repeat(n, x)
