"""The command ``contactsolve``: solve, compare, make scenarios, run scenes, list the choices.

Exit codes: 0 done, 1 the solve did not converge, 2 wrong input or a device that cannot be used, 130
interrupted, 141 standard output was closed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import inspect
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import contactsolve as cs
from contactsolve._cli_options import (
    DEFAULTS,
    OPTIONS_OF_METHODS,
    SOLVER_OPTIONS,
    integer,
    method,
    until,
)
from contactsolve._cli_output import (
    STANDARD_OUTPUT,
    Picture,
    progress_options,
    require_one_output,
    require_writable,
    result_json,
    size,
    summary,
    table_json,
    written_files,
)
from contactsolve._cli_parser import Parser
from contactsolve._cli_run import add_run_options, add_scenes, run_scene
from contactsolve._scenario_options import add_scenarios, chosen_parameters, listing
from contactsolve.compare import QualityOf
from contactsolve.io.fclib import kind_to_write
from contactsolve.io.saved import is_saved

__all__ = ["main"]

_NOT_CONVERGED, _WRONG_INPUT, _INTERRUPTED, _BROKEN_PIPE = 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    chosen = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = chosen.run
    try:
        code = run(chosen)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader closed standard output: discard what is left in its buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except (RecursionError, NotImplementedError):  # mistakes of the package
        raise
    except (ValueError, OSError, ImportError, RuntimeError, MemoryError) as error:
        print(f"contactsolve: error: {str(error) or 'out of memory'}", file=sys.stderr)
        return _WRONG_INPUT
    except KeyboardInterrupt:
        print("contactsolve: interrupted", file=sys.stderr)
        return _INTERRUPTED


# ---- demo ---------------------------------------------------------------------------------------

_DEMO = "Box_Stacks-i0122-82-5.reduced_local"
_DEMO_METHODS = {
    "Jacobi": cs.Method("jacobi"),
    "Jacobi, relaxation 0.5": cs.Method("jacobi", relaxation=0.5),
    "Gauss-Seidel": cs.Method("gauss_seidel"),
    "Gauss-Seidel, relaxation 1.5": cs.Method("gauss_seidel", relaxation=1.5),
    "Gauss-Seidel, float32": cs.Method("gauss_seidel", dtype="float32"),
}


def _demo(chosen: argparse.Namespace) -> int:
    """Solve a shipped problem by several methods; print a table and draw a picture."""
    picture = Picture(chosen.output, columns=2)
    problem = cs.io.read_fclib(cs.data.path(_DEMO))
    methods, labels = list(_DEMO_METHODS.values()), list(_DEMO_METHODS)
    print(f"Stacks of boxes, a real problem of {problem.contacts} contacts with friction:\n")
    table = cs.compare(problem, methods, labels=labels, rtol=1e-8, max_iterations=250)
    print(table)
    for ax, x in zip(picture.axes, ("iteration", "time"), strict=True):
        cs.plots.convergence(table, x=x, ax=ax, legend=False)
    picture.axes[1].set_ylabel("")
    curves, names = picture.axes[0].get_legend_handles_labels()
    picture.figure.legend(curves, names, loc="outside lower center", ncols=3, frameon=False)
    picture.figure.suptitle(f"Stacks of boxes, {problem.contacts} contacts with friction")
    print(f"\npicture: {picture.save()}")
    return 0


# ---- solve --------------------------------------------------------------------------------------


def _solve(chosen: argparse.Namespace) -> int:
    """Solve the problem of a file, print the outcome, write what was asked for."""
    # Refuse wrong input before the solve, which may take long.
    require_one_output(chosen)
    require_writable(chosen.overwrite, chosen.output, chosen.save, chosen.csv)
    picture = None if chosen.plot is None else Picture(chosen.plot)
    problem = _read(chosen.file)
    if chosen.output is not None:
        kind_to_write(problem, "auto")

    options = _solver_options(chosen)
    result = cs.solve(problem, **options, **progress_options(chosen))
    _print_result(chosen, result, picture)

    asked_for_sweeps = options.get("rtol", 0) is options.get("atol", 0) is None
    if result.converged or asked_for_sweeps:
        return 0
    print("contactsolve: the solve did not converge", file=sys.stderr)
    return _NOT_CONVERGED


def _read(path: Path) -> cs.Problem:
    """Read the problem of a file of either format; an unnamed problem is named after the file."""
    problem = cs.load_problem(path) if is_saved(path) else cs.io.read_fclib(path)
    problem.name = problem.name or path.stem
    return problem


def _print_result(chosen: argparse.Namespace, result: cs.Result, picture: Picture | None) -> None:
    """Write the files that were asked for, and one document to standard output."""
    if chosen.json:
        files = dict(written_files(chosen, result, picture))
        print(result_json(result.problem.name, result, files))
    elif chosen.csv == STANDARD_OUTPUT:
        result.history.to_csv(sys.stdout)
        list(written_files(chosen, result, picture))
    else:
        print(summary(result.problem, result))
        for name, path in written_files(chosen, result, picture):
            print(f"{name}: {path}")


def _solver_options(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the solver options that the user gave; those given with a method override others."""
    given = {name: getattr(chosen, name) for name in SOLVER_OPTIONS if hasattr(chosen, name)}
    if "method" in given:
        given |= {**given["method"].options, "method": given["method"].method}
    return given


