"""Direct solvers of mixed LCPs: engines beside each other, beside QP solvers, and S3's crossing.

Scenes of S3's kind, made here: `winch` (a chain of capsules on ball joints, most of it on the
ground, drawn by a heavy drum), `stack` (boxes of 100 to 300 kg), `logs` (a tower of crossed logs);
box friction with the bounds of an outer loop, compliance 1e-10 m/N, h = 1/60 s. All rows are free
at the start (cold), or it is the last index set of a problem with slightly different velocities
(warm; the matrix is factored anew).

    python benchmarks/pivoting.py           # engines, and QP solvers where they are installed
    python benchmarks/pivoting.py crossing  # S3 figure 2.4: taking rows out against a new factor

Times are of the solve alone: orders and patterns are found once for a matrix. QP solvers are timed
with their set-up, in which they factor. Every answer is judged from outside; `residual` is the
largest natural residual over |x_i| + rho_i max|b|.
"""

import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is there: all run on one thread

import numpy as np
from common import interleaved, quartiles, write_csv
from scipy import sparse

import contactsolve as cs

STEP, COMPLIANCE = 1 / 60, 1e-10


class Scene:
    """Bodies and rows of constraints, put together one by one."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.inverse_mass, self.velocity, self.position = [], [], []
        self.rows, self.kind, self.normal, self.mu = [], [], [], []

    def body(self, mass, inertia, position, spread):
        self.inverse_mass.append(np.r_[np.full(3, 1 / mass), 1 / np.asarray(inertia, float)])
        velocity = spread * self.rng.normal(size=6)
        velocity[2] = -9.81 * STEP
        self.velocity.append(velocity)
        self.position.append(np.asarray(position, float))
        return len(self.position) - 1

    def row(self, bodies, point, direction, kind, normal=-1, mu=0.0):
        """The velocity of the second body at a point along a direction, minus the first one's."""
        entries = {}
        for body, sign in zip(bodies, (-1.0, 1.0), strict=True):
            if body >= 0:
                arm = point - self.position[body]
                entries[body] = sign * np.r_[direction, np.cross(arm, direction)]
        self.rows.append(entries)
        self.kind.append(kind)
        self.normal.append(normal)
        self.mu.append(mu)

    def ball_joint(self, first, second, point):
        for axis in np.eye(3):
            self.row((first, second), point, axis, "free")

    def contact(self, first, second, point, mu):
        normal = len(self.rows)
        self.row((first, second), point, np.array([0.0, 0.0, 1.0]), "normal")
        for axis in np.eye(3)[:2]:
            self.row((first, second), point, axis, "tangent", normal, mu)

    def problem(self):
        """A, b, b of slightly other velocities, and the bounds for normal impulses (a function)."""
        m, n = len(self.rows), len(self.position)
        J = sparse.lil_array((m, 6 * n))
        for i, entries in enumerate(self.rows):
            for body, part in entries.items():
                J[i, 6 * body : 6 * body + 6] = part
        J = J.tocsr()
        A = J @ sparse.diags_array(np.concatenate(self.inverse_mass)) @ J.T
        A = sparse.csr_array(A + COMPLIANCE / STEP**2 * sparse.eye_array(m))
        kind, normal, mu = np.array(self.kind), np.array(self.normal), np.array(self.mu)

        def bounds(x):
            lo, hi = np.full(m, -np.inf), np.full(m, np.inf)
            lo[kind == "normal"] = 0.0
            tangent = kind == "tangent"
            if x is not None:
                hi[tangent] = mu[tangent] * np.maximum(x[normal[tangent]], 0.0)
                lo[tangent] = -hi[tangent]
            return lo, hi

        velocity = np.concatenate(self.velocity)
        other = velocity + 0.01 * self.rng.normal(size=6 * n)
        return A, J @ velocity, J @ other, bounds


def winch(seed=0, links=50, lying=36, length=0.2):
    scene = Scene(seed)
    drum = scene.body(400, [50, 50, 50], [-1, 0, 1], 0)
    scene.ball_joint(-1, drum, np.array([-1.0, 0, 1]))
    at, last = np.array([-0.5, 0.0, 1.0]), drum
    for k in range(links):
        heading = [0.6, 0, -0.8] if k < links - lying else [1, 0.3 * np.sin(0.7 * k), 0]
        along = np.array(heading) / np.linalg.norm(heading)
        link = scene.body(1, [1e-3, 4e-3, 4e-3], at + along * length / 2, 0.1)
        scene.ball_joint(last, link, at)
        if k >= links - lying:
            for end in (0.1, 0.9):
                scene.contact(-1, link, at + along * length * end - [0, 0, 0.05], 1.0)
        at, last = at + along * length, link
    return scene.problem()


