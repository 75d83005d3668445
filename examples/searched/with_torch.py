"""What PyTorch takes for the programs of a bundle, on the GPU on which its kernels ran: references of its results.

    python with_torch.py BUNDLE RESULTS [BY_HAND...]

Each BY_HAND is what the runner wrote of kernels of examples/low_level, which ran on the same GPU: with any, no reference
is of another run. Inputs are those of the bundle's runner.  A time is the median of events around ten replays of a graph of the calls, or
of the calls where there is no graph; a row keeps the reference that it has where that is faster.
"""

import json
import re
import runpy
import statistics
import sys
from pathlib import Path

import torch  # pyright: ignore[reportMissingImports]
import torch.nn.functional as F  # pyright: ignore[reportMissingImports]

REPLAYS = 12
TWO_PI = 6.283185307179586
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def clamped(x, reach):
    sides = (reach,) * (2 * x.dim())
    return F.pad(x[None, None], sides, mode="replicate")[0, 0]


def at(padded, reach):
    """A function from steps away to the cells of a padded array that lie there."""

    def moved(*steps):
        parts = zip(steps, padded.shape, strict=True)
        return padded[tuple(slice(reach + s, n - reach + s) for s, n in parts)]

    return moved


def j2d5pt(grid):
    here = at(clamped(grid, 1), 1)
    total = 5.1 * here(-1, 0) + 12.1 * here(0, -1) + 15.0 * here(0, 0)
    return (total + 12.2 * here(0, 1) + 5.2 * here(1, 0)) / 118.0


def j2d9pt(grid):
    here = at(clamped(grid, 2), 2)
    down = 7.1 * here(-2, 0) + 5.1 * here(-1, 0) + 5.2 * here(1, 0) + 7.2 * here(2, 0)
    right = 9.2 * here(0, -2) + 12.1 * here(0, -1) + 12.2 * here(0, 1) + 9.1 * here(0, 2)
    return (down + right + 15.0 * here(0, 0)) / 118.0


def j3d7pt(grid):
    here = at(clamped(grid, 1), 1)
    return (
        0.161 * here(0, 0, 1) + 0.162 * here(0, 0, -1) + 0.163 * here(0, 1, 0) + 0.164 * here(0, -1, 0)
        + 0.165 * here(1, 0, 0) + 0.166 * here(-1, 0, 0) - 1.67 * here(0, 0, 0)
    )  # fmt: skip


def hotspot(temperature, power):
    near = at(clamped(temperature, 1), 1)
    here = near(0, 0)
    down = (near(-1, 0) + near(1, 0) - 2.0 * here) * 0.1
    right = (near(0, -1) + near(0, 1) - 2.0 * here) * 0.1
    return here + 0.05 * (power + down + right + (80.0 - here) * 0.0625)


def jacobi(x):
    for _ in range(4):
        here = at(clamped(x, 1), 1)
        x = 0.2 * (here(0, 0) + here(-1, 0) + here(1, 0) + here(0, -1) + here(0, 1))
    return x


def layer_norm(A, gain, bias):
    return F.layer_norm(A, A.shape[1:], gain, bias, 1e-5)


def gemver(alpha, beta, A, u1, v1, u2, v2, y, z):
    B = A + u1[:, None] * v1 + u2[:, None] * v2
    return alpha * (B @ (beta * (y @ B) + z))


