"""The sentences of docs/s5.md: what S5 says, what we find; figures are those of the tables."""

import published
from protocol import DOUBLE, MIXED, PARTS, SINGLE, pages


def number(row, key):
    """A figure of a row, which may come from a CSV; None where there is none."""
    value = row.get(key)
    return None if value in (None, "") else float(value)


def remarks(name, rows):
    """Sentences below a table; `rows` may come from a CSV, and may be none."""
    return pages.sentences(_WRITERS[name](rows), {}) if rows else []


def time(seconds):
    return pages.cell("time", seconds)


def times(ratio):
    return f"{ratio:.2f} times"


def counted(row, key="iterations"):
    return f"{int(row[key]):,}"


def case(rows, dtype, parts=None, threads=None):
    """The row of a precision, with as many parts and threads; without: the last one."""
    wanted = {"dtype": dtype, "parts": parts, "threads": threads}
    found = [
        row
        for row in rows
        if all(value is None or str(row[key]) == str(value) for key, value in wanted.items())
    ]
    return found[-1] if found else None


def holds(is_so):
    return "Holds." if is_so else "Does not hold here."


# ---- figure 3 ------------------------------------------------------------------------------------


def numerics(rows):
    first = {dtype: case(rows, dtype, 1, 1) for dtype in (SINGLE, DOUBLE)}
    last = {dtype: case(rows, dtype) for dtype in (SINGLE, DOUBLE)}
    threads = int(last[SINGLE]["threads"])
    ratios = {d: number(row, "pc_over_spmv") for d, row in first.items()}
    apart = {k: number(first[DOUBLE], k) / number(first[SINGLE], k) for k in ("pc_s", "spmv_s")}
    closer = {k: number(last[DOUBLE], k) / number(last[SINGLE], k) for k in ("pc_s", "spmv_s")}
    gains = {(d, k): number(row, f"{k}_speedup") for d, row in last.items() for k in ("pc", "spmv")}
    alone = case(rows, SINGLE, PARTS, 1)
    return f"""
        One part has the sequential SSOR and the product by Algorithm 1 alone; {PARTS} parts have
        S5's block SSOR and its two steps of a product. Speed-ups are over one part on one thread.
        A call from Python also renumbers the vector, there and back. *Runs apart*: the slowest less
        the fastest of the three runs, over their mean.

        *The preconditioner takes more time than the product, on all systems.*
        {holds(min(ratios.values()) > 1)} On one thread {times(ratios[SINGLE])} in single and
        {times(ratios[DOUBLE])} in double precision.

        *"The performance difference between single and double precision is not very pronounced"
        in the sequential runs, and neither is always faster.* Here double precision takes
        {times(apart["pc_s"])} (pc) and {times(apart["spmv_s"])} (spmv) as long as single precision:
        the kernels are vectorized, and half the bytes and twice the numbers in a vector both count.

        *In parallel, single precision is faster on all systems.*
        {holds(min(closer.values()) > 1)} Double precision takes {times(closer["pc_s"])} (pc) and
        {times(closer["spmv_s"])} (spmv) as long, on {threads} threads.

        {speedup_text(gains, threads)}

        *Parts without threads.* In single precision on one thread, {PARTS} parts are
        {times(number(alone, "pc_speedup"))} (pc) and {times(number(alone, "spmv_speedup"))} (spmv)
        as fast as one part.

        When the run began, the load average of the machine was {number(alone, "load"):.1f}. With
        other work on the cores, times of several threads say little.
    """


def speedup_text(gains, threads):
    """S5's speed-ups beside ours: per core if there are fewer than four."""
    (low, high), (least, most) = published.SPEEDUPS["pc"], published.SPEEDUPS["spmv"]
    text = f"""*Single precision gains 2.0 to 3.7 times (pc) and 3.4 to 3.7 times (spmv) on four
        cores; double precision less.* Here, on {threads} threads: pc
        {times(gains[SINGLE, "pc"])}, spmv {times(gains[SINGLE, "spmv"])} in single, and
        {times(gains[DOUBLE, "pc"])}, {times(gains[DOUBLE, "spmv"])} in double precision."""
    if threads == published.THREADS:
        return text
    share = {k: 100 * gains[SINGLE, k] / threads for k in ("pc", "spmv")}
    return f"""{text} This machine has not S5's {published.THREADS} cores, so that the ranges
        cannot be compared; for each thread the efficiency is {share["pc"]:.0f} % (pc) and
        {share["spmv"]:.0f} % (spmv), where S5 has {100 * low / 4:.0f} to {100 * high / 4:.0f} % and
        {100 * least / 4:.0f} to {100 * most / 4:.0f} %."""


