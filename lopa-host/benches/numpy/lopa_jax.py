"""LoPA-GT in JAX: the whole network compiled, with `vmap` over the nodes and `scan` over the iterations, in single precision.

main.rs calls it as `lopa_jax.py FOLDER`. It prints microseconds per node and iteration (of a typical group of iterations), the mean test
accuracy, and JAX's version. Compiling is not part of the time.
"""

import os
import sys
import time

# Before JAX is loaded. main.rs also pins the process to one core.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NPROC"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

from oracles import Job


def main(folder):
    job = Job(np, folder)
    problem, weights = job.problem, jnp.asarray(job.weights)
    data = {}
    for part in ("train", "validation"):
        parts = [job.samples(np, f"{part}-{node}") for node in range(job.nodes)]
        # Nodes differ by a sample at most, where they do not divide evenly.
        rows = min(len(samples) for samples, _ in parts)
        data[part] = tuple(
            jnp.asarray(np.stack([both[which][:rows] for both in parts])) for which in range(2)
        )

    def node(x, theta, v, key, data):
        batches = []
        for number, part in enumerate(problem.draws):
            samples, labels = data[part]
            own = jax.random.fold_in(key, number)
            index = jax.random.randint(own, (job.batch,), 0, len(labels))
            batches.append((samples[index], labels[index]))
        return problem.directions(jnp, x, theta, v, batches)

    def iteration(state, key, data):
        x, y, z, theta, v = state
        d, h, s = jax.vmap(node)(x, theta, v, jax.random.split(key, job.nodes), data)
        delta = job.gamma * (s - z)
        mixed = (1 - job.tau) * x + job.tau * (weights @ x - job.alpha * y)
        return mixed, weights @ y + delta, z + delta, theta - job.beta * d, v - job.lam * h

    # A call computes a group of iterations.
    @jax.jit
    def call(state, key, data):
        keys = jax.random.split(key, job.group)
        return jax.lax.scan(lambda state, key: (iteration(state, key, data), None), state, keys)[0]

    x = jnp.asarray(job.x0)
    zeros = jnp.zeros((job.nodes, problem.inner), jnp.float32)
    state = (x, jnp.zeros_like(x), jnp.zeros_like(x), zeros, zeros)
    key = jax.random.key(job.seed)
    jax.block_until_ready(call(state, key, data))
    times = []
    for number in range(job.rounds // job.group):
        began = time.process_time()
        state = jax.block_until_ready(call(state, jax.random.fold_in(key, number), data))
        times.append((time.process_time() - began) / job.group)
    x, theta = np.asarray(state[0]), np.asarray(state[3])
    job.report(np, job.typical(np, times), x, theta, f"jax-{jax.__version__}")


main(sys.argv[1])
