"""Communicators of ranks that are threads: what they carry, and how a job ends."""

import gc
import threading
import time

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from contactsolve.distributed import Communicator, RankError, _comm, communicator, run
from interruption import ctrl_c_ends

pytestmark = [
    pytest.mark.threads,
    pytest.mark.skipif(
        _core.build()["threading"] == "serial", reason="ranks as threads need a build with threads"
    ),
]

RANKS = pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])


@pytest.fixture(autouse=True)
def _nothing_is_kept():
    gc.collect()
    before = _core.memory_live()
    yield
    gc.collect()  # exceptions keep the frames of ranks
    assert _core.memory_live() == before


# ---- messages -----------------------------------------------------------------------------------


@RANKS
def test_allgather_returns_the_values_by_rank(ranks):
    def rank_and_array(comm):
        return comm.allgather({"rank": comm.rank, "x": np.arange(comm.rank)})

    for each in run(rank_and_array, ranks):
        assert [value["rank"] for value in each] == list(range(ranks))
        assert [len(value["x"]) for value in each] == list(range(ranks))


@RANKS
def test_alltoall_delivers_each_value_to_its_rank(ranks):
    def swap(comm):
        sent = [
            None if (comm.rank + other) % 3 == 0 else np.full(1000 * other, comm.rank)
            for other in range(comm.size)
        ]
        return comm.alltoall(sent)

    for to, received in enumerate(run(swap, ranks)):
        for source, value in enumerate(received):
            if (source + to) % 3 == 0:
                assert value is None
            else:
                assert value.tolist() == [source] * (1000 * to)


def test_what_a_rank_receives_is_its_own():
    def write(comm):
        own = np.zeros(3)
        other = comm.alltoall([own, own])[1 - comm.rank]
        gathered = comm.allgather(own)
        other += 1
        gathered[1 - comm.rank] += 1
        comm.barrier()
        return own

    assert [own.tolist() for own in run(write, 2)] == [[0, 0, 0]] * 2


@RANKS
def test_bcast_returns_the_value_of_one_rank(ranks):
    root = ranks - 1
    assert run(lambda comm: comm.bcast(comm.rank, root), ranks) == [root] * ranks


def test_a_barrier_waits_for_all():
    order = []

    def late(comm):
        if comm.rank == 1:
            time.sleep(0.05)
            order.append("came")
        comm.barrier()
        order.append("left")

    run(late, 3)
    assert order == ["came", "left", "left", "left"]


def test_messages_and_bytes_are_counted():
    def count(comm):
        before = comm.traffic()
        comm.alltoall([np.zeros(10), None, None] if comm.rank == 1 else [None] * 3)
        after = comm.traffic()
        return {name: after[name] - before[name] for name in after}

    sent = run(count, 3)
    assert [each["messages"] for each in sent] == [0, 1, 0]
    assert [each["exchanges"] for each in sent] == [1, 1, 1]
    assert sent[0]["bytes"] == 0
    assert 80 < sent[1]["bytes"] < 400
    # The sizes: 24 bytes of each rank, in two rounds.
    assert [each["gather_bytes"] for each in sent] == [48, 48, 48]
    assert [each["gather_messages"] for each in sent] == [2, 2, 2]


def test_none_is_the_communicator_of_the_rank():
    def mine(comm):
        return communicator() is comm and communicator(comm) is comm

    assert run(mine, 2) == [True, True]
    assert "rank 0 of 1, threads" in run(repr, 1)[0]


# ---- exchanges of arrays ------------------------------------------------------------------------


def test_an_exchange_runs_many_times_in_the_same_arrays():
    def repeat(comm):
        send, receive = np.zeros(4), np.zeros(4)
        other = 1 - comm.rank
        exchange = _core.Exchange(comm.transport, "numbers", [(other, send, receive)])
        for k in range(50):
            send[:] = 10 * k + comm.rank
            exchange.begin()
            exchange.end()
            assert receive.tolist() == [10 * k + other] * 4
        return True

    assert run(repeat, 2) == [True, True]


