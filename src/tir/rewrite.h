/* What rewrites of loops are made of: copies, substitution, simplification. */
#ifndef TIR_REWRITE_H
#define TIR_REWRITE_H

#include "tir/stmt.h"

/* Simplify every scalar under what is known where it stands; drop dead branches and empty loops. */
void tir_simplify(Kernel *kernel);

/* A copy of the list with variables and buffers of its own; `var` (or NULL) is replaced by value.
 * */
Stmt *stmt_copy(Kernel *kernel, const Stmt *list, const Var *var, const Expr *value);
/* Replace a variable by a value in every scalar of the list, in place. */
void stmt_substitute(Kernel *kernel, Stmt *list, const Var *var, const Expr *value);
/* The same of each variable that `values` has (Var to Expr). */
void stmt_replace_vars(Kernel *kernel, Stmt *list, const Map *values);
/* Apply replace to every scalar of the list (see expr_rewrite()). */
void stmt_rewrite_exprs(Kernel *kernel, Stmt *list, ExprRewrite replace, void *arg);

/* Where an access goes: the buffer, with its index in place of the old one, or NULL: where it was.
 */
typedef const Buffer *Redirect(Kernel *kernel, const Buffer *buffer, const Expr *const **index,
                               void *arg);
/* Apply redirect to every read and store of the list, those in indices first. */
void stmt_redirect(Kernel *kernel, Stmt *list, Redirect *redirect, void *arg);

/* The scalar with a value in the place of a variable; of each that `values` has (Var to Expr). */
const Expr *expr_replace_var(const Expr *e, const Var *var, const Expr *value);
const Expr *expr_replace_vars(const Expr *e, const Map *values);
/* The number of an element among those of the buffer. */
const Expr *flat_index(ExprCtx *ctx, const Buffer *buffer, const Expr *const *index);
/* Whether running the statement itself, not what it holds, may report an index outside. */
bool stmt_reports(const Stmt *stmt);
/* A let's variable lies where its value does. */
void facts_let(Facts *facts, const Stmt *let);
bool expr_uses_var(const Expr *e, const Var *var);
bool expr_uses_any(const Expr *e, int count, const Var *const *vars);

/* What differs between the lanes of the @vector loop around (lanes.c). Each statement is noted
 * before those that it holds and those behind it. */
typedef struct Lanes {
	Arena *arena;
	VEC(const Var *) vars;
	VEC(const Buffer *) own; /* made inside: each lane has one */
} Lanes;
void lanes_note(Lanes *lanes, const Stmt *stmt);
bool lanes_own(const Lanes *lanes, const Tensor *tensor);
bool lanes_differ(const Lanes *lanes, const Expr *e);
bool lanes_differ_in(const Lanes *lanes, int count, const Expr *const *list);
bool lanes_join(DType type); /* a machine combines the lanes of such values into one */

#endif
