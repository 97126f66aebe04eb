/* The scalar instances of the kernels' prelude (prelude/), for use inside the compiler. */
#ifndef EXPR_SCALAR_MATH_H
#define EXPR_SCALAR_MATH_H

#include "expr/scalar/prelude/types.h"
#include "expr/scalar/prelude/ints.h"
#include "expr/scalar/prelude/convert.h"
#include "expr/scalar/prelude/storage.h"
#include "expr/scalar/prelude/pi_bits.h"

#define TW_WIDTH 64
#define TW_LANES 0
#include "expr/scalar/prelude/lanes_open.h"
#include "expr/scalar/prelude/float.h"
#include "expr/scalar/prelude/math64.h"
#include "expr/scalar/prelude/lanes_close.h"

#define TW_WIDTH 32
#define TW_LANES 0
#include "expr/scalar/prelude/lanes_open.h"
#include "expr/scalar/prelude/float.h"
#include "expr/scalar/prelude/math32.h"
#include "expr/scalar/prelude/lanes_close.h"

#endif
