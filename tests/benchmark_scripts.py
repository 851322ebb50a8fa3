"""Scripts of a folder of `benchmarks/` as modules, for the tests of them."""

import contextlib
import sys


@contextlib.contextmanager
def importing_from(folder):
    """While it lasts, the folder's scripts can be imported by name; then no trace is left."""
    modules = ["common", "pages", *(path.stem for path in folder.glob("*.py"))]
    old_path, old_modules = list(sys.path), {name: sys.modules.pop(name, None) for name in modules}
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = old_path
        for name, module in old_modules.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