def solves(rows):
    single, double, mixed = (case(rows, dtype, 1, 1) for dtype in (SINGLE, DOUBLE, MIXED))
    cut = {dtype: case(rows, dtype, PARTS) for dtype in (SINGLE, DOUBLE, MIXED)}
    both = number(single, "pc_share") + number(single, "spmv_share")
    kept = number(cut[MIXED], "cg_s") / number(cut[MIXED], "separate_s")
    more = int(cut[DOUBLE]["iterations"]) / int(double["iterations"]) - 1
    return f"""
        S5's order applies A and M one after another, and believes the residual of the recurrence;
        the loop around them is NumPy's. `cs.sparse.cg` merges both by Eisenstat's product, which
        reads the matrix about once an iteration, and stops by the true residual. The column
        *(pc + spmv) × iterations* is what separate applications would take. Mixed: vectors in
        double, the preconditioner in single precision; in S5's order the product is in double, in
        `cg` Eisenstat's product reads single precision.

        *"Roughly 1300 preconditioner applications and spmv-operations" in 1/30 s.* Here
        {counted(double, "plain_iterations")} iterations of one step in one part, and
        {counted(cut[DOUBLE], "plain_iterations")} in {PARTS} parts, to 1e-6 in double precision.
        S5 gives neither its step length nor material and mesh: the number is of the same order by
        our choice of them, and no confirmation.

        *Dropping the couplings between parts costs iterations, and "the incurred overhead remains
        small compared to the speedup".* {100 * more:.0f} % more iterations with {PARTS} parts; the
        solve as a whole is {times(number(cut[DOUBLE], "cg_speedup"))} (double) and
        {times(number(cut[MIXED], "cg_speedup"))} (mixed) as fast on {cut[DOUBLE]["threads"]}
        threads as on one.

        *The product and the preconditioner are the most important operations.* In S5's order they
        take {100 * both:.0f} % of the solve on one thread in single precision.

        *Eisenstat's product.* In {PARTS} parts a mixed solve takes
        {time(number(cut[MIXED], "cg_s"))}, which is {100 * kept:.0f} % of its iterations times the
        separate applications.

        *"We did not encounter any accuracy degradations or convergence problems" in single
        precision.* In S5's order, single precision ends when its recurrence claims 1e-6 of the
        start; the true residual is then {number(single, "plain_residual"):.1e} of it, against
        {number(double, "plain_residual"):.1e} in double precision. `cg` in single precision ends
        as "{single["status"]}" at {number(single, "residual"):.1e} after {counted(single)}
        iterations, the mixed one at {number(mixed, "residual"):.1e} after {counted(mixed)}.
    """


# ---- figure 4 ------------------------------------------------------------------------------------


def threads(rows):
    known = [row for row in rows if number(row, "pc_s") is not None]
    most = max(int(row["threads"]) for row in known)
    left = sorted({int(row["threads"]) for row in rows} - {int(row["threads"]) for row in known})
    missing = ""
    if left:
        numbers = f"{left[0]} to {left[-1]}" if len(left) > 1 else str(left[0])
        missing = f""" It is not measured here: {numbers} threads would share
            {most} core{"s" if most > 1 else ""}, and their times would say nothing about speed."""
    single = case(known, SINGLE, threads=most)
    gains = ", ".join(
        f"{label} {times(number(single, f'{key}_speedup'))}"
        for key, label in (("pc", "pc"), ("spmv", "spmv"), ("cg", "the solve"))
    )
    return f"""
        *"No advantages result from using a higher number of threads than cores available."* S5's
        figure 4 has four parts; this table has 8, the default of the library.{missing}

        On {most} thread{"s" if most > 1 else ""} in single precision: {gains} over one thread. The
        iterations are the same on any number of threads, bit by bit.
    """


def parts(rows):
    own = [row for row in rows if (row["diagonals"], row["partition"]) == ("alternating", "slices")]
    by_parts = {int(row["parts"]): row for row in own}
    fewest, most = by_parts[min(by_parts)], by_parts[max(by_parts)]
    four = by_parts.get(PARTS, fewest)
    rest = [row for count, row in by_parts.items() if count > PARTS]
    fastest = ""
    if rest:
        best = min(rest, key=lambda row: number(row, "cg_s"))
        gain = number(four, "cg_s") / number(best, "cg_s")
        fastest = f""" The fastest solve with more than four parts is the one with {best["parts"]}:
            {times(gain)} as fast as with {four["parts"]}."""
    meshes = {row["diagonals"]: row for row in rows if row["parts"] == fewest["parts"]}
    return f"""
        Matrix and preconditioner are in single precision, the vectors of `cg` in double. S5 gives
        no numbers of iterations and no shares of the boundary.

        *"The performance differences were … rather small and no improvements could be obtained by
        using partition counts higher than four."* From {fewest["parts"]} to {most["parts"]} parts
        the iterations go from {counted(fewest)} to {counted(most)}, and the boundary from
        {100 * number(fewest, "boundary_share"):.1f} to
        {100 * number(most, "boundary_share"):.1f} % of the vertices.{fastest}

        *The mesh matters, too.* With all diagonals one way,
        {counted(meshes["one"])} iterations suffice in {fewest["parts"]} part, and with alternating
        ones {counted(meshes["alternating"])}. S5's mesh is not known.
    """


