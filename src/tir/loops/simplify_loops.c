/* SimplifyLoops: fold index arithmetic and conditions under what is known where they stand.
 *
 * needs    nothing
 * keeps    the order of what is left, values
 * breaks   nothing
 */
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

bool
pass_SimplifyLoops(Kernel *kernel, PassContext *context)
{
	(void)context;
	tir_simplify(kernel);
	return true;
}
