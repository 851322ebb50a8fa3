"""How each table is laid out: the scripts print by it and `report.py` writes docs/s1.md by it."""

from typing import NamedTuple


class Column(NamedTuple):
    """`form`: text, count, time (seconds), figure, or a format for a number."""

    head: str
    key: str
    form: str = "figure"


class Layout(NamedTuple):
    """A table: what it is, the script behind it, its columns."""

    title: str
    script: str
    columns: tuple[Column, ...]


_SCENE = Column("demo", "scene", "text")
_METHOD = Column("method", "method", "text")
_TIMES = (
    Column("median", "median_s", "time"),
    Column("mean", "mean_s", "time"),
    Column("σ", "sigma_s", "time"),
)

LAYOUTS = {
    "table_3_1": Layout(
        "Table 3.1: operations counted a contact and sweep, and measured time",
        "table_3_1.py",
        (
            _SCENE,
            Column("N/K", "blocks_per_contact", ".1f"),
            Column("scheme", "scheme", "text"),
            Column("mult.", "multiplications", ".0f"),
            Column("add.", "additions", ".0f"),
            Column("bytes", "bytes", ".0f"),
            Column("S1's mult., 4 rows", "s1_multiplications", ".0f"),
            Column("S1's add., 4 rows", "s1_additions", ".0f"),
            Column("mult. to set up", "setup_multiplications", ".0f"),
            Column("S1's, 4 rows", "s1_setup_multiplications", ".0f"),
            Column("mult. to halve R", "update_multiplications", ".0f"),
            Column("S1's, 4 rows", "s1_update_multiplications", ".0f"),
            Column("ns f64", "ns_f64", ".1f"),
            Column("ns f32", "ns_f32", ".1f"),
            Column("Gflop/s", "gflops", ".2f"),
            Column("GB/s", "gbytes", ".2f"),
        ),
    ),
    "tables_3_2_and_3_4": Layout(
        "Tables 3.2 and 3.4: the demos",
        "tables_3_2_and_3_4.py",
        (
            _SCENE,
            Column("shape", "shape", "text"),
            Column("bodies", "bodies", "count"),
            Column("S1", "s1_bodies", "count"),
            Column("contacts", "contacts", "count"),
            Column("S1", "s1_contacts", "count"),
            Column("blocks of T", "blocks", "count"),
            Column("S1", "s1_blocks", "count"),
            Column("blocks, ground fixed", "blocks_fixed", "count"),
            Column("greedy colours", "greedy", "text"),
            Column("balanced colours", "balanced", "text"),
            Column("S1, greedy", "s1_greedy", "text"),
            Column("S1, balanced", "s1_balanced", "text"),
        ),
    ),
    "table_3_3": Layout(
        "Table 3.3: Jacobi and Gauss-Seidel on ball grids, to equal γ",
        "table_3_3.py",
        (
            _SCENE,
            _METHOD,
            Column("sweeps", "sweeps", "count"),
            Column("S1", "s1_sweeps", "count"),
            Column("γ", "quality"),
            Column("S1", "s1_quality"),
            Column("residual", "residual", ".3f"),
            Column("S1", "s1_residual", ".3f"),
            *_TIMES,
            Column("S1", "s1_mean_s", "time"),
            Column("set-up", "setup_s", "time"),
            Column("status", "status", "text"),
        ),
    ),
    "table_3_5": Layout(
        "Table 3.5: Jacobi and Gauss-Seidel on ball piles, to equal γ",
        "table_3_5.py",
        (
            _SCENE,
            _METHOD,
            Column("sweeps", "sweeps", "count"),
            Column("S1", "s1_sweeps", "count"),
            Column("γ", "quality"),
            Column("S1", "s1_quality"),
            Column("residual", "residual"),
            Column("S1", "s1_residual"),
            Column("γ of other seeds", "other_seeds", "text"),
            *_TIMES,
            Column("S1", "s1_mean_s", "time"),
            Column("set-up", "setup_s", "time"),
            Column("status", "status", "text"),
        ),
    ),
    "jacobi": Layout(
        "Tables 6.1-6.3, Figs 6.2, 6.4-6.8: parallel Jacobi, time of a sweep",
        "jacobi.py",
        (
            _SCENE,
            Column("variant", "method", "text"),
            Column("1 thread", "sweep_1_s", "time"),
            Column("2 threads", "sweep_2_s", "time"),
            Column("over one", "speedup_one", ".2f"),
            Column("over sequential", "speedup_sequential", ".2f"),
            Column("set-up", "setup_s", "time"),
            Column("equal bits on", "equal_bits", "text"),
            Column("S1's table", "s1_table", "text"),
            Column("S1 over one", "s1_one", ".1f"),
            Column("S1 over sequential", "s1_sequential", ".1f"),
            Column("S1's cores", "s1_cores", "count"),
        ),
    ),
    "naive": Layout(
        "Section 7.1: what naive parallel Gauss-Seidel loses, γ after 50 sweeps",
        "naive.py",
        (
            _SCENE,
            Column("ranges", "parts", "count"),
            Column("γ", "quality"),
            Column("S1", "s1_quality"),
            Column("over one range", "ratio", ".4f"),
            Column("Jacobi's γ", "jacobi"),
            Column("of the way to Jacobi", "share", ".1%"),
        ),
    ),
    "colored": Layout(
        "Figs 7.5-7.10: parallel Gauss-Seidel, time to the γ of 50 sequential sweeps",
        "colored.py",
        (
            _SCENE,
            _METHOD,
            Column("stages", "stages", "count"),
            Column("sweeps", "sweeps", "count"),
            Column("S1", "s1_sweeps", "text"),
            Column("γ", "quality"),
            Column("1 thread", "time_1_s", "time"),
            Column("2 threads", "time_2_s", "time"),
            Column("over one", "speedup_one", ".2f"),
            Column("over Gauss-Seidel", "speedup_sequential", ".2f"),
            Column("S1 over one", "s1_one", ".1f"),
            Column("S1 over Gauss-Seidel", "s1_sequential", ".1f"),
            Column("S1's cores", "s1_cores", "count"),
            Column("set-up", "setup_s", "time"),
            Column("equal bits on", "equal_bits", "text"),
            Column("status", "status", "text"),
        ),
    ),
    "contact_sets": Layout(
        "Section 8.3: contact sets as atoms, against contact points",
        "contact_sets.py",
        (
            _SCENE,
            _METHOD,
            Column("stages", "stages", "count"),
            Column("sweeps", "sweeps", "count"),
            Column("γ", "quality"),
            Column("natural map", "natural_map"),
            Column("time", "median_s", "time"),
            Column("set-up", "setup_s", "time"),
            Column("corner spread", "spread", ".3f"),
            Column("status", "status", "text"),
        ),
    ),
    "sequential_impulses": Layout(
        "Sequential impulses, the method outside: sweeps to equal γ",
        "sequential_impulses.py",
        (
            _SCENE,
            _METHOD,
            Column("start", "start", "text"),
            Column("sweeps", "sweeps", "count"),
            Column("γ", "quality"),
            Column("language", "language", "text"),
            Column("ns a contact and sweep", "ns", ".1f"),
            Column("status", "status", "text"),
        ),
    ),
}
