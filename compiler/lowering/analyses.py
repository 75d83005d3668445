"""The compiler's analyses that can be switched off, to see what each is worth.

Without one the kernel is right anyway, only slower or longer; a term whose private arrays need
constant indices, or one owner for each part, is refused without index simplification.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Analyses:
    """`barriers`: where no work-item reads what another wrote, there is none.  `control_flow`: no loop where
    every work-item, or one run, has the one element.  `indices`: quotients and remainders are
    simplified, and sums that indices share are computed once.
    """

    barriers: bool = True
    control_flow: bool = True
    indices: bool = True


ALL = Analyses()

EVERYTHING = {"all": ALL}

ABLATION: dict[str, Analyses] = {
    "none": Analyses(barriers=False, control_flow=False, indices=False),
    "barriers and control flow": Analyses(indices=False),
    "index simplification": Analyses(barriers=False, control_flow=False),
    "all": ALL,
}
"""What is on, by the names that the evaluation of LIFT (CGO'17, section 7.3) uses."""
