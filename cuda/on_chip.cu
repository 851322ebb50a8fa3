/* The kernels of cuda/on_chip.inc in single and in double precision. */
#include "cuda/device.h"

#define CS_TEMPLATE "cuda/on_chip.inc"
#include "core/each_precision.h"

int cs_chip_pieces(cs_queue *queue)
{
    const auto kernel = sweep_on_chip_f32<3, CS_DENSE_SMALL, CS_CHIP_PIECES, 1>;
    return cs_most_threads(queue, kernel) < CS_CHIP_THREADS ? CS_CHIP_FEW_PIECES : CS_CHIP_PIECES;
}
