"""Products: zips, pairs, and what moves in and out of them.

map fst (zip xs ys)            =  xs
unzip (zip xs ys)              =  (xs, ys)         zip (unzip ps)  =  ps
(xs, ys, ..)                   =  (map fst ps, map snd ps, ..)   of ps = zip xs ys ..
zip (map f xs) (map g ys)      =  map (\\(x, y). (f x, g y)) (zip xs ys)
zip xs xs                      =  map (\\x. (x, x)) xs
zip xs ys                      =  map swap (zip ys xs)
zip xs (zip ys zs)             =  map rotate (zip (zip xs ys) zs)
split m (zip xs ys)            =  map zip (zip (split m xs) (split m ys))     so for slide
zip (join xss) (join yss)      =  join (map zip (zip xss yss))
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from relift.rewrites.notation import A, B, C, D, E, F, k, m, n, size, step
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import join, let, map, repeat, slide, split, unzip, zip
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.types import tup


@rule(source="LIFT mapFusionInZip")
def zip_map_left(f: Fun[A, C], xs: A[n], ys: B[n]):
    """A map on the left of a zip happens after it."""
    return zip(map(f, xs), ys), map(lambda p: (f(p[0]), p[1]), zip(xs, ys))


@rule(source="LIFT mapFusionInZip")
def zip_map_right(f: Fun[B, C], xs: A[n], ys: B[n]):
    """A map on the right of a zip happens after it."""
    return zip(xs, map(lambda y: f(y), ys)), map(lambda p: (p[0], f(p[1])), zip(xs, ys))


@rule(source="LIFT mapFusionInZip; RISE mapOutsideZip, map-outside-zip")
def zip_map_map(f: Fun[A, C], g: Fun[B, D], xs: A[n], ys: B[n]):
    """Maps on both sides of a zip are one map of pairs."""
    return zip(map(f, xs), map(g, ys)), map(lambda p: (f(p[0]), g(p[1])), zip(xs, ys))


@rule(source="LIFT tupleMap; RISE mapOutsidePair, map-outside-pair")
def map_outside_pair(f: Fun[A, C], g: Fun[B, D], xs: A[n], ys: B[n]):
    """Two maps over arrays of one length are one map of pairs, taken apart."""
    return (
        (map(f, xs), map(g, ys)),
        unzip(map(lambda p: (f(p[0]), g(p[1])), zip(xs, ys))),
    )


@rule(source="LIFT fuseZipTuple; RISE map-outside-zip, third form")
def zip_of_maps(f: Fun[A, B], g: Fun[A, C], xs: A[n]):
    """Zipped results over one array are the pairs of results."""
    return zip(map(f, xs), map(g, xs)), map(lambda x: (f(x), g(x)), xs)


@rule(source="Meijer, Fokkinga and Paterson, FPCA'91, split of a map; RISE unzip of map")
def unzip_map(f: Fun[A, B], g: Fun[A, C], xs: A[n]):
    """Taking a map of pairs apart gives two maps."""
    return unzip(map(lambda x: (f(x), g(x)), xs)), (map(f, xs), map(g, xs))


@rule(source="RISE zipFstAfter, zipSndAfter (f)")
def zip_first(xs: A[n], ys: B[n]):
    """The first components of a zip are its first array."""
    return map(lambda p: p[0], zip(xs, ys)), xs


@rule(source="RISE zipSndAfter, zipFstAfter (s)")
def zip_second(xs: A[n], ys: B[n]):
    """The second components of a zip are its second array."""
    return map(lambda p: p[1], zip(xs, ys)), ys


@rule(source="RISE unzipZipIsPair")
def unzip_zip(xs: A[n], ys: B[n]):
    """Taking a zip apart gives the arrays back."""
    return unzip(zip(xs, ys)), (xs, ys)


@rule(source="RISE unzipZipIdentity")
def zip_unzip(ps: tup(A, B)[n]):
    """Zipping what was taken apart gives the pairs back."""
    return zip(unzip(ps)[0], unzip(ps)[1]), ps


@rule(source="RISE fst-unzip-as-map")
def unzip_first(ps: tup(A, B)[n]):
    """The first array of an unzip maps the first component."""
    return unzip(ps)[0], map(lambda p: p[0], ps)


@rule(source="RISE snd-unzip-as-map")
def unzip_second(ps: tup(A, B)[n]):
    """The second array of an unzip maps the second component."""
    return unzip(ps)[1], map(lambda p: p[1], ps)


def _zipped(s: Any) -> Any:
    """Arrays of a tuple as one of nested pairs, ((x, y), z) and so on, from which they are read."""
    xs, *more = (s[i] for i, _ in enumerate(s.type.parts))

    def arrays(ps: Any) -> Any:
        found: list[Any] = []
        for _ in more:
            found.insert(0, map(lambda p: p[1], ps))
            ps = map(lambda p: p[0], ps)
        return (ps, *found)

    return let(arrays, reduce(zip, more, xs))


@rule(source="RISE unzipZipIsPair, of two")
def zipped_of_two(s: tup(A[n], B[n])):
    """Two arrays are one of pairs, taken apart."""
    return s, _zipped(s)


@rule(source="RISE unzipZipIsPair, of three")
def zipped_of_three(s: tup(A[n], B[n], C[n])):
    """Three arrays are one of pairs of pairs, taken apart."""
    return s, _zipped(s)


@rule(source="RISE unzipZipIsPair, of four")
def zipped_of_four(s: tup(A[n], B[n], C[n], D[n])):
    """Four arrays are one of pairs of pairs, taken apart."""
    return s, _zipped(s)


@rule(source="RISE unzipZipIsPair, of five")
def zipped_of_five(s: tup(A[n], B[n], C[n], D[n], E[n])):
    """Five arrays are one of pairs of pairs, taken apart."""
    return s, _zipped(s)


@rule(source="RISE unzipZipIsPair, of six")
def zipped_of_six(s: tup(A[n], B[n], C[n], D[n], E[n], F[n])):
    """Six arrays are one of pairs of pairs, taken apart."""
    return s, _zipped(s)


@rule(source="RISE zipUnzipAccessSimplification, crossed")
def zip_unzip_swapped(ps: tup(A, B)[n]):
    """Zipping the parts the other way round swaps the pairs."""
    return zip(unzip(ps)[1], unzip(ps)[0]), map(lambda p: (p[1], p[0]), ps)


@rule(source="RISE zipUnzipAccessSimplification, the first component twice")
def zip_unzip_first(ps: tup(A, B)[n]):
    """Zipping one part with itself doubles the component."""
    return zip(unzip(ps)[0], unzip(ps)[0]), map(lambda p: (p[0], p[0]), ps)


@rule(source="RISE mapProjZipUnification, first component")
def map_zip_unify_first(h: Fun[A, A, C], xs: A[n], ys: B[n]):
    """A map over an array zipped with itself may use any zip that has it first."""
    return (
        map(lambda p: h(p[0], p[1]), zip(xs, xs)),
        map(lambda p: h(p[0], p[0]), zip(xs, ys)),
    )


@rule(source="RISE mapProjZipUnification, second component")
def map_zip_unify_second(h: Fun[B, B, C], xs: A[n], ys: B[n]):
    """A map over an array zipped with itself may use any zip that has it second."""
    return (
        map(lambda p: h(p[0], p[1]), zip(ys, ys)),
        map(lambda p: h(p[1], p[1]), zip(xs, ys)),
    )


@rule(source="RISE mapProjZipUnification, of an array that no function reads")
def zip_unread(h: Fun[A, C, D], xs: A[n], ys: B[n], zs: C[n]):
    """An array of a zip whose elements are not used may go."""
    return (
        map(lambda p: h(p[0], p[1][1]), zip(xs, zip(ys, zs))),
        map(lambda p: h(p[0], p[1]), zip(xs, zs)),
    )


@rule(source="RISE mapProjZipUnification, of an array that no function reads")
def zip_unread_last(h: Fun[A, B, D], xs: A[n], ys: B[n], zs: C[n]):
    """An array of a zip whose elements are not used may go, also the last one."""
    return (
        map(lambda p: h(p[0], p[1][0]), zip(xs, zip(ys, zs))),
        map(lambda p: h(p[0], p[1]), zip(xs, ys)),
    )


@rule(source="LIFT removeDuplicateZipArg; RISE zipSame")
def zip_same(xs: A[n]):
    """An array zipped with itself pairs each element with itself."""
    return zip(xs, xs), map(lambda x: (x, x), xs)


@rule(source="RISE zipSwap")
def zip_swap(xs: A[n], ys: B[n]):
    """The arrays of a zip may change places if the components do."""
    return zip(xs, ys), map(lambda p: (p[1], p[0]), zip(ys, xs))


@rule(source="RISE zipRotateLeft")
def zip_rotate_left(xs: A[n], ys: B[n], zs: C[n]):
    """A zip on the right becomes one on the left."""
    return (
        zip(xs, zip(ys, zs)),
        map(lambda p: (p[0][0], (p[0][1], p[1])), zip(zip(xs, ys), zs)),
    )


@rule(source="RISE zipRotateRight; LIFT flattenZips")
def zip_rotate_right(xs: A[n], ys: B[n], zs: C[n]):
    """A zip on the left becomes one on the right."""
    return (
        zip(zip(xs, ys), zs),
        map(lambda p: ((p[0], p[1][0]), p[1][1]), zip(xs, zip(ys, zs))),
    )


@rule(source="LIFT splitIntoZip")
def split_zip(xs: A[k * m], ys: B[k * m]):
    """Chunks of a zip are zips of chunks."""
    return split(m, zip(xs, ys)), map(lambda p: zip(p[0], p[1]), zip(split(m, xs), split(m, ys)))


@rule(source="LIFT joinFromZip")
def join_zip(xss: A[k, m], yss: B[k, m]):
    """Zipping joined rows is joining zipped rows."""
    return zip(join(xss), join(yss)), join(map(lambda p: zip(p[0], p[1]), zip(xss, yss)))


@rule(source="RISE slideInsideZip")
def slide_inside_zip(xs: A[size + k * step], ys: B[size + k * step]):
    """Windows of a zip are zips of windows."""
    return (
        slide(size, step, zip(xs, ys)),
        map(lambda p: zip(p[0], p[1]), zip(slide(size, step, xs), slide(size, step, ys))),
    )


@rule(source="RISE slideOutsideZip")
def slide_outside_zip(xs: A[size + k * step], ys: B[size + k * step]):
    """Zipped windows are the windows of a zip, each taken apart."""
    return (
        zip(slide(size, step, xs), slide(size, step, ys)),
        map(unzip, slide(size, step, zip(xs, ys))),
    )


@rule(source="RISE fBeforeZipMap, with its missing guard: f and g avoid the pair")
def map_before_zip(f: Fun[A, C[m]], g: Fun[B, D[m]], xs: A[n], ys: B[n]):
    """What is zipped inside a map is computed before it."""
    return (
        map(lambda p: zip(f(p[0]), g(p[1])), zip(xs, ys)),
        map(lambda p: zip(p[0], p[1]), zip(map(f, xs), map(g, ys))),
    )


@rule(source="RISE mapFstBeforeMapSnd")
def map_first_before_map_second(f: Fun[A, C], g: Fun[B, D], ps: tup(A, B)[n]):
    """Functions of different components may change places."""
    return (
        map(lambda p: (f(p[0]), p[1]), map(lambda p: (p[0], g(p[1])), ps)),
        map(lambda p: (p[0], g(p[1])), map(lambda p: (f(p[0]), p[1]), ps)),
    )


@rule(source="RISE mapFstFusion")
def map_first_fusion(f: Fun[C, D], g: Fun[A, C], ps: tup(A, B)[n]):
    """Two functions of the first component are one."""
    return (
        map(lambda p: (f(p[0]), p[1]), map(lambda p: (g(p[0]), p[1]), ps)),
        map(lambda p: (f(g(p[0])), p[1]), ps),
    )


@rule(source="RISE mapSndFusion")
def map_second_fusion(f: Fun[C, D], g: Fun[B, C], ps: tup(A, B)[n]):
    """Two functions of the second component are one."""
    return (
        map(lambda p: (p[0], f(p[1])), map(lambda p: (p[0], g(p[1])), ps)),
        map(lambda p: (p[0], f(g(p[1]))), ps),
    )


@rule(source="RISE transposeBeforeMapZip, its generated array; LIFT ArrayFromValue in a zip")
def zip_repeat(xs: A[n], y: B):
    """Zipping with copies of one element pairs each with it."""
    return zip(xs, repeat(n, y)), map(lambda x: (x, y), xs)
