/* What a run gave: --output and --all-outputs write it, --expect and --data-set compare it. */
#ifndef CLI_VERBS_RESULTS_H
#define CLI_VERBS_RESULTS_H

#include "driver/proof/session.h"

/* Of the session's last run: the exit code. Fails (FAIL_USAGE) where --expect names no value. */
int give_results(const Options *options, Session *session);

#endif
