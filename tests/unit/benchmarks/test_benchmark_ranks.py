"""benchmarks/distributed: counts of messages, modelled times, tables and the page of them."""

import re

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import RESULTS, importing_from
from contactsolve import _core
from repository import BENCHMARKS

needs_threads = pytest.mark.skipif(
    _core.build()["threading"] == "serial", reason="ranks as threads need a build with threads"
)


@pytest.fixture
def scripts():
    with importing_from(BENCHMARKS / "distributed"):
        import goals
        import model
        import parts
        import report
        import scenes
        import traffic

        yield {one.__name__: one for one in (goals, model, parts, report, scenes, traffic)}


# ---- counts -------------------------------------------------------------------------------------


@needs_threads
@pytest.mark.threads
@pytest.mark.parametrize("ranks", [2, 5])
@pytest.mark.parametrize("border", ["colored", "checkerboard", "concurrent"])
def test_counts_are_what_solvers_on_ranks_tell(scripts, border, ranks):
    """`check` raises otherwise; contacts in the plane have fixed bodies and other widths."""
    order = cs.orders.partition(border=border)
    for problem in (
        cs.scenarios.ball_grid(4, mu=0.1, velocity=0.5),
        cs.scenarios.disc_pyramid(8),
    ):
        labels = cs.orders.labels(problem, "natural", 8)
        found = scripts["traffic"].check(problem, labels, 8, order, ranks)
        assert found.bytes.min() > 0
        assert len(found.exchanges) > 1


@needs_threads
@pytest.mark.threads
def test_another_count_is_an_error(scripts, monkeypatch):
    traffic, problem = scripts["traffic"], cs.scenarios.ball_grid(4, mu=0.1, velocity=0.5)
    labels, order = cs.orders.labels(problem, "natural", 4), cs.orders.partition()
    monkeypatch.setattr(traffic, "REAL", 4)
    with pytest.raises(ValueError, match=r"rank 0 of 2 sends \d+ bytes in a sweep, but \d+ are"):
        traffic.check(problem, labels, 4, order, 2)


def test_one_rank_visits_all_and_sends_nothing(scripts):
    problem = cs.scenarios.ball_grid(4, mu=0.1, velocity=0.5)
    labels, order = cs.orders.labels(problem, "natural", 4), cs.orders.partition()
    traffic = scripts["traffic"]
    found = traffic.counted(*traffic.plan_of(problem, labels, 4, order), 1)
    assert found.visits.sum() == problem.contacts
    assert not found.exchanges


def test_contacts_on_the_border(scripts):
    """A chain of four balls on the ground in two parts: one of its contacts is between them."""
    J = np.zeros((4, 2, 1, 1)) + np.array([1.0, -1.0]).reshape(1, 2, 1, 1)
    bodies = [[-1, 0], [0, 1], [1, 2], [2, 3]]
    chain = cs.Problem(J, np.ones((4, 1)), np.ones((4, 1)), bodies=bodies)
    share = scripts["scenes"].border_share
    assert share(chain, np.array([0, 0, 1, 1])) == 0.25
    assert share(chain, np.array([0, 1, 0, 1])) == 0.75
    assert share(chain, np.zeros(4, int)) == 0


# ---- models -------------------------------------------------------------------------------------


def test_modelled_seconds_are_those_of_the_slowest_ranks(scripts):
    traffic = scripts["traffic"]
    sent, size = np.array([1, 2, 1]), np.array([100, 200, 400])
    exchange = traffic.Exchange(sent, sent, size, size)
    found = traffic.Traffic(3, np.array([[5, 7, 6], [2, 1, 1]]), [exchange])
    costs = cs.distributed.MessageCosts(overhead=1.0, latency=10.0, gap=0.1)
    work, messages = found.seconds(costs, visit=2.0)
    assert work == 2.0 * (7 + 2)
    # The third rank's exchange takes 1 + 10 + 40; the gather of three ranks has two rounds.
    assert messages == pytest.approx(51 + 2 * (1 + 10 + 12.8))


