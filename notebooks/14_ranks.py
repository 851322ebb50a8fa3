# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # One problem on many ranks
#
# A problem too large for one machine is divided among ranks, which are processes under MPI. Here
# they are threads of this notebook: messages, shares and results are the same. This notebook
# divides a problem, solves it, compares bits, resumes from a checkpoint, and looks at messages, at
# what more parts cost, at modelled times and at networks of processes. Every claim is asserted
# beside it.

# %%
import csv
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import contactsolve as cs

plt.rcParams["figure.dpi"] = 100

# %% [markdown]
# ## Divide and solve
#
# The balls of the grid slide, so that contacts couple its columns. `cs.distributed.run` calls a
# function on each rank. `scatter` gives each rank its share of the problem that rank 0 has: the
# bodies of its parts, and all contacts at them.

# %%
PARTS = 8
whole = cs.scenarios.ball_grid(8, mu=0.1, velocity=0.5)
labels = cs.orders.labels(whole, "slices", PARTS)


def spread(comm, parts=PARTS, labels=labels):
    first = comm.rank == 0
    return cs.distributed.scatter(
        whole if first else None, labels=labels if first else None, parts=parts, comm=comm
    )


print(*cs.distributed.run(lambda comm: repr(spread(comm)), 3), sep="\n")

# %% [markdown]
# All ranks call `solve` together, and `gather` returns the impulses of all contacts.

# %%
OPTIONS = {"method": "gauss_seidel", "rtol": 1e-4, "check_every": 5, "max_iterations": 2000}


def solved(comm):
    result = cs.distributed.solve(spread(comm), verify=True, **OPTIONS)
    return result, result.gather()


on_ranks = {ranks: cs.distributed.run(solved, ranks) for ranks in (1, 2, 3, 5, 8)}
print(on_ranks[3][0][0])

# %% [markdown]
# ## Equal bits
#
# Parts are virtual ranks. Results depend on them, and not on the number of ranks: the reference is
# one process with the same parts.

# %%
order = cs.orders.partition(labels)
reference = cs.solve(whole, order=order, islands=False, scheme="factorized", **OPTIONS)
for answers in on_ranks.values():
    for result, impulses in answers:
        assert impulses.tobytes() == reference.impulses.tobytes()
        assert (result.status, result.iterations) == ("converged", reference.iterations)
print(f"{reference.iterations} sweeps, the same bits from {', '.join(map(str, on_ranks))} ranks")

# %% [markdown]
# Other parts are another order of the contacts: impulses differ, within the tolerance.

# %%
other = cs.orders.partition(cs.orders.labels(whole, "natural", PARTS))
differing = cs.solve(whole, order=other, islands=False, scheme="factorized", **OPTIONS)
assert differing.impulses.tobytes() != reference.impulses.tobytes()
assert differing.converged

# %% [markdown]
# ## One history
#
# Each rank decides by itself, from the same numbers: all have the same history, but for its times.

# %%
histories = [result.history["natural_map"] for result, _ in on_ranks[3]]
for values in histories:
    assert np.array_equal(values, reference.history["natural_map"], equal_nan=True)

fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for rank, (width, values) in enumerate(zip((6, 3.5, 1), histories, strict=True)):
    known = np.isfinite(values)
    sweeps = on_ranks[3][rank][0].history["iteration"]
    ax.semilogy(sweeps[known], values[known], linewidth=width, label=f"rank {rank} of 3")
ax.set(xlabel="sweeps", ylabel="natural map [N s]", title="Three ranks, one history")
ax.legend()
plt.show()

# %% [markdown]
# ## Checkpoint and resume
#
# A long solve may write checkpoints. Here three ranks end after 150 sweeps, and two ranks continue
# from the checkpoint of sweep 100: bits and history are those of a solve that was not interrupted.


# %%
def begun(comm, path):
    options = {**OPTIONS, "max_iterations": 150}
    return cs.distributed.solve(spread(comm), checkpoint=path, checkpoint_every=100, **options)


def resumed(comm, path):
    result = cs.distributed.solve(spread(comm), resume=path, **OPTIONS)
    return result, result.gather()


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "checkpoint.hdf5"
    early = cs.distributed.run(begun, 3, path)[0]
    late = cs.distributed.run(resumed, 2, path)

