"""Channels of Python objects: S1's kinds of channels, skip guards, alternation and poison."""

import gc
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

from contactsolve import csp


@pytest.mark.parametrize("places", [0, 1, 5])
def test_messages_come_in_order(places):
    channel, found = csp.Channel(places), []

    def write():
        for number in range(200):
            channel.write(number)
        # Messages that are not read would be lost.
        while len(found) < 200:
            time.sleep(0.001)
        channel.poison()

    csp.run(write, lambda: found.extend(channel))
    assert found == list(range(200))
    assert channel.messages == 200
    assert channel.poisoned


@pytest.mark.parametrize("places", [0, 2])
def test_each_of_many_readers_gets_messages_of_many_writers_once(places):
    channel, found = csp.Channel(places, any_writer=True, any_reader=True), []
    done = threading.Barrier(3, action=lambda: wait_until(lambda: len(found) == 300) or end())

    def end():
        channel.poison()

    def write(first):
        for number in range(first, first + 100):
            channel.write(number)
        done.wait()

    writers = [lambda first=first: write(first) for first in (0, 100, 200)]
    csp.run(*writers, *[lambda: found.extend(channel)] * 3)
    assert sorted(found) == list(range(300))


def test_a_channel_of_one_writer_and_reader_loses_nothing_of_more():
    channel, found, interval = csp.Channel(), [], sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def write(first):
        for number in range(first, first + 500):
            channel.write(number)

    def read():
        for _ in range(750):
            found.append(channel.read(timeout=30))

    try:
        csp.run(*[lambda first=first: write(first) for first in (0, 500, 1000)], read, read)
    finally:
        sys.setswitchinterval(interval)
    assert sorted(found) == list(range(1500))


def wait_until(holds):
    while not holds():
        time.sleep(0.001)


def test_a_skip_guard_does_not_wait():
    channel = csp.Channel()
    with pytest.raises(TimeoutError, match="no message"):
        channel.read(timeout=0)
    channel.write("a", timeout=0)
    with pytest.raises(TimeoutError, match="no place"):
        channel.write("b", timeout=0)
    assert channel.read(timeout=0) == "a"


def test_waiting_ends_with_the_time():
    start = time.perf_counter()
    with pytest.raises(TimeoutError):
        csp.Channel().read(timeout=0.08)
    assert 0.08 <= time.perf_counter() - start < 5


def test_a_rendezvous_lasts_until_the_reading():
    channel, events = csp.Channel(0), []

    def write():
        channel.write("message")
        events.append("written")

    def read():
        time.sleep(0.05)
        events.append("reads")
        channel.read()

    csp.run(write, read)
    assert events == ["reads", "written"]


def test_alternation_is_fair():
    inputs = csp.Alternation(3, places=4)
    for i in (0, 1, 2):
        for k in range(2):
            inputs[i].write((i, k))
    assert [inputs.read()[0] for _ in range(6)] == [0, 1, 2, 0, 1, 2]
    with pytest.raises(TimeoutError):
        inputs.select(timeout=0)


def test_alternation_waits_for_any():
    inputs, found = csp.Alternation(3), []

    def write(i):
        for k in range(50):
            inputs[i].write(k)

    def read():
        found.extend(inputs.read() for _ in range(150))

    csp.run(read, *[lambda i=i: write(i) for i in range(3)])
    for i in range(3):
        assert [k for index, k in found if index == i] == list(range(50))


def test_poison_ends_who_waits():
    channel, ended = csp.Channel(), []

    def wait():
        with pytest.raises(csp.Poisoned):
            channel.read()
        ended.append(True)

    csp.run(wait, lambda: (time.sleep(0.02), channel.poison()))
    assert ended == [True]
    with pytest.raises(csp.Poisoned):
        channel.write(1)
    inputs = csp.Alternation(2)
    inputs[1].poison()
    with pytest.raises(csp.Poisoned):
        inputs.select()


def test_a_process_that_fails_ends_the_others():
    channel = csp.Channel()

    def fail():
        raise ZeroDivisionError("of one process")

    with pytest.raises(ZeroDivisionError, match="of one process"):
        csp.run(channel.read, fail, channels=[channel])


class Message:
    pass


@pytest.mark.parametrize("ends", ["read", "lost", "poisoned"])
def test_messages_are_released(ends):
    channel, message = csp.Channel(3), Message()
    known = weakref.ref(message)
    channel.write(message)
    del message
    assert known() is not None
    if ends == "read":
        channel.read()
    if ends == "poisoned":
        channel.poison()
    if ends != "read":
        del channel
    gc.collect()
    assert known() is None


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: csp.Channel(-1), ValueError, "places is -1"),
        (lambda: csp.Channel(1.5), TypeError, "places is 1.5"),
        (lambda: csp.Alternation(0), ValueError, "channels is 0"),
        (lambda: csp.Channel().read(timeout=-1), ValueError, "timeout is -1"),
        (lambda: csp.Channel().read(timeout="1"), TypeError, "timeout is '1'"),
        (lambda: csp.Alternation(2)[2], IndexError, "range"),
    ],
)
def test_bad_input_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.slow
def test_ctrl_c_ends_the_waiting(tmp_path):
    program = (
        "from contactsolve import csp\nprint('begun', flush=True)\n"
        "try:\n    csp.Channel().read()\n"
        "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=tmp_path,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    assert out == "interrupted\n"
