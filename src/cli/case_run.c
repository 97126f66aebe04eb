/* Running a batch of cases. */
#include "cli/cases.h"

void
cases_run(const Options *options, int count, Case **cases, CaseBegin *begin, CaseDone *done,
          void *arg)
{
	for (int i = 0; i < count; i++) {
		begin(arg, cases[i]);
		Arena *arena = arena_new("case");
		CaseModel model;
		const char *reason;
		if (case_read(arena, cases[i], &model, &reason)) {
			cases[i]->result = CASE_FAILED;
			cases[i]->detail = "not run";
		} else {
			cases[i]->result = CASE_SKIPPED;
			cases[i]->detail = arena_strdup(options->arena, reason);
		}
		arena_free(arena);
		done(arg, cases[i]);
	}
}
