"""What loops go through: the arrays that move with a loop, zipped; cells that stand near each other, as a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relift.compiler.idioms.facts.values.terms import Expression, Fold, Index, Read, all_of
from relift.compiler.idioms.lifting.arrays import Arrays
from relift.compiler.idioms.lifting.layouts import Window, view
from relift.compiler.idioms.lifting.scalars import Scope
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.multidimensional import slide_nd, transpose_axes
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Term


class Elements(Arrays):
    """The elements of loops."""

    def view(self, r: Read, order: Sequence[str]) -> Term:
        """The cells of a read, one dimension for each loop that moves it."""
        base = self.bases[r.base]
        return view(base.term, base.windows[r], self.sizes.trips, order)

    def _order(self) -> list[str]:
        return list(self.sizes.trips)

    def elements(self, counter: str, values: Sequence[Expression], scope: Scope) -> tuple[Any, Any]:
        """What a loop goes through: the arrays that move with it, zipped; and how an element gives the cells."""
        inside = [e for v in values for e in all_of(v)]
        reads = [
            r for r in dict.fromkeys(e for e in inside if isinstance(e, Read))
            if counter in r.index.names() and not self.bases[r.base].gathered
        ]  # fmt: skip
        groups = self._groups(reads)
        members: list[Any] = []
        for leader in groups:
            members.append(
                scope.cells[leader]
                if leader in scope.cells
                else self._grouped(leader, groups[leader])
            )
        counts = any(self._counts(e, counter) for e in inside)
        if counts or not members:
            members.append(rl.generate(self.sizes.trips[counter], lambda i: i))

        def bind(x: Any) -> Scope:
            parts = [x] if len(members) == 1 else [x[i] for i in range(len(members))]
            cells: dict[Read, Any] = {}
            for leader, part in zip(groups, parts, strict=False):
                cells[leader] = part
                if not self._left(leader, counter):
                    cells.update(self._from_window(leader, groups[leader], part))
            counted = {counter: parts[-1]} if counts or not groups else {}
            return scope.with_(cells=cells, counters=counted)

        return (members[0] if len(members) == 1 else rl.zip(*members)), bind

    def _counts(self, e: Expression, counter: str) -> bool:
        """Whether the counter itself is used, not only what it leads to."""
        if isinstance(e, Index):
            return counter in e.size.names()
        if isinstance(e, Fold):
            return counter in e.trips.names()
        return isinstance(e, Read) and self.bases[e.base].gathered and counter in e.index.names()

    def _left(self, r: Read, counter: str) -> bool:
        """Whether a read moves with loops inside of this one."""
        order = self._order()
        return any(c in r.index.names() for c in order[order.index(counter) + 1 :])

    def _groups(self, reads: Sequence[Read]) -> dict[Read, list[Read]]:
        """Reads that differ by fixed distances, which one window gives, by their first."""
        found: dict[Any, list[Read]] = {}
        for r in reads:
            ws = self.bases[r.base].windows[r]
            near = all(
                (w.low - v.low).constant is not None
                for w, v in zip(ws, self._first(r.base, ws), strict=True)
            )
            key = (r.base, tuple(w.moves for w in ws)) if near and self._slidable(ws) else r
            found.setdefault(key, []).append(r)
        return {rs[0]: rs for rs in found.values()}

    def _first(self, base: str, like: Sequence[Window]) -> list[Window]:
        moves = tuple(w.moves for w in like)
        return next(
            ws for ws in self.bases[base].windows.values() if tuple(w.moves for w in ws) == moves
        )

    def _slidable(self, ws: Sequence[Window]) -> bool:
        return all(len(w.moves) == 1 and w.moves[0][1] > 0 for w in ws)

    def _grouped(self, leader: Read, group: Sequence[Read]) -> Any:
        """The view of one read, or the windows that hold the cells of several."""
        if len(group) == 1:
            return self.view(leader, self._order())
        lows, extents = self._box(leader, group)
        base = self.bases[leader.base]
        ws = base.windows[leader]
        around = [
            replace(w, low=low, span=w.span + extent - 1)
            for w, low, extent in zip(ws, lows, extents, strict=True)
        ]
        axes = [w.moves[0][0] for w in ws]
        cut = view(base.term, around, self.sizes.trips, axes)
        slid = _slid_nd(extents, cut)
        return _permuted(slid, axes, [c for c in self._order() if c in axes])

    def _box(self, leader: Read, group: Sequence[Read]) -> tuple[list[Size], list[int]]:
        """The lowest cell of a group in each dimension, and how far it reaches."""
        base = self.bases[leader.base]
        lows, extents = list[Size](), list[int]()
        for d, w in enumerate(base.windows[leader]):
            distances = [(base.windows[r][d].low - w.low).constant or 0 for r in group]
            lows.append(w.low + min(distances))
            extents.append(max(distances) - min(distances) + 1)
        return lows, extents

    def _from_window(self, leader: Read, group: Sequence[Read], window: Any) -> dict[Read, Any]:
        if len(group) == 1:
            return {}
        lows, _ = self._box(leader, group)
        base = self.bases[leader.base]
        found: dict[Read, Any] = {}
        for r in group:
            cell = window
            for w, low in zip(base.windows[r], lows, strict=True):
                cell = cell[int((w.low - low).constant or 0)]
            found[r] = cell
        return found


def _slid_nd(extents: Sequence[int], xs: Any) -> Any:
    return slide_nd(tuple(extents), (1,) * len(extents), xs)


def _permuted(xs: Any, axes: list[str], wanted: list[str]) -> Any:
    axes = list(axes)
    for place, counter in enumerate(wanted):
        at = axes.index(counter)
        if at != place:
            xs = transpose_axes(place, at, xs)
            axes[place], axes[at] = axes[at], axes[place]
    return xs
