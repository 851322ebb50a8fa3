/* A sparse set of colours: those taken around a body with very many blocks. The bits are stored in pages, and a
 * page is allocated when its first colour is added. */
#ifndef CS_COLOR_SET_H
#define CS_COLOR_SET_H

#include "core/memory.h"

#include <string.h>

enum { CS_COLOR_PAGE = 4096 }; /* colours per page */

typedef struct cs_color_set {
    uint64_t **page; /* (pages); NULL for an empty set */
} cs_color_set;

static inline int64_t cs_color_pages(int64_t colors)
{
    return (colors + CS_COLOR_PAGE - 1) / CS_COLOR_PAGE;
}

static inline int cs_color_set_has(const cs_color_set *set, int64_t color)
{
    const uint64_t *page = set->page ? set->page[color / CS_COLOR_PAGE] : NULL;
    int64_t bit = color % CS_COLOR_PAGE;
    return page && (page[bit / 64] >> (bit % 64) & 1);
}

/* Adds a colour. If memory runs out it adds nothing, and the arena remembers the failure. */
static inline void cs_color_set_add(cs_color_set *set, int64_t color, int64_t pages,
                                    cs_arena *arena)
{
    if (!set->page) set->page = cs_arena_take(arena, pages, sizeof(uint64_t *));
    if (!set->page) return;
    uint64_t **page = &set->page[color / CS_COLOR_PAGE];
    if (!*page) *page = cs_arena_take(arena, CS_COLOR_PAGE / 64, sizeof(uint64_t));
    if (!*page) return;
    int64_t bit = color % CS_COLOR_PAGE;
    (*page)[bit / 64] |= (uint64_t)1 << (bit % 64);
}

static inline void cs_color_set_clear(cs_color_set *set, int64_t pages)
{
    for (int64_t i = 0; set->page && i < pages; i++)
        if (set->page[i]) memset(set->page[i], 0, CS_COLOR_PAGE / 8);
}

#endif
