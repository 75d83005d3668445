"""What PyTorch takes for the programs of a bundle of this folder: called like examples/searched/with_torch.py, which times."""

import sys
from pathlib import Path
from runpy import run_path

import torch  # pyright: ignore[reportMissingImports]
import torch.nn.functional as F  # pyright: ignore[reportMissingImports]

SEARCHED = run_path(str(Path(__file__).parent.parent / "searched" / "with_torch.py"))
PROGRAMS = {
    "batched_gemv": lambda A, x: torch.bmm(A, x[:, :, None]),
    "column_scans": lambda A: torch.cumsum(A, 0),
    "conv1d": lambda x, w: F.conv1d(F.pad(x, (32, 31))[None, None], w[None, None]),
    "cube_mean": lambda x: F.avg_pool3d(F.pad(x[None, None], (1,) * 6, mode="replicate"), 3, 1),
    "l1_distances": lambda X, Y: torch.cdist(X, Y, p=1),
    "mlp": lambda x, w, b, v: torch.relu(torch.addmm(b, x, w)) @ v,
    "normalized": lambda A: F.normalize(A, dim=1),
    "permuted": lambda x: x.permute(2, 1, 0).contiguous(),
    "row_variance": lambda A: A.var(1, correction=0),
    "strided": lambda x, w: F.conv2d(F.pad(x[:, None], (1, 0, 1, 0)), w[None, None], stride=2),
    "weighted_rows": lambda A, w: w @ A,
}

if __name__ == "__main__":
    SEARCHED["PROGRAMS"].update(PROGRAMS)
    SEARCHED["COMPILED"].update({"cube_mean", "normalized"})
    SEARCHED["main"](*sys.argv[1:])