def test_laws_of_speed_up(scripts):
    model = scripts["model"]
    assert model.amdahl(0.0, 8) == model.gustafson(0.0, 8) == 8
    assert model.amdahl(1.0, 8) == model.gustafson(1.0, 8) == 1
    assert model.amdahl(0.5, 4) == pytest.approx(1.6)
    assert model.gustafson(0.5, 4) == 2.5


# ---- trials -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts():
    """What a trial of `parts.py` measures."""
    with importing_from(BENCHMARKS / "distributed"):
        import parts

        return parts.main(["--quick"])


@pytest.fixture(scope="module")
def models():
    """What a trial of `model.py` measures."""
    with importing_from(BENCHMARKS / "distributed"):
        import model

        return model.main(["--quick"])


@pytest.fixture(scope="module")
def times():
    """What a trial of `goals.py` measures."""
    with importing_from(BENCHMARKS / "distributed"):
        import goals

        return goals.main(["--quick"])


def test_sweeps_are_those_of_solves(scripts, counts):
    by_key = {(row["method"], row["border"], row["parts"]): row for row in counts}
    assert {key[0] for key in by_key} == {"jacobi", "gauss_seidel", "nesterov"}
    for row in counts:
        if row["to_1e-06"] is not None:
            assert row["to_0.001"] < row["to_1e-06"] == row["iterations"]
            assert row["least"] <= 1e-6
    # The same numbers by another way.
    problem = cs.scenarios.ball_grid(4, mu=0.1, velocity=0.5)
    labels, _ = scripts["scenes"].labels_of(problem, 4)
    solved = cs.solve(
        problem,
        method="nesterov",
        order=cs.orders.partition(labels, border="checkerboard"),
        scheme="factorized",
        islands=False,
        rtol=1e-3,
        check_every=5,
    )
    assert solved.iterations == by_key["nesterov", "checkerboard", 4]["to_0.001"]
    assert len(list(scripts["parts"].judged(counts))) == 2

    # Both remedies of concurrent borders, with the weight that keeps the energy from growing.
    remedies = scripts["scenes"].REMEDIES
    most = scripts["scenes"].parts_at_a_body(problem, labels)
    assert by_key["gauss_seidel", remedies[0], 4]["weight"] == 1 / most
    for remedy in remedies:
        order = scripts["scenes"].remedy_of(labels, remedy, most)
        options = {"scheme": "factorized", "islands": False, "rtol": 1e-3, "check_every": 5}
        solved = cs.solve(problem, method="gauss_seidel", order=order, **options)
        assert solved.iterations == by_key["gauss_seidel", remedy, 4]["to_0.001"]


def test_borders_that_are_measured_alone(scripts, capsys):
    rows = scripts["parts"].main(["--quick", "--parts", "1,4", "--borders", "concurrent"])
    assert {(row["border"], row["parts"]) for row in rows} == {("concurrent", 4)}
    with pytest.raises(SystemExit):
        scripts["parts"].main(["--quick", "--borders", "sequential"])
    assert "invalid choice: 'sequential'" in capsys.readouterr().err


def test_parts_at_a_body(scripts):
    """A star whose hub, in the highest part, is visited by the lowest part of each contact."""
    J = np.ones((4, 2, 1, 1))
    bodies = [[0, 1], [0, 2], [0, 3], [3, -1]]
    star = cs.Problem(J, np.ones((4, 1)), np.zeros((4, 1)), bodies=np.array(bodies))
    count = scripts["scenes"].parts_at_a_body
    assert count(star, np.array([3, 0, 1, 2])) == 3
    assert count(star, np.array([0, 1, 2, 3])) == 1
    assert count(star, np.zeros(4, int)) == 1


@needs_threads
@pytest.mark.threads
def test_modelled_rows(models):
    assert {row["what"] for row in models} == {"modelled"}
    assert {row["ranks"] for row in models} == {1, 2, 4}
    for row in models:
        assert row["sweep_us"] == pytest.approx(row["work_us"] + row["messages_us"])
        assert (row["messages"] > 0) == (row["ranks"] > 1) == (row["messages_us"] > 0)


