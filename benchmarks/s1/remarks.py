"""Why our figures differ from S1's: one sentence for each difference, by table.

The scripts print them below their tables and `report.py` writes them into docs/s1.md.
"""

_SECONDS = """
S1's seconds are those of one core of an AMD64 server of 2010, with blocks of 4 rows (normal, two
tangents, spin) and a binary search in each column product; ours have 3 rows where the method does
not say 4, and are packed in the order of the visits. They stand there for scale.
"""

_TEXTS = {
    "table_3_1": """
S1's table has the naive scheme's 8K multiplications and 4K additions the wrong way round: its text
(section 3.3) counts 4 and 8 a contact, and so do we.

S1's 100 additions of the factorized scheme leave out the block addition that its text names;
counted out they are 104 for its 4 rows, and 78 for our 3.

With 3 rows the factorized scheme has fewer multiplications from N = 8K on, with S1's 4 rows from
6K.

Our N is smaller than S1's where there is a ground: contacts that only share a body of zero inverse
mass have a zero block in A, which S1 stores and ours does not.
""",
    "tables_3_2_and_3_4": """
S1's piles are random and its test for approach is not printed: ours is tuned to its counts.

Balls of our piles touch along their row only, so that a contact has two neighbours at most and two
colours do; in S1's pile some have three, and there are three colours.

Two contacts with the ground are coupled by nothing: a ground of zero inverse mass gives zero
blocks, which S1 counts and stores, and which ours never stores (column 'blocks, ground fixed').

S1 offers the cannonball layout and prints no figures for it.
""",
    "table_3_3": """
Gauss-Seidel agrees to the printed digits, and so does Jacobi on the small grid, where S1 prints γ
of the iterate before the last (row 'before the last'). S1's fourth row, spin, has nothing to do in
a grid at rest: γ is the same with it (rows '4 rows') and each sweep dearer.

On the larger grids our Jacobi needs fewer sweeps than S1's because S1 halved R late: with r = 2.5
from sweep 60 and 57 on, its own 66 and 65 sweeps give the γ and residual that it prints (rows 'R
halved').

On the cannonball grid, which is no part of S1's table, a ball has up to twelve contacts and r = 5
is too much for Jacobi, whose five halvings do not save it; below stand the r-factors of our own,
run to the same γ.
""",
    "table_3_5": """
S1's pile is one random draw, and neither its velocities nor its r are printed: with r = 5, as in
Table 3.3, and up to 2 m/s along each axis Gauss-Seidel's γ and residual come out in S1's range.

Our Jacobi needs twice the sweeps of S1's: at r = 5 the tangential impulses of two contacts that
stick on one ball grow by a factor of 1.125 a sweep, and after the halving of R that follows the
normal impulses are the slow ones. S1's 63 and 65 sweeps are what the normal rows take by themselves
(rows 'normals alone'); how S1's tangents kept still is not to be seen from its text.

Local r-factors, one for each coupled set, get to the same γ in fewer sweeps (last rows).
""",
    "jacobi": """
S1 had 8 cores and we time on 2 at most, so that its speed-ups over one core cannot come out; 4 and
8 threads run to compare impulses bit by bit, and no time is claimed for them.

The sequential Jacobi that we compare with is our factorized scheme on one thread. S1's was slow on
the piles, because it allocated w anew in each sweep, which is why its other schemes win by so
much.

One contact a task cost S1 an order of magnitude because each task was a message; here a task is a
number that a thread takes from a counter.

S1's T of the large grid has 587 MB in f64, more than half of it zero blocks between contacts with
the ground, which ours leaves out.
""",
    "naive": """
S1's figures come out to the printed digits; for the small grid and one range S1 prints 246 here
and 247 in Table 3.3.

On the small grid each of eight ranges is one layer of balls, no ball sees another one's newest
impulses, and naive Gauss-Seidel is Jacobi.

On a pile γ does not change, as S1 says, unless a range ends between two contacts of one ball:
these are then Jacobi's, which r = 5 does not solve (Table 3.5).
""",
    "colored": """
The relaxed greedy colours take S1's 57 sweeps and the balanced ones 50 on the medium grid, where
S1 prints 50 and 49. On our pile, a random draw with two colours for S1's three, both take 51, and
S1's take 51 and 50.

S1's relaxed T scheme took 65 sweeps, and S1 blames the Jacobi iterations in its unsafe colour.
Here both kinds of unsafe stage take the same sweeps, because the unsafe contacts are those with
the ground, which do not couple; a late halving of R, as for Jacobi (Table 3.3), would explain the
65.

S1 does not print the size below which it merges colours; a twelfth of the contacts gives both of
its merged colourings.

The half sweep, which S1 leaves for later, and the symmetric sweeps have a residual that rises in
every second sweep; R is halved there when it grows by 3, not at once.

S1's speed-ups are those of up to 8 cores, ours of 2 at most. A colour of 70 contacts is one task
here, so that the balanced colours of the medium grid keep one thread busy.
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

Times compare within one language only: sequential impulses are plain Python, compiled by Numba
where it is installed.

On boxes and bricks steps with R = 1/A_ii, on rows or on blocks, need fewer sweeps than our local
r-factors, which are scaled down by the largest eigenvalue of each contact's own block so that they
do not diverge elsewhere.
""",
}

_WITH_SECONDS = ("table_3_3", "table_3_5")


def remarks(name):
    """The sentences below a table."""
    text = _TEXTS[name] + (_SECONDS if name in _WITH_SECONDS else "")
    return [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
