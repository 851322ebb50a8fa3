"""Why our figures differ from S3's: one sentence for each difference, by table.

The scripts print them below their tables and `report.py` writes them into docs/s3.md. What stands
in braces is a figure of ours, by the name that `facts.py` gives it; a paragraph that names a figure
which was not measured is left out.
"""

from facts import facts
from protocol import pages

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

A frame is solved when the friction bounds agree with the normal impulses that give them. If the
bounds of the last solve alone do not converge, they are averaged with a weight of a half or a tenth
(column 'with averaging'); S3 does not tell how it renews them.

Forwarder and forklift are solved with the vehicle's parts in one problem; S3 solved hydraulics and
cables of the forwarder apart.
""",
    "figure_2_3": """
An open contact counts as three tight rows, because its friction is bounded by zero. Most of our
tight rows are of this kind: a crate rests on some points of the forks, and claws hold a log by
some of their fingers.

S3 finds up to 5 % on its forklift, while it turns; ours, which turns all the time, has
{forklift/tight_median} in the median and up to {forklift/tight_max}.

The crane has no tight row until it slews, and one from then on: hook and pipe touch, and stick.

The chain of our winch is in motion from the first step on and slides over its whole length, so that
no frame is below 15 %. On S3's winch downdating is slower, too.
""",
    "figure_2_4": """
Downdating pays below about a tenth of tight rows, at every size; S3 finds 15 %. Our full factor is
made in panels with vectors, and is faster, compared with removals, which are bound by memory, than
a plain factor.

S3's speed-up is nearly the same at all sizes. With 1 % of tight rows ours grows from
{50/0.01/speedup_downdate} at 50 rows to {400/0.01/speedup_downdate} at 400, and is
{500/0.01/speedup_downdate} at 500.

Keeping the factor of A whole and solving for the forces on the tight rows by their Schur
complement, which S3 does not try, pays up to three or four times that share.

Matrices are full and random, as S3's; on the scenes themselves sparsity counts for more (Table
2.3).
""",
    "figure_2_5": """
S3 shows the patterns without numbers. 'As made' is the order of our scenes, one kind of joint after
the other and contacts last, in which a factor would fill; the lines off the diagonal are links
that are neighbours.

RCM gives the narrow bands that S3 shows; what it cannot narrow is a body with many joints: chassis,
ship, frame.

Minimum degree leaves fewer entries in the factor of all mechanisms, though only slightly on chains
and the forwarder. On the log tower no order helps, and the stack of boxes is a band already.
""",
    "table_2_3": """
Frames without tight rows are left out, as S3 does. S3's times are those of one core of an i7-5820K
with Eigen, ours of our own engines; speed-ups can be compared, times are shown for scale.

If few rows are tight, as on the crane, offshore and the forklift, downdating gains more than S3
says, on the vehicle and the forwarder about as much. If a quarter is tight, as on the winch, it
loses more, because our full factor, made in panels, is faster per operation than removals are.

The skyline is faster than downdating a full factor if the envelope is narrow: on the crane, the
chains and the piles. It is slower on the vehicle, offshore, the forklift and the forwarder, in
which some rows are wide, because removals in it go column by column.

Neither is the best choice. The fastest are an envelope that is factored anew at every pivot, and
Schur complements of the tight rows, which S3 does not try; the faster one beats the full
factor by {fastest} times. On the crane the skyline, {crane/s_skyline}, is as fast as the latter,
{crane/s_schur}. Sparsity saves more than removals do.

`auto` counts operations, island by island, and takes the time of the envelope or slightly more.
Schur complements take {schur saves} less on the crane, the vehicle, the forklift and the log
tower, in which few rows are tight. But each engine is timed three times with one solver, and Schur
complements keep the factor of A from the first time: the next table has what they take without.

S3's proposal to fall back to a full factor above 15 % would help on scenes on which downdating is
slower, but not if the envelope is narrow.
""",
    "new_matrices": """
Time of Schur complements over that of the envelope. Below 1 if A stays: {less, kept}.

If A is new, as in every step of a motion, they first factor A, and solve with it once for every row
that becomes tight. Below 1 then: {less, new}.

In the outer loop, whose mixed LCPs have one A, index sets change little from one to the next: few
factors are made, and there is little to save. Below 1: {less, loop}.

So `auto` takes the envelope. `engine="schur"` is for matrices that stay, with few tight rows.
""",
    "table_2_4": """
S3 does not say which quantity its error is of. Ours is the largest difference of an impulse from
that of a factor made anew, over the largest impulse, without iterative refinement. With
refinement, the default, no engine leaves more than the column 'worst residual' of Table 2.2.

In the skyline ours is above S3's in the mean, by {forklift/skyline/over_mean} times on the
forklift, {vehicle/skyline/over_mean} on the vehicle, {winch/skyline/over_mean} on the winch and
{crane/skyline/over_mean} on the crane; without, by {forklift/downdate/over_mean},
{vehicle/downdate/over_mean} and {winch/downdate/over_mean} times on the first three. It is below
S3's on offshore and the forwarder. The largest of all is our vehicle's, {vehicle/skyline/max}, and
S3's forwarder's, 7.0e-08. The next table has what ours consist of.

In the skyline ours also contains a change of order, because the factor made anew is in the rows'
own one (next table, column 'two orders').
""",
    "errors": """
