"""What S1 prints, number by number: its tables, and the figures in its text.

S1 is *A parallel Gauss-Seidel method for computing contact forces*. Section numbers and pages are
its own. The curves of its figures carry no numbers, so that of those only what the text says can
stand beside ours.
"""

GRIDS = ("small ball grid", "medium ball grid", "large ball grid")
PILES = ("small ball pile", "large ball pile")
SIZES = dict(zip((*GRIDS, *PILES), (8, 24, 40, 40, 80), strict=True))

# Table 3.1 (section 3.4.3, page 39): multiplications and additions of blocks of 4 rows and 6 dof,
# as factors of N (blocks of A) and K (contacts).
OPERATIONS = {
    "matrix": {"sweep": ("16 N + 8 K", "12 N + 4 K"), "set-up": ("96 N", "80 N"), "R": ("4 K", "")},
    "iteration_matrix": {
        "sweep": ("16 N", "12 N + 4 K"),
        "set-up": ("112 N", "84 N"),
        "R": ("16 N + 4 K", "8 K"),
    },
    "factorized": {"sweep": ("100 K", "100 K"), "set-up": ("", ""), "R": ("4 K", "")},
}

# Tables 3.2 and 3.4 (section 3.8, pages 49 and 51): bodies, contacts, non-zero blocks of T.
COUNTS = {
    "small ball grid": (513, 1_408, 17_728),
    "medium ball grid": (13_825, 40_320, 757_824),
    "large ball grid": (64_001, 188_800, 4_587_840),
    "small ball pile": (64_001, 6_605, 7_415),
    "large ball pile": (512_001, 52_909, 58_631),
}

# Section 7.3, page 80 to 82: contacts in each colour. Six safe colours of the medium grid have
# between 5,329 and 6,912 contacts, and 570 contacts have a colour of their own.
COLORS = {
    ("medium ball grid", "greedy"): "6912 … 5329, 570 × 1",
    ("medium ball grid", "balanced"): "580 of 69 or 70",
    ("large ball pile", "greedy"): "50125, 2781, 3",
    ("large ball pile", "balanced"): "17637, 17636, 17636",
}

# Tables 3.3 and 3.5 (section 3.8, pages 50 and 51): sweeps, quality γ, residual, seconds, σ.
SEQUENTIAL = {
    ("small ball grid", "jacobi"): (63, 249, 0.068, 0.0933, 0.0003),
    ("medium ball grid", "jacobi"): (66, 2790, 0.035, 3.20, 0.003),
    ("large ball grid", "jacobi"): (65, 7890, 0.035, 14.3, 0.003),
    ("small ball grid", "gauss_seidel"): (50, 247, 0.088, 0.105, 0.00015),
    ("medium ball grid", "gauss_seidel"): (50, 2850, 0.090, 3.24, 0.003),
    ("large ball grid", "gauss_seidel"): (50, 7920, 0.090, 13.1, 0.005),
    ("small ball pile", "jacobi"): (63, 0.000235, 0.00026, 1.63, 0.0016),
    ("large ball pile", "jacobi"): (65, 0.0137, 0.0049, 14.1, 0.005),
    ("small ball pile", "gauss_seidel"): (50, 0.000219, 0.00036, 0.897, 0.0009),
    ("large ball pile", "gauss_seidel"): (50, 0.0148, 0.0073, 7.26, 0.0018),
}

