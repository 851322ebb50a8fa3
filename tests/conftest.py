"""What every test process is told before anything is imported."""

import os

# Where tests run beside each other, threads that wait must leave the processor to the others.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
