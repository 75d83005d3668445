"""Every pattern against the law that characterises it, on free symbols, and against its inverse.

A law is an equation of two terms, checked as a rule is: on free data, free functions and operators with
just the laws stated, at every size up to a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from relift.rewrites.checks.free.algebra import Algebra, Symbolic
from relift.rewrites.checks.free.tier import check_free
from relift.rewrites.conditions import Condition
from relift.rewrites.notation import MONOID, A, B, C, k, left, m, n, q, right, size, step, w
from relift.rewrites.rule import Rule, make_rule
from relift.semantics import catalogue
from relift.semantics.domains import Exact, Value
from relift.semantics.errors import Undefined
from relift.semantics.indices.functions import reorder_stride, reverse, shift
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language import vocabulary as rl
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.terms import Input, Metavariable, Pattern, subterms
from relift.semantics.syntax.types import boolean, i32, tup, vec


def law(sides: Callable[..., Any], where: tuple[Condition, ...] = (), **kinds: Any) -> Rule:
    """The equation of the two terms that `sides` makes of metavariables of these kinds."""
    sides.__annotations__, sides.__name__ = kinds, "law"
    return make_rule(sides, where)


DATA: dict[str, Any] = {"f": Fun[A, B], "xs": A[n]}
FOLD: dict[str, Any] = {"f": Fun[B, A, B], "z": B, "xs": A[n]}
TWO: dict[str, Any] = {"xs": A[n], "ys": A[m]}


def same_as_map(pattern: Any) -> Rule:
    """The law of every map."""
    return law(lambda f, xs: (pattern(lambda x: f(x), xs), rl.map(f, xs)), **DATA)


def same_as(pattern: Any) -> Rule:
    """The law of everything that only says where a value is stored."""
    return law(lambda xs: (pattern(xs), xs), xs=A[n])


LAWS: dict[str, list[Rule]] = {
    "map": [
        law(
            lambda f, g, xs: (rl.map(f, rl.map(g, xs)), rl.map(lambda x: f(g(x)), xs)),
            f=Fun[B, C], g=Fun[A, B], xs=A[n],
        ),
    ],
    "zip": [
        law(lambda xs, ys: (rl.map(lambda p: p[0], rl.zip(xs, ys)), xs), xs=A[n], ys=B[n]),
        law(lambda xs, ys: (rl.map(lambda p: p[1], rl.zip(xs, ys)), ys), xs=A[n], ys=B[n]),
    ],
    "unzip": [
        law(lambda ps: (rl.zip(rl.unzip(ps)[0], rl.unzip(ps)[1]), ps), ps=tup(A, B)[n]),
        law(lambda xs, ys: (rl.unzip(rl.zip(xs, ys)), (xs, ys)), xs=A[n], ys=B[n]),
    ],
    "reduce": [
        law(
            lambda op, z, xs, ys: (
                rl.reduce(op, z, rl.concat(xs, ys)),
                op(rl.reduce(op, z, xs), rl.reduce(op, z, ys)),
            ),
            MONOID, op=Op[A], z=A, **TWO,
        ),
    ],
    "partial_reduce": [
        law(
            lambda op, z, xs: (
                rl.partial_reduce(op, z, m, xs),
                rl.map(lambda c: rl.reduce(op, z, c), rl.split(m, xs)),
            ),
            op=Op[A], z=A, xs=A[k * m],
        ),
        law(
            lambda op, z, xs: (
                rl.reduce(op, z, rl.partial_reduce(op, z, m, xs)),
                rl.reduce(op, z, xs),
            ),
            MONOID, op=Op[A], z=A, xs=A[k * m],
        ),
    ],
    "iterate": [
        law(
            lambda f, x: (rl.iterate(m + k, f, x), rl.iterate(m, f, rl.iterate(k, f, x))),
            f=Fun[A, A], x=A,
        ),
        law(lambda f, x: (rl.iterate(1, f, x), f(x)), f=Fun[A, A], x=A),
    ],
    "iterate_sizes": [
        law(
            lambda op, z, xs: (
                rl.iterate_sizes(m + k, 2, rl.partial_reduce(op, z, 2), xs),
                rl.iterate_sizes(
                    k, 2, rl.partial_reduce(op, z, 2),
                    rl.iterate_sizes(m, 2, rl.partial_reduce(op, z, 2), xs),
                ),
            ),
            op=Op[A], z=A, xs=A[n * 2 ** (m + k)],
        ),
        law(
            lambda f, xs: (
                rl.iterate_sizes(2, m + 1, lambda ys: rl.map(lambda r: f(r[0]), rl.split(m + 1, ys)), xs),
                rl.map(
                    lambda r: f(f(r[0])), rl.split((m + 1) * (m + 1), xs)
                ),
            ),
            f=Fun[A, A], xs=A[n * (m + 1) ** 2],
        ),
    ],
    "let": [law(lambda f, x: (rl.let(lambda y: f(y, y), x), f(x, x)), f=Fun[A, A, B], x=A)],
    "generate": [
        law(
            lambda f, g: (
                rl.map(g, rl.generate(n, lambda i: f(i))),
                rl.generate(n, lambda i: g(f(i))),
            ),
            f=Fun[i32, A], g=Fun[A, B],
        ),
        law(
            lambda xs: (rl.generate(n, lambda i: rl.at_runtime_unsafe(i, xs)), xs), xs=A[n],
        ),
    ],
    "literal_array": [
        law(
            lambda x: (
                rl.zip(rl.literal_array([1.0, 2.5]), rl.repeat(2, x)),
                rl.zip(rl.make_array(1.0, 2.5), rl.repeat(2, x)),
            ),
            x=A,
        ),
    ],
    "repeat": [
        law(lambda f, x: (rl.map(f, rl.repeat(m, x)), rl.repeat(m, f(x))), f=Fun[A, B], x=A),
    ],
    "reduce_seq": [
        law(
            lambda f, z, xs, ys: (
                rl.reduce_seq(f, z, rl.concat(xs, ys)),
                rl.reduce_seq(f, rl.reduce_seq(f, z, xs), ys),
            ),
            f=Fun[B, A, B], z=B, **TWO,
        ),
    ],
    "scan_seq": [
        law(
            lambda f, z, xs: (rl.scan_seq(f, z, xs)[n], rl.reduce_seq(f, z, xs)),
            f=Fun[B, A, B], z=B, xs=A[n + 1],
        ),
        law(
            lambda f, z, xs: (
                rl.take(m, rl.scan_seq(f, z, xs)), rl.scan_seq(f, z, rl.take(m, xs)),
            ),
            f=Fun[B, A, B], z=B, xs=A[n + m],
        ),
    ],
    "reduce_while": [
        law(lambda f, z, xs: (rl.reduce_while(f, lambda s, x: True, z, xs)[1], rl.reduce_seq(f, z, xs)), **FOLD),
        law(
            lambda f, z, xs: (rl.reduce_while(f, lambda s, x: False, z, xs), (0, z)), **FOLD,
        ),
    ],
    "filter_seq": [
        law(lambda z, xs: (rl.filter_seq(lambda x: True, z, xs)[1], xs), z=A, xs=A[n]),
        law(
            lambda z, xs: (rl.filter_seq(lambda x: False, z, xs), (0, rl.repeat(n, z))),
            z=A, xs=A[n],
        ),
    ],
    "insertion_sort_seq": [
        law(lambda xs: (rl.insertion_sort_seq(lambda x, y: False, xs), xs), xs=A[n]),
        law(
            lambda xs: (rl.insertion_sort_seq(lambda x, y: True, xs), rl.gather(reverse, xs)), xs=A[n],
        ),
    ],
    "linear_search": [
        law(
            lambda d, xs: (rl.linear_search(lambda x: 0, d, xs), rl.head(xs)), d=A, xs=A[n + 1],
        ),
        law(lambda d, xs: (rl.linear_search(lambda x: 1, d, xs), d), d=A, xs=A[n]),
    ],
    "binary_search": [
        law(
            lambda d, xs: (rl.binary_search(lambda x: 0, d, xs), rl.head(xs)), d=A, xs=A[n + 1],
        ),
        law(lambda d, xs: (rl.binary_search(lambda x: 1, d, xs), d), d=A, xs=A[n]),
    ],
    "at_runtime": [
        law(lambda d, xs: (rl.at_runtime(2, d, xs), xs[2]), d=A, xs=A[n + 3]),
        law(lambda d, xs: (rl.at_runtime(-1, d, xs), d), d=A, xs=A[n]),
    ],
    "at_runtime_unsafe": [
        law(lambda xs: (rl.at_runtime_unsafe(2, xs), xs[2]), xs=A[n + 3]),
    ],
    "gather_indices": [
        law(
            lambda xs: (rl.gather_indices(rl.generate(n, lambda i: i), xs), xs), xs=A[n],
        ),
        law(
            lambda xs: (
                rl.gather_indices(rl.literal_array([2, 0]), xs), rl.make_array(xs[2], xs[0]),
            ),
            xs=A[n + 3],
        ),
    ],
    "scatter_indices": [
        law(
            lambda xs, ys: (
                rl.gather_indices(
                    rl.literal_array([2, 0]),
                    rl.scatter_indices(rl.literal_array([2, 0]), xs, ys),
                ),
                xs,
            ),
            xs=A[2], ys=A[n + 3],
        ),
        law(
            lambda xs, ys: (rl.scatter_indices(rl.generate(n, lambda i: i), xs, ys), xs),
            xs=A[n], ys=A[n],
        ),
    ],
    "reduce_by_index": [
        law(
            lambda op, zs, xs, ys: (
                rl.reduce_by_index(op, zs, rl.zip(rl.literal_array([2, 0, 2, 5]), rl.concat(xs, ys))),
                rl.reduce_by_index(
                    op,
                    rl.reduce_by_index(op, zs, rl.zip(rl.literal_array([2, 0]), xs)),
                    rl.zip(rl.literal_array([2, 5]), ys),
                ),
            ),
            op=Op[A], zs=A[n + 1], xs=A[2], ys=A[2],
        ),
    ],
    "split": [law(lambda xs: (rl.join(rl.split(m, xs)), xs), xs=A[k * m])],
    "join": [law(lambda xss: (rl.split(m, rl.join(xss)), xss), xss=A[n, m])],
    "transpose": [law(lambda xss: (rl.transpose(rl.transpose(xss)), xss), xss=A[n, m])],
    "slide": [
        law(
            lambda xs: (
                rl.slide(size, step, xs)[1], rl.take(size, rl.drop(step, xs)),
            ),
            xs=A[size + (k + 1) * step],
        ),
        law(lambda xs: (rl.slide(m, m, xs), rl.split(m, xs)), xs=A[m + k * m]),
    ],
    "pad_clamp": [
        law(
            lambda xs: (
                rl.pad(left, right, rl.clamp, xs),
                rl.concat(
                    rl.repeat(left, rl.head(xs)), rl.concat(xs, rl.repeat(right, xs[n]))
                ),
            ),
            xs=A[n + 1],
        ),
    ],
    "pad_mirror": [
        law(
            lambda xs: (
                rl.pad(n + 1, n + 1, rl.mirror, xs),
                rl.concat(rl.gather(reverse, xs), rl.concat(xs, rl.gather(reverse, xs))),
            ),
            xs=A[n + 1],
        ),
        law(lambda xs: (rl.pad(1, 1, rl.mirror, xs), rl.pad(1, 1, rl.clamp, xs)), xs=A[n + 1]),
    ],
    "pad_empty": [
        law(
            lambda xs: (rl.take(n, rl.drop(m, rl.pad_empty(m, k, xs))), xs), xs=A[n]
        ),
        law(
            lambda xs: (
                rl.pad_empty(m, 0, rl.pad_empty(0, k, xs)), rl.pad_empty(0, k, rl.pad_empty(m, 0, xs))
            ), xs=A[n],
        ),
    ],
    "pad_wrap": [
        law(
            lambda xs: (
                rl.pad(n + 1, n + 1, rl.wrap, xs), rl.join(rl.repeat(3, xs)),
            ),
            xs=A[n + 1],
        ),
        law(
            lambda xs: (
                rl.take(n + 1, rl.drop(left, rl.pad(left, right, rl.wrap, xs))), xs,
            ),
            xs=A[n + 1],
        ),
    ],
    "pad_constant": [
        law(
            lambda v, xs: (
                rl.pad(left, right, v, xs),
                rl.concat(rl.repeat(left, v), rl.concat(xs, rl.repeat(right, v))),
            ),
            v=A, xs=A[n],
        ),
    ],
    "take": [law(lambda xs: (rl.concat(rl.take(m, xs), rl.drop(m, xs)), xs), xs=A[m + n])],
    "drop": [law(lambda xs: (rl.drop(k, rl.drop(m, xs)), rl.drop(k + m, xs)), xs=A[m + k + n])],
    "at": [law(lambda f, xs: (rl.map(f, xs)[m], f(xs[m])), f=Fun[A, B], xs=A[m + n + 1])],
    "head": [law(lambda xs: (rl.head(xs), xs[0]), xs=A[n + 1])],
    "tail": [
        law(lambda xs: (rl.concat(rl.repeat(1, rl.head(xs)), rl.tail(xs)), xs), xs=A[n + 1]),
    ],
    "concat": [
        law(
            lambda f, xs, ys: (
                rl.map(f, rl.concat(xs, ys)), rl.concat(rl.map(f, xs), rl.map(f, ys)),
            ),
            f=Fun[A, B], **TWO,
        ),
        law(lambda xs, ys: (rl.take(n, rl.concat(xs, ys)), xs), **TWO),
        law(lambda xs, ys: (rl.drop(n, rl.concat(xs, ys)), ys), **TWO),
    ],
    "gather": [
        law(lambda xs: (rl.gather(reverse, rl.gather(reverse, xs)), xs), xs=A[n]),
        law(
            lambda xs: (
                rl.gather(reorder_stride(m + 1), xs),
                rl.join(rl.transpose(rl.split(m + 1, xs))),
            ),
            xs=A[(k + 1) * (m + 1)],
        ),
        law(
            lambda xs: (rl.gather(shift(1), xs), rl.concat(rl.tail(xs), rl.take(1, xs))),
            xs=A[n + 1],
        ),
    ],
    "scatter": [
        law(lambda xs: (rl.gather(shift(2), rl.scatter(shift(2), xs)), xs), xs=A[n + 1]),
        law(lambda xs: (rl.scatter(shift(2), rl.gather(shift(2), xs)), xs), xs=A[n + 1]),
        law(
            lambda xs: (
                rl.scatter(reorder_stride(m + 1), rl.gather(reorder_stride(m + 1), xs)), xs,
            ),
            xs=A[(k + 1) * (m + 1)],
        ),
    ],
    "map_seq": [same_as_map(rl.map_seq)],
    "map_seq_unroll": [same_as_map(rl.map_seq_unroll)],
    "map_glb": [same_as_map(rl.map_glb(0))],
    "map_wrg": [same_as_map(rl.map_wrg(1))],
    "map_lcl": [same_as_map(rl.map_lcl(2))],
    "map_warp": [same_as_map(rl.map_warp(0))],
    "map_lane": [same_as_map(rl.map_lane(0))],
    "map_stream": [same_as_map(rl.map_stream)],
    "iterate_stream": [same_as_map(rl.iterate_stream)],
    "reduce_seq_unroll": [
        law(lambda f, z, xs: (rl.reduce_seq_unroll(f, z, xs), rl.reduce_seq(f, z, xs)), **FOLD),
    ],
    "reduce_seq_ahead": [
        law(lambda f, z, xs: (rl.reduce_seq_ahead(f, z, xs), rl.reduce_seq(f, z, xs)), **FOLD),
    ],
    "map_seq_slide": [
        law(
            lambda f, xs: (
                rl.map_seq_slide(size, step, f, xs), rl.map(f, rl.slide(size, step, xs)),
            ),
            f=Fun[A[size], B], xs=A[size + k * step],
        ),
    ],
    "circular_buffer": [
        law(
            lambda f, xs: (rl.circular_buffer(size, f, xs), rl.slide(size, 1, rl.map(f, xs))),
            f=Fun[A, B], xs=A[size + k],
        ),
    ],
    "rotate_values": [
        law(lambda xs: (rl.rotate_values(size, xs), rl.slide(size, 1, xs)), xs=A[size + k]),
    ],
    "to_global": [same_as(rl.to_global)],
    "to_local": [same_as(rl.to_local)],
    "to_private": [same_as(rl.to_private)],
    "as_vector": [law(lambda xs: (rl.as_scalar(rl.as_vector(w, xs)), xs), xs=A[k * w])],
    "as_vector_aligned": [
        law(lambda xs: (rl.as_vector_aligned(w, xs), rl.as_vector(w, xs)), xs=A[k * w]),
    ],
    "as_scalar": [law(lambda vs: (rl.as_vector(w, rl.as_scalar(vs)), vs), vs=vec(A, w)[k])],
    "map_vec": [
        law(
            lambda f, xs: (
                rl.as_scalar(rl.map(lambda v: rl.map_vec(f, v), rl.as_vector(w, xs))),
                rl.map(f, xs),
            ),
            f=Fun[A, B], xs=A[k * w],
        ),
    ],
    "splat": [
        law(
            lambda f, x: (rl.map_vec(f, rl.splat(w, x)), rl.splat(w, f(x))), f=Fun[A, B], x=A,
        ),
    ],
}  # fmt: skip


def test_every_pattern_has_a_law() -> None:
    """No pattern of the language lacks an entry above, and each law mentions its pattern.

    A layout without one has the law that it is its view, which `test_patterns_viewed` checks of every row.
    """
    without = PATTERNS.keys() - LAWS.keys()
    assert {name for name in without if not PATTERNS[name].layout} == set()
    assert LAWS.keys() <= PATTERNS.keys()
    for name, laws in LAWS.items():
        for rule in laws:
            sides = (*subterms(rule.left), *subterms(rule.right))
            assert name in {t.name for t, _ in sides if isinstance(t, Pattern)}


@pytest.mark.parametrize(
    "rule",
    [rule for laws in LAWS.values() for rule in laws],
    ids=[f"{name}-{i}" for name, laws in LAWS.items() for i in range(len(laws))],
)
def test_law_holds_on_free_symbols(rule: Rule) -> None:
    """The two sides are equal in the free algebra, at every size up to 3."""
    result = check_free(rule, bound=3)

    assert result.status == "ok", f"{rule}: {result.detail}"


def free(count: int) -> list[Value]:
    """That many free symbols."""
    algebra = Algebra()
    return [algebra.symbol("metavariable", "x", None, (i,)) for i in range(count)]


def free_world(xs: list[Value], **more: Value) -> World:
    """A world of free data `xs`, of type A."""
    return World({"n": len(xs)}, {}, {"xs": xs, **more}, Symbolic(Algebra()))


@pytest.mark.parametrize("count", range(5))
def test_filters_keep_what_the_predicate_holds_of(count: int) -> None:
    """For every predicate on free data: the elements it holds of, in order, then the substitution."""
    xs, fill = free(count), "fill"
    data, z = Metavariable("xs", (), A[n]), Metavariable("z", (), A)
    p = lambda x: Metavariable("p", (x,), boolean)
    t = rl.filter_seq(p, z, data)
    for choice in product((False, True), repeat=count):
        holds = dict(zip(xs, choice, strict=True))
        kept = [x for x in xs if holds[x]]

        length, found = evaluate(t, free_world(xs, z=fill, p=holds.__getitem__))

        assert (int(length), found) == (len(kept), kept + [fill] * (count - len(kept)))


@pytest.mark.parametrize("count", range(5))
def test_reduce_while_folds_the_longest_admitted_prefix(count: int) -> None:
    """For every predicate on free data: what is taken is what comes before its first failure."""
    xs = free(count)
    data, z = Metavariable("xs", (), A[n]), Metavariable("z", (), B)
    t = rl.reduce_while(
        lambda s, x: Metavariable("f", (s, x), B),
        lambda s, x: Metavariable("p", (s, x), boolean),
        z,
        data,
    )
    for choice in product((False, True), repeat=count):
        holds = dict(zip(xs, choice, strict=True))
        taken = choice.index(False) if False in choice else count
        world = free_world(xs, z=(), f=lambda s, x: (*s, x), p=lambda s, x: holds[x])  # noqa: B023

        length, found = evaluate(t, world)

        assert (int(length), found) == (taken, tuple(xs[:taken]))


@pytest.mark.parametrize("count", range(5))
def test_sorting_is_stable(count: int) -> None:
    """For every assignment of keys to free data: Python's own stable sort."""
    xs = free(count)
    before = lambda x, y: Metavariable("before", (x, y), boolean)
    t = rl.insertion_sort_seq(before, Metavariable("xs", (), A[n]))
    for choice in product(range(3), repeat=count):
        key = dict(zip(xs, choice, strict=True))
        world = free_world(xs, before=lambda x, y: key[x] < key[y])  # noqa: B023

        assert evaluate(t, world) == sorted(xs, key=key.__getitem__)


