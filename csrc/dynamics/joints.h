/* The joints of a world.
 *
 * A joint has up to three parts in the problem of a step, each a block of a group: the rows that it holds (the set
 * free), its limit (half_line) and its drive (box). Which parts it has does not change from step to step. */
#ifndef CS_JOINTS_H
#define CS_JOINTS_H

#include "contactsolve.h"
#include "core/buffer.h"

/* Groups of joints in the problem of a step: held rows (1, 3, 5, 6), limits, drives. */
enum { CS_JOINT_GROUPS = 6 };

/* What a step changes. */
typedef struct cs_joint_state {
    double *coordinate;   /* (joints) */
    double *impulse;      /* (joints, CS_JOINT_ROWS) */
    unsigned char *index; /* (joints, CS_JOINT_ROWS): the code of each row's cs_index */
} cs_joint_state;

/* Arrays have room for `capacity`, and stay allocated as those of bodies do. */
typedef struct cs_joints {
    int64_t count, capacity;
    cs_joint *joint;
    unsigned char *removed;
    double *drive; /* (joints, CS_DRIVE_NUMBERS) */
    cs_joint_state now, next;
    cs_buffer apart; /* (aparts, 2) int64_t: sorted pairs of bodies without contacts */
    int64_t aparts;
    int apart_is_known;
    int implicit;      /* tension */
    cs_buffer tension; /* (bodies, 9): moments per angle that pull bodies back, if implicit */
} cs_joints;

typedef enum cs_part_kind { CS_PART_HELD, CS_PART_LIMIT, CS_PART_DRIVE } cs_part_kind;

/* A part of a joint: its group in the problem, and its index there. */
typedef struct cs_joint_part {
    int64_t joint, index;
    cs_part_kind kind;
    int group;
} cs_joint_part;

/* Rows that a kind of joint holds, 0 to 6; whether it has a coordinate, and one that can be driven. */
int cs_joint_held(cs_joint_kind kind);
int cs_joint_has_coordinate(cs_joint_kind kind);
int cs_joint_can_be_driven(cs_joint_kind kind);

/* Whether a joint has a limit. */
int cs_joint_has_limit(const cs_joint *joint);

#endif
