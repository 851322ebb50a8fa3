"""Why our figures differ from S1's: one sentence for each difference, by table.

The scripts print them below their tables and `report.py` writes them into docs/s1.md. What stands
in braces is a figure of ours, by the name that `facts.py` gives it; a paragraph that names a figure
which was not measured is left out.
"""

from facts import facts
from protocol import pages

_SECONDS = """
S1's seconds are those of one core of an AMD64 server of 2010, with blocks of 4 rows (normal, two
tangents, spin) and a binary search in each column product; ours have 3 rows where the method does
not say 4, and are packed in the order of the visits. They are shown for scale.
"""

_TEXTS = {
    "table_3_1": """
S1's table has the naive scheme's 8K multiplications and 4K additions the wrong way round: its text
(section 3.3) counts 4 and 8 a contact, and so do we.

S1's 100 additions of the factorized scheme leave out the block addition that its text names; with
it they are 104 for its 4 rows, and 78 for our 3.

With 3 rows the factorized scheme has fewer multiplications from N = 8K on, with S1's 4 rows from
6K.

Our N is smaller than S1's in scenes with a ground: contacts that share only a body of zero inverse
mass have a zero block in A, which S1 stores and we do not.
""",
    "tables_3_2_and_3_4": """
S1's piles are random and its test for approach is not printed: ours is tuned to its counts.

Balls of our piles touch only along their row, so that a contact has at most two neighbours and two
colours suffice; in S1's pile some contacts have three neighbours, and there are three colours.

Two contacts with the ground are not coupled: a ground of zero inverse mass gives zero blocks, which
S1 counts and stores, and which we never store (column 'blocks, ground fixed').

S1 offers the cannonball layout and prints no figures for it.
""",
    "table_3_3": """
Gauss-Seidel agrees to the printed digits, and so does Jacobi on the small grid, where S1 prints γ
of the iterate before the last (row 'before the last'). S1's fourth row, spin, has no effect in a
grid at rest: γ is the same with it (rows '4 rows') and each sweep costs more.

On the larger grids our Jacobi needs fewer sweeps than S1's because S1 halved R late: with r = 2.5
from sweep 60 and 57 on, its own 66 and 65 sweeps give the γ and residual that it prints (rows 'R
halved').

On the cannonball grid, which is not in S1's table, a ball has up to twelve contacts and r = 5
is too large for Jacobi, even after five halvings; the rows below have our own r-factors, run to the
same γ. With local ones Jacobi's status is '{medium cannonball grid/jacobi, local
r/status}' on the medium one after {medium cannonball grid/jacobi, local r/sweeps} sweeps.

In S1 both methods take about the same time, because its Gauss-Seidel updates w by a binary search
in each column product (section 3.8.1). Here Jacobi takes {large ball grid/jacobi/median_s} on the
large grid and Gauss-Seidel {large ball grid/gauss_seidel/median_s}.
""",
    "table_3_5": """
S1's pile is one random draw, and S1 prints neither its velocities nor its r: with r = 5, as in
Table 3.3, and up to 2 m/s along each axis Gauss-Seidel's γ and residual are in S1's range.

Our Jacobi needs twice the sweeps of S1's: at r = 5 the tangential impulses of two contacts that
stick on one ball grow by a factor of 1.125 a sweep, and after the halving of R that follows the
normal impulses converge slowly. S1's 63 and 65 sweeps are nearly those that the normal rows take
alone, {small ball pile/jacobi, normals alone/sweeps} and {large ball pile/jacobi, normals
alone/sweeps} (rows 'normals alone'); its text does not tell why its tangential impulses did not
grow.

Local r-factors, one for each coupled set, reach the same γ in fewer sweeps (last rows).
""",
    "jacobi": """
S1 had 8 cores. 'S1's cores' are those of its speed-ups, in Tables 6.1 and 6.2 those with the best
time.

In the same runs this machine reads {rates} from memory, as the heads of the columns say.

Ours end at {end, below S1's cores}, so that S1's speed-ups over one core cannot be reproduced here;
4 and 8 threads run in any case, to compare impulses bit by bit.

The sequential Jacobi that we compare with is our factorized scheme on one thread. S1's was slow on
the piles, because it allocated w anew in each sweep, which is why its other schemes win by so
much.

One contact a task cost S1 an order of magnitude because each task was a message; here a task is a
number that a thread takes from a counter. A sweep of the large grid takes {large ball grid/one
contact a task/sweep_s/most} with it and {large ball grid/factorized/sweep_s/most} without.

S1's OpenMP scheme recomputes w in each sweep, because that is faster than updating it (section
6.4). Here, on one thread, it takes {large ball grid/factorized/sweep_s/1} against {large ball
grid/factorized, w updated/sweep_s/1} on the large grid, and {large ball pile/factorized/sweep_s/1}
against {large ball pile/factorized, w updated/sweep_s/1} on the large pile, which has ten bodies
for each contact.

S1's T scheme needs 3 cores to be faster than its sequential factorized scheme on the large grid
(Fig. 6.4). Ours needs {T outruns sequential}.

S1's T of the large grid has 587 MB in f64, more than half of it zero blocks between contacts with
the ground, which ours leaves out.
""",
    "naive": """
S1's figures are reproduced: with eight ranges to the printed digits, and with one range, for which
S1 prints 246 and 7921 here and 247 and 7920 in Table 3.3, as {small ball grid/1/quality} and
{large ball grid/1/quality}.

On the small grid each of eight ranges is one layer of balls, no ball sees another one's newest
impulses, and naive Gauss-Seidel is Jacobi.

On a pile γ does not change, as S1 says, unless a range ends between two contacts of one ball:
Jacobi's method then solves these, for which r = 5 is too large (Table 3.5).
""",
    "colored": """
The relaxed greedy colours take {medium ball grid/relaxed greedy/sweeps} sweeps and the balanced
ones {medium ball grid/balanced/sweeps} on the medium grid, where S1 prints 57 and 50 (in its
section 7.4: 49). On our pile, a random draw with two colours, S1's having three, they take {large
ball pile/relaxed greedy/sweeps} and {large ball pile/balanced/sweeps}, and S1's take 51 and 50.

S1's relaxed T scheme took 65 sweeps, and S1 blames the Jacobi iterations in its unsafe colour. Here
an unsafe colour that is iterated by Jacobi's method takes {medium ball grid/relaxed greedy/sweeps}
sweeps and one in ranges {medium ball grid/relaxed greedy, unsafe in ranges/sweeps}, because the
unsafe contacts are those with the ground, which do not couple; the next table has what was tried.

S1 finds balanced colours significantly better than greedy ones on the pile with the factorized
scheme (section 7.3), and concludes that few colours of like size are an advantage (7.4). Here the
balanced ones take {large ball pile/balanced/time_s/most} and {large ball pile/balanced/time_s/1} on
one, the relaxed greedy ones {large ball pile/relaxed greedy/time_s/most} and {large ball
pile/relaxed greedy/time_s/1} on one. With T S1 has the greedy ones slightly ahead; here they take
{large ball pile/relaxed greedy, T/time_s/most} and the balanced ones {large ball pile/balanced,
T/time_s/most}.

S1 expects unsafe contacts to converge faster where they are handled last (section 7.4). Counted in
sweeps to equal γ of all contacts, the grid takes {medium ball grid/relaxed greedy/sweeps} with the
unsafe colour last and {medium ball grid/relaxed greedy, unsafe first/sweeps} with it first, the
pile {large ball pile/relaxed greedy/sweeps} and {large ball pile/relaxed greedy, unsafe
first/sweeps}. To group those that depend on each other, which S1 proposes there, leaves the sweeps
at {medium ball grid/relaxed greedy, unsafe in groups/sweeps} and {large ball pile/relaxed greedy,
unsafe in groups/sweeps}.

S1 has parallel Jacobi significantly faster than coloured Gauss-Seidel on the medium grid (section
7.5). Here Jacobi takes {medium ball grid/Jacobi/time_s/most} and the relaxed greedy colours
{medium ball grid/relaxed greedy/time_s/most}: they need {medium ball grid/relaxed
greedy/sweeps} sweeps for its {medium ball grid/Jacobi/sweeps}, and one of theirs takes {coloured
sweep over Jacobi's} times as long. On the pile S1 has the fastest Gauss-Seidel, relaxed greedy T, a
bit ahead of Jacobi's T. Here Jacobi's takes {Jacobi's T over relaxed T, time} times as long and
{Jacobi's T over relaxed T, sweeps} times the sweeps, {large ball pile/Jacobi, T/sweeps} where S1
has 65 (Table 3.5).

On the medium grid S1's coloured schemes that send messages need 2 to 3 cores to be faster than
sequential Jacobi (section 7.2.4). Here the relaxed greedy colours need {relaxed greedy outruns
Jacobi}.

On one core S1's relaxed schemes are faster than sequential Gauss-Seidel on the pile (section
7.2.4). Here T is, with {large ball pile/relaxed greedy, T/time_s/1} against {large ball
pile/Gauss-Seidel/time_s/1}, and the factorized scheme takes {large ball pile/relaxed
greedy/time_s/1}.

S1 does not print the size below which it merges colours; a twelfth of the contacts gives both of
its merged colourings.

The half sweep, which S1 leaves for later, and the symmetric sweeps have a residual that rises in
every second sweep; R is halved there when it grows by 3, not at once.

S1's speed-ups are those of up to 8 cores. A colour of 70 contacts is one task here, so that the
balanced colours of the medium grid keep one thread busy.

In the same runs this machine reads {rates} from memory, as the heads of the columns say.

Ours end at {end, below S1's cores}.
""",
    "networks": """
A column of n threads has n workers, and the accumulator is one process more; 'extreme' has a
dispatcher as well, and the relaxed networks have n relaxed workers beside the n rigid ones, of
which one kind waits. Messages and their bytes are those of one worker.

'Over sequential' compares with a sweep of the library's own factorized scheme on one thread, of
Jacobi's method or of Gauss-Seidel's. S1's sequential Jacobi allocated w anew in each sweep.

S1's processes run on up to 8 cores. Ours end at {end, below S1's cores}; with four and eight
workers only the bits are compared.

S1 finds one contact a task an order of magnitude slower than one thread (section 6.1). Here, on the
medium grid, a sweep of 'extreme' takes {medium ball grid/extreme/sweep_s/most} and a sweep of
'factorized' {medium ball grid/factorized/sweep_s/most}.

With numbers of contacts in place of their data, S1's pointers, it takes {medium ball grid/extreme,
numbers/sweep_s/most}; S1 finds that they do not improve performance much.

Demos with more than 50,000 contacts are left out of 'extreme'.

Eight workers of the naive network reach γ {small ball grid/naive, 50 sweeps/quality} and {large
ball grid/naive, 50 sweeps/quality} after 50 sweeps, where S1 prints 306 and 7976.

Visits ahead of the accumulator have other iterates. After {small ball grid/factorized, 0.2
ahead/sweeps} sweeps of eight workers γ of the small grid is {small ball grid/factorized, 0.2
ahead/quality} with them and {small ball grid/factorized/quality} without, and after {large ball
grid/factorized, 0.2 ahead/sweeps} sweeps that of the large grid {large ball grid/factorized, 0.2
ahead/quality} and {large ball grid/factorized/quality}; S1 often saw divergence (section 6.2.1).
""",
    "late_halving": """
S1 halves R when the residual grows (section 3.5). Here it never does: with `rollback_growth` of 1,
S1's rule, there are {medium ball grid/rollback_growth 1//rollbacks} rollbacks, and the sweeps are
{medium ball grid/rollback_growth 1//sweeps}.

One late halving, which gives S1's figures for Jacobi (Table 3.3), does not explain the 65: from
sweep {late} on R halved once takes no more sweeps than R as it is. Near 65 it comes from sweep
{near, R halved once}. Several at once do, late as they are: two from sweep {near, R halved twice},
five from {near, R halved five times}. S1 does not tell whether R was halved there.

S1's own explanation does not either: an unsafe colour in which no contact sees any impulse of the
present sweep takes {medium ball grid/unsafe colour sees the sweep
before//sweeps} sweeps on the grid. On the pile γ is still {large ball pile/unsafe colour sees the
sweep before//quality} when it is given up after 200 sweeps; S1's scheme takes 51.
""",
    "running_text": """
S1's seconds and ratios are those of up to 8 cores of 2010, ours of the threads that the table
names.

Here set-up begins with arrays and ends with a solver; in S1 it begins with generated contacts.

S1's worker takes longer than sequential Jacobi, which makes w anew in each sweep. Ours, which adds
its changes to w as S1's does, takes {one worker, a sweep/1/ratio} times as long a sweep on this
machine; on that of Tables 6.1 to 6.3 it is row 'factorized, w updated' against 'factorized'.

In section 7.6 S1 goes from 4 to 8 cores; ours are the steps from each number of threads to the
next.
""",
    "contact_sets": """
S1 proposes contact sets and does not try them, so that it has no figures.

'Corner spread' is the range of the four normal impulses under the lowest body over their mean: 0
where a symmetric box is held symmetrically (S1 Fig. 3.1).
""",
    "sequential_impulses": """
S1 compares with other solvers only by what their papers say (section 7.6), so that it has no
figures.

All methods solve the same problem: friction bounded by ±μλ_n along each tangent, as engines have
it, and γ with that set.

Times can be compared within one language only: sequential impulses are plain Python, compiled by
Numba if it is installed.

On boxes and bricks steps with R = 1/A_ii, on rows or on blocks, need fewer sweeps than our local
r-factors, which are scaled down by the largest eigenvalue of each contact's own block so that they
do not diverge on other scenes.
""",
}

_WITH_SECONDS = ("table_3_3", "table_3_5")


def remarks(name, rows):
    """The sentences below a table, their figures those of its rows."""
    text = _TEXTS[name] + (_SECONDS if name in _WITH_SECONDS else "")
    return pages.sentences(text, facts(name, rows))
