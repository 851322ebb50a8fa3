"""Cloth in motion: strips under load, vibration, conservation, stability, threads, Ctrl-C."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

import contactsolve as cs
from cloths import equilibrium, matrices, settle
from contactsolve import _core
from interruption import ctrl_c_ends

FREE = {"gravity": (0, 0, 0), "dtype": "float64"}


@pytest.mark.parametrize(("diagonals", "rel"), [("alternating", 1e-4), ("one", 2e-5)])
def test_hanging_strip(diagonals, rel):
    """It is longer by w L² / 2E."""
    vertices, faces = cs.cloth.sheet(17, 5, (0.2, 1.0), diagonals)
    density, g, young = 0.2, 10.0, 1e5
    cloth = cs.cloth.Cloth(
        vertices,
        faces,
        density=density,
        young=young,
        poisson=0.0,
        gravity=(0, -g, 0),
        attach=np.flatnonzero(vertices[:, 1] > 1 - 1e-9),
        dtype="float64",
    )
    equilibrium(cloth)
    longer = -cloth.positions[vertices[:, 1] < 1e-9, 1].mean()
    assert longer == pytest.approx(density * g / (2 * young), rel=rel)


def catenary_error(columns):
    """How far a strip of length 1 over a span of 0.8 is from the catenary."""
    span = 0.8
    vertices, faces = cs.cloth.sheet(2, columns, (1.0, 1 / (columns - 1)))
    s = vertices[:, 0] - 0.5
    start = np.column_stack([span * s, vertices[:, 1], -0.3 * (1 - 4 * s**2)])
    cloth = cs.cloth.Cloth(
        start,
        faces,
        rest=vertices,
        density=0.2,
        young=1e4,
        poisson=0.0,
        attach=np.flatnonzero(np.abs(s) > 0.5 - 1e-9),
    )
    settle(cloth, 0.1, 1e-7)
    a = brentq(lambda a: 2 * a * np.sinh(span / 2 / a) - 1, 0.05, 10)
    x = a * np.arcsinh(s / a)
    z = a * np.cosh(x / a) - a * np.cosh(span / 2 / a)
    return np.abs(cloth.positions[:, [0, 2]] - np.column_stack([x, z])).max()


def test_catenary():
    """The error falls as that of a chain of links, to what the strip is longer by."""
    errors = [catenary_error(columns) for columns in (21, 41)]
    assert errors[0] < 2e-3
    assert errors[1] < 0.4 * errors[0]


def taut(h=None, columns=41, stretch=1.05):
    """A strip between two walls, in its first mode: cloth, mode over masses, frequency."""
    vertices, faces = cs.cloth.sheet(3, columns, (1.0, 2 / (columns - 1)))
    ends = np.flatnonzero((vertices[:, 0] < 1e-9) | (vertices[:, 0] > 1 - 1e-9))
    flat = vertices * [stretch, 1, 1]
    given = {**FREE, "density": 0.2, "young": 1000.0, "poisson": 0.0, "rtol": 1e-12}
    cloth = cs.cloth.Cloth(flat, faces, rest=vertices, **given, attach=ends)
    inner = np.setdiff1d(np.arange(len(vertices)), ends)
    across = 3 * inner + 2
    squares, modes = eigh(matrices(cloth)[np.ix_(across, across)], np.diag(cloth.masses[inner]))
    start = flat.copy()
    start[inner, 2] = 1e-5 * modes[:, 0] / np.abs(modes[:, 0]).max()
    cloth.positions = start
    return cloth, cloth.masses * start[:, 2], np.sqrt(squares[0])


def test_frequency_of_a_taut_strip():
    """π/L √(T/ρ) with the tension and the mass of the stretched strip."""
    _, _, omega = taut()
    tension, density = 1000.0 * 0.05, 0.2 / 1.05
    assert omega == pytest.approx(np.pi / 1.05 * np.sqrt(tension / density), rel=2e-3)


def rate_error(h):
    """How far the complex rate of the first mode is from iω, over ω."""
    cloth, mode, omega = taut()
    q = []
    for _ in range(20):
        q.append(mode @ cloth.positions[:, 2])
        cloth.step(h)
    q = np.array(q)
    a, b = np.linalg.lstsq(np.column_stack([q[1:-1], q[:-2]]), q[2:], rcond=None)[0]
    rate = np.log(np.roots([1, -a, -b])[0]) / h
    return abs(rate.real + 1j * abs(rate.imag) - 1j * omega) / omega, omega


def test_vibration_is_first_order_in_the_step():
    """Implicit Euler takes the rate iω for iω − ω² h / 2."""
    (coarse, omega), (fine, _) = rate_error(2e-3), rate_error(1e-3)
    assert coarse == pytest.approx(omega * 2e-3 / 2, rel=0.05)
    assert 1.9 < coarse / fine < 2.1


def test_damping_ratio():
    """Of a small vibration: damping ω / 2, beside that of the steps."""
    vertices, faces = cs.cloth.sheet(2, 2, 1.0)
    h, damping = 1e-4, 0.005
    rates = []
    for time in (0.0, damping):
        given = {**FREE, "density": 0.3, "young": 100.0, "rtol": 1e-12, "damping": time}
        cloth = cs.cloth.Cloth(vertices, faces, **given)
        rest = cs.cloth.Cloth(vertices, faces, **{**given, "damping": 0.0})
        squares, modes = eigh(matrices(rest), np.diag(np.repeat(cloth.masses, 3)))
        omega, mode = np.sqrt(squares[-1]), modes[:, -1]
        cloth.positions = vertices + 1e-7 * mode.reshape(-1, 3)
        mode = mode * np.repeat(cloth.masses, 3)
        q = []
        for _ in range(50):
            q.append(mode @ (cloth.positions - vertices).ravel())
            cloth.step(h)
        q = np.array(q)
        a, b = np.linalg.lstsq(np.column_stack([q[1:-1], q[:-2]]), q[2:], rcond=None)[0]
        rates.append((np.log(np.roots([1, -a, -b])[0]) / h).real)
    assert rates[0] - rates[1] == pytest.approx(damping * omega**2 / 2, rel=0.03)


def free_sheet(h, spin=0.0, newton=1, seconds=1.0):
    """A sheet without supports: the energy's rise, what momenta change by, relative."""
    vertices, faces = cs.cloth.sheet(13, 13, 1.0)
    x = vertices - vertices.mean(axis=0)
    v = 0.3 * np.column_stack(
        [
            np.sin(3 * x[:, 1]),
            np.cos(2 * x[:, 0] + 1),
            np.cos(4 * x[:, 0]) * np.sin(3 * x[:, 1]),
        ]
    ) + np.cross([0.3 * spin, 0, spin], x)
    given = {**FREE, "density": 0.2, "young": 100.0, "bending": 1e-4, "rtol": 1e-12}
    cloth = cs.cloth.Cloth(x, faces, **given, velocities=v, newton=newton)
    start, (p, L) = sum(cloth.energy()), cloth.momentum()
    most = start
    for _ in range(round(seconds / h)):
        cloth.step(h)
        most = max(most, sum(cloth.energy()))
    scale = np.linalg.norm(v * cloth.masses[:, None])
    moved, turned = (np.linalg.norm(b - a) for a, b in zip((p, L), cloth.momentum(), strict=True))
    return most / start - 1, moved / scale, turned / np.linalg.norm(L)