# ---- peers ---------------------------------------------------------------------------------------


def bandwidth(rows):
    all_cores = {dtype: case(rows, dtype) for dtype in (SINGLE, DOUBLE)}
    alone = {dtype: case(rows, dtype, threads=1) for dtype in (SINGLE, DOUBLE)}
    over = {d: number(row, "scipy_s") / number(row, "spmv_s") for d, row in alone.items()}
    peak = {d: 100 * number(row, "peak_share") for d, row in alone.items()}
    return f"""
        Bytes are values and indices that a product, or an application of the preconditioner, reads;
        the loops move as many bytes in the same run. *Reading* sums an array; *a = b + c* is
        STREAM's triad without its factor, counted as there. Arrays that fit the
        last-level cache are read from it.

        On {all_cores[SINGLE]["threads"]} threads a product reaches
        {100 * number(all_cores[SINGLE], "add_share"):.0f} % of a = b + c in single and
        {100 * number(all_cores[DOUBLE], "add_share"):.0f} % in double precision; of reading,
        {100 * number(all_cores[SINGLE], "read_share"):.0f} % and
        {100 * number(all_cores[DOUBLE], "read_share"):.0f} %.

        *"This fraction [of the peak] is often less than 10 %" (S5, of Vuduc).* Two operations for
        each number of the whole matrix: {peak[SINGLE]:.0f} % of the peak of one core in single and
        {peak[DOUBLE]:.0f} % in double precision.

        SciPy multiplies the same blocks, both triangles of them, on one thread: it takes
        {times(over[SINGLE])} (single) and {times(over[DOUBLE])} (double) as long as our product on
        one thread.
    """


def peers(rows):
    ours = min(
        (
            row
            for row in rows
            if not row["name"].startswith(("pyamg", "PETSc")) and row["status"] == "converged"
        ),
        key=lambda row: number(row, "both_s"),
    )
    theirs = next((row for row in rows if row["name"].startswith("pyamg")), None)
    told = "pyamg was not installed: it is not measured."
    if theirs is not None:
        told = f"""pyamg's smoothed aggregation with the six rigid modes and symmetric block
            Gauss–Seidel (operator complexity {number(theirs, "complexity"):.2f}) needs
            {counted(theirs)} iterations; with its set-up it takes
            {time(number(theirs, "both_s"))}, on one thread and in double precision. The fastest of
            ours, {ours["name"]}, takes {time(number(ours, "both_s"))}."""
    by_name = {row["name"]: row for row in rows}
    gamg = by_name.get("PETSc, gamg")
    beside = "PETSc was not installed: it is not measured."
    if gamg is not None:
        cores = int(gamg["threads"])
        sor, diagonal = (by_name[f"PETSc, {name}"] for name in ("sor", "block Jacobi"))
        ranks = f"{cores} rank{'s' if cores > 1 else ''}"
        beside = f"""PETSc runs on {ranks} in double precision, and stops by the true residual, too.
            GAMG with the rigid modes needs {counted(gamg)} iterations
            and {time(number(gamg, "both_s"))} with its set-up, SSOR within the ranks
            {counted(sor)} and {time(number(sor, "both_s"))}, block Jacobi {counted(diagonal)} and
            {time(number(diagonal, "both_s"))}. A product of its blocks takes
            {time(number(gamg, "product_s"))}; ours are in the tables above."""
    jacobi, ssor, none = (by_name[name] for name in ("jacobi", "block_ssor", "none"))
    noise = {row["name"]: counted(row, "iterations_random") for row in (jacobi, ssor, none)}
    fewer = int(ssor["iterations"]) < int(jacobi["iterations"])
    return f"""
        Ours have 8 parts, vectors in double and preconditioners in single precision. Set-up is
        that of the preconditioner, from the assembled matrix.

        *Jacobi's "reduction of necessary iterations is rather limited"; SSOR is a good choice.*
        {holds(fewer)} Without a preconditioner {counted(none)} iterations, with Jacobi's
        {counted(jacobi)}, with block SSOR {counted(ssor)}. The right-hand side of this benchmark
        is a special one: the even tension of the sheet leaves forces on its edges alone, all of
        them in its plane. With a random right-hand side there are {noise["none"]},
        {noise["jacobi"]} and {noise["block_ssor"]} iterations.

        {told}

        {beside}
    """


