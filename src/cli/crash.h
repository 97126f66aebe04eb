/* The end of the process by a signal is a failure like others. */
#ifndef CLI_CRASH_H
#define CLI_CRASH_H

/* From now on SIGSEGV, an abort() and their like, the end of the stack included, say where the
 * compiler was at work and that it is our bug, remove files that are not complete, and end with
 * exit code 5. To be killed removes these files, too. */
void crash_watch(void);

#endif