# ---- compare ------------------------------------------------------------------------------------


def _compare(chosen: argparse.Namespace) -> int:
    """Run several methods on the problem of a file; print a table, write the files asked for."""
    require_one_output(chosen)
    require_writable(chosen.overwrite, chosen.csv)
    picture = None if chosen.plot is None else Picture(chosen.plot, columns=2, share=False)
    problem = _read(chosen.file)
    methods = chosen.methods or cs.methods.sweeping()
    goal = {"until": chosen.until, "repeats": chosen.repeats, **progress_options(chosen)}
    table = cs.compare(problem, methods, **goal, **_solver_options(chosen))

    # One document on standard output: JSON, CSV, or the table and the paths of the files.
    if chosen.json:
        print(table_json(table))
    elif chosen.csv == STANDARD_OUTPUT:
        table.to_csv(sys.stdout)
    else:
        print(table)
    alone = chosen.json or chosen.csv == STANDARD_OUTPUT
    if chosen.csv not in (None, STANDARD_OUTPUT):
        table.to_csv(chosen.csv)
        _print_unless(alone, f"\ntable: {chosen.csv.resolve()}")
    if picture is not None:
        _draw(table, picture, "quality" if isinstance(chosen.until, QualityOf) else "natural_map")
        _print_unless(alone, f"\npicture: {picture.save()}")
    return 0


def _draw(table: cs.Table, picture: Picture, measure: str) -> None:
    """Draw convergence and times."""
    cs.plots.convergence(table, y=measure, ax=picture.axes[0])
    cs.plots.compare(table, ax=picture.axes[1])
    problem = next(iter(table.results.values())).problem
    picture.figure.suptitle(f"{problem.name}, {problem.contacts} contacts")


def _print_unless(silent: bool, text: str) -> None:
    if not silent:
        print(text)


# ---- scenario -----------------------------------------------------------------------------------


def _scenario(chosen: argparse.Namespace) -> int:
    """Make a scenario; print its size, write the files and the picture asked for."""
    require_writable(chosen.overwrite, chosen.output, chosen.save)
    picture = None if chosen.plot is None else Picture(chosen.plot, columns=2, share=False)
    problem = cs.scenarios.get(chosen.scenario)(**chosen_parameters(chosen))
    bodies = f"{problem.bodies_count} bodies, " if problem.bodies_count else ""
    lines = [
        ("problem", f"{problem.name}, {size(problem)}"),
        ("size", f"{bodies}{problem.block_count} blocks of A"),
    ]
    print("\n".join(f"{name + ':':<10}{text}" for name, text in lines))
    if chosen.output is not None:
        cs.io.write_fclib(chosen.output, problem, overwrite=chosen.overwrite)
        print(f"{'file:':<10}{chosen.output.resolve()}")
    if chosen.save is not None:
        problem.save(chosen.save, overwrite=chosen.overwrite)
        print(f"{'saved:':<10}{chosen.save.resolve()}")
    if picture is not None:
        for ax, kind in zip(picture.axes, ("matrix", "graph"), strict=True):
            cs.plots.problem(problem, ax=ax, kind=kind)
        picture.figure.suptitle(problem.name)
        print(f"{'picture:':<10}{picture.save()}")
    return 0


def _list_scenarios(_: argparse.Namespace) -> int:
    """List the scenarios with their parameters."""
    print(listing())
    return 0


# ---- run ----------------------------------------------------------------------------------------