def convolution(image, weights):
    return F.conv2d(image[None, None], weights[None, None], padding=len(weights) // 2)[0, 0]


def convolution_separable(image, rows, columns):
    r = len(rows) // 2
    across = F.conv2d(image[None, None], rows[None, None, None], padding=(0, r))
    return F.conv2d(across, columns[None, None, :, None], padding=(r, 0))[0, 0]


def box_blur(x):
    padded = F.pad(x[None], (3, 3, 3, 3), mode="replicate")
    return F.avg_pool2d(padded, 7, stride=1)[0]


def black_scholes(options):
    price, strike, years = options
    spread = 0.3 * torch.sqrt(years)
    d = (torch.log(price / strike) + 0.065 * years) / spread
    above, below = torch.special.ndtr(d), torch.special.ndtr(d - spread)
    discounted = strike * torch.exp(-0.02 * years)
    return price * above - discounted * below, discounted * (1 - below) - price * (1 - above)


def mahalanobis(X, mean, S):
    gaps = X - mean
    return ((gaps @ S.T) * gaps).sum(1)


def md(atoms, neighbours, cutoff, lj1, lj2):
    places = torch.stack(atoms, 1)
    gaps = places[:, None] - places[neighbours]
    squared = (gaps * gaps).sum(2)
    acts = (squared < cutoff) & (squared > 0)
    near = 1.0 / torch.where(acts, squared, 1.0)
    s = torch.where(acts, near**4 * (lj1 * near**3 - lj2), 0.0)
    return (gaps * s[:, :, None]).sum(1)


def mriq(voxels, samples):
    angles = TWO_PI * (torch.stack(voxels, 1) @ torch.stack(samples[:3]))
    return torch.cos(angles) @ samples[3], torch.sin(angles) @ samples[3]


def attention(Q, K, V):
    return F.scaled_dot_product_attention(Q[None, None], K[None, None], V[None, None], scale=1.0)


PROGRAMS = {
    "dot": torch.dot,
    "row_sums": lambda A: A.sum(1),
    "column_sums": lambda A: A.sum(0),
    "column_variance": lambda A: A.var(0, correction=0),
    "largest_place": lambda A: A.argmax(1),
    "log_sum_exp": lambda A: torch.logsumexp(A, 1),
    "cross_entropy": lambda A, labels: F.cross_entropy(A, labels, reduction="none"),
    "scan": lambda x: torch.cumsum(x, 0),
    "prefix_maximum": lambda x: torch.cummax(x, 0)[0],
    "row_scans": lambda A: torch.cumsum(A, 1),
    "histogram": lambda values, bins: torch.bincount(values, minlength=len(bins)),
    "softmax": lambda A: torch.softmax(A, 1),
    "masked_softmax": lambda A, kept: torch.softmax(A.masked_fill(kept <= 0, -1e30), 1),
    "layer_norm": layer_norm,
    "rms_norm": lambda A, gain: F.rms_norm(A, A.shape[1:], gain, 1e-6),
    "cosines": lambda A, B: F.cosine_similarity(A, B, 1),
    "gemv": lambda alpha, A, x, beta, y: torch.addmv(y, A, x, alpha=alpha, beta=beta),
    "gemv_transposed": lambda A, x: A.T @ x,
    "atax": lambda A, x: A.T @ (A @ x),
    "gesummv": lambda alpha, beta, A, B, x: alpha * (A @ x) + beta * (B @ x),
    "bicg": lambda A, p, r: (A @ p, A.T @ r),
    "gemver": gemver,
    "rank_one": lambda A, x, y: torch.addr(A, x, y),
    "transpose": lambda A: A.T.contiguous(),
    "sum_transposed": lambda A, B: A + B.T,
    "matmul": torch.mm,
    "matmul_gpu": torch.mm,
    "gemm": lambda alpha, A, B, beta, C: torch.addmm(C, A, B, alpha=alpha, beta=beta),
    "bias_relu": lambda A, B, bias: torch.relu(torch.addmm(bias, A, B)),
    "product_transposed": lambda A, B: A @ B.T,
    "products_batched": torch.bmm,
    "three_products": lambda A, B, C, D: A @ B @ C @ D,
    "squared_distances": lambda X, Y: torch.cdist(X, Y) ** 2,
    "mahalanobis": mahalanobis,
    "attention": attention,
    "covariance": lambda X: torch.cov(X.T),
    "conv2d": lambda x, K: F.conv2d(x[None], K)[0],
    "convolution": convolution,
    "convolution_separable": convolution_separable,
    "j2d5pt": j2d5pt,
    "j2d9pt": j2d9pt,
    "j3d7pt": j3d7pt,
    "hotspot": hotspot,
    "jacobi": jacobi,
    "box_blur": box_blur,
    "max_pool": lambda x: F.max_pool2d(x[None, None], 2)[0, 0],
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "black_scholes": black_scholes,
    "mriq": mriq,
    "md": md,
}
COMPILED = {"j2d5pt", "j2d9pt", "j3d7pt", "hotspot", "jacobi", "gemver", "md", "black_scholes"}
"""Those of which PyTorch makes kernels of its own: each operation apart would be no reference."""


def on_gpu(argument):
    if isinstance(argument, tuple):
        return tuple(on_gpu(part) for part in argument)
    if argument.shape == ():
        return float(argument)
    tensor = torch.from_numpy(argument).cuda()
    return tensor.long() if tensor.dtype == torch.int32 else tensor


def seconds(call):
    """The median of events around `many` calls, each of them a graph where PyTorch can make one."""
    first = timed(call, 1)
    many = 10 if first < 2e-3 else 2
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(many):
                call()
        run = graph.replay
    except RuntimeError:

        def run():
            for _ in range(many):
                call()

    run()
    return statistics.median(timed(run, 1) for _ in range(REPLAYS)) / many


def timed(run, times):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e-3 / times


HAND = "by hand in low-level patterns"


def fastest_by_hand(files):
    """The seconds of the fastest kernel of each name that computed the right result."""
    found = {}
    for file in files:
        for row in json.loads(Path(file).read_text())["entries"]:
            if row["ok"]:
                found[row["name"]] = min(row["seconds"], found.get(row["name"], float("inf")))
    return found


def program_of(name):
    """The name of a benchmark without the sizes that may stand behind it."""
    return re.sub(r"(_\d+)+$", "", name)


def main(bundle, file, *by_hand):
    runner = runpy.run_path(str(Path(bundle) / "runner.py"))
    results = json.loads(Path(file).read_text())
    known, hand = {}, fastest_by_hand(by_hand)
    for row in results["entries"]:
        name = row["name"]
        if by_hand:
            seconds_by_hand = hand.get(name)
            row |= {
                "reference": HAND if name in hand else None,
                "reference_seconds": seconds_by_hand,
            }
        if name not in known:
            known[name] = None
            program = program_of(name)
            if program in PROGRAMS:
                arguments = [on_gpu(a) for a in runner["inputs_of"](row)[1]]
                function = PROGRAMS[program]
                if program in COMPILED:
                    function = torch.compile(function)
                try:
                    for _ in range(3):
                        function(*arguments)
                    torch.cuda.synchronize()
                    known[name] = seconds(lambda f=function, a=arguments: f(*a))
                except Exception as error:  # noqa: BLE001 (one that fails has no reference)
                    print(f"{name}: {type(error).__name__}: {str(error)[:200]}")
                del arguments
                torch.cuda.empty_cache()
            print(f"{name:24} {(known[name] or 0) * 1e6:10.1f} us", flush=True)
        took = known[name]
        row["torch_seconds"] = took
        if took is not None and took < (row["reference_seconds"] or float("inf")):
            row |= {"reference": f"PyTorch {torch.__version__}", "reference_seconds": took}
    Path(file).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
