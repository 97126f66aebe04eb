/* Where the time goes: per step, as a table or as a Chrome trace. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "cli/report.h"
#include "runtime/tilewright.h"

typedef struct Profile Profile;

Profile *profile_new(Arena *arena);
void profile_begin(Profile *profile);                 /* before each run */
void profile_step(void *context, const TwStep *step); /* a TwProfile */
/* Add the table of steps, slowest first, and of kinds. The first run is left out where others
 * follow. */
void profile_report(Profile *profile, Report *report);
/* The last run's steps as {"traceEvents": […]}. */
void profile_trace(const Profile *profile, Arena *arena, const char *path);

#endif
