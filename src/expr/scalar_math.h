/* The scalar instances of the kernels' prelude (src/expr/prelude/), for use inside the compiler. */
#ifndef EXPR_SCALAR_MATH_H
#define EXPR_SCALAR_MATH_H

#include "expr/prelude/types.h"
#include "expr/prelude/ints.h"
#include "expr/prelude/convert.h"
#include "expr/prelude/storage.h"
#include "expr/prelude/pi_bits.h"

#define TW_WIDTH 64
#define TW_LANES 0
#include "expr/prelude/lanes_open.h"
#include "expr/prelude/float.h"
#include "expr/prelude/math64.h"
#include "expr/prelude/lanes_close.h"

#define TW_WIDTH 32
#define TW_LANES 0
#include "expr/prelude/lanes_open.h"
#include "expr/prelude/float.h"
#include "expr/prelude/math32.h"
#include "expr/prelude/lanes_close.h"

#endif
