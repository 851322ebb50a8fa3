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
# divides a problem, solves it, compares bits, and looks at messages and at what more parts cost.
# Every claim is asserted beside it.

# %%
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
# sweeps may diverge.

# %%
COUNTS, MOST = (1, 2, 4, 8, 16, 32, 64, 128), 2000
sweeps = {border: [] for border in BORDERS}
for parts in COUNTS:
    own = cs.orders.labels(whole, "slices", parts)
    for border in BORDERS:
        order = cs.orders.partition(own, border=border)
        found = cs.solve(whole, order=order, islands=False, scheme="factorized", **OPTIONS)
        sweeps[border].append(found.iterations if found.converged else np.nan)

fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for border, marker in zip(BORDERS, "os^", strict=True):
    ax.loglog(COUNTS, sweeps[border], marker=marker, label=border)
    failed = [parts for parts, count in zip(COUNTS, sweeps[border], strict=True) if count != count]
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
