"""What S5 says of conjugate gradients and collisions: the numbers of its text and of its Table A.1.

S5 is *Parallel techniques for physically based simulation on multi-core processor architectures*.
The bars and curves of its figures 3 to 9 carry no numbers: of those only what the text says can
stand beside ours. Section numbers are its own.
"""

# Section 4.4: the benchmark. Neither the material nor the lengths of time steps are given.
VERTICES = 91_200
STRETCH = 1.05
SECONDS = 1 / 30
PARTITIONS = THREADS = 4

# Section 4.1: a solve ends when the residual has decreased by such factors.
TOLERANCES = (1e-6, 1e-8)

# Section 4.4: "roughly 1300 preconditioner applications and spmv-operations", as they are in a
# solve whose every iteration has one of each.
APPLICATIONS = 1300

# Section 4.4: speed-ups of single precision on four cores, the least and the most of three systems.
SPEEDUPS = {"pc": (2.0, 3.7), "spmv": (3.4, 3.7)}

# Table A.1: system, architecture, cores, second-level cache, memory.
SYSTEMS = (
    (1, "AMD Opteron", "2×2 at 2.00 GHz", "4×1 MB", "2 GB"),
    (2, "Intel Xeon", "2×2 at 2.33 GHz", "2×4 MB", "4 GB"),
    (3, "Intel Core2", "1×4 at 2.40 GHz", "2×4 MB", "2 GB"),
)

# Section 5.2, figure 5: after a while the error of the estimate is below these, in percent.
ESTIMATE_ERRORS = (5.0, 1.0)

# Section 5.2, figure 6: speed-ups on four cores, the least and the most that the text names. The
# truth makes about the same as the estimate.
SPLITTING = {
    "1a": {"leftmost": (3.5, 3.5), "random": (3.5, 3.5), "estimate": (3.6, 3.6)},
    "1b": {"leftmost": (None, 3.0), "random": (None, 3.0), "estimate": (3.1, 3.4)},
    "2": {"leftmost": (3.0, 3.0), "random": (3.0, 3.5), "estimate": (3.3, 3.4)},
}

# Section 6, figure 8: speed-ups of phases on four cores, the least and the most that are named.
SCENES = {
    "1a": {"collision": (3.6, 3.6)},
    "1b": {"collision": (3.2, 3.4), "pc": (None, 3.9)},
    "2": {"collision": (3.3, 3.4)},
}

# Section 6, figure 9 [s]: the cloth settles in scene 1b, and both numerics and collisions peak
# before; in scene 2 collisions peak about when the ribbon has fallen on the planes, numerics when
# it hits the floor.
SETTLED, ON_THE_PLANES, ON_THE_FLOOR = 0.3, 1.0, 4.0
