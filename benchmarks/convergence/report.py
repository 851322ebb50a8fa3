"""What `convergence.py` measured: a report, tables in Markdown, and a picture of the profiles."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import peers

TOLERANCES = (1e-3, 1e-6, 1e-8)
# The chain's rows that aim at less than the smallest tolerance, which it looks at when it chooses.
ASKED = {
    f"auto, rtol {tolerance:.0e}".replace("e-0", "e-"): tolerance for tolerance in TOLERANCES[:-1]
}
NEAR = 1.5  # times the best single method
LONG = 1e-4  # seconds; less is a few sweeps
COLUMNS = (
    *("problem", "kind", "held_out", "contacts", "method", "status"),
    *(f"seconds_to_{tolerance:.0e}" for tolerance in TOLERANCES),
    *("reached", "iterations", "setup_seconds", "budget_seconds", "note"),
)


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{k: row.get(k, "") for k in COLUMNS} for row in csv.DictReader(file)]


def table(rows: list[dict[str, str]], tolerance: float) -> tuple[list[str], list[str], np.ndarray]:
    """Return problems, methods, and seconds of each; inf where it was not reached."""
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    seconds = np.full((len(problems), len(methods)), np.inf)
    for row in rows:
        value = row[f"seconds_to_{tolerance:.0e}"]
        if value:
            # A clock's resolution, so that nothing takes no time.
            seconds[problems.index(row["problem"]), methods.index(row["method"])] = max(
                float(value), 1e-6
            )
    return problems, methods, seconds


def is_auto(method: str) -> bool:
    return method == "auto" or method in ASKED


def held_out(rows: list[dict[str, str]], problems: list[str]) -> np.ndarray:
    held = {row["problem"] for row in rows if row["held_out"] == "True"}
    return np.isin(problems, list(held))


def near_best(rows: list[dict[str, str]], tolerance: float) -> dict[str, np.ndarray | list]:
    """Return how `auto` compares with the best other method of this library, problem by problem."""
    problems, methods, seconds = table(rows, tolerance)
    own = [i for i, m in enumerate(methods) if not is_auto(m) and m not in peers.WAYS]
    auto = seconds[:, methods.index("auto")]
    asking = [m for m, aim in ASKED.items() if aim == tolerance and m in methods]
    asked = seconds[:, methods.index(asking[0])] if asking else auto
    single = seconds[:, own].min(1)
    fastest = [methods[own[i]] for i in seconds[:, own].argmin(1)]
    return {
        "problems": problems, "auto": auto, "single": single, "fastest": fastest,
        "any": np.isfinite(single), "held": held_out(rows, problems),
        "near": auto <= NEAR * single, "solved": np.isfinite(auto), "asked": asked <= NEAR * single,
    }  # fmt: skip


def report(rows: list[dict[str, str]]) -> None:
    """Print who solved what, and how `auto` compares with the best single method."""
    for tolerance in TOLERANCES:
        problems, methods, seconds = table(rows, tolerance)
        solved = np.isfinite(seconds)
        print(f"\nto {tolerance:.0e}: {solved.any(1).sum()} of {len(problems)} problems solved")
        for i in np.argsort(-solved.sum(0), kind="stable")[:12]:
            print(f"  {methods[i]:32} {solved[:, i].sum():3}")
        if "auto" not in methods or all(map(is_auto, methods)):
            continue
        found = near_best(rows, tolerance)
        for which, among in (("all", True), ("tuned", ~found["held"]), ("held out", found["held"])):
            chosen = found["any"] & among
            if not chosen.any():
                continue
            near, done = found["near"][chosen], found["solved"][chosen]
            print(
                f"  auto, {which}: {near.sum()} of {len(near)} within {NEAR} of the best single "
                f"method ({near.mean():.0%}), {done.sum()} solved"
            )
        for i in np.flatnonzero(found["any"] & ~found["near"]):
            print(
                f"    {problems[i][:34]:34} {found['auto'][i]:.3g} s, {found['fastest'][i]} "
                f"{found['single'][i]:.3g} s"
            )


# ---- tables for the documentation ----------------------------------------------------------------


def markdown(head: list[str], body: list[list[object]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def exact(value: float) -> str:
    """Two digits, and never a power of ten."""
    return f"{value:.2g}" if value < 99.5 else f"{value:,.0f}"


def duration(seconds: float) -> str:
    if not np.isfinite(seconds):
        return "–"
    return f"{exact(seconds)} s" if seconds >= 1 else f"{exact(1e3 * seconds)} ms"


def label(tolerance: float) -> str:
    return f"1e-{round(-np.log10(tolerance))}"


def auto_table(rows: list[dict[str, str]]) -> str:
    """Return how often `auto` is near the best single method, tuned and held out apart."""
    body = []
    for tolerance in TOLERANCES:
        found = near_best(rows, tolerance)
        long = found["single"] >= LONG
        line: list[object] = [label(tolerance)]
        for among in (True, ~found["held"], found["held"], long, long & found["held"]):
            chosen = found["any"] & among
            near = found["near"][chosen].sum()
            line.append(f"{near} of {chosen.sum()} ({near / max(chosen.sum(), 1):.0%})")
        asked = found["asked"][found["any"]]
        line.append(f"{asked.sum()} of {len(asked)} ({asked.sum() / max(len(asked), 1):.0%})")
        line.append(f"{(found['solved'] & found['any']).sum()} of {found['any'].sum()}")
        body.append(line)
    least = f"the best takes {1e3 * LONG:g} ms or more"
    head = ["scaled natural map", f"within {NEAR}", "tuned", "held out", least]
    return markdown([*head, "of these held out", "asked for no more", "solved"], body)


def methods_table(rows: list[dict[str, str]]) -> str:
    """Return what each method and peer solved, and where it was within `NEAR` of the fastest."""
    lines: dict[str, list[object]] = {}
    for tolerance in TOLERANCES:
        _, methods, seconds = table(rows, tolerance)
        best = seconds[:, [m not in ASKED for m in methods]].min(1)
        for i, name in enumerate(methods):
            if name in ASKED:
                continue
            done = np.isfinite(seconds[:, i])
            near = done & (seconds[:, i] <= NEAR * best)
            lines.setdefault(name, []).append((int(done.sum()), int(near.sum())))
    order = sorted(lines, key=lambda name: [-lines[name][i][0] for i in (1, 2, 0)])
    body = []
    for name in order:
        shown = name if name in peers.WAYS else f"`{name}`"
        solved = " / ".join(str(done) for done, _ in lines[name])
        fastest = " / ".join(str(near) for _, near in lines[name])
        body.append([shown, solved, fastest])
    head = [f"of {len(table(rows, TOLERANCES[0])[0])} problems, to 1e-3 / 1e-6 / 1e-8", "solved"]
    return markdown([*head, f"within {NEAR} of the fastest of all"], body)


def against_auto(its: np.ndarray, auto: np.ndarray, on: np.ndarray) -> str:
    """Return how many a peer solved of those that it was run on, and its times over `auto`'s."""
    both = np.isfinite(its) & np.isfinite(auto)
    told = f"{np.isfinite(its).sum()} of {on.sum()}, `auto` {np.isfinite(auto[on]).sum()}"
    if both.any():
        low, middle, high = map(exact, np.percentile(its[both] / auto[both], (25, 50, 75)))
        told += f"; {middle} × ({low} to {high})"
    return told