def _run(chosen: argparse.Namespace) -> int:
    """Run a scene; print what happened, write the files asked for."""
    text, interrupted = run_scene(chosen)
    print(text)
    if not interrupted:
        return 0
    print("contactsolve: interrupted; what was asked for is written", file=sys.stderr)
    return _INTERRUPTED


def _list_scenes(_: argparse.Namespace) -> int:
    """List the scenes with their parameters."""
    print(listing(cs.dynamics.scenes))
    print(f"\nCloth, in Python only, as contactsolve.cloth.scenes:\n\n{listing(cs.cloth.scenes)}")
    return 0


# ---- methods, info ------------------------------------------------------------------------------


def _methods(chosen: argparse.Namespace) -> int:
    """List the methods, schemes, orders, measures and sets, or describe one method."""
    if chosen.name is not None:
        print(cs.methods.describe(chosen.name))
        return 0
    orders = cs.orders.describe()
    named = [name for name in cs.orders.names() if name != "given"]
    sections = {
        "methods": cs.methods.summaries(),
        "schemes": cs.schemes.describe(),
        "orders": {name: orders[name] for name in named},
        "orders that contactsolve.orders makes in Python": {
            name: text for name, text in orders.items() if name not in named
        },
        "measures": cs.measures.describe(),
        "sets": cs.sets.describe(),
    }
    width = max(len(name) for section in sections.values() for name in section)
    blocks = (
        "\n".join([title, *(f"  {name:<{width}}  {text}" for name, text in section.items())])
        for title, section in sections.items()
    )
    print("\n\n".join(blocks))
    return 0


def _gpu_line(gpu: tuple[str, int, int, int]) -> str:
    """Return name, memory and compute capability of a GPU in words."""
    name, size, major, minor = gpu
    return f"{name}, {size / 2**30:.0f} GiB, compute capability {major}.{minor}"


def _info(_: argparse.Namespace) -> int:
    """Print versions and build information for bug reports."""
    build = cs.info()
    without = "no, POSIX threads" if build["threading"] == "pthread" else "no, a serial build"
    openmp = f"yes ({build['openmp']})" if build["openmp"] else without
    lines = {
        "contactsolve": cs.__version__,
        "compiler": f"{build['compiler_family']} {build['compiler']}",
        "OpenMP": openmp,
        "threads": build["threads"],
        "instructions": ", ".join(
            name if runs else f"{name} (not on this machine)"
            for name, runs in build["instructions"].items()
        ),
        "GPU": cs.cuda.why_not() or "; ".join(map(_gpu_line, cs.cuda.devices())),
        "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        **{name: _version(name) for name in ("numpy", "matplotlib", "h5py", "scipy", "tqdm")},
    }
    print("\n".join(f"{name:<13} {value}" for name, value in lines.items()))
    return 0


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


# ---- arguments ----------------------------------------------------------------------------------


def _parser() -> Parser:
    parser = Parser(prog="contactsolve", description="Solvers for contact problems with friction.")
    parser.add_argument("--version", action="version", version=cs.__version__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    text = "solve a problem that comes with the package by several methods"
    demo = commands.add_parser("demo", help=text, description=_sentence(text))
    demo.set_defaults(run=_demo)
    demo.add_argument(
        "--output",
        type=Path,
        default=Path("contactsolve_demo.png"),
        metavar="PATH",
        help="file of the picture (default: %(default)s)",
    )

    _add_solve(commands.add_parser("solve", help="solve the problem of a file"))
    _add_compare(commands.add_parser("compare", help="run several methods on a file"))
    _add_scenario(commands.add_parser("scenario", help="make a problem from a few numbers"))

    _add_run(commands.add_parser("run", help="step a scene in motion, record it and draw it"))

    text = "list methods, schemes, orders, measures and sets, or describe one method"
    methods = commands.add_parser("methods", help=text, description=_sentence(text))
    methods.set_defaults(run=_methods)
    methods.add_argument(
        "name", nargs="?", metavar="NAME", help="show this method alone, with its options"
    )
    text = "print the version and how the library was built"
    info = commands.add_parser("info", help=text, description=_sentence(text))
    info.set_defaults(run=_info)
    return parser


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _add_solve(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_solve)
    parser.description = (
        "Solve the problem of an FCLIB file, or of a file that Problem.save or Result.save wrote. "
        "The options are those of contactsolve.Solver; `contactsolve methods` lists the names that "
        "they take, `contactsolve methods NAME` the options of one method. Exit code 1: not "
        "converged."
    )
    parser.add_argument("file", type=Path, metavar="FILE.hdf5")
    parser.add_argument("--plot", type=Path, metavar="PATH", help="draw the convergence")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="write problem and solution to an FCLIB file",
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="PATH",
        help="write the result to a file for contactsolve.load_result",
    )
    _add_documents(parser, "the result", "the history")
    _add_options(parser)


