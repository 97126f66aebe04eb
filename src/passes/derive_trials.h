/* The three ways to an answer of DeriveExpressions: a record, an earlier compilation,
 * and searching and measuring.
 *
 *     derive 8d02960631a06898e099d010027fdb29 xww
 * =>  bilinear 0 0 3 4; bilinear 4 0 3 4; converge 0
 *
 * Of several nodes it asks whether their products are better merged than each on its own.
 */
#ifndef PASSES_DERIVE_TRIALS_H
#define PASSES_DERIVE_TRIALS_H

#include "passes/derive_questions.h"

/* Faster by less is not worth another form, and may be noise. */
#define CLEARLY_FASTER 0.93

/* What candidates say besides where searching or measuring ended by an error; the log has it. */
#define FAILED "as an error ended the search"

/* What an earlier compilation on this machine has measured. False: nothing that can be used. */
bool derive_recall(PassContext *context, Question *question);

/* Search, measure what promises something, and remember. `given` is what it has to be faster than:
 * the question's program, or what its nodes alone become. An error leaves it as given. */
void derive_measure(PassContext *context, Question *question, const Program *given);

/* The question stays as it is, because of an error. */
void derive_give_up(Question *question);

/* Why a derivation that was read from a file is not used; NULL: it gives an equal program. */
const char *derive_trouble(PassContext *context, const Question *question, const char *way);

#endif