def peers_table(rows: list[dict[str, str]]) -> str:
    """Return how long each peer, and the fastest of them, takes against `auto`."""
    taken = {
        (row["problem"], row["method"]) for row in rows if row["status"] not in ("refused", "")
    }
    lines: dict[str, list[str]] = {}
    for tolerance in TOLERANCES:
        problems, methods, seconds = table(rows, tolerance)
        auto = seconds[:, methods.index("auto")]
        there = [name for name in peers.WAYS if name in methods]
        on = {m: np.array([(problem, m) in taken for problem in problems]) for m in there}
        for name in there:
            told = against_auto(seconds[:, methods.index(name)], auto, on[name])
            lines.setdefault(name, []).append(told)
        if there:
            fastest = seconds[:, [methods.index(name) for name in there]].min(1)
            told = against_auto(fastest, auto, np.any(list(on.values()), axis=0))
            lines.setdefault("the fastest of them", []).append(told)
    body = [[name, *line] for name, line in lines.items()]
    return markdown(["peer", *map(label, TOLERANCES)], body)


def missed_by(found: dict[str, np.ndarray | list], i: int) -> str:
    """Return by how much `auto` missed the best single method of a problem, and which that is."""
    best = f"`{found['fastest'][i]}` {duration(found['single'][i])}"
    ratio = f"{exact(found['auto'][i] / found['single'][i])} ×"
    return f"{ratio if found['solved'][i] else 'not solved'}, {best}"


