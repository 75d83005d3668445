"""Rules of the user's own beside those of the library: what was found of each when it was admitted.

A rule that its check proves stands like one of the library.  One that nothing refutes and nothing proves is believed
when the user says so by name, and everything that it is used in says that it is ASSUMED.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relift.rewrites.ledger.book import Verdict
from relift.rewrites.rule import RejectedRule, Rule
from relift.semantics.language.arguments import an_instance


@dataclass(frozen=True)
class Assumed:
    """A rule that may be used though nothing proves it: `assume` makes one."""

    rule: Rule | RejectedRule


def assume(rule: Rule) -> Assumed:
    """The rule, to be believed where its check neither proves nor refutes it; every result that uses it says so.

    >>> import relift as rl
    >>> @rl.rule()
    ... def to_power(x: rl.f32):
    ...     return x * x, rl.power(x, 2.0)
    >>> rl.assume(to_power).rule.name
    'to_power'
    """
    an_instance(rule, (Rule, RejectedRule), "a rule", "decorate its function with rl.rule")
    return Assumed(rule)


@dataclass(frozen=True)
class OwnRule:
    """A rule of the user's own that may be used, and what stands for it: a proof, or the user's word."""

    rule: Rule
    standing: Verdict

    @property
    def is_assumed(self) -> bool:
        """Whether nothing but the user's word stands for it."""
        return self.standing == "ASSUMED"

    def __str__(self) -> str:
        return f"{self.rule} ({self.standing})"

    def to_json(self) -> dict[str, Any]:
        """What a derivation says of it, for whoever has not its file."""
        return {"equation": self.rule.equation(), "standing": self.standing}
