/* Features of contacts of flat parts, and what counts as the same place: for the general test of polytopes and that of
 * polygons, whose contacts have the same names. */
#ifndef CS_FEATURES_H
#define CS_FEATURES_H

/* Parts of the size of a pair: differences of separation that rounding may cause; and how far beyond the side of a face
 * a contact may lie. */
#define CS_TIE 1e-11
#define CS_BESIDE 1e-10

/* Bits: two labels of sides (clip.h), the face, whose face it is, and which of its kinds the feature is. */
enum {
    CS_LABEL_SHIFT = 7,
    CS_FACE_SHIFT = 14,
    CS_FACE_OF_SECOND = 1 << 21,
    CS_EDGES = 1 << 22,
    CS_EDGE_SHIFT = 8,
    CS_POINTS = 1 << 23,
    CS_POINT_SHIFT = 7,
    CS_SECOND_END = 1 << 14
};

/* Labels of the sides of a face that clips: CS_CLIPPED + side. */
enum { CS_CLIPPED = 64 };

#endif