# ---- collisions ----------------------------------------------------------------------------------


def estimate(rows):
    by_scene = {(row["scene"], row["query"]): row for row in rows}
    late = {key: [number(row, f"below_{level:g}_s") for level in published.ESTIMATE_ERRORS]
            for key, row in by_scene.items()}  # fmt: skip

    def told(scene, query):
        if number(by_scene[scene, query], "mean_percent") is None:
            return f"{query} not known"
        below = [f"{t:.2f} s" if t is not None else "not at all" for t in late[scene, query]]
        return f"{query} {below[0]} and {below[1]}"

    scenes = dict.fromkeys(scene for scene, _ in by_scene)
    times_of = "; ".join(
        f"scene {scene}: {told(scene, 'external')}, {told(scene, 'self')}" for scene in scenes
    )
    return f"""
        The error of a query: over all pairs of nodes of the collision test tree with 64 tests below
        or more, the sum of the deviations of estimated from actual tests, over the sum of actual
        tests. S5 does not say how its deviations are summed; this sum does not let those of one
        sign cancel those of the other.

        *"The prediction error quickly drops to less than 5 % and after a short while stabilises
        below 1 %" (scene 2); faster in scenes 1a and 1b.* The error stays below 5 % and 1 % from
        these times on: {times_of}.
    """


def prescribed_estimate(rows):
    return f"""{estimate(rows)}
        Our motions are prescribed: cloth that slides at 6 m/s meets other faces of the planes in
        each step.
    """


def splitting(rows):
    threads = int(rows[0]["threads"])
    by_rule = {(row["scene"], row["rule"]): row for row in rows}
    scenes = list(dict.fromkeys(row["scene"] for row in rows))

    def compared(key):
        return "; ".join(
            f"scene {scene}: "
            + ", ".join(
                f"{rule} {number(by_rule[scene, rule], key):.2f}"
                for rule in ("leftmost", "random", "estimate", "truth")
            )
            for scene in scenes
        )

    close = max(
        abs(number(by_rule[s, "estimate"], "model_4") / number(by_rule[s, "truth"], "model_4") - 1)
        for s in scenes
    )
    measured = "On one core nothing is measured."
    if threads > 1:
        gains = [
            number(by_rule[scene, "estimate"], "speedup")
            > max(number(by_rule[scene, rule], "speedup") for rule in ("leftmost", "random"))
            for scene in scenes
        ]
        fewer = "; ".join(
            f"scene {scene} {number(by_rule[scene, 'estimate'], 'tasks'):,.0f} and "
            f"{number(by_rule[scene, 'random'], 'tasks'):,.0f}"
            for scene in scenes
        )
        measured = f"""{holds(all(gains))} On {threads} threads here: {compared("speedup")}. The
            estimate and the random rule make tasks: {fewer}. A task of this pool costs little
            (below)."""
    return f"""
        Queries of faces, cloth with obstacle and cloth with itself, over all steps; refits and the
        first pass of the truth are left out. All queries count their tests, also those by rules
        that have no use for it. Speed-ups are over one thread without tasks.

        *The estimate gains over the simple and the random rule, most in scene 1b.* {measured}

        The columns of the model are list schedules of tasks that were measured on one thread, in
        every tenth step: a free core takes the next task, all of them may begin at once, and costs
        of the pool and of shared memory are left out. They are no measurement, and optimistic: for
        four cores {compared("model_4")}.

        *"The prediction is almost as good a decision factor as the true number."* In the model the
        estimate differs from the truth by at most {100 * close:.1f} %.
    """


def pool(rows):
    known = {(row["pattern"], int(row["threads"])): row for row in rows if number(row, "ratio")}
    pair = known.get(("latency", 2))
    told = "The latency between two threads was not measured: there is one core."
    if pair is not None:
        told = f"""The latency between two threads is {time(number(pair, "lock_free_s"))} without
            locks and {time(number(pair, "mutex_s"))} with mutexes, {number(pair, "ratio"):.2f} of
            it."""
    return f"""
        Latency: one thread forks an empty task and joins it, another runs it, 1,000,000 times.
        Throughput: 1,000,000 are forked at once, run by the others, and joined. Seconds of a task,
        means of three runs. S5 prints no numbers.

        *"The execution overhead … is significantly lower when our new lock-free implementation is
        used", most of all the latency.* {told} On one thread the caller runs its tasks itself.
    """


