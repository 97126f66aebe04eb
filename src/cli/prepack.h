/* Weights in the vendor library's layouts, added to a bundle so that opening it packs nothing. */
#ifndef CLI_PREPACK_H
#define CLI_PREPACK_H

#include "cli/cli.h"

/* Add the packed weights of the target that runs here, at the sizes of --shape; gives the bytes
 * that the file grew by, 0 when there is nothing to add. */
int64_t prepack_bundle(const Options *options, Arena *arena, const char *path);

#endif
