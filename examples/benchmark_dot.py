"""How fast the dot product that the search finds is, in one run on one device.

    python examples/benchmark_dot.py [N]

Prints the ratio to numpy.dot and to the naive kernel that a tutorial on OpenCL shows: one work-item per
element, then a tree in local memory.  Times are the best and the median of rounds taken in turn; quote the
ratios, not the times.
"""

import statistics
import sys
import time

import numpy as np
import pyopencl as cl
from dot import dot

import relift as rl
from relift.bench import describe, find_device, label

GROUP = 256
NAIVE = """
kernel void products_and_tree(global const float* x, global const float* y, global float* partial) {
  local float sums[GROUP];
  int i = get_local_id(0);
  sums[i] = x[get_global_id(0)] * y[get_global_id(0)];
  for (int gap = GROUP / 2; gap > 0; gap /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < gap) sums[i] += sums[i + gap];
  }
  if (i == 0) partial[get_group_id(0)] = sums[0];
}
"""


class Naive:
    """The tutorial's kernel; its partial sums are added on the host, which is not timed."""

    def __init__(self, device, x, y):
        self.context = cl.Context([device])
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(self.context, properties=profiling)
        built = cl.Program(self.context, NAIVE).build([f"-DGROUP={GROUP}"])
        self.kernel = cl.Kernel(built, "products_and_tree")
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        self.inputs = [cl.Buffer(self.context, flags, hostbuf=array) for array in (x, y)]
        self.sums = np.empty(len(x) // GROUP, np.float32)
        self.partial = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, self.sums.nbytes)

    def __call__(self):
        """Seconds of one run, by the device's clock."""
        groups = (len(self.sums) * GROUP,)
        event = self.kernel(self.queue, groups, (GROUP,), *self.inputs, self.partial)
        event.wait()
        return (event.profile.end - event.profile.start) * 1e-9

    def result(self):
        cl.enqueue_copy(self.queue, self.sums, self.partial)
        return self.sums.astype(np.float64).sum()


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 24
    device = find_device("cpu")
    generator = np.random.default_rng(0)
    x, y = (generator.random(n, dtype=np.float32) for _ in range(2))
    best = rl.optimize(dot, sizes={"n": n}, target=describe(device))
    kernel = rl.compile(best.term)
    naive = Naive(device, x, y)
    expected = np.dot(x.astype(np.float64), y)
    naive()
    for name, result in (("found", float(kernel(x, y))), ("naive", naive.result())):
        assert abs(result - expected) < 1e-4 * expected, f"the {name} kernel is wrong: {result}"
    rounds = {"found": [], "numpy.dot": [], "naive kernel": []}
    for _ in range(15):
        rounds["found"] += kernel.timed((x, y), label(device), 1)
        start = time.perf_counter()
        np.dot(x, y)
        rounds["numpy.dot"].append(time.perf_counter() - start)
        rounds["naive kernel"].append(naive())
    print(f"dot of {n} elements on {label(device)}, searched for {best.seconds:.1f} s")
    for name in ("numpy.dot", "naive kernel"):
        ratios = [
            measure(rounds[name]) / measure(rounds["found"]) for measure in (min, statistics.median)
        ]
        print(f"times as fast as {name}: {ratios[0]:.2f} (best), {ratios[1]:.2f} (median)")


if __name__ == "__main__":
    main()