The error of the impulses is not peculiar to downdating: two new factors of the same rows in two
orders differ about as much as a downdated one from a new one in the same order. Both were made by
one NumPy code, without refinement; every eighth step counts.

Forklift: the condition number accounts for nearly all of it. With a hundred times the compliance it
falls from {forklift/1e-08/condition} to {forklift/1e-06/condition}, where S3's is 1e+08, and the
error from {forklift/1e-08/impulses} to {forklift/1e-06/impulses}. Over the condition number it is
{forklift/1e-08/over_condition}, and S3's {forklift/1e-08/s3_over_condition}.

Vehicle: our error falls with the condition number, too, from {vehicle/1e-08/impulses} to
{vehicle/1e-06/impulses}, but S3's is the greater one and its error the smaller one. S3's
{vehicle/1e-08/s3_median} is nearer to the error of our factor's largest entry,
{vehicle/1e-08/entries}. Its text does not tell whether S3 measured the factor, or whether its
1e+19 is of few frames.

Winch: ours is larger than S3's by every measure tried, and the cause is not known. It is not the
condition number, which is below S3's, nor the number of removals: after a tenth of them the largest
entry of L is not better, {winch/2e-07/entries_fewer} against {winch/2e-07/entries}. The Frobenius
norm of L is the closest, {winch/2e-07/norm}.

Crane: in one order ours is {crane/1e-08/impulses}, below S3's {crane/1e-08/s3_median}; two orders
alone differ by {crane/1e-08/two_orders}.

S3's own errors over its condition numbers are 1e-20 to 6e-20 in four scenes, the vehicle and the
winch apart.
""",
    "figure_2_7": """
Peaks are frames in which the number of infeasible rows does not fall for a while, so that block
pivoting switches to single pivots, or in which contacts appear; S3 names the hook that meets the
pipe as such a moment. In these frames engines differ in pivots by rounding.

'A pivot' is the time of all frames over all solves of free rows, one more than pivots in a frame.

The forklift takes {forklift/auto/pivots} pivots a frame, in the median: four tyres, two forks and
closed loops of rams share loads in so many ways that rows change for many pivots.
""",
    "table_3_1": """
S3's negative result holds: with every scene the mean frame takes longer with the cache than
without. S3's was several times slower and ran out of memory on the log tower; ours is stored in the
skyline, keeps only the columns that a removal changes, is bounded, and loses less.

S3's cache is for one frame, in which {found} of the removals are found again. Kept for
all solves of a frame's outer loop, whose matrix is the same, it finds {found in the loop}, more in
{found more}: if an index set stays, the next solve makes no pivot and needs no cache.

Entries differ from S3's because our contacts do. S3's forklift has 162 rows here and 300 in its
Table 2.2.

Every eighth step is measured, with an empty cache at first; the shortest of three times counts.
""",
    "figure_4_1": """
S3's finding holds: RCM leaves one long path with few branches, on which nothing can be kept while
another branch changes; minimum degree gives a lower tree with many branches.

The stack of boxes is a path in any order, and the log tower nearly so.
""",
    "motion_scenes": """
Rows come and go with contacts. At most there are, with S3's number: {rows}. The chain has
{chain/settled/rows_mean} in the mean, S3's 528.9.

Friction bounds settle in {settled} of the steps. The others go on with the best impulses of 200
solves.

With one solve a step, bounded by the step before, steps take {pivots of one solve} of the pivots
and {time of one solve} of the time; friction is late by a step. S3 does not tell which it does.

Where friction bounds settle, joints are apart by {apart} at most, and by {apart at the end} at the
end. A step leaves (ωh)² r/2, which the next one takes back: links that whip about turn at up to
{turn}. With one solve a step {torn}.
""",
    "motion_starts": """
Both starts solve the same steps to the same tolerance. From the step before, a step takes {pivots}
of the pivots and {solves} of the solves.

The start saves pivots of the first solve of a step; the solves after it begin with its index set in
any case, and their number depends on how fast friction bounds settle.
""",
    "motion_tight": """
A contact is three rows while its gap is below the scene's activation distance, and tight if it is
open. Contacts that are farther apart are no rows here, while some are tight in the prescribed
motion. All other tight rows are of contacts that slide, limits, and motors at their bounds.

In motion fewer rows are tight in the median than in the prescribed motion: {fewer}.

The share changes from one moment to the next: from {winch/tight_min} to {winch/tight_max} on the
winch.
""",
    "motion_times": """
Downdating gains more than in the prescribed motion: {gains}.

An envelope that is factored anew at every pivot, which `auto` chooses, is the fastest engine on:
{fastest}. `auto` beats a full factor by {auto} times.
""",
    "motion_errors": """
The largest errors in the skyline are smaller than in the prescribed motion: {smaller}.

On the winch ours are at most {winch/downdate/max} and {winch/downdate/median} in the median, S3's
7.3e-11 and 1.3e-13.
""",
    "motion_frames": """
Frames take more pivots than those of the prescribed motion, also from all rows free: {more} in the
median.

S3 allows 35 block steps. Ours takes as many steps as it needs, single ones included: {most} at
most.
""",
    "motion_cache": """
In motion, too, the mean frame takes longer with the cache than without, although {found} of the
removals are found again.

The mean frame of these steps takes less with the cache than without on: {gains}. It finds
{found there} of the removals again there.
""",
}


def remarks(name, rows):
    """The sentences below a table, their figures those of its rows."""
    return pages.sentences(_TEXTS[name], facts(name, rows))