def test_malformed_exchanges_are_refused():
    def refuse(comm):
        made = []
        for neighbours, error, message in [
            ([(0, None, None)], ValueError, "neighbour 0 of rank 0 is rank 0"),
            ([(5, None, None)], ValueError, "is rank 5, but another one of 1 is needed"),
            ([(0,)], TypeError, "neighbour"),
            ([(0, 1.5, None)], TypeError, "bytes-like"),
            ([(0, None, b"constant")], BufferError, "writable"),
        ]:
            with pytest.raises(error, match=message):
                made.append(_core.Exchange(comm.transport, "numbers", neighbours))
        exchange = _core.Exchange(comm.transport, "numbers", [])
        with pytest.raises(ValueError, match="ends before it begins"):
            exchange.end()
        exchange.begin()
        with pytest.raises(ValueError, match="has begun already"):
            exchange.begin()
        exchange.end()
        return made

    assert run(refuse, 1) == [[]]


def test_two_threads_do_not_share_a_transport():
    def share(comm):
        if comm.rank == 1:
            time.sleep(0.2)
            comm.barrier()
            return
        waiting = threading.Thread(target=comm.barrier)
        waiting.start()
        time.sleep(0.1)
        with pytest.raises(RuntimeError, match="another thread uses this transport"):
            comm.barrier()
        waiting.join()

    run(share, 2)


# ---- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_an_error_of_one_rank_ends_the_job(ranks):
    seen = {}

    def fail(comm):
        if comm.rank == ranks - 1:
            raise ValueError("b[3] is nan")
        try:
            comm.barrier()
        except RankError as error:
            seen[comm.rank] = (str(error), error.__cause__)
            assert comm.broken
            raise

    start = time.monotonic()
    with pytest.raises(ValueError, match=r"^b\[3\] is nan") as caught:
        run(fail, ranks)
    assert time.monotonic() - start < 4
    assert caught.value.__notes__ == [f"on rank {ranks - 1} of {ranks}"]
    assert sorted(seen) == list(range(ranks - 1))
    for message, cause in seen.values():
        assert message == f"rank {ranks - 1}: ValueError: b[3] is nan"
        assert cause is caught.value


def test_the_error_of_the_lowest_rank_counts():
    def fail(comm):
        raise ValueError(f"of rank {comm.rank}")

    with pytest.raises(ValueError, match="of rank 0"):
        run(fail, 3)


def test_a_rank_that_never_comes_is_named():
    gave_up = threading.Event()

    def stay_away(comm):
        if comm.rank == 1:
            assert gave_up.wait(20)
            return
        try:
            comm.barrier()
        finally:
            gave_up.set()

    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"rank 0 has waited 0\.2 s for a message of rank 1"):
        run(stay_away, 2, timeout=0.2)
    assert 0.2 <= time.monotonic() - start < 5


def test_a_rank_that_has_ended_is_not_waited_for():
    def end_early(comm):
        if comm.rank == 0:
            comm.barrier()

    with pytest.raises(RankError, match="rank 1 has ended, but rank 0 waits"):
        run(end_early, 2)


def test_a_rank_may_abort_the_others():
    def abort(comm):
        if comm.rank == 0:
            comm.abort("enough")
        comm.barrier()

    with pytest.raises(RankError, match=r"^rank 0: enough"):
        run(abort, 3)


def test_check_sees_a_failure_without_waiting():
    def work(comm):
        comm.check()
        if comm.rank == 1:
            raise ValueError("mu[0] is -1")
        while True:
            comm.check()

    with pytest.raises(ValueError, match="mu"):
        run(work, 2)


@pytest.mark.slow  # a rank that is left alone has 5 s
def test_a_rank_that_does_not_end_is_left_alone():
    released = threading.Event()

    def hang(comm):
        if comm.rank == 1:
            raise ValueError("bad")
        released.wait(30)

    start = time.monotonic()
    with pytest.raises(ValueError, match="bad"):
        run(hang, 2)
    assert 4 < time.monotonic() - start < 8
    released.set()
    time.sleep(0.1)


def test_ctrl_c_ends_all_ranks():
    ended = []

    def wait(comm):
        try:
            comm.alltoall([None] * comm.size) if comm.rank else released.wait(30)
        except RankError as error:
            ended.append(str(error))
            released.set()
            raise

    released = threading.Event()
    ctrl_c_ends(lambda: run(wait, 3), after=0.2, within=2)
    assert ended
    assert set(ended) == {"KeyboardInterrupt"}