def stack(seed=0, boxes=28):
    scene, last = Scene(seed), -1
    for k in range(boxes):
        mass, middle = 100.0 * (1 + k % 3), 0.02 * scene.rng.normal(size=2)
        box = scene.body(mass, [mass / 6] * 3, [*middle, k + 0.5], 0.2)
        for corner in ((-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)):
            scene.contact(last, box, np.array([*(middle + corner), k]), 0.5)
        last = box
    return scene.problem()


def logs(seed=0, layers=9, across=4):
    scene, below = Scene(seed), []
    for layer in range(layers):
        here = []
        for offset in np.arange(across) - (across - 1) / 2:
            along = layer % 2
            middle = np.array(
                [offset, 0, 0.3 * layer + 0.15] if along else [0, offset, 0.15 + 0.3 * layer]
            )
            inertia = [60, 2, 60] if along else [2, 60, 60]
            here.append((scene.body(200, inertia, middle, 0.3), offset))
        for log, offset in here:
            if not below:
                for x in (-2, -0.7, 0.7, 2):
                    scene.contact(-1, log, np.array([x, offset, 0]), 0.6)
            for other, crossing in below:
                x, y = (offset, crossing) if layer % 2 else (crossing, offset)
                scene.contact(other, log, np.array([x, y, 0.3 * layer]), 0.6)
        below = here
    return scene.problem()


def residual(A, b, lo, hi, x):
    rho = 1 / A.diagonal()
    defect = np.abs(x - np.clip(x - rho * (A @ x + b), lo, hi))
    return float(np.max(defect / (np.abs(x) + rho * np.abs(b).max())))


def final_bounds(A, b, bounds):
    """The friction bounds that no longer change, nearly: averaged over the last solves."""
    solver, x = cs.MlcpSolver(A), None
    for _ in range(30):
        result = solver.solve(b, *bounds(x))
        x = result.x if x is None else (x + result.x) / 2
    return bounds(x)


def numpy_bpp(A, b, lo, hi):
    """What one writes in NumPy: the same rule, LAPACK's factor of a full A_FF."""
    state = np.zeros(len(b), int)
    for _ in range(100):
        free = state == 0
        x = np.where(state < 0, lo, np.where(state > 0, hi, 0.0))
        x[free] = 0.0
        x[free] = np.linalg.solve(A[np.ix_(free, free)], -(b + A @ x)[free])
        w = A @ x + b
        new = np.where(free & (x < lo - 1e-12), -1, np.where(free & (x > hi + 1e-12), 1, state))
        new = np.where((state < 0) & (w < -1e-10) | (state > 0) & (w > 1e-10), 0, new)
        new = np.where(lo == hi, -1, new)
        if (new == state).all():
            break
        state = new
    return x


def peers(A, b, lo, hi):
    """Solvers of the same QP, min x A x / 2 + b x within the bounds, by name."""
    full, found = A.toarray(), {"NumPy bpp": lambda: numpy_bpp(A.toarray(), b, lo, hi)}
    m = len(b)
    try:
        import piqp

        def by_piqp():
            solver = piqp.SparseSolver()
            solver.settings.eps_abs = solver.settings.eps_rel = 1e-12
            solver.setup(P=sparse.csc_matrix(A), c=b, x_l=lo, x_u=hi)
            solver.solve()
            return solver.result.x

        found["PIQP"] = by_piqp
    except ImportError:
        pass
    try:
        import daqp

        none, sense = np.zeros((0, m)), np.zeros(m, np.int32)
        low, high = np.maximum(lo, -1e30), np.minimum(hi, 1e30)
        found["DAQP"] = lambda: daqp.solve(full, b, none, high, low, sense)[0]
    except ImportError:
        pass
    try:
        import clarabel

        def by_clarabel():
            above, below = np.isfinite(hi), np.isfinite(lo)
            unit = sparse.eye_array(m, format="csr")
            G = sparse.csc_matrix(sparse.vstack([unit[above], -unit[below]]))
            settings = clarabel.DefaultSettings()
            settings.verbose = False
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
            cones = [clarabel.NonnegativeConeT(G.shape[0])]
            upper = sparse.triu(sparse.csc_matrix(A), format="csc")
            h = np.r_[hi[above], -lo[below]]
            return np.array(clarabel.DefaultSolver(upper, b, G, h, cones, settings).solve().x)

        found["Clarabel"] = by_clarabel
    except ImportError:
        pass
    return found


