"""A fuzzer: random problems of every kind, solved by every method, judged by plain NumPy.

A case is a pure function of a seed and a number. Its problem and options are plain data
(`spec.Case`), from which the package's objects are built, the judge's dense problem, and the text
of a script that repeats the case without the fuzzer.

    problems.py, options.py   draw a case from (seed, number)
    spec.py                   what a case is; the package's objects and the judge's, made of it
    attempt.py                solves one case and judges what comes back
    malformed.py              cases of arguments that have to be refused, and of damaged files
    worker.py                 a process that attempts cases and may crash
    runner.py                 hands cases to workers, counts, and notices crashes and hangs
    shrink.py, snippet.py     make a failing case small, and write it down as a script
"""