# Tables 6.1, 6.2 (processes that send messages, pages 69 and 71) and 6.3 (OpenMP, page 75):
# speed-up over one core, over the sequential Jacobi, and on how many cores.
SPEEDUPS = {
    "Table 6.1": {
        "small ball pile": (2.4, 2.6, 8),
        "large ball pile": (2.8, 2.8, 8),
        "small ball grid": (3.1, 2.6, 4),
        "medium ball grid": (3.7, 2.9, 7),
        "large ball grid": (4.8, 2.7, 7),
    },
    "Table 6.2": {
        "small ball pile": (3.6, 7.5, 4),
        "large ball pile": (5.1, 11.0, 7),
        "small ball grid": (2.7, 2.0, 4),
        "medium ball grid": (3.1, 1.8, 6),
        "large ball grid": (3.2, 1.5, 8),
    },
    # Section 6.3, page 72: the same scheme in single precision.
    "section 6.3, f32": {
        "medium ball grid": (3.6, None, None),
        "large ball grid": (5.2, 2.6, None),
    },
    "Table 6.3, factorized": {
        "small ball pile": (6.2, 8.4, 8),
        "large ball pile": (5.2, 7.3, 8),
        "small ball grid": (5.3, 6.1, 8),
        "medium ball grid": (6.3, 4.9, 8),
        "large ball grid": (3.7, 4.6, 8),
    },
    "Table 6.3, T": {
        "small ball pile": (7.3, 14.6, 8),
        "large ball pile": (7.7, 16.1, 8),
        "small ball grid": (6.4, 4.7, 8),
        "medium ball grid": (3.4, 2.0, 8),
        "large ball grid": (2.6, 1.2, 8),
    },
}

# Section 7.1, page 77: γ after 50 sweeps, cut into so many ranges.
NAIVE_QUALITY = {
    ("small ball grid", 1): 246,
    ("small ball grid", 8): 306,
    ("large ball grid", 1): 7921,
    ("large ball grid", 8): 7976,
}

# Sections 7.2.4, 7.3, 7.4 and 7.5, pages 80 to 85: sweeps to γ of 50 sequential Gauss-Seidel ones.
SWEEPS = {
    ("medium ball grid", "jacobi"): "66",
    ("medium ball grid", "relaxed greedy"): "57",
    ("medium ball grid", "relaxed greedy T"): "65",
    ("medium ball grid", "balanced"): "49, 50",
    ("large ball pile", "jacobi"): "65",
    ("large ball pile", "relaxed greedy"): "51",
    ("large ball pile", "relaxed greedy T"): "51",
    ("large ball pile", "balanced"): "50",
}

# Sections 7.2.4, 7.3 and 7.5, pages 80 to 84: speed-up over one core, over sequential Gauss-Seidel,
# and on how many cores, by the names that `colored.py` gives to S1's schemes.
COLORED_SPEEDUPS = {
    ("medium ball grid", "relaxed greedy, unsafe in ranges"): (2.6, None, 6),
    ("medium ball grid", "relaxed greedy"): (3.0, 2.0, 8),
    ("large ball pile", "relaxed greedy, T"): (6.6, 8.4, 8),
}

# Figures in the running text: section, demo, seconds, ratio, and S1's cores.
# 3.8.2: "a preprocessing cost of approximately 2.6 seconds". 6.2.1: on one core "1.76 times as high
# as the sequential method", an iteration 1.5 times; for which of the large demos is not said. 7.1:
# "in 3.3 seconds, x4 faster than sequential Gauss-Seidel". 7.6: from 4 to 8 cores "a x1.9 speedup".
RUNNING_TEXT = {
    "set-up": ("3.8.2", "large ball pile", 2.6, None, "1"),
    "one worker, set-up included": ("6.2.1", "large ball grid", None, 1.76, "1"),
    "one worker, a sweep": ("6.2.1", "large ball grid", None, 1.5, "1"),
    "naive ranges over Gauss-Seidel": ("7.1", "large ball grid", 3.3, 4.0, "8"),
    "relaxed greedy T, more threads": ("7.6", "small ball pile", None, 1.9, "4 → 8"),
}


def of(table, key, column, shape=None):
    """S1's figure, or None where it has none; also where `shape` is not the size it measured."""
    row = table.get(key)
    name = key[0] if isinstance(key, tuple) else key
    if row is None or (shape is not None and shape != SIZES[name]):
        return None
    return row if column is None else row[column]


def speedups(table, key, shape):
    """S1's speed-ups over one core and over sequential, and its cores, as columns; see `of`."""
    found = of(table, key, None, shape) or (None,) * 3
    return dict(zip(("s1_one", "s1_sequential", "s1_cores"), found, strict=True))