@pytest.mark.parametrize("count", range(5))
def test_searches_find_the_first(count: int) -> None:
    """For every sign function on free data: the first zero; binary search only where signs fall."""
    xs = free(count)
    data, d = Metavariable("xs", (), A[n]), Metavariable("d", (), A)
    sign = lambda x: Metavariable("f", (x,), i32)
    linear, binary = rl.linear_search(sign, d, data), rl.binary_search(sign, d, data)
    for choice in product((-1, 0, 1), repeat=count):
        signs = dict(zip(xs, choice, strict=True))
        world = free_world(xs, d="none", f=signs.__getitem__)
        first = next((x for x in xs if signs[x] == 0), "none")

        assert evaluate(linear, world) == first
        if list(choice) == sorted(choice, reverse=True):
            assert evaluate(binary, world) == first
        else:
            with pytest.raises(Undefined, match="not in the order of the search"):
                evaluate(binary, world)


XS, IDS = Input("xs", i32[3]), Input("ids", i32[2])


@pytest.mark.parametrize(
    ("term", "ids", "message"),
    [
        (rl.gather(lambda i: i + 1, XS), [], "gather: index 3 of an array of 3 elements"),
        (rl.scatter(lambda i: i // 2, XS), [], "scatter: the index function is no permutation"),
        (rl.gather_indices(IDS, XS), [0, 3], "gather_indices: index 3"),
        (rl.gather_indices(IDS, XS), [0, -1], "gather_indices: index -1"),
        (rl.scatter_indices(IDS, IDS, XS), [1, 1], "two elements have the same index"),
        (rl.at_runtime_unsafe(IDS[0], XS), [3, 0], "at_runtime_unsafe: index 3"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_indices_out_of_range_are_undefined(term: Any, ids: list[int], message: str) -> None:
    """What is checked when the program runs stops the interpreter with the index and the length."""
    with pytest.raises(Undefined, match=message):
        evaluate(term, World(inputs={"xs": [1, 2, 3], "ids": ids}, domain=Exact()))


def test_a_branch_on_free_data_is_skipped_not_decided() -> None:
    """A law that depends on an unknown predicate has no verdict on free symbols."""
    rule = law(
        lambda p, z, xs: (rl.filter_seq(p, z, xs), rl.filter_seq(p, z, xs)),
        p=Fun[A, boolean], z=A, xs=A[q],
    )  # fmt: skip

    assert check_free(rule).status == "skipped"


def test_the_catalogue_covers_every_pattern() -> None:
    """Each pattern has a page with its law, its source, and its example with the value it has."""
    text = "\n".join(catalogue.catalogue())
    for name, pattern in PATTERNS.items():
        stated = catalogue.facts(pattern)
        source, value = catalogue.example(pattern)

        assert f"### {name}\n" in text
        assert stated["Law"]
        assert stated["Source"]
        assert f">>> {source}\n{value!r}\n" in text


COMPOSITIONS: dict[str, Rule] = {
    "map_fst": law(
        lambda f, xs, ys: (
            rl.map(lambda p: rl.map_fst(f, p), rl.zip(xs, ys)), rl.zip(rl.map(f, xs), ys),
        ),
        f=Fun[A, C], xs=A[n], ys=B[n],
    ),
    "map_snd": law(
        lambda f, xs, ys: (
            rl.map(lambda p: rl.map_snd(f, p), rl.zip(xs, ys)), rl.zip(xs, rl.map(f, ys)),
        ),
        f=Fun[B, C], xs=A[n], ys=B[n],
    ),
    "make_array": law(
        lambda xs: (rl.make_array(xs[0], xs[1], xs[2]), xs), xs=A[3],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions_obey_their_laws(name: str) -> None:
    """RISE primitives that are functions of others here."""
    assert check_free(COMPOSITIONS[name], bound=3).status == "ok"
