"""What S3 prints, number by number.

S3 is *Block principal pivoting with incremental Cholesky factorizations for real-time multibody
simulations*. The curves of its figures carry no numbers, so that of those only what the text says
can stand beside ours.
"""

SCENES = ("crane", "winch", "vehicle", "offshore", "forklift", "forwarder")
PILES = ("chain", "log_tower", "stack_of_boxes")  # of chapter 3 alone

# Table 2.2 (page 32): mass ratio, constraints, condition number.
DATA = {
    "crane": (6_300, 430, 1e9),
    "winch": (400, 370, 1e8),
    "vehicle": (20_000, 260, 1e19),
    "offshore": (4_400_000, 350, 1e9),
    "forklift": (2_700, 300, 1e8),
    "forwarder": (6_500, 250, 1e11),
}

# Table 2.3 (page 33): ms a frame by a full factor, by downdating, by downdating in the skyline.
TIMES = {
    "crane": (12.4, 4.7, 3.4),
    "winch": (2.0, 2.4, 1.6),
    "vehicle": (3.0, 2.2, 2.1),
    "offshore": (6.7, 4.0, 2.9),
    "forklift": (1.2, 1.0, 0.8),
    "forwarder": (3.1, 2.5, 2.0),
}

# Table 2.3: speed-up over the full factor by downdating, and by downdating in the skyline, as they
# are printed: S3's times have more digits than it prints.
SPEEDUPS = {
    "crane": (2.7, 3.6),
    "winch": (0.9, 1.3),
    "vehicle": (1.4, 1.4),
    "offshore": (1.7, 2.3),
    "forklift": (1.3, 1.5),
    "forwarder": (1.2, 1.6),
}

# Table 2.4 (page 33): min, max, mean and median of the error of downdating, without and with
# skyline.
ERRORS = {
    ("crane", "downdate"): (6.74e-12, 3.00e-10, 4.77e-11, 3.80e-11),
    ("crane", "skyline"): (6.76e-12, 2.50e-10, 4.84e-11, 3.88e-11),
    ("winch", "downdate"): (0.00e00, 7.29e-11, 6.60e-13, 1.31e-13),
    ("winch", "skyline"): (0.00e00, 7.34e-11, 6.07e-13, 1.28e-13),
    ("vehicle", "downdate"): (3.17e-13, 1.81e-09, 4.93e-12, 7.18e-13),
    ("vehicle", "skyline"): (2.71e-13, 7.99e-10, 1.85e-12, 7.36e-13),
    ("offshore", "downdate"): (0.00e00, 2.00e-08, 1.50e-09, 6.55e-11),
    ("offshore", "skyline"): (0.00e00, 1.00e-08, 1.30e-09, 5.55e-11),
    ("forklift", "downdate"): (0.00e00, 5.74e-11, 1.50e-12, 1.46e-12),
    ("forklift", "skyline"): (0.00e00, 1.17e-11, 1.35e-12, 1.36e-12),
    ("forwarder", "downdate"): (1.11e-10, 7.00e-08, 4.04e-09, 3.22e-09),
    ("forwarder", "skyline"): (1.11e-10, 7.00e-08, 4.04e-09, 3.22e-09),
}

# Section 2.2.2 (page 27): downdating is faster below this share of tight rows, at every size.
CROSSING = 0.15

# Table 3.1 (page 42): mean rows of A and entries of the cache.
CACHE = {
    "chain": (528.9, 272.5),
    "forklift": (162.0, 115.6),
    "log_tower": (829.9, 3100.5),
    "stack_of_boxes": (333.9, 1351.9),
}
