/* Tags find that a node was taken and put back (ABA): no list breaks. test_pool_without_tags.c shows that they would. */
#include "interrupted.h"

int main(void)
{
    CHECK(item_of_interrupted_pop() == 0);
    CHECK(node_after_interrupted_pop() == 2);

    int free_nodes, queued;
    interrupted_push(&free_nodes, &queued);
    CHECK(free_nodes == 1 && queued);
    return test_result();
}