def _add_compare(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_compare)
    parser.description = (
        "Run several methods on the problem of a file until they are equally good, and time them. "
        "Options of the solver apply to all methods; options given with a method override them."
    )
    parser.add_argument("file", type=Path, metavar="FILE.hdf5")
    parser.add_argument(
        "--methods",
        type=method,
        nargs="+",
        action="extend",
        metavar="METHOD",
        help=f"names, {OPTIONS_OF_METHODS} (default: all that sweep over contacts)",
    )
    parser.add_argument(
        "--until",
        type=until,
        metavar="GOAL",
        help="where each method stops: at a natural map [N s], or at the quality of a method after "
        "some sweeps, as in gauss_seidel:50 (default: at the tolerances in the options)",
    )
    repeats = inspect.signature(cs.compare).parameters["repeats"].default
    parser.add_argument(
        "--repeats",
        type=integer,
        default=repeats,
        metavar="VALUE",
        help="timed runs of each method (default: %(default)s)",
    )
    parser.add_argument("--plot", type=Path, metavar="PATH", help="draw convergence and times")
    _add_documents(parser, "a list of the table's rows", "the table")
    _add_options(parser, without=("method",))


def _add_documents(parser: argparse.ArgumentParser, document: str, table: str) -> None:
    """Add the options for output to other programs, overwriting and progress."""
    parser.add_argument("--json", action="store_true", help=f"print only {document}, as JSON")
    parser.add_argument(
        "--csv",
        type=Path,
        metavar="PATH",
        help=f"write {table} to a CSV file; -: print only this, to standard output",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace existing files; pictures are always replaced",
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="do not show progress on the terminal"
    )


def _add_list(
    parser: argparse.ArgumentParser, listing: Callable[[argparse.Namespace], int], what: str
) -> None:
    """Add the option --list. Without it, the command needs the name of one of what it lists."""
    parser.set_defaults(run=lambda _: parser.error("a NAME or --list is required"))
    parser.add_argument(
        "--list",
        dest="run",
        action="store_const",
        const=listing,
        default=argparse.SUPPRESS,
        help=f"list the {what} and their parameters",
    )


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make a scenario and write it to a file. Parameters are those of the function in "
        "contactsolve.scenarios; several numbers are joined by commas: --shape 4,4,2."
    )
    _add_list(parser, _list_scenarios, "scenarios")
    common = argparse.ArgumentParser(add_help=False)
    common.set_defaults(run=_scenario)
    common.add_argument("-o", "--output", type=Path, metavar="PATH", help="write an FCLIB file")
    common.add_argument(
        "--save",
        type=Path,
        metavar="PATH",
        help="write the problem to a file for contactsolve.load_problem",
    )
    common.add_argument("--overwrite", action="store_true", help="replace existing files")
    common.add_argument("--plot", type=Path, metavar="PATH", help="draw matrix and contact graph")
    add_scenarios(parser, common)


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_list(parser, _list_scenes, "scenes")
    common = argparse.ArgumentParser(add_help=False)
    common.set_defaults(run=_run)
    add_run_options(common)
    # A scene's own seed has this name; that of --order random keeps its default.
    _add_options(common, without=("rng",), default="that of the scene or of a World")
    add_scenes(parser, common)


def _add_options(
    parser: argparse.ArgumentParser, without: Sequence[str] = (), default: str | None = None
) -> None:
    options = parser.add_argument_group("options of the solver")
    for name, (convert, text) in SOLVER_OPTIONS.items():
        if name in without:
            continue
        own = DEFAULTS[name].default
        options.add_argument(
            f"--{name.replace('_', '-')}",
            dest=name,
            type=convert,
            default=argparse.SUPPRESS,
            metavar={str: "NAME", method: "METHOD"}.get(convert, "VALUE"),
            help=f"{text} (default: {default or ('none' if own is None else own)})",
        )
