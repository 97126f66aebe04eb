/* Names that nothing has: the sentence that refuses them, with the nearest name that there is. */
#ifndef BASE_UNKNOWN_H
#define BASE_UNKNOWN_H

#include "base/fail.h"

/* Whether a text is one of the words of a list as "steps|none". */
bool word_among(const char *text, const char *words);

/* The name that a slip of the finger makes `wrong` of; NULL: none is near. */
const char *name_near(const char *wrong, int count, const char *const *names);

/* Fail (FAIL_USAGE): "there is no pass 'FuseOp'; did you mean 'FuseOps'? (tilewright list passes
 * shows all)". `command`: what shows all names, behind `tilewright`; NULL: the names themselves
 * are told. `loc` may be NULL. */
_Noreturn void fail_unknown(const Loc *loc, const char *what, const char *wrong, int count,
                            const char *const *names, const char *command);

#endif