def test_a_free_sheet_keeps_its_momentum():
    """The linear one to what solves are exact to; the angular one to first order in the step."""
    drifts = []
    for h in (1e-2, 5e-3, 2.5e-3):
        _, moved, turned = free_sheet(h)
        assert moved < 1e-12 * round(1 / h)
        drifts.append(turned)
    assert drifts[0] < 0.02
    assert 1.7 < drifts[0] / drifts[1] < 2.3
    assert 1.7 < drifts[1] / drifts[2] < 2.3


def test_a_free_sheet_gains_little_energy():
    """At most 1 % with steps of 0.01 s, also in a spin; nothing with short ones."""
    assert free_sheet(1e-2)[0] <= 0.01
    rise = [free_sheet(h, spin=5.0)[0] for h in (1 / 30, 1e-2, 5e-3)]
    assert rise[0] > 0.02
    assert rise[1] <= 0.01
    assert rise[2] <= 1e-4


def test_newtons_method_is_dissipative():
    assert free_sheet(1 / 30, spin=5.0, newton=6)[0] <= 1e-6


@pytest.mark.parametrize("bending", [0.0, 1e-4])
@pytest.mark.parametrize("h", [1 / 30, 1e-2])
def test_noise_on_a_stretched_sheet_decays(h, bending):
    """Without the geometric stiffness of tension it grows for steps above 3.5 ms."""
    vertices, faces = cs.cloth.sheet(17, 17, 1.0)
    flat = vertices * [1.05, 1.05, 1]
    rim = (np.abs(vertices[:, :2] - 0.5) > 0.5 - 1e-9).any(axis=1)
    noisy = flat.copy()
    noisy[~rim] += 1e-4 * np.random.default_rng(0).normal(size=(int((~rim).sum()), 3))
    cloth = cs.cloth.Cloth(
        noisy,
        faces,
        rest=vertices,
        density=0.2,
        young=1000.0,
        bending=bending,
        attach=np.flatnonzero(rim),
        **FREE,
    )
    start = np.abs(noisy - flat).max()
    cloth.run(10 * h, h)
    assert np.abs(cloth.positions - flat).max() < 0.1 * start
    cloth.run(50 * h, h)
    assert np.abs(cloth.positions - flat).max() < 1e-3 * start


