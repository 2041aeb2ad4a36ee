"""LoPA-GT on logistic hyper-parameters in plain NumPy: a straightforward version in single precision.

main.rs calls it as `lopa.py FOLDER`. It reads the job and the samples from FOLDER and prints microseconds per node and
iteration (of the median iteration), the mean test accuracy, and NumPy's version.
"""

import json
import os
import sys
import time

# Before NumPy is loaded, or its BLAS takes every core.
for name in ("OPENBLAS", "MKL", "OMP", "BLIS", "VECLIB_MAXIMUM"):
    os.environ[f"{name}_NUM_THREADS"] = "1"

import numpy as np


def load(folder, name, width):
    """Samples as floats in [0, 1], labels as -1 and +1."""
    pixels = np.fromfile(os.path.join(folder, f"{name}.pixels"), np.uint8).reshape(-1, width)
    labels = np.fromfile(os.path.join(folder, f"{name}.labels"), np.uint8)
    return pixels.astype(np.float32) / np.float32(255), labels.astype(np.float32) * 2 - 1


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def gradient(samples, labels, theta):
    """The gradient of the mean of ln(1 + exp(-label * sample @ theta))."""
    slope = -labels * sigmoid(-labels * (samples @ theta))
    return slope @ samples / np.float32(len(labels))


def hessian_vector(samples, theta, v):
    s = sigmoid(samples @ theta)
    return (s * (1 - s) * (samples @ v)) @ samples / np.float32(len(s))


def main(folder):
    with open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
        job = json.load(file)
    nodes, width, batch, rounds = (job[key] for key in ("nodes", "width", "batch", "rounds"))
    alpha, beta, lam, gamma, tau = (
        np.float32(job[key]) for key in ("alpha", "beta", "lambda", "gamma", "tau")
    )
    train = [load(folder, f"train-{node}", width) for node in range(nodes)]
    validation = [load(folder, f"validation-{node}", width) for node in range(nodes)]
    # A ring: each node has two neighbours, and every weight is a third.
    weights = np.zeros((nodes, nodes), np.float32)
    for node in range(nodes):
        weights[node, [node - 1, node, (node + 1) % nodes]] = 1 / 3

    rng = np.random.default_rng(job["seed"])
    x = np.full((nodes, width), job["x0"], np.float32)
    y, z, theta, v = (np.zeros((nodes, width), np.float32) for _ in range(4))
    delta = np.empty_like(x)

    def draw(samples, labels):
        index = rng.integers(0, len(labels), batch)
        return samples[index], labels[index]

    times = np.empty(rounds)
    for k in range(rounds):
        began = time.perf_counter()
        for i in range(nodes):
            strength = 2 * np.exp(x[i])
            d = gradient(*draw(*train[i]), theta[i]) + strength * theta[i]
            h = hessian_vector(draw(*train[i])[0], theta[i], v[i]) + strength * v[i]
            h -= gradient(*draw(*validation[i]), theta[i])
            s = -strength * theta[i] * v[i]
            delta[i] = gamma * (s - z[i])
            theta[i] -= beta * d
            v[i] -= lam * h
        z += delta
        x, y = (1 - tau) * x + tau * (weights @ x - alpha * y), weights @ y + delta
        times[k] = time.perf_counter() - began

    samples, labels = load(folder, "test", width)
    accuracy = np.mean([np.mean((samples @ theta[i] >= 0) == (labels > 0)) for i in range(nodes)])
    assert theta.dtype == x.dtype == np.float32
    print(1e6 * np.median(times) / nodes, accuracy, np.__version__)


main(sys.argv[1])
