/* What test_pool_tags.c does, with tags of no bits: each list breaks, so that the test is one of tags. */
#define CS_TAG_MASK 0u
#include "interrupted.h"

int main(void)
{
    /* An item that another actor has taken. */
    CHECK(item_of_interrupted_pop() == OLDEST);

    /* A node that another actor holds. */
    CHECK(node_after_interrupted_pop() == 1);

    /* The item is lost, and its node is free. */
    int free_nodes, queued;
    interrupted_push(&free_nodes, &queued);
    CHECK(free_nodes == 2 && !queued);
    return test_result();
}
