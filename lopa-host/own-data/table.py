"""LoPA with default settings on public data, beside each node alone, one model for all, and a model trained in one place.

    python3 -m venv env
    env/bin/pip install --no-deps -r requirements.txt
    env/bin/pip install scipy joblib threadpoolctl narwhals
    env/bin/python table.py LOPA results.md

LOPA is the command `lopa`. Every data set is split five times: a sixth of each node's samples is for tests. Nothing is
downloaded: the packages bring the data. Exits with status 1 if LoPA is worse than each node alone beyond the spread.
"""

import csv
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.preprocessing import StandardScaler

SPLITS = 5
HERE = pathlib.Path(__file__).parent


def package(name):
    return pathlib.Path(importlib.util.find_spec(name).submodule_search_locations[0])


def dealt(data, nodes, keep=None):
    """Samples without groups, dealt out to nodes at random in every split."""
    rows = np.isin(data.target, keep) if keep else slice(None)
    return data.data[rows], data.target[rows], nodes


def windows(series, length):
    """Mean, deviation, smallest, largest and mean change of every channel, in windows of a recording."""
    for at in range(0, len(series) - length + 1, length):
        own = series[at : at + length]
        change = np.abs(np.diff(own, axis=0)).mean(0)
        yield np.concatenate([own.mean(0), own.std(0), own.min(0), own.max(0), change])


def watch(exercises):
    """A smartwatch on ten people during physiotherapy; two seconds per sample."""
    data = np.load(package("seglearn") / "data/watch_dataset.npy", allow_pickle=True).item()
    rows, labels, people = [], [], []
    for series, label, person in zip(data["X"], data["y"], data["subject"]):
        if label in exercises:
            for row in windows(series, 100):
                rows.append(row)
                labels.append(label)
                people.append(person)
    return np.array(rows), np.array(labels), np.array(people)


def basic_motions():
    """A smartwatch during four activities; one recording per sample."""
    rows, labels = [], []
    for part in ("TRAIN", "TEST"):
        text = (package("sktime") / f"datasets/data/BasicMotions/BasicMotions_{part}.ts").read_text()
        for line in text.split("@data")[1].strip().splitlines():
            *channels, label = line.strip().split(":")
            series = np.array([[float(cell) for cell in channel.split(",")] for channel in channels]).T
            rows.append(next(windows(series, len(series))))
            labels.append(label)
    return np.array(rows), np.array(labels), 4


