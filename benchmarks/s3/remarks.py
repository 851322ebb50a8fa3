"""Why our figures differ from S3's: one sentence for each difference, by table.

The scripts print them below their tables and `report.py` writes them into docs/s3.md.
"""

_TEXTS = {
    "table_2_2": """
S3's rows and mass ratios of the first six are the largest of a run, those of the last three the
mean; ours are sized to them, and masses, shapes and motions are ours where S3 does not print them.

Condition numbers follow from the compliance that a scene takes, which S3 gives as a range: 2e-7 on
the winch, 1e-6 on the chain, 1e-8 elsewhere. The greatest eigenvalue is that of a light link, the
least one the compliance wherever contacts share a load in more ways than one.

S3's vehicle with 1e19 is singular in double precision; ours stops at what 1e-8 leaves.

Offshore is worse conditioned than S3's: the ship floats on a joint whose compliance must be far
below 1/5,500 t to carry it.

A frame is solved when the friction bounds agree with the normal impulses that give them. Where the
bounds of the last solve alone lead nowhere, they go half of the way or a tenth of it (column 'with
averaging'); S3 does not tell how it renews them.

Forwarder and forklift are solved with the vehicle's parts in one problem; S3 solved hydraulics and
cables of the forwarder apart.
""",
    "figure_2_3": """
An open contact counts three tight rows, its friction being bounded by zero: that is what ours have
most of, where a crate rests on some points of the forks and claws hold a log by some of their
fingers.

S3 finds up to 5 % on its forklift, in the turn; ours, which turns all the time, has a little more.

The crane has no tight row until it slews, and one from then on: hook and pipe touch, and stick.

The chain of our winch is in motion from the first step on and slides on its whole length, so that
no frame is below 15 %; S3's winch is the scene on which downdating loses, too.
""",
    "figure_2_4": """
Downdating pays below about a tenth of tight rows, at every size, where S3 finds 15 %: our full
factor is made in panels with vectors, and so gains more on removals, which are bound by memory,
than a plain one would.

S3's speed-up is nearly the same at all sizes; ours grows with the size as long as few rows are
tight.

Keeping the factor of A whole and solving for the forces on the tight rows by their Schur
complement, which S3 does not try, pays up to three or four times that share.

Matrices are full and random, as S3's; on the scenes themselves sparsity counts for more (Table
2.3).
""",
    "figure_2_5": """
S3 shows the patterns without numbers. 'As made' is the order of our scenes, one kind of joint after
the other and contacts last, for which nobody would factor; the lines off the diagonal are links
that are neighbours.

RCM gives the narrow bands that S3 shows; what it cannot narrow is a body with many joints: chassis,
ship, frame.

Minimum degree leaves fewer entries in the factor of all mechanisms, if only a little on chains. On
the log tower nothing helps, and the stack of boxes is a band already.
""",
    "table_2_3": """
Frames without tight rows are left out, as S3 does. S3's times are those of one core of an i7-5820K
with Eigen, ours of our own engines; speed-ups compare, times stand there for scale.

Where few rows are tight, on the crane, offshore and the forklift, downdating gains more than S3
says, on the vehicle and the forwarder as much. Where a quarter is, on the winch, it loses by more,
because our full factor, made in panels, is faster per operation than removals are.

The skyline wins over downdating in full where the envelope is narrow, on the crane, the chains and
the piles. It loses on the vehicle, offshore, the forklift and the forwarder, where some rows are
wide: removals in it go column by column.

Neither is what one should take. Fastest are an envelope that is factored anew at every pivot, or
Schur complements of the tight rows, which S3 does not try; both beat the full factor by nearly two
to twenty-five times. Sparsity is worth more than what a removal saves.

`auto` counts operations, island by island, and is at the envelope or near it. Schur complements
would take a fifth to a third less on the crane, the vehicle, the forklift and the log tower, where
few rows are tight.

S3's proposal to fall back to a full factor above 15 % would help where it loses, and not where the
envelope is narrow.
""",
    "table_2_4": """
S3 does not say what it takes the error of. Ours is the largest difference of an impulse from that
of a factor made anew, over the largest impulse, without iterative refinement; with it, which is the
rule, all engines agree to rounding (column 'worst residual' of Table 2.2).

All are below S3's largest, 7e-8. The vehicle comes near to it, whose condition number is the second
largest here and the largest in S3.
""",
    "figure_2_7": """
Peaks are frames in which the number of rows out of place does not fall for a while and block
pivoting goes on by single ones, or in which contacts come; S3 names the hook that meets the pipe as
such a moment. Engines differ in pivots there by rounding.

'A pivot' is the time of all frames over all solves of free rows, one more than pivots in a frame.

The forklift takes about seventy pivots a frame: four tyres, two forks and closed loops of rams
share loads in so many ways that rows come and go for long.
""",
    "table_3_1": """
S3's negative result holds: with every scene the mean frame takes longer with the cache than
without. S3's was several times slower and ran out of memory on the log tower; ours lies within the
skyline, keeps only the columns that a removal changes, is bounded, and loses less.

S3's cache is for one frame, in which 15 to 44 % of the removals are found again. Kept for
all solves of a frame's outer loop, whose matrix is the same, it finds little more: where an index
set stays, the next solve makes no pivot and needs no cache.

Entries differ from S3's as our contacts do. S3's forklift has 162 rows here and 300 in its Table
2.2.

Every eighth step, with an empty cache at first, by the least of three times.
""",
    "figure_4_1": """
S3's finding holds: RCM leaves one long path with few branches, on which nothing can be kept while
another branch changes; minimum degree gives a lower tree with many.

The stack of boxes is a path in any order, and the log tower nearly so.
""",
}


def remarks(name):
    """The sentences below a table."""
    return [" ".join(paragraph.split()) for paragraph in _TEXTS[name].strip().split("\n\n")]