# ---- whole scenes --------------------------------------------------------------------------------


def whole_scenes(rows):
    threads = int(rows[0]["threads"])
    by_phase = {(row["scene"], row["phase"]): row for row in rows}
    names = dict.fromkeys(row["scene"] for row in rows)

    def told(phase, key="speedup", form=".2f"):
        return ", ".join(
            f"scene {scene} {pages.cell(form, by_phase[scene, phase][key])}" for scene in names
        )

    missed = sum(int(by_phase[scene, "integral"]["missed"]) for scene in names)
    compared = "On one core nothing is compared."
    if threads > 1:
        shares = [
            number(by_phase[scene, "collision"], "speedup")
            / threads
            / (published.SCENES[scene]["collision"][0] / published.THREADS)
            for scene in names
        ]
        compared = f"""Here on {threads} threads, with {threads} cores: {told("collision")}. For
            each thread that is {100 * min(shares):.0f} to {100 * max(shares):.0f} % of S5's
            efficiency on four."""
    return f"""
        All steps of a scene, on one thread and on several in turns, from the same states bit by
        bit; medians of runs. Matrix and preconditioner are in single precision, as S5's, positions
        and collisions in double. *pc* and *spmv* are an application for each iteration, to systems
        that are taken out of the run ten times a second; `cg` merges both by Eisenstat's product
        and stops by the true residual. *Collision* is all of its handling: boxes, pairs, tests,
        response, certificate. Steps and material are ours. Solves that missed their tolerance:
        {missed}.

        *Collision handling reaches 3.6 (1a), 3.2 to 3.4 (1b) and 3.3 to 3.4 (2) on four cores.*
        {compared}

        *"For complex scenarios with complicated self-collisions, the collision handling can easily
        make up more than half of the overall computation time."* Its share on one thread:
        {told("collision", "share", ".0%")}.

        *"Up to a close-to-ideal speedup of 3.9 for the application of the preconditioner" in 1b,
        on one of the systems.* pc: {told("pc")}; spmv: {told("spmv")}; the whole step:
        {told("integral")}.
    """


def course(rows):
    by_curve = {(row["scene"], row["phase"]): row for row in rows}
    if any(number(row, "most_at_s") is None for row in rows):
        return "Speed-ups over time need more than one core, and contacts."

    def peak(scene, phase):
        return number(by_curve[scene, phase], "most_at_s")

    def often(scene, key):
        row = by_curve[scene, "pc"]
        first, later = (number(row, f"{when}_{key}") for when in ("first", "later"))
        return f"{first:.0f} and {later:.0f}" if later is not None else f"{first:.0f}"

    settles = peak("1b", "collision") < published.SETTLED and peak("1b", "pc") < published.SETTLED
    falls = abs(peak("2", "collision") - published.ON_THE_PLANES) <= 0.25
    lands = abs(peak("2", "pc") - published.ON_THE_FLOOR) <= 0.25
    works = by_curve["2", "pc"]
    return f"""
        Bins of 100 ms; times are their beginnings. A peak by less than the spread of runs is one of
        chance.

        *Scene 1b peaks before 0.3 s, as the cloth settles.* {holds(settles)} Collision peaks at
        {peak("1b", "collision"):.1f} s, pc at {peak("1b", "pc"):.1f} s. Before 0.3 s and after, a
        step has {often("1b", "iterations")} iterations and {often("1b", "contacts")} contacts.

        *Scene 2: the speed-up of collision handling rises steeply to its peak at about 1 s.*
        {holds(falls)} It peaks at {peak("2", "collision"):.1f} s. Contacts are most at
        {number(works, "most_contacts_at_s"):.1f} s.

        *Scene 2: numerics have a small peak at about 4 s, when the ribbon hits the floor.*
        {holds(lands)} pc peaks at {peak("2", "pc"):.1f} s, spmv at {peak("2", "spmv"):.1f} s;
        iterations are most at {number(works, "most_iterations_at_s"):.1f} s.
    """


_WRITERS = {
    "s5_numerics": numerics,
    "s5_solves": solves,
    "s5_threads": threads,
    "s5_parts": parts,
    "s5_bandwidth": bandwidth,
    "s5_peers": peers,
    "s5_estimate": prescribed_estimate,
    "s5_splitting": splitting,
    "s5_estimate_simulated": estimate,
    "s5_splitting_simulated": splitting,
    "s5_scenes": whole_scenes,
    "s5_course": course,
    "s5_pool": pool,
}
