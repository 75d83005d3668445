"""What Python's notation means on types, terms and operators: `f32(x)`, `a + b`, `p[0]`, `op(a, b)`, `f(a)`.

Types and terms are defined in this chapter; what their notation builds needs both and the patterns too, and is defined
above them, in `semantics/language`.  So it stands here by name, and is looked up when it is first asked for.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relift.semantics.syntax.terms import Term

converted: Callable[[Any, Any], Term]
"""A value in a scalar type, from the type and the value."""

scalar: Callable[..., Term]
"""A scalar function applied, from its name and its arguments."""

raised: Callable[[Any, Any], Term]
"""A number to a power, from the number and the exponent."""

shifted: Callable[[Any, Any, Any], Term]
"""A whole number shifted, from the name of the function, the number and how many bits."""

component: Callable[[Any, Any], Term]
"""A component of a tuple or of an array, from that and the index."""

combined: Callable[[Any, Any, Any], Term]
"""A binary operator applied, from that and both sides."""

called: Callable[[Any, Any], Term]
"""A function of the user's applied, from that and its arguments."""

number_of: Callable[[Any, Any], Term]
"""The number that a size is, from the size and the type that is expected."""

refused_by_numpy: Callable[[str, Any], Exception]
"""What to write instead of a function of NumPy's, from its name and what it is given."""

_DEFINED = {
    "converted": "relift.semantics.language.coercion:converted",
    "scalar": "relift.semantics.language.coercion:scalar",
    "raised": "relift.semantics.language.coercion:raised",
    "shifted": "relift.semantics.language.coercion:shifted",
    "component": "relift.semantics.language.tracing:component",
    "combined": "relift.semantics.language.coercion:combine",
    "called": "relift.semantics.language.coercion:call",
    "number_of": "relift.semantics.language.tracing:number_of",
    "refused_by_numpy": "relift.semantics.language.coercion:refused_by_numpy",
}


def __getattr__(name: str) -> Any:
    if name not in _DEFINED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = pkgutil.resolve_name(_DEFINED[name])
    return globals()[name]
