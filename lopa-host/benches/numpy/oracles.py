"""The two problems, written once for NumPy and JAX: `xp` is either module.

An array `samples` has a row per sample of a batch. `labels` are -1 and +1 for logistic regression, and rows of zeros with a one
for the shared layer. Everything is in single precision.
"""

import json
import os


def sigmoid(xp, a):
    return 1 / (1 + xp.exp(-a))


class Logistic:
    """Hyper-parameters of logistic regression: the inner loss has the penalty sum(exp(x) * theta**2)."""

    # Which samples each oracle draws its batch from: d, the Hessian-vector product, and the outer gradient.
    draws = ("train", "train", "validation")

    def __init__(self, job):
        self.outer = self.inner = job["width"]

    def gradient(self, xp, samples, labels, theta):
        slope = -labels * sigmoid(xp, -labels * (samples @ theta))
        return slope @ samples / len(labels)

    def directions(self, xp, x, theta, v, batches):
        """d, h and s: the directions of theta, v and z."""
        (a, a_labels), (b, _), (c, c_labels) = batches
        strength = 2 * xp.exp(x)
        d = self.gradient(xp, a, a_labels, theta) + strength * theta
        slope = sigmoid(xp, b @ theta)
        h = (slope * (1 - slope) * (b @ v)) @ b / len(b) + strength * v
        h = h - self.gradient(xp, c, c_labels, theta)
        return d, h, -strength * theta * v

    def labels(self, np, classes):
        return classes.astype(np.float32) * 2 - 1

    def right(self, np, x, theta, samples, labels):
        return np.mean((samples @ theta >= 0) == (labels > 0))


class SharedLayer:
    """A shared sigmoid layer (x) with a softmax head of each node's own (theta)."""

    # d, the Hessian-vector product, the cross product, and the outer gradients in theta and in x.
    draws = ("train", "train", "train", "validation", "validation")

    def __init__(self, job):
        self.width, self.hidden, self.classes = job["width"], job["hidden"], job["classes"]
        self.mu = job["mu"]
        self.outer = self.hidden * (self.width + 1)
        self.inner = self.classes * (self.hidden + 1)

    def layer(self, x):
        at = self.hidden * self.width
        return x[:at].reshape(self.hidden, self.width), x[at:]

    def head(self, theta):
        at = self.classes * self.hidden
        return theta[:at].reshape(self.classes, self.hidden), theta[at:]

    def forward(self, xp, x, theta, samples):
        weights, biases = self.layer(x)
        hidden = sigmoid(xp, samples @ weights.T + biases)
        head, head_biases = self.head(theta)
        logits = hidden @ head.T + head_biases
        powers = xp.exp(logits - logits.max(axis=1, keepdims=True))
        return hidden, powers / powers.sum(axis=1, keepdims=True)

    def change(self, xp, v, hidden, probabilities):
        """How the probabilities change with theta along v."""
        head, biases = self.head(v)
        change = hidden @ head.T + biases
        return probabilities * (change - (probabilities * change).sum(axis=1, keepdims=True))

    def to_head(self, xp, residual, hidden):
        return xp.concatenate([(residual.T @ hidden).ravel(), residual.sum(axis=0)]) / len(hidden)

    def to_layer(self, xp, pull, hidden, samples):
        slope = pull * (hidden * (1 - hidden))
        return xp.concatenate([(slope.T @ samples).ravel(), slope.sum(axis=0)]) / len(samples)

    def gradient(self, xp, x, theta, samples, labels):
        hidden, probabilities = self.forward(xp, x, theta, samples)
        return self.to_head(xp, probabilities - labels, hidden)

    def directions(self, xp, x, theta, v, batches):
        """d, h and s: the directions of theta, v and z."""
        (a, a_labels), (b, _), (c, c_labels), (f, f_labels), (g, g_labels) = batches
        d = self.gradient(xp, x, theta, a, a_labels) + self.mu * theta
        hidden, probabilities = self.forward(xp, x, theta, b)
        change = self.change(xp, v, hidden, probabilities)
        h = self.to_head(xp, change, hidden) + self.mu * v
        h = h - self.gradient(xp, x, theta, f, f_labels)
        head = self.head(theta)[0]
        hidden, probabilities = self.forward(xp, x, theta, g)
        s = self.to_layer(xp, (probabilities - g_labels) @ head, hidden, g)
        hidden, probabilities = self.forward(xp, x, theta, c)
        change = self.change(xp, v, hidden, probabilities)
        pull = (probabilities - c_labels) @ self.head(v)[0] + change @ head
        return d, h, s - self.to_layer(xp, pull, hidden, c)

    def labels(self, np, classes):
        return np.eye(self.classes, dtype=np.float32)[classes]

    def right(self, np, x, theta, samples, labels):
        probabilities = self.forward(np, x, theta, samples)[1]
        return np.mean(probabilities.argmax(axis=1) == labels.argmax(axis=1))


class Job:
    """The job and the samples in a folder, as main.rs writes them."""

    def __init__(self, np, folder):
        with open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
            job = json.load(file)
        self.nodes, self.batch, self.rounds = job["nodes"], job["batch"], job["rounds"]
        self.seed, self.width, self.group = job["seed"], job["width"], job["group"]
        # As floats of Python they leave single precision alone.
        self.alpha, self.beta, self.lam, self.gamma, self.tau = (
            job[key] for key in ("alpha", "beta", "lambda", "gamma", "tau")
        )
        self.problem = {"logistic": Logistic, "shared-layer": SharedLayer}[job["kind"]](job)
        # A ring: each node has two neighbours, and every weight is a third.
        self.weights = np.zeros((self.nodes, self.nodes), np.float32)
        for node in range(self.nodes):
            self.weights[node, [node - 1, node, (node + 1) % self.nodes]] = 1 / 3
        x0 = np.fromfile(os.path.join(folder, "x0"), np.float32)
        assert len(x0) == self.problem.outer
        self.x0 = np.tile(x0, (self.nodes, 1))
        self.folder = folder

    def samples(self, np, name):
        """Samples as floats in [0, 1], and their labels."""
        pixels = np.fromfile(os.path.join(self.folder, f"{name}.pixels"), np.uint8)
        classes = np.fromfile(os.path.join(self.folder, f"{name}.labels"), np.uint8)
        pixels = pixels.reshape(-1, self.width).astype(np.float32) / np.float32(255)
        return pixels, self.problem.labels(np, classes)

    def typical(self, np, times):
        """The tenth percentile: other programs only make them longer."""
        return np.sort(times)[len(times) // 10]

    def report(self, np, seconds, x, theta, versions):
        """Prints microseconds per node and iteration, the mean test accuracy, and versions."""
        samples, labels = self.samples(np, "test")
        right = [self.problem.right(np, x[i], theta[i], samples, labels) for i in range(self.nodes)]
        assert theta.dtype == x.dtype == np.float32, "everything is in single precision"
        print(1e6 * seconds / self.nodes, float(np.mean(right)), versions)
