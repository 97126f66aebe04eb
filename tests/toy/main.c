/* The compiler, for the devices of the test. */
#include "../../src/cli/main.c"