# ---- attachments, Newton, precisions ------------------------------------------------------------


def hung(columns=9, **given):
    vertices, faces = cs.cloth.sheet(columns, columns, 1.0)
    options = {"density": 0.2, "young": 200.0, "bending": 1e-4, "attach": [0, columns - 1]}
    return cs.cloth.Cloth(vertices, faces, **{**options, **given})


def test_attached_vertices_stay():
    cloth = hung()
    before = cloth.positions
    cloth.run(0.1, 1e-2)
    assert np.array_equal(cloth.positions[[0, 8]], before[[0, 8]])
    assert not cloth.velocities[[0, 8]].any()
    assert cloth.positions[40, 2] < -1e-3


def test_attached_vertices_follow_a_function():
    def path(time):
        return np.array([[0.0, 0, 0.1 * time], [1.0 - 0.2 * time, 0, 0]])

    cloth = hung(attach=([0, 8], path))
    cloth.run(0.25, 1e-2)
    assert np.array_equal(cloth.positions[[0, 8]], path(cloth.time))
    wanted = [[0, 0, 0.1], [-0.2, 0, 0]]
    assert np.abs(cloth.velocities[[0, 8]] - wanted).max() <= 1e-12


def test_elimination_keeps_pattern_and_symmetry():
    plain, attached = hung(attach=None), hung(attach=[0, 8, 40])
    A, other = plain.system(1e-2)[0], attached.system(1e-2)[0]
    assert np.array_equal(A.indices, other.indices)
    dense, wanted = other.to_scipy().toarray(), A.to_scipy().toarray()
    rows = (3 * np.array([0, 8, 40])[:, None] + np.arange(3)).ravel()
    wanted[rows] = wanted[:, rows] = 0
    wanted[rows, rows] = np.repeat(attached.masses[[0, 8, 40]], 3)
    assert np.array_equal(dense, wanted)
    assert np.linalg.eigvalsh(dense)[0] > 0


def test_a_step_solves_its_system():
    cloth = hung(rtol=1e-13)
    cloth.run(0.05, 1e-2)
    A, b = cloth.system(1e-2)
    before, v = cloth.positions, cloth.velocities
    change = np.linalg.solve(A.to_scipy().toarray(), b).reshape(-1, 3)
    cloth.step(1e-2)
    assert np.abs(cloth.velocities - v - change).max() <= 1e-11 * np.abs(change).max()
    assert np.abs(cloth.positions - before - 1e-2 * cloth.velocities).max() <= 1e-15


def test_newtons_method_converges():
    """To the solution of implicit Euler: its residual falls with every iteration."""
    h, ends = 1 / 30, []
    for newton in (1, 2, 4, 8, 40):
        cloth = hung(rtol=1e-13, newton=newton, poisson=0.0)
        cloth.run(10 * h, h)
        ends.append(cloth.positions)
    apart = [np.abs(end - ends[-1]).max() for end in ends]
    assert apart[0] > 1e-3
    assert all(b < 0.3 * a for a, b in pairwise(apart[:4]))


@pytest.mark.parametrize("dtype", ["float32", "mixed"])
def test_precisions_agree(dtype):
    wanted = hung(rtol=1e-10)
    cloth = hung(dtype=dtype, rtol=1e-5)
    for one in (wanted, cloth):
        one.run(0.1, 1e-2)
    assert cloth.info["status"] == "converged"
    assert cloth.info["residual"] <= 1e-5
    assert 0 < np.abs(cloth.positions - wanted.positions).max() < 1e-4


@pytest.mark.parametrize("M", sorted(_core.preconditioners()))
def test_preconditioners_agree(M):
    wanted = hung(rtol=1e-11)
    cloth = hung(rtol=1e-11, M=M)
    for one in (wanted, cloth):
        one.run(0.05, 1e-2)
    assert np.abs(cloth.positions - wanted.positions).max() < 1e-9


def test_a_missed_tolerance_warns_once_and_is_counted():
    cloth = hung(max_iterations=3)
    cloth.step(1e-2)
    assert cloth.info["status"] == "converged"
    with pytest.warns(RuntimeWarning, match="step 2: the solve ended as 'max_iterations' after 3"):
        cloth.step(1e-2)
    cloth.step(1e-2)
    assert (cloth.info["steps"], cloth.info["steps_not_converged"]) == (3, 2)


# ---- bits, threads, interruption ---------------------------------------------------------------


@pytest.mark.threads
@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
def test_bits_do_not_depend_on_threads(dtype):
    """More vertices than are worth several threads."""
    ends = []
    for threads in (1, 2, 3, 4):
        cloth = hung(70, dtype=dtype, damping=0.01, threads=threads, parts=5, rtol=1e-4)
        cloth.run(0.02, 1e-2)
        A, b = cloth.system(1e-2)
        ends.append((cloth.positions, cloth.velocities, A.to_scipy().data, b))
    for end in ends[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(end, ends[0], strict=True))


