"""What takes device=: comparisons, records, callbacks, islands, worlds and the command line."""

import re
import warnings

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _devices, cli, dynamics
from emulated import DEVICE, EMULATED, islands, loss, on_both, same_bits

OPTIONS = {"method": "gauss_seidel", "order": "colored", "scheme": "factorized"}
OF_ISLANDS = {"method": "jacobi", "scheme": "factorized"}
LIKE_KERNELS = {"instructions": "avx2"}
needs_avx2 = pytest.mark.skipif(
    not cs.info()["instructions"].get("avx2"), reason="this processor has no AVX2"
)


@pytest.fixture(scope="module")
def spheres():
    return cs.scenarios.ball_grid(3)


@needs_avx2
def test_records_of_every_sweep(spheres):
    names = ("residual", "natural_map", "merit")
    here, there = on_both(spheres, 12, here=LIKE_KERNELS, record=names, **OPTIONS)
    assert set(names) <= set(there.history.keys())
    for name in names:
        np.testing.assert_allclose(there.history[name], here.history[name], rtol=1e-9, atol=1e-300)


@needs_avx2
def test_callbacks_see_the_iterates_of_the_device(spheres):
    seen = {}
    for device, own in (("cpu", LIKE_KERNELS), (DEVICE, {})):
        states = seen[device] = []
        solver = cs.Solver(
            spheres, **OPTIONS, **own, device=device, rtol=None, max_iterations=7, islands=False
        )

        def stop_at_five(state, states=states):
            states.append(state.impulses.copy())
            if state.iteration == 5:
                raise StopIteration

        assert solver.solve(callback=stop_at_five).status == "stopped"
    assert len(seen["cpu"]) == len(seen[DEVICE]) == 5
    for one, two in zip(*seen.values(), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("method", cs.methods.names())
def test_every_method_ends_as_on_the_processor(method):
    problem = cs.scenarios.box_stack(2)
    options = {"method": method, "max_seconds": None, "max_iterations": 2000}
    try:
        here = cs.solve(problem, **options)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error)[:30])):
            cs.solve(problem, **options, **EMULATED)
        return
    there = cs.solve(problem, **options, **EMULATED)
    assert here.status == there.status == "converged"
    assert there.natural_map_scaled <= 1e-6


def test_comparisons(spheres):
    table = cs.compare(
        spheres,
        [
            cs.Method("gauss_seidel", label="here"),
            cs.Method("gauss_seidel", label="there", order="colored", **EMULATED),
        ],
        rtol=1e-8,
    )
    here, there = (table.results[label] for label in ("here", "there"))
    assert here.converged
    assert there.converged
    largest = np.abs(here.impulses).max()
    assert np.abs(here.impulses - there.impulses).max() <= 1e-5 * largest


def test_a_device_of_all_methods_of_a_comparison(spheres):
    table = cs.compare(spheres, ["gauss_seidel", "jacobi"], order="colored", **EMULATED)
    assert [result.converged for result in table.results.values()] == [True, True]
    for result in table.results.values():
        assert result.info["kernel"].startswith(f"{DEVICE}, ")


@needs_avx2
def test_islands():
    here, there = on_both(islands(40), 5, here=LIKE_KERNELS, **OF_ISLANDS)
    assert there.info["islands"] == here.info["islands"] == 40
    assert there.info["clusters"] > 1
    largest = np.abs(here.impulses).max()
    assert np.abs(here.impulses - there.impulses).max() <= 1e-12 * largest


def test_a_device_that_is_lost_in_an_island():
    options = {**OF_ISLANDS, "rtol": None, "max_iterations": 15, **EMULATED}
    problem = islands(40)
    with loss(30):
        solver = cs.Solver(problem, **options)
    with pytest.raises(RuntimeError, match="the device has failed: the device was lost"):
        solver.solve()
    fresh = cs.Solver(problem, **options)
    np.testing.assert_array_equal(solver.solve().impulses, fresh.solve().impulses)


@needs_avx2
@pytest.mark.parametrize("name", ["ball_grid", "disc_pyramid"])
def test_worlds(name):
    """S2's spheres and S4's pyramid: the motion on the device is that on the processor."""
    make, size = getattr(dynamics.scenes, name), {"ball_grid": 3, "disc_pyramid": 5}[name]
    places = []
    for own in (LIKE_KERNELS, EMULATED):
        world = make(size, **OPTIONS, **own, rtol=None, max_iterations=30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # so few sweeps miss the tolerance
            world.run(8)
        places.append(world.positions.copy())
    np.testing.assert_array_equal(*places)


def test_the_command_line(tmp_path, capsys, spheres):
    path = tmp_path / "spheres.h5"
    pytest.importorskip("h5py")
    spheres.save(path)
    words = ["--order", "colored", "--device", DEVICE]
    assert cli.main(["solve", str(path), "--method", "gauss_seidel", *words]) == 0
    assert "converged" in capsys.readouterr().out
    assert cli.main(["info"]) == 0
    told = capsys.readouterr().out
    assert "GPU" in told
    assert (cs.cuda.why_not() or cs.cuda.devices()[0][0]) in told


def test_the_command_tells_of_gpus(monkeypatch, capsys):
    monkeypatch.setattr(cs.cuda, "why_not", lambda: None)
    monkeypatch.setattr(cs.cuda, "devices", lambda: [("NVIDIA H100", 85 * 10**9, 9, 0)])
    assert cli.main(["info"]) == 0
    assert "NVIDIA H100, 79 GiB, compute capability 9.0" in capsys.readouterr().out


def test_kernels_that_cannot_be_loaded(monkeypatch):
    def fail(*_):
        raise ImportError("libstdc++.so.6: version `GLIBCXX_3.4.32' not found")

    monkeypatch.setattr(_devices, "_loaded", {})
    monkeypatch.setattr(_devices, "_broken", {})
    monkeypatch.setattr(_devices, "import_module", fail)
    why = r"the kernels of this installation cannot be loaded: libstdc\+\+"
    assert not cs.cuda.available()
    assert re.match(why, cs.cuda.why_not())
    with pytest.raises(RuntimeError, match=f"device='cuda': {why}"):
        cs.solve(cs.scenarios.box_stack(1), device="cuda")


@needs_avx2
def test_a_problem_put_on_a_device(spheres):
    problem = cs.Problem(spheres.J, spheres.Minv, spheres.b, spheres.mu, bodies=spheres.bodies)
    options = {**OPTIONS, "rtol": None, "max_iterations": 10, "record": ("residual",)}
    solver = problem.to(DEVICE, **options)
    here = problem.to("cpu", **options, **LIKE_KERNELS)
    assert solver.problem is problem
    for factor in (1.0, 1.5):
        problem.update(b=factor * spheres.b)
        same_bits(solver.solve(), here.solve())
