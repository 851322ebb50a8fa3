"""S3's Tables 2.2, 2.3 and 2.4 and Figures 2.3 and 2.7, from the frames that `frames.py` measured.

python benchmarks/s3/frames.py && python benchmarks/s3/scenes.py
"""

import numpy as np
import published
from output import panels, publish, styles
from protocol import ENGINES, arguments, mass_ratio, pages

import contactsolve as cs

SHOWN = ("refactor", "downdate", "skyline", "auto")


def frames(run):
    """Columns of the frames of each scene that was measured; an empty field is NaN."""
    found = {}
    for name in run.scenes:
        path = run.results / "frames" / f"{name}.csv"
        if path.exists():
            found[name] = columns_of(path)
    if not found:
        raise SystemExit("no frames yet: python benchmarks/s3/frames.py")
    return found


def columns_of(path):
    """The columns of a CSV of frames; an empty field is NaN."""
    rows = pages.read(path)
    keys = list(rows[0])[: list(rows[0]).index("contactsolve")]
    return {k: np.array([float(row[k] or "nan") for row in rows]) for k in keys}


# ---- tables -------------------------------------------------------------------------------------


def data_row(name, own):
    """A scene beside S3's; the condition number is the largest of a few steps."""
    ratio, rows, condition = published.DATA.get(name, (None, None, None))
    if rows is None:
        rows = published.CACHE[name][0]
    some = [cs.scenarios.get(name)(int(step)) for step in own["step"][:: -(-len(own["step"]) // 4)]]
    values = [np.linalg.eigvalsh(problem.delassus().toarray()) for problem in some]
    return {
        "scene": name,
        "bodies": some[0].bodies_count,
        "rows_mean": float(own["rows"].mean()),
        "rows_max": int(own["rows"].max()),
        "s3_rows": rows,
        "ratio": mass_ratio(some[0]),
        "s3_ratio": ratio,
        "condition": float(max(value[-1] / value[0] for value in values)),
        "s3_condition": condition,
        "islands": int(own["islands"].max()),
        "solved": f"{int(own['converged'].sum())} of {len(own['step'])}",
        "averaged": int(np.sum(own["averaging"] < 1.0)),
        "solves": float(np.median(own["solves"])),
        "residual": float(own["residual"].max()),
    }


def tight_row(name, own):
    tight = own["tight"]
    spread = {key: float(getattr(np, key)(tight)) for key in ("min", "median", "mean", "max")}
    below = float(np.mean(tight < published.CROSSING))
    return {"scene": name, **{f"tight_{key}": v for key, v in spread.items()}, "below": below}


def time_row(name, own):
    """Means over the frames with tight rows, as S3 takes them."""
    some = own["tight"] > 0.0
    seconds = {engine: 1e-3 * float(own[f"ms_{engine}"][some].mean()) for engine in ENGINES}
    full, *_ = published.TIMES.get(name, (None,))
    downdate, skyline = published.SPEEDUPS.get(name, (None, None))
    return {
        "scene": name,
        "frames": int(some.sum()),
        **{f"s_{engine}": value for engine, value in seconds.items()},
        **{
            f"speedup_{engine}": seconds["refactor"] / seconds[engine]
            for engine in ("downdate", "skyline", "auto")
        },
        "s3_full": 1e-3 * full if full else None,
        "s3_speedup_downdate": downdate,
        "s3_speedup_skyline": skyline,
    }


def error_rows(name, own):
    for engine in ("downdate", "skyline"):
        error = own[f"error_{engine}"][own["tight"] > 0.0]
        known = error[~np.isnan(error)]
        names = ("min", "max", "mean", "median")
        ours = {key: float(getattr(np, key)(known)) for key in names}
        s3 = dict(zip(names, published.ERRORS.get((name, engine), (None,) * 4), strict=True))
        yield {
            "scene": name,
            "engine": engine,
            **ours,
            "other": int(np.isnan(error).sum()),
            **{f"s3_{key}": value for key, value in s3.items()},
            **{
                f"over_{key}": ours[key] / s3[key] if s3[key] else None
                for key in ("max", "mean", "median")
            },
        }


def frame_rows(name, own):
    for engine in ENGINES:
        seconds, pivots = 1e-3 * own[f"ms_{engine}"], own[f"pivots_{engine}"]
        yield {
            "scene": name,
            "engine": engine,
            "median_s": float(np.median(seconds)),
            "high_s": float(np.percentile(seconds, 95)),
            "max_s": float(seconds.max()),
            "pivots": float(np.median(pivots)),
            "pivots_max": int(pivots.max()),
            "pivot_s": float(seconds.sum() / (pivots + 1).sum()),  # the last one changes nothing
        }


# ---- pictures -----------------------------------------------------------------------------------


def draw_data(rows):
    """Ours as bars, S3's as marks."""
    keys = {"rows": "rows_max", "mass ratio": "ratio", "condition number": "condition"}
    figure, axes = panels(list(keys), width=4.2, height=3.6)
    names = [row["scene"] for row in rows]
    for ax, key in zip(axes, keys.values(), strict=True):
        ax.barh(names, [row[key] for row in rows], color="#9db8d9", label="ours")
        s3 = {"rows_max": "s3_rows"}.get(key, f"s3_{key}")
        known = [row for row in rows if row[s3]]
        marks = [row[s3] for row in known], [row["scene"] for row in known]
        ax.plot(*marks, "d", color="#c8501e", label="S3")
        if key != "rows_max":
            ax.set_xscale("log")
        ax.invert_yaxis()
    for ax in axes[1:]:
        ax.tick_params(labelleft=False)
    axes[0].legend(loc="upper right")
    return figure


def draw_tight(found):
    """The share over the steps; S3's 15 % as a line."""
    figure, axes = panels(list(found), width=4.2, height=2.6, sharey=True)
    most = max(40.0, *(105.0 * own["tight"].max() for own in found.values()))
    for ax, own in zip(axes, found.values(), strict=True):
        ax.plot(own["step"] / 60.0, 100.0 * own["tight"], color="#1f5aa6", linewidth=1)
        ax.axhline(100.0 * published.CROSSING, color="#c8501e", linewidth=0.8, linestyle="--")
        ax.set_ylim(0.0, most)
        ax.set_xlabel("time [s]")
    for ax in axes[::3]:
        ax.set_ylabel("tight rows [%]")
    return figure


def draw_times(rows):
    """Mean times of the engines, S3's three as marks."""
    figure, axes = panels([row["scene"] for row in rows], width=4.2, height=2.7)
    look = styles(ENGINES)
    for ax, row in zip(axes, rows, strict=True):
        times = [1e3 * row[f"s_{engine}"] for engine in ENGINES]
        ax.barh(ENGINES, times, color=[look[engine].color for engine in ENGINES])
        for i, time in enumerate(times):
            ax.text(time, i, f" {time:.2g}", va="center", fontsize=8)
        s3 = published.TIMES.get(row["scene"])
        if s3:
            ax.plot(s3, range(3), "d", color="k", markersize=5, label="S3, its machine")
        if s3 and ax is axes[0]:
            ax.legend(fontsize=8, loc="lower right")
        ax.set_xscale("log")
        ax.set_xlim(0.1, 100.0)
        ax.minorticks_off()
        ax.invert_yaxis()
        ax.set_xlabel("ms a frame")
    return figure


def draw_errors(rows):
    """From the least to the greatest error, mean and median marked; S3's beside it."""
    names = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = panels(["downdate", "skyline"], width=6.0, height=3.8)
    for ax, engine in zip(axes, ("downdate", "skyline"), strict=True):
        for row in (row for row in rows if row["engine"] == engine):
            i = names.index(row["scene"])
            for prefix, shift, color in (("", -0.15, "#1f5aa6"), ("s3_", 0.15, "#c8501e")):
                if row[f"{prefix}max"] is None:
                    continue
                low, high = (max(row[f"{prefix}{key}"], 1e-17) for key in ("min", "max"))
                ax.plot([low, high], [i + shift] * 2, color=color, linewidth=2)
                marks = row[f"{prefix}median"], row[f"{prefix}mean"]
                ax.plot(marks, [i + shift] * 2, "|", color="k", markersize=9)
        ax.set_xscale("log")
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlabel("error; blue: ours, red: S3; marks: median and mean")
    return figure


def draw_frames(found):
    figure, axes = panels(list(found), width=4.4, height=3.0)
    look = styles(SHOWN)
    for ax, own in zip(axes, found.values(), strict=True):
        for engine in SHOWN:
            ax.plot(
                own["step"] / 60.0, own[f"ms_{engine}"], color=look[engine].color, linewidth=0.9,
                label=engine,
            )  # fmt: skip
        ax.set_yscale("log")
        ax.set_xlabel("time [s]")
    axes[0].legend(fontsize=8)
    for ax in axes[::3]:
        ax.set_ylabel("ms a frame")
    return figure


def main(run):
    found = frames(run)
    publish(run, "table_2_2", [data_row(*one) for one in found.items()], draw_data)
    rows = [tight_row(*one) for one in found.items()]
    publish(run, "figure_2_3", rows, lambda _: draw_tight(found))
    publish(run, "table_2_3", [time_row(*one) for one in found.items()], draw_times)
    rows = [row for one in found.items() for row in error_rows(*one)]
    publish(run, "table_2_4", rows, draw_errors)
    rows = [row for one in found.items() for row in frame_rows(*one)]
    publish(run, "figure_2_7", rows, lambda _: draw_frames(found))


if __name__ == "__main__":
    main(arguments(__doc__))