assert early.status == "max_iterations"
for result, impulses in late:
    assert impulses.tobytes() == reference.impulses.tobytes()
    assert result.iterations == reference.iterations
    for name in ("iteration", "natural_map"):
        assert np.array_equal(result.history[name], reference.history[name], equal_nan=True)
print(
    f"ended after {early.iterations} sweeps, resumed from 100, {late[0][0].status} after", end=" "
)
print(f"{late[0][0].iterations}, with the bits of one solve")

# %% [markdown]
# ## Messages
#
# On a border in colours, each rank computes the impulses of all contacts at its bodies, so that
# only velocities travel. On the other borders one rank visits a contact, and its impulse travels,
# too. The solver knows what it will send in a sweep, and the communicator counts what it has sent.

# %%
SWEEPS = 40
FIXED = {"method": "gauss_seidel", "rtol": None, "atol": None, "record": ("residual",)}


def sent(comm, sweeps, border):
    """What a rank sends in so many sweeps, and what it predicts of one."""
    order = cs.orders.partition(border=border)
    solver = cs.distributed.Solver(spread(comm), order=order, max_iterations=sweeps, **FIXED)
    before = comm.traffic()
    solver.solve()
    after = comm.traffic()
    counted = {name: after[name] - before[name] for name in ("messages", "bytes")}
    return counted, solver.info["ranks"]


BORDERS, RANKS = ("colored", "checkerboard", "concurrent"), (1, 2, 4, 8)
kilobytes = {}
for border in BORDERS:
    for ranks in RANKS:
        few = cs.distributed.run(sent, ranks, SWEEPS, border)
        many = cs.distributed.run(sent, ranks, 2 * SWEEPS, border)
        for (less, predicted), (more, _) in zip(few, many, strict=True):
            for name, value in more.items():
                assert value - less[name] == SWEEPS * predicted[name]
        kilobytes[border, ranks] = sum(predicted["bytes"] for _, predicted in few) / 1e3

fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for border, marker in zip(BORDERS, "os^", strict=True):
    ax.plot(RANKS, [kilobytes[border, ranks] for ranks in RANKS], marker=marker, label=border)
ax.set(xlabel="ranks", ylabel="all messages of a sweep [kB]", xticks=RANKS)
ax.legend(title="border")
plt.show()
assert all(kilobytes[border, 1] == 0 for border in BORDERS)

# %% [markdown]
# ## What more parts cost
#
# Sweeps to a tolerance, counted on one process, which has the bits of as many ranks. Borders in
# colours and checkerboards are Gauss-Seidel's method exactly, in another order of the contacts. On
# a concurrent border parts do not see each other's changes, and with few bodies in each part the
# sweeps may diverge. With split masses each part has its share of the mass of a body that several
# parts visit: without friction the energy then falls in every sweep. With friction, as here,
# nothing is proved. Here the sweeps converge with each of these numbers of parts, and take up to
# four times as many as those that are exact.

# %%
COUNTS, MOST = (1, 2, 4, 8, 16, 32, 64, 128), 2000
WAYS = {border: {"border": border} for border in BORDERS}
WAYS["concurrent, split masses"] = {"border": "concurrent", "split_masses": True}
sweeps = {way: [] for way in WAYS}
for parts in COUNTS:
    own = cs.orders.labels(whole, "slices", parts)
    for way, options in WAYS.items():
        order = cs.orders.partition(own, **options)
        found = cs.solve(whole, order=order, islands=False, scheme="factorized", **OPTIONS)
        sweeps[way].append(found.iterations if found.converged else np.nan)

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for way, marker in zip(WAYS, "os^v", strict=True):
    ax.loglog(COUNTS, sweeps[way], marker=marker, label=way)
    failed = [parts for parts, count in zip(COUNTS, sweeps[way], strict=True) if count != count]
    ax.plot(failed, [MOST] * len(failed), "x", color=ax.lines[-1].get_color())
