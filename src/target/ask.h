/* Questions to the oracle, as every choice asks them: what fails inside is refused and logged, and
 * never ends a compilation. Of no oracle, or one that lacks the function, the answer is "no".
 */
#ifndef TARGET_ASK_H
#define TARGET_ASK_H

#include "base/pass.h"
#include "target/target.h"

/* Of the context's target; they are those of target.h's Oracle. */
bool ask_accept(PassContext *context, const VendorCall *call, const char **impl);
bool ask_measure(PassContext *context, const VendorCall *call, double *seconds, const char **impl);
/* False: nothing was measured. */
bool ask_time(PassContext *context, int count, const Program *const *programs, const bool *constant,
              double *seconds, double *relayouts);
bool ask_time_pass(PassContext *context, const struct Graph *graph, const Map *choices,
                   double without[2], double with[2]);
const char *ask_recall(PassContext *context, const char *question);
void ask_remember(PassContext *context, const char *question, const char *answer);

/* Whether the step ends; where it fails, that is logged as a refusal of what `nodes` names. */
bool ask_try(PassContext *context, const char *rule, const char *nodes, void (*step)(void *),
             void *arg);

#endif
