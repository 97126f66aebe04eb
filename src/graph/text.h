/* What printer and parser of graphs agree on. */
#ifndef GRAPH_TEXT_H
#define GRAPH_TEXT_H

/* Constants of at most so many elements stand in the text; larger are weights by number. Shapes
 * and axes are worth reading, four numbers of a weight are not. */
enum { TEXT_INLINE_MAX = 16, TEXT_INLINE_FLOATS = 2 };

#endif
