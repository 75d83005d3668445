"""Where programs are defined is the interpreter's: the Rocq predicate holds of those that have a value, only.

Programs are made of partial patterns inside functions that are called for some elements, for none, in order,
or up to the first hit.  Each predicate is decided by computation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from proofs_tests.prover import needs_prover
from proofs_tests.rewrites.checks.rocq.test_conformance import (
    Modular,
    constant,
    definition,
    rocq_type,
    run,
)
from relift.rewrites.checks.rocq.definedness import conjunction, defined
from relift.semantics.errors import Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term, literal
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input, Pattern, Term, subterms
from relift.semantics.syntax.types import Array, i32

PARTIAL, EACH = 29, 12
"""How many patterns with a place where they may be undefined there are below, and the programs around each."""
pytestmark = needs_prover

DECIDED = """
From Coq Require Import Lia.
Class Decided (P : Prop) := decided : {P} + {~ P}.
#[global] Instance decided_and P Q (p : Decided P) (q : Decided Q) : Decided (P /\\ Q).
Proof. destruct p, q; [left | right | right | right]; tauto. Defined.
#[global] Instance decided_implied P Q (p : Decided P) (q : Decided Q) : Decided (P -> Q).
Proof. destruct p, q; [left | right | left | left]; tauto. Defined.
#[global] Instance decided_not P (p : Decided P) : Decided (~ P).
Proof. destruct p; [right | left]; tauto. Defined.
#[global] Instance decided_true : Decided True := left I.
#[global] Instance decided_z (a b : Z) : Decided (a = b) := Z.eq_dec a b.
#[global] Instance decided_bool (a b : bool) : Decided (a = b) := bool_dec a b.
#[global] Instance decided_le (a b : Z) : Decided (a <= b)%Z := Z_le_dec a b.
#[global] Instance decided_lt (a b : Z) : Decided (a < b)%Z := Z_lt_dec a b.
#[global] Instance decided_range n i : Decided (in_range n i).
Proof. unfold in_range. apply decided_and; [apply Z_le_dec | apply Z_lt_dec]. Defined.
#[global] Instance decided_every n P (p : forall i, Decided (P i)) : Decided (every n P).
Proof.
  induction n as [| n [Y | N]].
  - left. intros i L. inversion L.
  - destruct (p n) as [Q | Q]; [left | right].
    + intros i L. destruct (Nat.eq_dec i n); [subst; exact Q | apply Y; lia].
    + intro H. apply Q. apply H. lia.
  - right. intro H. apply N. intros i L. apply H. lia.
Defined.
#[global] Instance decided_some n (P : nat -> Prop) (p : forall i, Decided (P i)) : Decided (exists i, i < n /\\ P i).
Proof.
  induction n as [| n [Y | N]].
  - right. intros [i [L _]]. inversion L.
  - left. destruct Y as [i [L Q]]. exists i. split; [lia | exact Q].
  - destruct (p n) as [Q | Q]; [left; exists n; split; [lia | exact Q] | right].
    intros [i [L R]]. destruct (Nat.eq_dec i n); [subst; auto | apply N; exists i; split; [lia | exact R]].
Defined.
#[global] Instance decided_while A B f Df p Dp (df : forall b a, Decided (Df b a)) (dp : forall b a, Decided (Dp b a))
  n : forall z i xs, Decided (@reduce_while_defined_from A B f Df p Dp z i n xs).
Proof. induction n; simpl; intros; [apply decided_true | apply decided_and; [apply dp |]].
  apply decided_implied; [apply decided_bool | apply decided_and; [apply df | apply IHn]]. Defined.
#[global] Instance decided_insert before D (d : forall i j, Decided (D i j)) i found : Decided (insert_defined before D i found).
Proof. induction found; simpl; [apply decided_true | apply decided_and; [apply d |]].
  apply decided_implied; [apply decided_bool | apply IHfound]. Defined.