ax.set(xlabel="parts", ylabel="sweeps to 1e-4", title=f"x: not within {MOST} sweeps")
ax.set_xticks(COUNTS, COUNTS)
ax.set_yticks([300, 500, 1000, 2000], ["300", "500", "1000", "2000"])
ax.minorticks_off()
ax.legend(title="border", loc="center left")
plt.show()
exact = np.array([sweeps["colored"], sweeps["checkerboard"]])
assert np.isfinite(exact).all()
assert exact.max() < 2 * exact.min()
assert np.isnan(sweeps["concurrent"]).any()
assert np.max(sweeps["concurrent, split masses"]) < 4 * exact.min()

# %% [markdown]
# ## Modelled times
#
# What would a sweep take on many ranks? No rank of the figure has run: `benchmarks/distributed/`
# counts visits, messages and bytes, and multiplies them by costs measured on one machine. An
# exchange takes o for each message, L once and G for each byte (LogGP), and a sweep waits for the
# slowest rank after each stage. Amdahl's law and Gustafson's take the share s of the contacts that
# lie on the border as serial: 1 / (s + (1 − s) / P) for a problem that stays as large, and
# s + (1 − s) P for one that grows. A border in colours is not serial: from 16 ranks on its
# modelled speed-up is above Amdahl's.


# %%
def committed(name):
    """Rows of a CSV of the repository that this notebook lies in; none elsewhere."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        for path in sorted(folder.glob(f"benchmarks/results/*/{name}.csv")):
            with path.open(newline="", encoding="utf-8") as file:
                return list(csv.DictReader(file))
    return []


rows = committed("distributed_model")
scenes = list(dict.fromkeys(row["scene"] for row in rows))
if rows:
    fig, axes = plt.subplots(
        1, len(scenes), figsize=(9, 3.8), layout="constrained", sharey=True, squeeze=False
    )
    for ax, scene in zip(axes[0], scenes, strict=True):
        for border, marker in zip(BORDERS, "os^", strict=True):
            own = [row for row in rows if (row["scene"], row["border"]) == (scene, border)]
            P, s, found = (
                np.array([float(row[name]) for row in own])
                for name in ("ranks", "on_border", "speedup")
            )
            ax.loglog(P, found, marker=marker, label=f"{border}, modelled")
            if border == "colored":
                assert (found > 1 / (s + (1 - s) / P))[P >= 16].all()
        laws = {"Amdahl": 1 / (s + (1 - s) / P), "Gustafson": s + (1 - s) * P}
        for (law, values), style in zip(laws.items(), ("k--", "k:"), strict=True):
            ax.loglog(P, values, style, label=law)
            known = [float(row[law.lower()]) for row in own]
            assert np.allclose(values, known, rtol=1e-3)
        ax.set(title=f"{scene}, {int(own[0]['contacts']):,} contacts", xlabel="ranks")
        ax.set_xticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
        ax.set_yticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
        ax.minorticks_off()
    axes[0, 0].set_ylabel("speed-up of a sweep")
    axes[0, 0].legend(fontsize="small")
    plt.show()
    costs = rows[0]
    print(f"o = {costs['o_us']} µs, L = {costs['L_us']} µs, G = {costs['G_ns']} ns a byte")

# %% [markdown]
# ## Networks of processes
#
# The networks of `cs.csp` whose messages are data run on ranks, too. Every rank has the whole
# problem: they share work, not memory. Their bits are those of the same network on threads, and
# those of the same order without a network.

# %%
NETWORK = {"workers": 4, "rtol": 1e-3, "max_iterations": 2000}


def connected(comm):
    solver = cs.csp.Solver(whole, "naive", comm=comm, **NETWORK)
    return solver.solve(), solver.info


on_threads = cs.csp.solve(whole, "naive", **NETWORK)
without = cs.solve(
    whole,
    method="gauss_seidel",
    order="ranges",
    parts=4,
    islands=False,
    scheme="factorized",
    rtol=1e-3,
    max_iterations=2000,
)
on_three = cs.distributed.run(connected, 3)
for result, _ in on_three:
    for other in (on_threads, without):
        assert result.impulses.tobytes() == other.impulses.tobytes()
        assert result.iterations == other.iterations
info = on_three[0][1]
print(f"{on_threads.status} after {on_threads.iterations} sweeps; processes on the ranks", end=" ")
print(f"{info['process_ranks']}; {info['messages_away']} messages between ranks")
