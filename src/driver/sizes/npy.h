/* NumPy's .npy files, and arrays as words of the command line. */
#ifndef DRIVER_SIZES_NPY_H
#define DRIVER_SIZES_NPY_H

#include "base/array_words.h"
#include "base/file.h"

/* Read a file: little-endian, C order, versions 1 to 3. Fails with the file's name. */
Array *npy_read(Arena *arena, const char *path);

/* A .pb file (one TensorProto) or a .npy file, by its name. */
Array *tensor_read(Arena *arena, const char *path);

/* Write one. Types NumPy has no word for are written as their bytes (u1, last dim counted in
 * bytes for sub-byte types); strings fail. */
void npy_write(Arena *arena, const char *path, const Array *array);

/* The file of a value in a folder: its name, with _ for /. */
const char *npy_path(Arena *arena, const char *folder, const char *name);

/* "@file.npy", "@tensor.pb", or numbers of this type and rank (base/array_words.h: DT_NONE and -1
 * where these are not known). A file has what it has. */
Array *array_of_text(Arena *arena, const char *option, const char *text, DType type, int rank);

#endif