# ---- arguments ----------------------------------------------------------------------------------


def test_bad_arguments_are_refused():
    for ranks in (0, -1, 10**6):
        with pytest.raises(ValueError, match=f"ranks is {ranks}"):
            run(repr, ranks)
    for timeout in (0, -1, float("nan")):
        with pytest.raises(ValueError, match=f"timeout is {timeout}"):
            run(repr, 1, timeout=timeout)
    with pytest.raises(TypeError, match=r"ranks is 2.5: an integer is needed"):
        run(repr, 2.5)
    with pytest.raises(TypeError, match="timeout is 'long': a number is needed"):
        run(repr, 1, timeout="long")

    def refuse(comm):
        with pytest.raises(ValueError, match="values has 2 entries, but there are 1 ranks"):
            comm.alltoall([1, 2])
        with pytest.raises(ValueError, match="root is 1, but ranks are 0 to 0"):
            comm.bcast(1, root=1)
        with pytest.raises(ValueError, match="timeout is -1"):
            comm.timeout = -1
        with pytest.raises(ValueError, match="timeout is 0"):
            communicator(timeout=0)
        with pytest.raises(TypeError, match="timeout is 'long': a number is needed"):
            communicator(timeout="long")
        assert communicator(timeout=7).timeout == 7
        assert isinstance(comm, Communicator)

    run(refuse, 1)


def test_arguments_reach_the_function():
    def add(comm, a, *, b):
        return comm.rank + a + b

    assert run(add, 2, 10, b=100) == [110, 111]
    assert cs.distributed.run is run


def test_an_exchange_costs_less_than_a_millisecond():
    assert 0 < _core.exchange_work(64, 100) < 1e-3
    seconds = run(lambda comm: _core.exchange_cost(comm.transport, 64, 20), 2)
    assert all(0 < each < 1 for each in seconds)
    for given in ((-1, 1), (0, 0)):
        with pytest.raises(ValueError, match="at least 0 and 1"):
            _core.exchange_work(*given)


# ---- costs --------------------------------------------------------------------------------------


def test_costs_of_messages_are_the_same_on_all_ranks():
    costs = run(cs.distributed.message_costs, 3, count=20)
    assert costs[0] == costs[1] == costs[2]
    assert costs[0].overhead >= 0
    assert costs[0].latency >= 0
    assert costs[0].gap >= 0
    told = cs.distributed.MessageCosts(overhead=1e-6, latency=2e-6, gap=1e-9)
    assert told.seconds(3, 1000) == pytest.approx(6e-6)
    assert told.seconds(0, 0) == 0


def test_costs_need_two_ranks():
    def refuse(comm):
        for given, message in [
            ({}, "comm has one rank" if comm.size == 1 else None),
            ({"count": 0}, "count is 0" if comm.size > 1 else "one rank"),
            ({"large": 100}, "large is 100" if comm.size > 1 else "one rank"),
        ]:
            if message is not None:
                with pytest.raises(ValueError, match=message):
                    cs.distributed.message_costs(comm, **given)

    run(refuse, 1)
    run(refuse, 2)


# ---- cores --------------------------------------------------------------------------------------


def test_ranks_divide_the_cores():
    cores = len(_comm._cores())
    for ranks in (1, 2, 5):
        assert run(lambda comm: comm.cores, ranks) == [max(1, cores // ranks)] * ranks


def test_a_core_is_divided_among_the_ranks_that_may_run_on_it(monkeypatch):
    def divide(comm):
        comm.barrier()
        comm._share_cores()
        return comm.cores

    given = threading.local()
    monkeypatch.setattr(_comm, "_cores", lambda: given.cores)

    def divided(bound):
        def own(comm):
            given.cores = bound[comm.rank]
            return divide(comm)

        given.cores = [0]  # of this thread
        return run(own, len(bound))

    assert divided([[0, 1, 2, 3]] * 2) == [2, 2]  # not bound
    assert divided([[0, 1], [2, 3]]) == [2, 2]  # bound to cores of their own
    assert divided([[0, 1, 2, 3], [0], [0]]) == [3, 1, 1]
    assert divided([[0]] * 4) == [1] * 4
