"""MuJoCo models for tests, and what MuJoCo knows of them in the rows of a problem."""

import numpy as np

import contactsolve as cs

SIZE = 0.1  # half of an edge of a box [m]

# Each kind of rows, in a model of its own: bodies, then what stands after them.
_HINGES = "".join(
    f"""<body name="{name}" pos="{x} 0 1"><joint name="h{x}" axis="0 1 0" {{of_hinge}}/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body>"""
    for x, name in enumerate(("first", "second", "third"))
)
_TENDON = """<tendon><fixed name="t" {of_tendon}><joint joint="h0" coef="1"/>
    <joint joint="h1" coef="-.5"/><joint joint="h2" coef=".7"/></fixed>
    <fixed name="s"><joint joint="h1" coef="1"/></fixed></tendon>"""
_TWO_BOXES = """<body name="a" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3"/></body>
    <body name="b" pos="0 0 2"><freejoint/><geom type="box" size=".1 .1 .2"/></body>"""


def _hinges(of_hinge="", of_tendon=None, rest=""):
    tendon = "" if of_tendon is None else _TENDON.format(of_tendon=of_tendon)
    return _HINGES.format(of_hinge=of_hinge), tendon + rest


MODELS = {
    "connect": (
        _TWO_BOXES,
        '<equality><connect body1="a" body2="b" anchor="0 .1 .5"/></equality>',
    ),
    "connect_to_world": (
        _TWO_BOXES,
        '<equality><connect body1="a" anchor="0 .1 .5"/></equality>',
    ),
    "weld": (_TWO_BOXES, '<equality><weld body1="a" body2="b"/></equality>'),
    "joint": _hinges(rest='<equality><joint joint1="h0" joint2="h1"/></equality>'),
    "tendon": _hinges(of_tendon="", rest='<equality><tendon tendon1="t"/></equality>'),
    "two_tendons": _hinges(
        of_tendon="", rest='<equality><tendon tendon1="t" tendon2="s"/></equality>'
    ),
    "friction_of_joints": _hinges('frictionloss=".4"'),
    "friction_of_tendons": _hinges(of_tendon='frictionloss=".3"'),
    "limit_of_hinges": _hinges('range="5 60" limited="true"'),
    "limit_of_tendons": _hinges(of_tendon='range=".1 1" limited="true"'),
    "limit_of_balls": (
        """<body pos="0 0 1"><joint type="ball" range="0 5" limited="true"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body>""",
        "",
    ),
    "flex": (
        """<flexcomp name="net" type="grid" count="3 3 1" spacing=".2 .2 .2" pos="0 0 .05" dim="2"
        radius=".02" mass="1"><edge equality="true"/></flexcomp>""",
        "",
    ),
    "flex_on_a_box": (
        """<flexcomp name="net" type="grid" count="3 3 1" spacing=".2 .2 .2" pos=".03 .02 .219"
        dim="2" radius=".02" mass="1"><contact selfcollide="none"/>
        <edge equality="true"/></flexcomp>
        <body pos="0 0 .0999"><freejoint/><geom type="box" size=".1 .1 .1"/></body>""",
        "",
    ),
    "unequal_trees": (
        f"""{_HINGES.format(of_hinge="")}
        <body name="a" pos=".3 0 1.2"><freejoint/><geom type="box" size=".1 .2 .3"/></body>""",
        """<equality><connect body1="a" body2="first" anchor="0 0 -.1"/>
        <weld body1="second" body2="a"/></equality>""",
    ),
    "three_trees_and_a_fourth": (
        _HINGES.format(of_hinge="") + _TWO_BOXES,
        _TENDON.format(of_tendon="")
        + """<equality><tendon tendon1="t"/><connect body1="a" body2="b" anchor="0 0 0"/>
        <joint joint1="h0" joint2="h2"/></equality>""",
    ),
}


