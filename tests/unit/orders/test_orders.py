"""Orders: what they visit and see, S1's colour sizes, the same bits from any number of threads."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY, SCHEMES, generator, package_set
from reference_numpy import ReferenceProblem, random_problem

pytestmark = pytest.mark.threads

orders = cs.orders


def orders_for(bodies: int) -> dict:
    """Orders of many kinds, for a problem of so many bodies."""
    return {
        "greedy": orders.colored(),
        "balanced": orders.colored("balanced"),
        "tentative": orders.colored("balanced", colors="tentative", multiple_of_parts=True),
        "relaxed": orders.relaxed(4),
        "relaxed first": orders.relaxed(4, first=True),
        "relaxed ranges": orders.relaxed(5, unsafe="ranges"),
        "all unsafe": orders.relaxed(10**6),
        "relaxed groups": orders.relaxed(5, unsafe="groups"),
        "ranges": orders.ranges(),
        "slices": orders.partition(),
        "checkerboard": orders.partition("natural", border="checkerboard"),
        "own parts": orders.partition(np.arange(bodies) % 5, border="sequential"),
        "regions": orders.regions(7),
        "own regions": orders.regions(np.arange(bodies) % 5),
        "cache": orders.cache(chunk=200),
        "chunks": orders.cache(chunk=1500, bodies="breadth_first", domains=False),
        "sets": orders.contact_sets("simultaneous"),
        "coloured sets": orders.contact_sets(colored=True),
        "coloured simultaneous sets": orders.contact_sets("simultaneous", colored=True),
    }


MANY = tuple(orders_for(1))


def problem_of(arrays) -> cs.Problem:
    return cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )


def colors_of(problem: cs.Problem, *, balanced: bool = False, fixed_as_body: bool = False):
    """Colours one contact at a time, from the bodies alone: S1 section 4.3."""
    fixed = ~problem.Minv.reshape(problem.bodies_count, -1).any(axis=1)
    touching = [
        [b for b in pair if b >= 0 and (fixed_as_body or not fixed[b])]
        for pair in problem.bodies.tolist()
    ]
    taken: dict[int, set[int]] = {}
    degree = np.zeros(problem.bodies_count, int)
    for pair in touching:
        for body in set(pair):
            degree[body] += 1
    highest = max(sum(degree[b] - 1 for b in set(pair)) for pair in touching)
    sizes: list[int] = [0] * (highest if balanced else 0)
    result = []
    for pair in touching:
        used = set().union(*(taken.setdefault(body, set()) for body in pair))
        free = [c for c in range(len(sizes)) if c not in used]
        if not free:
            free = [len(sizes)]
            sizes.append(0)
        color = min(free, key=lambda c: (sizes[c], c)) if balanced else free[0]
        sizes[color] += 1
        result.append(color)
        for body in pair:
            taken[body].add(color)
    return np.array(result), sizes


def one_sweep(problem, order, scheme="factorized", **options):
    return cs.solve(
        problem,
        method="gauss_seidel",
        scheme=scheme,
        order=order,
        max_iterations=1,
        **EXACTLY,
        **options,
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("balanced", [False, True])
def test_colours_are_visited_one_after_another(balanced, scheme):
    """A coloured sweep is Gauss-Seidel in the order of the colours: each is independent."""
    arrays = random_problem(generator("colours", balanced), 40, 15, 3, 6, "disc")
    problem = problem_of(arrays)
    colors, sizes = colors_of(problem, balanced=balanced)
    order = orders.colored("balanced" if balanced else "greedy")
    solver = cs.Solver(problem, order=order)
    assert solver.info["colors"] == sum(size > 0 for size in sizes)
    colored = one_sweep(problem, order, scheme)
    listed = one_sweep(problem, np.argsort(colors, kind="stable"), scheme)
    np.testing.assert_allclose(
        colored.impulses, listed.impulses, rtol=0, atol=1e-13 * np.abs(listed.impulses).max()
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ranges_are_blind_to_each_other(scheme):
    """S1 section 7.1: inside a range Gauss-Seidel, between ranges the values of the last sweep."""
    arrays = random_problem(generator("ranges"), 21, 8, 3, 6, "disc")
    problem, reference = problem_of(arrays), ReferenceProblem.from_arrays(arrays)
    parts, start = 4, generator("start").random((21, 3))
    result = one_sweep(problem, orders.ranges(), scheme, parts=parts, initial=start)
    cuts = [21 * p // parts for p in range(parts + 1)]
    for first, end in itertools.pairwise(cuts):
        inside = np.arange(first, end)
        rows = (inside[:, None] * 3 + np.arange(3)).ravel()
        alone = cs.Problem.from_delassus(
            reference.A[np.ix_(rows, rows)],
            (reference.A @ start.ravel() + reference.b)[rows]
            - reference.A[np.ix_(rows, rows)] @ start.ravel()[rows],
            sets=cs.sets.disc(problem.mu[inside]),
        )
        wanted = one_sweep(alone, "natural", "matrix", initial=start[inside]).impulses
        np.testing.assert_allclose(
            result.impulses[inside], wanted, rtol=0, atol=1e-12 * np.abs(wanted).max()
        )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_unsafe_is_jacobi(scheme):
    problem = problem_of(random_problem(generator("unsafe"), 30, 12, 3, 6, "disc"))
    relaxed = one_sweep(problem, orders.relaxed(10**6), scheme)
    jacobi = cs.solve(problem, method="jacobi", scheme=scheme, max_iterations=1, **EXACTLY)
    np.testing.assert_array_equal(relaxed.impulses, jacobi.impulses)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_small_colours_are_merged(scheme, first):
    """The unsafe stage: blocks of small colours, blind to each other, first or last."""
    problem = problem_of(random_problem(generator("relaxed"), 40, 15, 3, 6, "disc"))
    colors, sizes = colors_of(problem)
    small = np.array(sizes)[colors] < 6
    assert 0 < small.sum() < 40
    solver = cs.Solver(problem, order=orders.relaxed(6, first=first))
    assert solver.info["stages"] == sum(size >= 6 for size in sizes) + 1
    safe = np.argsort(np.where(small, 99, colors), kind="stable")[: 40 - small.sum()]
    unsafe = np.flatnonzero(small)
    state = np.zeros((40, 3))
    for stage in [unsafe, safe] if first else [safe, unsafe]:
        rest = np.setdiff1d(np.arange(40), stage)
        if stage is unsafe:
            after = cs.solve(
                problem, method="jacobi", initial=state, max_iterations=1, **EXACTLY
            ).impulses
        else:
            after = one_sweep(
                problem, np.concatenate([stage, rest]), "matrix", initial=state
            ).impulses
        state[stage] = after[stage]
    result = one_sweep(problem, orders.relaxed(6, first=first), scheme)
    np.testing.assert_allclose(result.impulses, state, rtol=0, atol=1e-12 * np.abs(state).max())


def test_s1_colours_of_the_medium_grid():
    """S1 section 7.3, math: 576 greedy colours with the ground as a body, 580 balanced ones."""
    problem = cs.scenarios.ball_grid(24, ground="body", contact_order="forward")
    info = {}
    for name, order in {
        "greedy": orders.colored(fixed_as_body=True),
        "balanced": orders.colored("balanced", fixed_as_body=True),
        "relaxed": orders.relaxed(100, fixed_as_body=True),
        "fixed": orders.colored(),
    }.items():
        info[name] = cs.Solver(problem, order=order).info
    assert (info["greedy"]["colors"], info["greedy"]["stages"]) == (576, 576)
    assert (info["balanced"]["colors"], info["balanced"]["stages"]) == (580, 580)
    assert (info["relaxed"]["colors"], info["relaxed"]["stages"]) == (576, 7)
    assert info["fixed"]["colors"] == 6


def test_s1_naive_ranges_lose_quality():
    """S1 section 7.1: 306 in place of 247 with eight ranges on the small grid (math: 305.8)."""
    problem = cs.scenarios.ball_grid(8, ground="body", contact_order="backward")
    result = cs.solve(
        problem,
        method="gauss_seidel",
        order="ranges",
        parts=8,
        r_factor=5.0,
        max_iterations=50,
        check_every=50,
        record=("quality",),
        **EXACTLY,
    )
    assert result.history.last("quality") == pytest.approx(305.8, rel=1e-3)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", MANY)
def test_threads_do_not_change_a_bit(name, scheme):
    # A dense matrix of 12³ balls would have a gigabyte.
    problem = cs.scenarios.ball_grid(6 if scheme == "dense" else 12, ground="body")
    order = orders_for(problem.bodies_count)[name]
    options = {"scheme": scheme, "order": order, "max_iterations": 4}
    for dtype in ("float64", "float32"):
        options["dtype"] = dtype
        one, *others = (
            cs.solve(problem, threads=threads, exact_threads=True, **options, **EXACTLY)
            for threads in (1, 2, 3, 8)
        )
        for other in others:
            np.testing.assert_array_equal(one.impulses, other.impulses)
            np.testing.assert_array_equal(one.history["residual"], other.history["residual"])


def test_a_hub_is_coloured_like_any_body():
    """Many contacts on one moving body: all of different colours, none wasted."""
    count = 300
    J = np.ones((count, 2, 1, 3))
    bodies = np.column_stack([np.zeros(count, int), np.arange(1, count + 1)])
    problem = cs.Problem(J, np.ones((count + 1, 3)), np.zeros((count, 1)), bodies=bodies)
    for strategy in ("greedy", "balanced"):
        info = cs.Solver(problem, order=orders.colored(strategy)).info
        assert (info["colors"], info["stages"]) == (count, count)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: orders.colored("even"), "strategy: 'even' is unknown; known: greedy, balanced"),
        (lambda: orders.colored("balanced", colors=0), "colors is 0: it must be at least 1"),
        (
            lambda: orders.colored("balanced", colors="few"),
            "colors: 'few' is unknown; known: degree, tentative, or a number",
        ),
        (lambda: orders.colored(colors=3), "colors is for strategy='balanced'"),
        (lambda: orders.colored(multiple_of_parts=True), "multiple_of_parts is for strategy='bal"),
        (lambda: orders.colored(first=True), "first is for order='colored' with unsafe_below"),
        (lambda: orders.colored(unsafe="groups"), "unsafe is for order='colored' with unsafe_be"),
        (lambda: orders.relaxed(3, weighted=True), "weighted is for unsafe='ranges'"),
        (lambda: orders.relaxed(5, unsafe="never"), "unsafe: 'never' is unknown"),
        (lambda: orders.relaxed(-1), "unsafe_below is -1"),
    ],
)
def test_wrong_options(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_parts_are_at_least_one():
    with pytest.raises(ValueError, match="parts is 0: it must be at least 1"):
        cs.Solver(cs.scenarios.box_stack(1), order="ranges", parts=0)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (orders.colored, r"call it, orders\.colored\(\.\.\.\)"),
        (orders.cache, r"call it, orders\.cache\(\.\.\.\)"),
        (len, "order is <built-in function len>: a name is needed"),
    ],
)
def test_a_function_that_was_not_called(order, message):
    with pytest.raises(TypeError, match=message):
        cs.solve(cs.scenarios.box_stack(1), order=order)
    with pytest.raises(TypeError, match=message):
        orders.extreme(order)


@pytest.mark.parametrize("order", [3, 2.5, True, None, np.int64(3), np.array(3)])
def test_a_number_is_no_order(order):
    message = "a name, an object of contactsolve.orders or a permutation of the contacts is needed"
    with pytest.raises(TypeError, match=message):
        cs.Solver(cs.scenarios.box_stack(1), order=order)
    with pytest.raises(TypeError, match=message):
        cs.distributed.solve(cs.distributed.scatter(cs.scenarios.box_stack(1)), order=order)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: orders.relaxed(True), "unsafe_below is True: an integer is needed"),
        (lambda: orders.relaxed("8"), "unsafe_below is '8': an integer is needed"),
        (lambda: orders.regions(True), "count is True: an integer is needed"),
        (lambda: orders.subtasks(count=True), "count is True: an integer is needed"),
        (lambda: orders.subtasks(count="8"), "count is '8': an integer is needed"),
        (lambda: orders.subtasks(weighted=1), "weighted is 1: True or False is needed"),
    ],
)
def test_numbers_of_orders_are_no_texts_and_no_flags(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize("parallel", [False, True])
def test_more_parts_than_contacts_cost_no_memory(parallel):
    """A multiple of the parts is more than there are contacts, which need no more colours."""
    problem = cs.scenarios.ball_grid(3)
    order = orders.colored("balanced", multiple_of_parts=True, parallel=parallel)
    found = [
        orders.describe(problem, order, parts=parts).stage.tolist()
        for parts in (problem.contacts, problem.contacts + 1, 2**31 - 1)
    ]
    assert found[0] == found[1] == found[2]
    if not parallel:
        assert sorted(found[0]) == list(range(problem.contacts))


def test_orders_tell_the_call_that_made_them():
    made = {
        "colored()": orders.colored(),
        "colored('balanced', colors='tentative')": orders.colored("balanced", colors="tentative"),
        "relaxed(64, fixed_as_body=True)": orders.relaxed(64, fixed_as_body=True),
        "partition(<array (4,)>)": orders.partition(np.zeros(4, int)),
        "given(<list of 2>)": orders.given([1, 0]),
        "given(stages=<list of 2>, kind='simultaneous')": orders.given(
            stages=[[1], [0, 2]], kind="simultaneous"
        ),
        "subtasks('colored', count=10)": orders.subtasks("colored", 10),
        "extreme(colored('balanced'))": orders.extreme(orders.colored("balanced")),
    }
    for text, order in made.items():
        assert repr(order) == text
    assert orders.colored.__doc__.startswith("Colour by colour")


@pytest.mark.parametrize("name", sorted(orders.options()))
def test_options_are_those_of_the_library(name):
    """Signature, text and checks of each function come from one table."""
    if name == "given":
        return
    make, declared = getattr(orders, name), orders.options()[name]
    parameters = inspect.signature(make).parameters
    assert list(parameters) == list(declared)
    for option in declared.values():
        assert parameters[option.name].default == option.default
        assert f"{option.name} : {'' if name == 'partition' else option.range}" in make.__doc__
        assert option.summary[1:20] in make.__doc__
        assert repr(make(**{option.name: option.default})) == f"{name}()"
        wrong = {"flag": 1, "word": "steam", "count": option.least - 1, "number": "x"}
        with pytest.raises((TypeError, ValueError), match=f"^{option.name}(:| is) "):
            make(**{option.name: wrong[option.kind]})
    with pytest.raises(TypeError, match="steam"):
        make(steam=1)


def test_options_by_name_alone_are_refused_by_their_place():
    with pytest.raises(TypeError, match="order='ranges' takes its options by name; known: w"):
        orders.ranges(True)
    with pytest.raises(TypeError, match="order='colored' is given strategy twice"):
        orders.colored("balanced", strategy="greedy")
    with pytest.raises(TypeError, match=r"no option of order='cache'.*; did you mean 'chunk'"):
        orders.cache(chunks=3)


# ---- stages of one's own ------------------------------------------------------------------------


def stages_of(schedule):
    """What a schedule does, as `orders.given` takes it."""
    stages, kinds = [], schedule.kinds.tolist()
    for s, kind in enumerate(kinds):
        inside = [k for k in schedule.visits.tolist() if schedule.stage[k] == s]
        parts = [
            [k for k in inside if schedule.part[k] == p] for p in range(int(schedule.parts[s]))
        ]
        stages.append(parts if kind in ("concurrent", "disjoint") else inside)
    return orders.given(stages=stages, kind=kinds)


@pytest.mark.parametrize("scheme", ["matrix", "factorized"])
@pytest.mark.parametrize("name", MANY)
def test_an_order_given_as_its_stages_does_the_same(name, scheme):
    problem = cs.scenarios.ball_grid(5, ground="body")
    order = orders_for(problem.bodies_count)[name]
    schedule = orders.describe(problem, order, parts=3)
    given = stages_of(schedule)
    told = orders.describe(problem, given)
    for array in ("visits", "kinds", "stage"):
        np.testing.assert_array_equal(getattr(told, array), getattr(schedule, array))
    wanted, found = (one_sweep(problem, one, scheme, parts=3) for one in (order, given))
    np.testing.assert_array_equal(found.impulses, wanted.impulses)


def test_stages_are_kept_over_updates():
    problem = cs.scenarios.ball_grid(3)
    colors = orders.describe(problem, "colored")
    given, colored = (
        cs.Solver(problem, method="gauss_seidel", order=order, max_iterations=20, **EXACTLY)
        for order in (stages_of(colors), "colored")
    )
    problem.update(Minv=2 * problem.Minv)
    np.testing.assert_array_equal(given.solve().impulses, colored.solve().impulses)


@pytest.mark.parametrize(
    ("stages", "kind", "message"),
    [
        ([[0, 1], [1, 3]], "sequential", r"stages\[1\]\[0\] is 1, as stages\[0\]\[1\] is"),
        ([[0, 1], [2, 4]], "sequential", r"stages\[1\]\[1\] is 4: the stages list 4 contacts"),
        ([[0, 1], [2, -1]], "sequential", r"stages\[1\]\[1\] is -1"),
        (
            [[[0, 1], [2]], [[3], [3]]],
            "disjoint",
            r"stages\[1\]\[1\]\[0\] is 3, as stages\[1\]\[0\]",
        ),
        ([[0, 1], [2, 3]], "disjoint", r"stages\[0\]\[0\] has shape \(\): a list of contacts"),
        ([[[0, 1], [2, 3]]], "sequential", r"stages\[0\] has shape \(2, 2\)"),
        ([[0, 1], [2, 3]], "at once", "kind: 'at once' is unknown; known: sequential, simul"),
        ([[0, 1], [2, 3]], ["sequential", "x"], r"kind\[1\]: 'x' is unknown"),
        ([[0, 1], [2, 3]], ["sequential"], "kind has 1 entries; there are 2 stages"),
    ],
)
def test_wrong_stages_are_refused(stages, kind, message):
    with pytest.raises(ValueError, match=message):
        orders.given(stages=stages, kind=kind)


@pytest.mark.parametrize(
    ("stages", "kind", "message"),
    [
        ([[0, 1, 2, 3]], "independent", "contacts 0 and 1 share the moving body 0"),
        ([[[0, 3], [2, 1]]], "disjoint", "contacts 0 and 2, in different parts, share the moving"),
    ],
)
def test_stages_that_meet_are_refused(stages, kind, message):
    """The four contacts of one box share it; of a given A they are coupled."""
    box = cs.scenarios.box_stack(1)
    given = cs.Problem.from_delassus(box.delassus(), box.b, mu=box.mu)
    order = orders.given(stages=stages, kind=kind)
    with pytest.raises(ValueError, match=f"stage 0 is {kind}, and its {message}"):
        cs.Solver(box, order=order)
    coupled = message.partition(" share")[0] + " are coupled by A"
    with pytest.raises(ValueError, match=f"stage 0 is {kind}, and its {coupled}"):
        orders.describe(given, order)


def test_given_needs_one_of_two():
    for given in ({}, {"permutation": [0], "stages": [[0]]}):
        with pytest.raises(TypeError, match="a permutation of the contacts, or stages=, is needed"):
            orders.given(**given)
    with pytest.raises(TypeError, match=r"kind is for stages=: give stages=\[permutation\] with"):
        orders.given([1, 0], kind="simultaneous")
    for kind in (None, 3):
        with pytest.raises(TypeError, match=f"kind is {kind}: a kind, or a list with one for"):
            orders.given(stages=[[0]], kind=kind)
    for stages, kind in (([[0], []], "sequential"), ([[[0]], [[], []]], "disjoint")):
        with pytest.raises(ValueError, match=r"stages\[1\] is empty: a stage has one contact"):
            orders.given(stages=stages, kind=kind)
    for stages in ("ab", 3):
        with pytest.raises(TypeError, match=r"stages is (str|int): a list of lists"):
            orders.given(stages=stages)
    with pytest.raises(TypeError, match=r"stages\[0\] is 5: a list of lists, one for each part"):
        orders.given(stages=[5], kind="disjoint")
    with pytest.raises(TypeError, match=r"stages\[0\] has dtype float64"):
        orders.given(stages=[[0.5]])
    with pytest.raises(ValueError, match="stages has 2 entries; the problem has 4 contacts"):
        cs.Solver(cs.scenarios.box_stack(1), order=orders.given(stages=[[0], [1]]))
    problem = cs.Problem(
        np.zeros((0, 2, 1, 3)), np.ones((2, 3)), np.zeros((0, 1)), bodies=np.zeros((0, 2), int)
    )
    assert orders.describe(problem, orders.given(stages=[])).stages == 0


def test_orders_made_by_functions_are_described():
    lines = cs.orders.describe()
    assert set(cs.orders.names()) | {"relaxed", "subtasks", "extreme"} == set(lines)
    assert all(line and "\n" not in line for line in lines.values())
    assert "np" not in dir(cs.orders)
