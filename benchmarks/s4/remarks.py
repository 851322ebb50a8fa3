"""The sentences of docs/s4.md: what S4 says, what we find; figures are those of the tables."""

from protocol import COLORED, JACOBI, NATURAL, devices, pages


def number(row, key):
    """A figure of a row, which may come from a CSV; None where there is none."""
    value = row.get(key)
    return None if value in (None, "") else float(value)


def remarks(name, rows):
    """Sentences below a table; `rows` may come from a CSV, and may be none."""
    return pages.sentences(_WRITERS[name](rows), {}) if rows else []


def claims(rows):
    right = all(int(row["contacts"]) == int(row["formula"]) for row in rows)
    most = max(int(row["most_neighbours"]) for row in rows)
    growing = [row for row in rows if number(row, "plain_1000") > 2 * number(row, "plain_100")]
    least = min((int(row["layers"]) for row in growing), default=0)
    bursting = [row for row in growing if number(row, "plain_1000") > 1e9]
    burst = min((int(row["layers"]) for row in bursting), default=0)
    settled = [row for row in rows if row not in growing]
    small = max((int(row["layers"]) for row in settled), default=0)
    highest = max(
        number(row, f"averaged_{k}") / number(row, "averaged_1000")
        for row in rows
        for k in (10, 100, 1000)
    )
    two = next(row for row in rows if int(row["layers"]) == 2)
    a, b, c, still = (number(two, key) for key in (*"abc", "still"))
    return f"""
        *"For a height n, we have exactly 3n/2 (n − 1) contacts."*
        {"Holds" if right else "Does not hold"} for all pyramids here.

        *"For each contact, we have to take up to 10 other contacts into account."*
        {"Holds" if most == 10 else "Does not hold"}: the most neighbours of a contact are {most}.

        *If disc 0 is pushed, contacts a and b have an impulse, and c has none.* Two layers:
        |r| = {a:.3g}, {b:.3g} and {c:.3g} N s.
        {"Holds." if min(a, b) > 0 == c else "Does not hold."}

        *"If there are no external forces … there will be no impulses."* Without a push the sum is
        {still:.3g} N s. {"Holds." if still == 0 else "Does not hold."}

        *"Without [relaxation], the total sum of impulses would continue to grow forever."* Jacobi
        without averaging, each contact solved exactly: the sum grows from {least} layers on, by
        powers of ten from {burst} layers on until it leaves the range of numbers (∞). It does not
        in pyramids of up to {small} layers, where Jacobi converges without averaging, too. With
        1/adjacent the sum is never above {highest:.2f} times what it is after 1,000 iterations.
    """


def places(rows):
    """What the columns of times are."""
    threads = int(rows[0]["threads"])
    cores = f"all cores: {threads} threads, by the clock."
    if threads == 1:
        cores = "threads are not measured, because the machine had other work to do."
    return f"One core: the processor's own time; {cores} {devices.told(rows)}"


def of_method(rows, method):
    return [row for row in rows if row["method"] == method]


def largest(rows, key):
    """The row of the largest pyramid that has this figure."""
    known = [row for row in rows if number(row, key) is not None]
    return max(known, key=lambda row: int(row["layers"])) if known else None


def sweeps(rows):
    jacobi, natural, colored = (of_method(rows, m) for m in (JACOBI, NATURAL, COLORED))
    last = {name: largest(own, "cpu_s") for name, own in
            (("jacobi", jacobi), ("natural", natural), ("colored", colored))}  # fmt: skip
    times = {name: number(row, "cpu_s") for name, row in last.items()}
    gains = [number(last[name], "threaded_speedup") for name in ("jacobi", "colored")]
    suits = " Gauss-Seidel by colours does, too: contacts of a colour do not see each other."
    if all(gains):
        suits = (
            f" Coloured Gauss-Seidel does as well: at {last['jacobi']['layers']} layers all cores"
            f" speed Jacobi up {gains[0]:.2f} times, and the colours {gains[1]:.2f} times."
        )
    return f"""
        {places(rows)}

        *"Computing the contact impulses in large pyramids is expensive on traditional sequential
        architectures."* At {last["jacobi"]["layers"]} layers an iteration of Jacobi takes
        {pages.cell("time", times["jacobi"])} of one core, one of Gauss-Seidel
        {pages.cell("time", times["natural"])}, and by colours, several contacts in a vector,
        {pages.cell("time", times["colored"])}.

        *Jacobi suits parallel hardware.*{suits}
    """


def solves(rows):
    last = largest(of_method(rows, JACOBI), "cpu_s")
    same = [row for row in rows if row["layers"] == last["layers"]]
    by_method = {row["method"]: row for row in same}
    jacobi = of_method(rows, JACOBI)
    top = max(int(row["iterations"]) for row in jacobi)
    first = min(int(row["layers"]) for row in jacobi if int(row["iterations"]) == top)
    faster = min(number(row, "cpu_s") for row in same if row["method"] != JACOBI)
    others = ", ".join(
        f"{name} {int(row['iterations']):,}" for name, row in by_method.items() if name != JACOBI
    )
    return f"""
        {places(rows)} Iterations are counted in tens, because every tenth is checked.

        *Jacobi converges with 1/adjacent.* It does, slowly: {int(last["iterations"]):,} iterations
        at {last["layers"]} layers ({others}). On one core Jacobi takes
        {pages.cell("time", number(last, "cpu_s"))} there, the faster Gauss-Seidel
        {pages.cell("time", faster)}.

        *Iterations do not grow beyond {first} layers at this accuracy, and that says little.* The
        push enters at disc 0 and goes down some layers with each iteration; before it reaches the
        lowest ones, the residual has become small against that of the start. The sums of impulses,
        which differ between the methods, tell of it. The next table asks for more.
    """


def accurate(rows):
    known = [row for row in rows if number(row, "ratio") is not None]
    ratios = [number(row, "ratio") for row in known]
    tail = ""
    for column, method in enumerate((JACOBI, NATURAL, COLORED)):
        missing = [row["layers"] for row in rows if number(row, f"iterations_{column}") is None]
        if missing:
            layers = ", ".join(map(str, missing))
            tail += f" {method} does not get there at {layers} layers in the iterations allowed."
    differ = max(
        abs(number(row, "sum_0") - number(row, "sum_1")) / number(row, "sum_1") for row in known
    )
    return f"""
        *Jacobi makes {min(ratios):.1f} to {max(ratios):.1f} times the iterations of
        Gauss-Seidel.*{tail}

        *Both find the same.* The sums of impulses of the pyramids that both solve differ by
        {differ:.1g} at most, relatively; the impulses themselves need not be unique.
    """


_WRITERS = {"claims": claims, "sweeps": sweeps, "solves": solves, "accurate": accurate}
