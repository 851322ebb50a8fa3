"""The GPU of a benchmark: the option that names it, and what its columns have without one."""

import argparse

import contactsolve as cs

DEVICES = ("cuda", "cuda-emulated")


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--device``; what is emulated says nothing about time, and is for tests."""
    parser.add_argument(
        "--device",
        choices=DEVICES,
        default=present(),
        help="what the columns of a device measure (default: cuda, if there is a GPU)",
    )


def present() -> str | None:
    """Return "cuda", or None where no GPU can be used."""
    return "cuda" if cs.cuda.available() else None


def named(device: str | None) -> str:
    """Return the name of the device for a CSV; "" without one."""
    if device == "cuda":
        return str(cs.cuda.devices()[0][0])
    return device or ""


def told(rows: list[dict]) -> str:
    """Return the sentence of a page about the columns of a device."""
    names = sorted({row["device"] for row in rows if row.get("device")})
    return f"Device: {', '.join(names)}." if names else "Not measured on a GPU."