#[global] Instance decided_sizes A m factor f D k (d : forall l x, Decided (D l x)) :
  forall xs, Decided (@iterate_sizes_defined A m factor f D k xs).
Proof. induction m; simpl; intros; [apply decided_true | apply decided_and; [apply d | apply IHm]]. Defined.
Ltac open_domains := unfold binary_search_defined, scatter_defined, scatter_indices_defined,
  partial_reduce_defined, map_defined, fold_defined, iterate_defined, let_defined, generate_defined,
  gather_defined, gather_indices_defined, linear_search_defined, reduce_while_defined,
  insertion_sort_seq_defined, vectorize_defined.
Ltac decide_it P := let d := constr:(ltac:(open_domains; typeclasses eauto) : Decided P) in
  let v := eval vm_compute in (if d then true else false) in idtac v.
"""

XS = Input("xs", Array(i32, Size.of(3)))
YS = Input("ys", Array(i32, Size.of(2)))
NONE = Input("none", Array(i32, Size.of(0)))
X = Input("x", i32)


@st.composite
def scalars(draw: st.DrawFn, variables: tuple[Term, ...], depth: int = 2) -> Term:
    """Numbers of which some are read at an index that may be out of range."""
    plain = draw(st.sampled_from([X, *variables]))
    if depth == 0:
        return plain
    inner = draw(scalars(variables, depth - 1))
    chosen = draw(
        st.sampled_from(
            [
                lambda: plain,
                lambda: rl.at_runtime_unsafe(inner, YS),
                lambda: rl.at_runtime_unsafe(plain, XS),
                lambda: rl.at_runtime(inner, plain, YS),
                lambda: rl.select(plain < 1, inner, plain),
                lambda: rl.let(lambda v: plain, inner),
                lambda: rl.let(lambda v: v, inner),
            ]
        )
    )
    return as_term(chosen())


@st.composite
def partial_programs(draw: st.DrawFn, pattern: int) -> Term:
    """Programs with functions that are not defined everywhere, around one of the `PARTIAL` patterns."""
    xs = draw(st.sampled_from([XS, YS, NONE, rl.take(1, XS), rl.drop(1, XS)]))
    shift = draw(st.integers(-1, 1))

    def f(*parameters: Any) -> Term:
        return draw(scalars(tuple(p for p in parameters if p.type == i32)))

    def p(*parameters: Any) -> Term:
        return f(*parameters) < draw(st.integers(-1, 2))

    made = [
        lambda: rl.map(f, xs),
        lambda: rl.map(lambda x: rl.map(lambda y: f(x, y), YS), xs),
        lambda: rl.take(1, rl.map(f, XS)),
        lambda: rl.map(f, XS)[0],
        lambda: rl.map_seq_slide(2, 1, lambda w: f(w[0]), XS),
        lambda: rl.reduce_seq(lambda acc, x: f(acc, x), X, xs),
        lambda: rl.scan_seq(lambda acc, x: f(acc, x), X, xs),
        lambda: rl.reduce_while(lambda acc, x: f(acc, x), lambda acc, x: p(acc, x), X, xs),
        lambda: rl.filter_seq(p, X, xs),
        lambda: rl.insertion_sort_seq(lambda x, y: p(x, y), xs),
        lambda: rl.linear_search(f, X, xs),
        lambda: rl.linear_search(
            lambda x: rl.let(lambda _: literal(0, i32), rl.at_runtime_unsafe(x, YS)), X, XS
        ),
        lambda: rl.reduce_while(
            lambda acc, x: rl.at_runtime_unsafe(x, YS), lambda acc, x: x < 2, X, XS
        ),
        lambda: rl.insertion_sort_seq(lambda x, y: rl.at_runtime_unsafe(y, YS) < 1, XS),
        lambda: rl.binary_search(f, X, xs),
        lambda: rl.iterate(draw(st.integers(0, 3)), f, X),
        lambda: rl.generate(2, f),
        lambda: rl.repeat(0, f()),
        lambda: rl.zip(XS, rl.gather_indices(XS, YS)),
        lambda: rl.map(lambda x: x, rl.gather_indices(rl.map(f, YS), XS)),
        lambda: rl.scatter_indices(rl.map(f, YS), YS, XS),
        lambda: rl.scatter_indices(YS, rl.map(f, YS), XS),
        lambda: rl.gather(lambda i: i + shift, XS),
        lambda: rl.gather(lambda i: 2 * i // 2 + (i + 1) // 3 * shift, XS),
        lambda: rl.scatter(lambda i: i + shift, XS),
        lambda: rl.scatter(lambda i: (i + shift) % 3, rl.map(f, XS)),
        lambda: rl.map(lambda x: rl.reduce_seq(lambda acc, y: f(acc, x, y), x, YS), xs),
        lambda: rl.circular_buffer(2, f, XS),
        lambda: rl.iterate_sizes(1, 3, lambda ys: rl.partial_reduce(rl.add, f(), 3, ys), XS),
    ]
    assert len(made) == PARTIAL
    return as_term(made[pattern]())


def drawn() -> list[tuple[Term, dict[str, Any]]]:
    """Random programs with inputs, most of whose numbers are indices."""
    return [program for pattern in range(PARTIAL) for program in around(pattern)]


def around(pattern: int) -> list[tuple[Term, dict[str, Any]]]:
    """Those around one pattern: each has as many, whatever is drawn."""
    found: list[tuple[Term, dict[str, Any]]] = []
    numbers = st.sampled_from([0, 0, 1, 1, 2, -1, 3])

    @settings(
        max_examples=EACH,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
    )
    @given(st.data(), partial_programs(pattern))
    def draw(data: st.DataObject, t: Term) -> None:
        rows = {"xs": 3, "ys": 2, "none": 0}
        inputs: dict[str, Any] = {
            name: data.draw(st.lists(numbers, min_size=n, max_size=n)) for name, n in rows.items()
        }
        found.append((t, {**inputs, "x": data.draw(numbers)}))

    draw()
    return found


def has_a_value(t: Term, inputs: dict[str, Any]) -> bool:
    try:
        evaluate(t, World(inputs=inputs, domain=Modular()))
    except Undefined:
        return False
    return True


def question(number: int, t: Term, inputs: dict[str, Any]) -> str:
    """The module in which the prover decides whether the program is defined."""
    parts, needed = defined(t)
    used = {u.name: u for u, _ in subterms(t) if isinstance(u, Input)}
    lines = [f"Module Program{number}."]
    lines += [definition(name, what) for name, what in needed.items()]
    lines += [
        f"Definition input_{name} : {rocq_type(u.type)} := {constant(inputs[name], u.type)}."
        for name, u in used.items()
    ]
    lines.append(f"Goal True. decide_it {conjunction(parts)}. exact I. Qed.")
    return "\n".join([*lines, f"End Program{number}."])


def test_definedness_is_the_interpreters(tmp_path: Path) -> None:
    """Of random programs with partial functions the predicate holds where the interpreter has a value."""
    programs = drawn()
    expected = [has_a_value(t, inputs) for t, inputs in programs]
    ran = run(tmp_path, [DECIDED, *(question(i, *program) for i, program in enumerate(programs))])
    assert ran.returncode == 0, ran.stderr
    said = [word == "true" for word in ran.stdout.split() if word in ("true", "false")]
    wrong = [
        (t, inputs, value)
        for (t, inputs), value, word in zip(programs, expected, said, strict=True)
        if value != word
    ]
    assert wrong == []
    assert min(sum(expected), len(expected) - sum(expected)) >= 50
    met = {type(u).name for t, _ in programs for u, _ in subterms(t) if isinstance(u, Pattern)}
    assert {name for name, pattern in PATTERNS.items() if pattern.partial} <= met