def calls_of(cloth):
    """Calls that read or write what a step writes, by name."""
    core = cloth._core
    return {
        "state": core.state,
        "energy": core.energy,
        "momentum": core.momentum,
        "report": core.report,
        "describe": core.describe,
        "solver": core.solver,
        "solver_origin": core.solver_origin,
        "set_time": lambda: core.set_time(0.0),
        "set_counts": lambda: core.set_counts(0, 0),
        "positions": lambda: cloth.positions,
        "info": lambda: cloth.info,
    }


def test_a_step_in_another_thread_excludes_all_other_calls():
    cloth = hung(60, newton=20, rtol=1e-12, threads=1, max_iterations=200)
    cloth._warned = True
    refused, calls = {}, calls_of(cloth)

    # The step lasts for a second, the calls for microseconds.
    thread = threading.Thread(target=cloth.step, args=(1e-2,))
    thread.start()
    while thread.is_alive() and len(refused) < len(calls):
        for name, call in calls.items():
            try:
                call()
            except RuntimeError as error:
                refused[name] = str(error)
    told = repr(cloth)
    thread.join()
    assert refused.keys() == calls.keys()
    assert all("in the middle of a step" in text for text in refused.values())
    assert "in a step" in told
    assert "t = 0.01 s" in repr(cloth)
    assert cloth.info["steps"] == 1


@pytest.mark.parametrize("partition", ["slices", "metis", "labels"])
def test_parts_change_rounding_only(partition):
    if partition == "metis":
        pytest.importorskip("pymetis")
    elif partition == "labels":
        partition = np.arange(81) % 7
    one = hung(parts=1).system(1e-2)
    many = hung(parts=7, partition=partition).system(1e-2)
    assert np.array_equal(one[0].to_scipy().data, many[0].to_scipy().data)
    assert np.array_equal(one[1], many[1])


def test_a_new_time_keeps_the_solver_and_a_new_state_does_not():
    cloth = hung()
    cloth.step(1e-2)
    number = cloth._core.solver()
    cloth.time = 5.0
    assert (cloth.time, cloth._core.solver()) == (5.0, number)
    cloth.positions = cloth.positions
    assert not cloth._core.solver()


def test_a_state_can_be_set_and_goes_on_with_the_same_bits():
    first, second = hung(M="block_ssor"), hung(M="block_ssor")
    first.run(0.1, 1e-2)
    second.positions, second.velocities, second.time = (
        first.positions,
        first.velocities,
        first.time,
    )
    for one in (first, second):
        one.run(0.1, 1e-2)
    assert np.array_equal(first.positions, second.positions)
    assert first.time == second.time


@pytest.mark.parametrize("M", ["auto", "multigrid"])
def test_a_cloth_that_forgets_goes_on_like_one_from_its_state(M):
    """Whatever its preconditioner has kept: what a recorded frame needs to be taken up again."""
    first, second = hung(M=M), hung(M=M)
    first.run(0.2, 2e-2)
    first._core.forget()
    second.positions, second.velocities = first.positions, first.velocities
    for one in (first, second):
        one.run(0.1, 2e-2)
    assert np.array_equal(first.positions, second.positions)


def test_ctrl_c_ends_a_run_between_steps():
    cloth, wanted = hung(), hung()
    ctrl_c_ends(lambda: cloth.run(1e6, 1e-3), after=0.3, within=3)
    steps = cloth.info["steps"]
    assert steps > 1
    for _ in range(steps):
        wanted.step(1e-3)
    assert np.array_equal(cloth.positions, wanted.positions)
    assert cloth.time == wanted.time


def test_ctrl_c_ends_a_solve():
    cloth = hung(150, rtol=1e-15, max_iterations=10**6, young=1e6, M="jacobi")
    before = cloth.positions
    ctrl_c_ends(lambda: cloth.step(10.0), after=0.3, within=3)
    assert np.array_equal(cloth.positions, before)
    assert cloth.time == 0


def test_forces_and_callbacks():
    """A function of the cloth; a callback ends the run; the last step is shorter."""
    cloth = hung(attach=None, gravity=(0, 0, 0), forces=lambda one: one.masses[:, None] * [1, 2, 3])
    cloth.run(0.025, 1e-2)
    assert cloth.time == pytest.approx(0.025, rel=1e-14)
    assert np.abs(cloth.velocities - 0.025 * np.array([1, 2, 3])).max() < 1e-6

    def stop(one):
        if one.info["steps"] >= 5:
            raise StopIteration

    cloth.run(1.0, 1e-2, callback=stop)
    assert cloth.info["steps"] == 5
