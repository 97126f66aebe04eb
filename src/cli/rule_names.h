/* Rules of derivation by their names, as bits. */
#ifndef CLI_RULE_NAMES_H
#define CLI_RULE_NAMES_H

#include "cli/cli.h"
#include "einnet/rules.h"

/* --without and --rules: the rules that a search leaves out. Fails on a name that no exploring rule
 * has, of a file with the line. */
uint32_t rules_left_out(const Options *options);

#endif