def model_of(mujoco, bodies, rest="", *, cone="elliptic", jacobian="dense", **options):
    """Compile a model with a floor; Newton's method until nothing changes any more."""
    options = {"solver": "Newton", "tolerance": 0, "iterations": 200, "timestep": 2e-3} | options
    given = " ".join(f'{name}="{value}"' for name, value in options.items())
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option cone="{cone}" jacobian="{jacobian}" {given}/>
        <worldbody><geom name="floor" type="plane" size="9 9 .1"/>{bodies}</worldbody>
        {rest}</mujoco>"""
    )


def boxes(condims, *, overlap=1e-4, friction="0.7 0.01 0.002"):
    """Cubes on each other, whose contacts have these dimensions."""
    return "".join(
        f"""<body pos="0 0 {SIZE - overlap + k * (2 * SIZE - overlap)}"><freejoint/>
        <geom type="box" size="{SIZE} {SIZE} {SIZE}" condim="{condim}" priority="{k + 1}"
        friction="{friction}"/></body>"""
        for k, condim in enumerate(condims)
    )


def pendulum_on_a_box(condim):
    """A box on the floor, a bar that leans on it, and another box on top: different partners."""
    return f"""<body pos="0 0 {SIZE - 1e-4}"><freejoint/>
        <geom type="box" size="{SIZE} {SIZE} {SIZE}" condim="{condim}"
        friction=".5 .02 .003"/></body>
        <body pos="{-SIZE - 0.25} 0 {2 * SIZE + 0.019}"><joint axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" condim="{condim}"
        friction=".9 .03 .004"/></body>
        <body pos=".05 0 {3 * SIZE - 3e-4}"><freejoint/>
        <geom type="box" size=".05 {SIZE} {SIZE}" condim="{condim}"
        friction=".7 .01 .002"/></body>"""


def pairs(condims, friction):
    """Cubes on the floor, whose contacts have five coefficients of friction."""
    bodies, contacts = "", ""
    for k, condim in enumerate(condims):
        bodies += f"""<body pos="{k} 0 {SIZE - 1e-4}"><freejoint/>
            <geom name="g{k}" type="box" size="{SIZE} {SIZE} {SIZE}"/></body>"""
        contacts += f'<pair geom1="floor" geom2="g{k}" condim="{condim}" friction="{friction}"/>'
    return bodies, f"<contact>{contacts}</contact>"


def forwarded(mujoco, model, seed=None, speed=0.3, seconds=0.0):
    """Return data after `mj_forward`, at random velocities, with which it has moved on."""
    data = mujoco.MjData(model)
    if seed is not None:
        data.qvel[:] = speed * np.random.default_rng(seed).normal(size=model.nv)
        mujoco.mj_integratePos(model, data.qpos, data.qvel, seconds)
    mujoco.mj_forward(model, data)
    return data


def delassus(problem):
    """Return A as a dense array."""
    data, columns, starts = problem.delassus_csr()
    A = np.zeros((len(starts) - 1,) * 2)
    A[np.repeat(np.arange(len(A)), np.diff(starts)), columns] = data
    return A


def mujocos_delassus(mujoco, model, data):
    """Return MuJoCo's A without R, which the dual solvers have."""
    A = np.zeros((data.nefc, data.nefc))
    if mujoco.mj_isSparse(model):
        rows = np.repeat(np.arange(data.nefc), data.efc_AR_rownnz)
        starts = data.efc_AR_rowadr
        at = np.concatenate(
            [np.arange(a, a + n) for a, n in zip(starts, data.efc_AR_rownnz, strict=True)]
        )
        A[rows, data.efc_AR_colind[at]] = data.efc_AR[at]
    else:
        A[:] = np.reshape(data.efc_AR, A.shape)
    return A - np.diag(data.efc_R)


def edges_of(problem, data):
    """Return the matrix that makes MuJoCo's rows of the problem's, spin rows without entries."""
    at, columns = 0, []
    for origin, impulses in zip(problem.origins, problem.b, strict=True):
        for number, rows in zip(origin.ids, origin.rows, strict=True):
            m = impulses.shape[1]
            block = np.zeros((data.nefc, m))
            if len(rows) == m:
                block[rows] = np.eye(m)
            else:
                friction = data.contact.friction[number]
                tangents = [0, 1, 2, 3, 4][: len(rows) // 2]
                kept = [t for t in tangents if m != 5 or t != 2]
                block[rows, 0] = 1.0
                for column, t in enumerate(kept):
                    block[rows[[2 * t, 2 * t + 1]], 1 + column] = friction[t], -friction[t]
            columns.append(block)
            at += m
    return np.concatenate(columns, axis=1)


def tightly(problem, **options):
    """Solve far beyond the default tolerance."""
    result = cs.solve(problem, rtol=1e-12, max_seconds=20, **options)
    assert result.status in ("converged", "inaccurate"), result.message
    return result
