"""LoPA-GT in plain NumPy: a loop over the nodes, vectorised over the batch, in single precision.

main.rs calls it as `lopa.py FOLDER`. It prints microseconds per node and iteration (of a typical group of iterations), the mean
test accuracy, and NumPy's version.
"""

import os
import sys
import time

# Before NumPy is loaded, or its BLAS takes every core.
for name in ("OPENBLAS", "MKL", "OMP", "BLIS", "VECLIB_MAXIMUM"):
    os.environ[f"{name}_NUM_THREADS"] = "1"

import numpy as np

from oracles import Job


def main(folder):
    job = Job(np, folder)
    problem, weights = job.problem, job.weights
    nodes = range(job.nodes)
    data = [
        {part: job.samples(np, f"{part}-{node}") for part in ("train", "validation")}
        for node in nodes
    ]
    rng = np.random.default_rng(job.seed)
    x = job.x0.copy()
    y, z, delta = (np.zeros_like(x) for _ in range(3))
    theta, v = (np.zeros((job.nodes, problem.inner), np.float32) for _ in range(2))

    def draw(samples, labels):
        index = rng.integers(0, len(labels), job.batch)
        return samples[index], labels[index]

    times = np.empty(job.rounds)
    for k in range(job.rounds):
        began = time.process_time()
        for i in nodes:
            batches = [draw(*data[i][part]) for part in problem.draws]
            d, h, s = problem.directions(np, x[i], theta[i], v[i], batches)
            delta[i] = job.gamma * (s - z[i])
            theta[i] -= job.beta * d
            v[i] -= job.lam * h
        z += delta
        mixed = (1 - job.tau) * x + job.tau * (weights @ x - job.alpha * y)
        x, y = mixed, weights @ y + delta
        times[k] = time.process_time() - began
    seconds = job.typical(np, times.reshape(-1, job.group).mean(axis=1))
    job.report(np, seconds, x, theta, f"numpy-{np.__version__}")


main(sys.argv[1])