def misses_table(rows: list[dict[str, str]]) -> str:
    """Return where `auto` is not near the best single method, if that takes `LONG`, or fails."""
    lines: dict[str, dict[float, str]] = {}
    for tolerance in TOLERANCES:
        found = near_best(rows, tolerance)
        missed = found["any"] & ~found["near"] & ((found["single"] >= LONG) | ~found["solved"])
        for i in np.flatnonzero(missed):
            name = found["problems"][i] + (" (held out)" if found["held"][i] else "")
            lines.setdefault(name, {})[tolerance] = missed_by(found, i)
    order = [row["problem"] for row in rows]
    names = sorted(lines, key=lambda name: order.index(name.removesuffix(" (held out)")))
    body = [[name, *(lines[name].get(tolerance, "") for tolerance in TOLERANCES)] for name in names]
    return markdown(["problem", *map(label, TOLERANCES)], body)


TABLES = {
    "`auto` against the best single method": auto_table,
    "Methods and peers": methods_table,
    "Peers against `auto`": peers_table,
    "Where `auto` is not near the best": misses_table,
}


def tables(rows: list[dict[str, str]]) -> str:
    """Return all tables in Markdown."""
    return "\n\n".join(f"{title}\n\n{make(rows)}" for title, make in TABLES.items())


# ---- picture -------------------------------------------------------------------------------------


def profiles_of(rows: list[dict[str, str]], ratios: np.ndarray) -> list[dict[str, np.ndarray]]:
    """Return for each tolerance the share of problems within each ratio, method by method."""
    found = []
    for tolerance in TOLERANCES:
        _, methods, seconds = table([row for row in rows if row["method"] not in ASKED], tolerance)
        seconds = seconds[np.isfinite(seconds).any(1)]
        over = seconds / seconds.min(1, keepdims=True)
        found.append({
            m: (over[:, [i]] <= ratios).mean(0) for i, m in enumerate(methods)
        })  # fmt: skip
    return found


def picture(rows: list[dict[str, str]], path: Path, shown: int = 9) -> None:
    """Draw the profiles: `auto`, the best others, and, dashed with marks, all peers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    ratios = np.geomspace(1, 1000, 400)
    figure, axes = pyplot.subplots(1, 3, figsize=(16, 6), sharey=True)
    profiles = profiles_of(rows, ratios)
    area = {m: sum(p[m].mean() for p in profiles) for m in profiles[0]}
    ranked = sorted(area, key=area.get, reverse=True)
    own = [m for m in ranked if m not in peers.WAYS and not is_auto(m)][:shown]
    others = [m for m in ranked if m in peers.WAYS]
    looks = {"auto": {"color": "black", "lw": 3.4}} if "auto" in area else {}
    looks |= {m: {"color": pyplot.cm.tab10(i), "lw": 1.7} for i, m in enumerate(own)}
    for i, name in enumerate(others):
        marks = {"marker": "osDv^P*X"[i % 8], "markevery": (17 * i, 90), "ms": 6}
        looks[name] = {"color": pyplot.cm.Dark2(i % 8), "lw": 1.4, "ls": "--", **marks}
    for ax, profile, tolerance in zip(axes, profiles, TOLERANCES, strict=True):
        for name, look in looks.items():
            ax.plot(ratios, profile[name], label=name, **look)
        ax.axvline(NEAR, color="0.8", lw=1, zorder=0)
        ax.set(xscale="log", xlim=(1, 1000), ylim=(0, 1.02), xlabel="time over the fastest's")
        ax.set_title(f"scaled natural map ≤ {tolerance:.0e}")
        ax.set_xticks([1, 10, 100], ["1", "10", "100"])
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("share of the problems that any solved")
    lines, labels = axes[0].get_legend_handles_labels()
    place = {"loc": "upper left", "frameon": False, "fontsize": 10}
    for title, names, height in (
        ("this library", [m for m in looks if m not in peers.WAYS], 0.94),
        ("peers", others, 0.42),
    ):
        if names:
            shown_lines = [lines[labels.index(m)] for m in names]
            box = (0.83, height)
            legend = figure.legend(shown_lines, names, title=title, bbox_to_anchor=box, **place)
            legend.set_alignment("left")
    figure.subplots_adjust(left=0.05, right=0.825, bottom=0.1, top=0.93, wspace=0.06)
    figure.savefig(path, dpi=110)
    print(path)
