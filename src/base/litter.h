/* Files and folders that must not outlive the process: temporary ones, and outputs that are not
 * complete. Whoever makes one lists it, and takes it off when it is gone or complete; a signal
 * handler removes what is listed.
 */
#ifndef BASE_LITTER_H
#define BASE_LITTER_H

/* `path` is copied; a long one, or one too many, is not listed. A folder goes with its files. */
void litter_add(const char *path);
void litter_remove(const char *path);

/* Remove everything listed; may be called in a signal handler. */
void litter_sweep(void);

#endif