@needs_threads
@pytest.mark.threads
def test_measured_rows(scripts, times):
    assert [row["border"] for row in times[::2]] == ["colored", "checkerboard", "concurrent"]
    for row in times:
        assert min(row[f"{way}_us"] for way in scripts["goals"].WAYS) > 0
        names = [name for name, *_ in scripts["goals"].goals_of(row)]
        assert names == ["one rank over cs.solve", "prediction at two ranks, error"]


def test_goals(scripts):
    """Goals of the largest grid are four; each is told whether it is reached."""
    ways = dict(zip(scripts["goals"].WAYS, (100.0, 104.0, 60.0, 50.0), strict=True))
    row = {"scene": "grid 40³", "predicted_us": 60.0, **{f"{k}_us": v for k, v in ways.items()}}
    row |= {"one_own_median_us": 100.0, "one_rank_own_median_us": 104.0}
    told = [scripts["goals"].told(*goal) for goal in scripts["goals"].goals_of(row)]
    assert told == [
        "one rank over cs.solve = 1.04, goal <= 1.05: reached",
        "two ranks, speed-up over one = 2.08, goal >= 1.7: reached",
        "two ranks, speed over two threads = 1.2, goal >= 0.9: reached",
        "prediction at two ranks, error = 0.2, goal <= 0.15: MISSED",
    ]


def test_wrong_words_of_the_command_line(scripts, capsys):
    for words, message in (
        (["nowhere"], "scene 'nowhere' is none of"),
        (["--parts", "1,x"], "--parts '1,x': numbers of 1 or more are needed"),
    ):
        with pytest.raises(SystemExit):
            scripts["parts"].main(words)
        assert message in capsys.readouterr().err


# ---- the page -----------------------------------------------------------------------------------


def test_the_page_is_what_the_results_make_it(scripts):
    report = scripts["report"]
    page = report.PAGE.read_text(encoding="utf-8")
    named = re.search(r"Measured on `([^`]+)`", page)
    machine = named[1] if named else "none"
    assert (RESULTS / machine).exists() or not named
    assert report.filled(page, machine) == page


def of_file(rows):
    """The rows as a CSV has them."""
    return [{key: "" if x is None else str(x) for key, x in row.items()} for row in rows]


def assert_table(text):
    """All lines have the cells of the head."""
    assert len({line.count("|") for line in text.splitlines()}) == 1


def test_tables_of_sweeps(scripts, counts):
    rows = of_file(counts)
    first, second, *_, border, goal = list(scripts["report"].parts_tables(rows))
    assert first.startswith("Sweeps to 1e-3,")
    assert second.startswith("| scene | method | border | no parts | 1 | 4 |")
    jacobi = next(row for row in rows if row["method"] == "jacobi")
    assert f"| `jacobi` | any | {jacobi['to_0.001']} |" in second
    assert_table(second)
    assert_table(border)
    assert goal.count("goal <= 1.1") == 2


@needs_threads
@pytest.mark.threads
def test_tables_of_times(scripts, models, times):
    report = scripts["report"]
    sentence, table = report.model_tables(of_file(models))
    assert "**Modelled**" in sentence
    assert table.count("modelled") == 3
    assert_table(table)
    _, table = report.traffic_tables(of_file(models))
    assert_table(table)
    assert len(table.splitlines()) == 2 + 6
    _, table, goals = report.goal_tables(of_file(times))
    assert "**modelled**" in table
    assert_table(table)
    assert goals.count("\n") == 12  # a seam, and two for each border and number of sweeps


def test_what_needs_one_core(scripts):
    rows = scripts["goals"].main(["--quick", "--alone"])
    assert not {f"{way}_us" for way in scripts["goals"].WAYS} & set(rows[0])
    _, table, goals = scripts["report"].goal_tables(of_file(rows))
    assert table.count("not yet") == 5 * len(rows)
    assert goals.count("\n") == len(rows) == 2