def grunfeld():
    """What eleven firms invested in twenty years, from their value and their capital (in logarithms)."""
    with open(package("statsmodels") / "datasets/grunfeld/grunfeld.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = np.log(np.array([[float(row[key]) for key in ("value", "capital", "invest")] for row in rows]))
    return numbers[:, :2], numbers[:, 2], np.array([row["firm"] for row in rows])


def cases():
    """Name, kind, rounds, and what makes the samples: features, labels, and groups or a number of nodes."""
    people = "a node per person"
    yield "breast cancer, 10 nodes", "logistic", 2000, dealt(datasets.load_breast_cancer(), 10)
    yield "digits 3 and 8, 10 nodes", "logistic", 2000, dealt(datasets.load_digits(), 10, [3, 8])
    yield f"watch, rotations, {people}", "logistic", 2000, watch([3, 4])
    yield f"watch, lifting the arm, {people}", "logistic", 2000, watch([1, 2])
    yield "diabetes, 10 nodes", "ridge", 2000, dealt(datasets.load_diabetes(), 10)
    yield "investment, a node per firm", "ridge", 2000, grunfeld()
    yield "wine, 5 nodes", "shared-layer", 500, dealt(datasets.load_wine(), 5)
    yield "basic motions, 4 nodes", "shared-layer", 500, basic_motions()
    yield f"watch, 7 exercises, {people}", "shared-layer", 200, watch(range(7))


def split(features, labels, groups, seed):
    """The nodes, and which samples are for tests."""
    draw = np.random.default_rng(seed)
    if isinstance(groups, int):
        places = draw.permutation(len(labels)) % groups
        groups = np.array([f"node{place}" for place in places])
    test = np.zeros(len(labels), bool)
    for group in np.unique(groups):
        own = draw.permutation(np.flatnonzero(groups == group))
        test[own[: max(1, len(own) // 6)]] = True
    return groups, test


def write(path, features, labels, groups, rows):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["group", *(f"f{at}" for at in range(features.shape[1])), "label"])
        word = (lambda label: repr(float(label))) if labels.dtype.kind == "f" else "class{}".format
        for row in np.flatnonzero(rows):
            out.writerow([groups[row], *(repr(float(cell)) for cell in features[row]), word(labels[row])])


def lopa(command, folder, kind, rounds, nodes, algorithm, seed):
    """The comparison of a run, by name."""
    more = "hidden = 16\nmu = 0.01\n" if kind == "shared-layer" else ""
    (folder / "own.toml").write_text(
        f'[network]\nnodes = {nodes}\n[problem]\nkind = "{kind}"\n{more}'
        '[data]\nfile = "train.csv"\ntest_file = "test.csv"\nnode = "group"\n'
        f'[algorithm]\nname = "{algorithm}"\n[run]\niterations = {rounds}\nrecord_every = {rounds}\nseed = {seed}\n'
    )
    call = [command, "run", folder / "own.toml", "--out", folder / algorithm]
    subprocess.run(call, check=True, capture_output=True)
    summary = json.loads((folder / algorithm / "summary.json").read_text())
    # The loss of a regression is half the squared error, and the numbers to predict have deviation 1.
    value = (lambda score: 1 - 2 * score["loss"]) if kind == "ridge" else (lambda score: score["accuracy"])
    return {score["name"]: value(score) for score in summary["comparison"]}


def in_one_place(kind, features, labels, groups, test):
    """scikit-learn on the samples of all nodes: the mean over nodes."""
    scale = StandardScaler().fit(features[~test])
    scaled = scale.transform(features)
    if kind == "ridge":
        model = RidgeCV(alphas=np.logspace(-3, 4, 22))
    else:
        model = LogisticRegressionCV(
            Cs=10, cv=5, max_iter=5000, l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=False
        )
    model.fit(scaled[~test], labels[~test])
    own = [test & (groups == group) for group in np.unique(groups)]
    if kind == "ridge":
        errors = [np.mean((model.predict(scaled[rows]) - labels[rows]) ** 2) for rows in own]
        return 1 - np.mean(errors) / np.var(labels[~test])
    return np.mean([model.score(scaled[rows], labels[rows]) for rows in own])


COLUMNS = ["each node alone", "one model for all nodes", "LoPA-LG", "LoPA-GT", "scikit-learn in one place"]


def measure(command, kind, rounds, features, labels, groups):
    """A row of numbers for every split."""
    rows, sizes = [], []
    for seed in range(1, SPLITS + 1):
        nodes, test = split(features, labels, groups, seed)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            write(folder / "train.csv", features, labels, nodes, ~test)
            write(folder / "test.csv", features, labels, nodes, test)
            count = len(np.unique(nodes))
            runs = {
                name: lopa(command, folder, kind, rounds, count, name.lower(), seed)
                for name in ("LoPA-LG", "LoPA-GT")
            }
        known = runs["LoPA-GT"]
        fitted = [runs[name][f"{name}, fitted to all samples"] for name in ("LoPA-LG", "LoPA-GT")]
        ceiling = in_one_place(kind, features, labels, nodes, test)
        rows.append([known["each node alone"], known["one model for all nodes"], *fitted, ceiling])
        sizes.append((~test).sum() / count)
    return np.array(rows), np.mean(sizes)


def verdict(rows):
    """LoPA-GT against each node alone, split by split."""
    gain = rows[:, 3] - rows[:, 0]
    mean, spread = gain.mean(), gain.std(ddof=1)
    word = "worse" if mean < -spread else "better" if mean > spread else "the same"
    return word, f"{mean:+.3f} ± {spread:.3f}, {word}"


def main(command, out):
    text = (HERE / "introduction.md").read_text()
    head = ["data", "samples per node", *COLUMNS, "LoPA-GT − alone"]
    lines = [head, ["---"] * len(head)]
    worse = []
    for name, kind, rounds, (features, labels, groups) in cases():
        rows, size = measure(command, kind, rounds, features, labels, groups)
        word, gain = verdict(rows)
        worse += [name] if word == "worse" else []
        cells = [f"{mean:.3f} ± {spread:.3f}" for mean, spread in zip(rows.mean(0), rows.std(0, ddof=1))]
        lines.append([name, f"{size:.0f}", *cells, gain])
        print(" | ".join(lines[-1]), flush=True)
    text += "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
    pathlib.Path(out).write_text(text)
    if worse:
        sys.exit("worse than each node alone: " + "; ".join(worse))


if __name__ == "__main__":
    main(*sys.argv[1:])
