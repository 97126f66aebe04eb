/* Unroll: marked loops of constant bounds become their iterations.
 *
 *     for c in 2 @unroll                      acc[0] += X[4*i]
 *       acc[c] += X[4*i+c]          =>        acc[1] += X[4*i+1]
 *
 * needs    nothing
 * keeps    values, and their order
 * breaks   loops that are marked: there are none behind it
 * leaves   loops of more than MAX_COPIES iterations, or whose bounds are not known, as plain ones
 */
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

enum { MAX_COPIES = 256 };

static Stmt *unroll_list(Kernel *kernel, Stmt *list);

static Stmt *
unroll(Kernel *kernel, Stmt *loop)
{
	int64_t lo, hi;
	StmtList list = {0};
	if (!expr_as_i64(loop->lo, &lo) || !expr_as_i64(loop->hi, &hi) || hi - lo > MAX_COPIES) {
		loop->bind = BIND_SERIAL;
		loop->body = unroll_list(kernel, loop->body);
		return loop;
	}
	for (int64_t i = lo; i < hi; i++) {
		Stmt *copy = stmt_copy(kernel, loop->body, loop->var, expr_i64(kernel->ctx, i));
		stmt_list_add(&list, unroll_list(kernel, copy));
	}
	return list.first;
}

static Stmt *
unroll_list(Kernel *kernel, Stmt *list)
{
	StmtList unrolled = {0};
	for (Stmt *next, *stmt = list; stmt; stmt = next) {
		next = stmt->next;
		stmt->next = NULL;
		if (stmt->kind == STMT_FOR && stmt->bind == BIND_UNROLL) {
			stmt = unroll(kernel, stmt);
		} else {
			stmt->body = unroll_list(kernel, stmt->body);
			stmt->other = unroll_list(kernel, stmt->other);
		}
		stmt_list_add(&unrolled, stmt);
	}
	return unrolled.first;
}

bool
pass_Unroll(Kernel *kernel, PassContext *context)
{
	(void)context;
	kernel->body = unroll_list(kernel, kernel->body);
	tir_simplify(kernel);
	return true;
}
