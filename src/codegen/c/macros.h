/* C text without its macros: the part of C's preprocessor that the prelude needs. */
#ifndef CODEGEN_C_MACROS_H
#define CODEGEN_C_MACROS_H

#include <stdbool.h>

#include "base/buf.h"

/* Bytes of the token at `text`: a word, number, comment, constant, or one character. */
size_t c_token(const char *text);
bool c_is_word(const char *text);

/* `text` with the macros that it defines put in and their definitions gone. Conditions that ask
 * for a name defined before (#if NAME, #if NAME == 4, #ifdef NAME) are decided; others are the C
 * compiler's to decide: they stay, and what they define stays a macro. */
const char *c_expand(Arena *arena, const char *text);

#endif