def engine_tasks(A, b, lo, hi, start):
    """Cold and warm solves by each engine and rule: a new solver each time, set up apart."""
    answers, tasks = {}, {}
    ways = [("bpp", engine) for engine in cs.mlcp.engines()]
    ways += [(rule, "auto") for rule in ("keller", "dantzig", "lemke")]

    def solve(name, method, engine, initial):
        answers[name] = cs.MlcpSolver(A, method=method, engine=engine).solve(
            b, lo, hi, initial=initial
        )
        return answers[name].time

    for method, engine in ways:
        name = f"{method}, {engine}"
        tasks[name] = lambda name=name, way=(method, engine): solve(name, *way, None)
        if method == "bpp":
            warm = f"{name}, warm"
            tasks[warm] = lambda name=warm, way=(method, engine): solve(name, *way, start)
    return tasks, answers


def engines():
    rows = []
    for name, make in {"winch": winch, "stack": stack, "logs": logs}.items():
        A, b, near, bounds = make()
        lo, hi = final_bounds(A, b, bounds)
        start = cs.solve_mlcp(A, near, lo, hi)
        tasks, answers = engine_tasks(A, b, lo, hi, start)
        solutions = {}

        def timed(peer, function, solutions=solutions):
            begin = time.perf_counter()
            solutions[peer] = function()
            return time.perf_counter() - begin

        for peer, function in peers(A, b, lo, hi).items():
            tasks[peer] = lambda peer=peer, function=function: timed(peer, function)
        for task, seconds in interleaved(tasks, repeats=5).items():
            answer = answers.get(task)
            x = solutions[task] if answer is None else answer.x
            rows.append(
                {
                    "scene": name,
                    "rows": len(b),
                    "solver": task,
                    **{f"ms_{key}": 1e3 * value for key, value in quartiles(seconds).items()},
                    "pivots": "" if answer is None else answer.pivots,
                    "tight": "" if answer is None else float(np.mean(answer.index_set != 0)),
                    "residual": residual(A, b, lo, hi, x),
                }
            )
            row = rows[-1]
            print(
                f"{name:6} {len(b):4} rows  {task:24} {row['ms_median']:9.3f} ms  pivots "
                f"{row['pivots']!s:>4}  residual {row['residual']:.1e}"
            )
    print(write_csv("pivoting", rows))


def crossing():
    """Random matrices: one index set with a share of tight rows, by each of the full engines."""
    rows, rng = [], np.random.default_rng(0)
    for m in (50, 100, 200, 300, 400):
        G = rng.normal(size=(m, m))
        A = G @ G.T / m + 0.1 * np.eye(m)
        for share in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5):
            tight = rng.permutation(m) < round(share * m)
            w = np.where(tight, rng.uniform(0.1, 1, m), 0.0)
            b = w - A @ np.where(tight, 0.0, rng.uniform(0.1, 1, m))
            index_set = -tight.astype(int)
            tasks = {}
            for engine in ("refactor", "downdate", "schur"):

                def run(engine=engine, A=A, b=b, index_set=index_set):
                    solver = cs.MlcpSolver(A, engine=engine)
                    solver.solve(b, initial=np.zeros(len(b)), hi=np.inf, lo=-np.inf)
                    return solver.solve(b, initial=index_set).time

                tasks[engine] = run
            seconds = {name: np.median(t) for name, t in interleaved(tasks, 5).items()}
            row = {"rows": m, "tight": share}
            row |= {f"ms_{name}": 1e3 * value for name, value in seconds.items()}
            row["speedup_downdate"] = seconds["refactor"] / seconds["downdate"]
            row["speedup_schur"] = seconds["refactor"] / seconds["schur"]
            rows.append(row)
            print("  ".join(f"{key} {value:.4g}" for key, value in row.items()))
    print(write_csv("pivoting_crossing", rows))


if __name__ == "__main__":
    crossing() if "crossing" in sys.argv[1:] else engines()
