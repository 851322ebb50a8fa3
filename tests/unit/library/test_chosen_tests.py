"""Which tests the marker ``sampled`` and the options of tests/conftest.py choose."""

import os
import shutil
import subprocess
import sys

import pytest

from repository import ROOT

TESTS = """
import pytest

@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", range(10))
def test_many(case):
    pass

@pytest.mark.slow
def test_slow():
    pass

def test_quick():
    pass
"""


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """A function: the names of the tests that pytest collects with these arguments."""
    folder = tmp_path_factory.mktemp("tests")
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "test_example.py").write_text(TESTS, encoding="utf-8")
    marks = "markers =\n    sampled(n): one in n\n    slow: slow\n"
    (folder / "pytest.ini").write_text(f"[pytest]\n{marks}", encoding="utf-8")

    def names(*arguments):
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *arguments]
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider"],
            cwd=folder,
            env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return {line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line}

    return names


def test_one_case_in_n_is_quick(chosen):
    quick, slow = chosen("-m", "not slow"), chosen("-m", "slow")
    assert len(quick) == 4 + 1
    assert "test_quick" in quick
    assert len(slow) == 6 + 1
    assert "test_slow" in slow
    assert not quick & slow


def test_shares_make_the_whole(chosen):
    shares = [chosen(f"--share={k}/3") for k in range(3)]
    assert set.union(*shares) == chosen()
    assert sum(map(len, shares)) == 12
