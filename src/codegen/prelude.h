/* The texts every kernel begins with stand in expr/prelude.h: the interpreter compiles them too. */
#ifndef CODEGEN_PRELUDE_H
#define CODEGEN_PRELUDE_H

#include "expr/prelude.h"

#endif
