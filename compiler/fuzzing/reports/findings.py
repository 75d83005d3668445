"""What was found: a subject, what was seen of it, and who is to blame; findings of one cause are one."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from relift.compiler.fuzzing.judgement.blame import Blame
from relift.compiler.fuzzing.judgement.judging import Seen
from relift.compiler.fuzzing.programs.subjects import Subject


@dataclass(frozen=True)
class Finding:
    """The first case of a cause, made small."""

    case: str
    subject: Subject
    seen: Seen
    blame: Blame

    def folder(self, under: Path) -> Path:
        """Where its report lies: a cause has one folder, whoever finds it."""
        words = re.sub(r"[^a-z0-9]+", "-", self.blame.cause.lower()).strip("-")[:60]
        digest = hashlib.sha256(self.blame.cause.encode()).hexdigest()[:6]
        return under / f"{words}-{digest}"
