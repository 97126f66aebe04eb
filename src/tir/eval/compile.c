/* Scalars of a statement as a flat program over slots: one instruction per distinct node, jumps
 * around the parts of lazy operations, so that a convolution of a few million terms takes about a
 * second.
 *
 *     Y[i] = (i < 3 ? X[i] : 0) + 1     0: slot3 = lt slot0, slot1
 *                                       1: jump_if_not slot3, 4
 *                                       2: slot4 = X[slot0]
 *                                       3: jump 5
 *                                       4: slot4 = slot2
 *                                       5: slot6 = add slot4, slot5
 *
 * Constants, symbols and variables have slots of their own, filled before the program runs.
 */
#include "tir/eval/machine.h"

#include <string.h>

typedef enum Act {
	ACT_OP, /* dst = op(a, b, c) */
	ACT_CAST,
	ACT_BITCAST,
	ACT_READ, /* dst = storage[slots from list a] */
	ACT_AT,
	ACT_MOVE,
	ACT_JUMP,    /* to target */
	ACT_UNLESS,  /* jump to target unless slot a */
	ACT_ADD_I64, /* the commonest operations, without a call */
	ACT_MUL_I64,
	ACT_MUL_F32,
	ACT_LE_I64,
	ACT_LT_I64,
} Act;

/* ---- compiling ------------------------------------------------------------------------------- */

int
new_slot(Machine *m)
{
	vec_push(m->arena, &m->slots, (Scalar){.u64 = 0});
	return m->slots.count - 1;
}

static int
var_slot(Machine *m, const Var *var)
{
	uintptr_t slot = (uintptr_t)map_find_ptr(&m->vars, var);
	if (slot)
		return (int)slot - 1;
	int made = new_slot(m);
	map_set_ptr(&m->vars, var, (void *)(uintptr_t)(made + 1));
	return made;
}

static Instruction *
add_instruction(Machine *m, Code *code, Act act, const Expr *e, int dst)
{
	Instruction ins = {.act = (uint8_t)act, .dst = dst};
	if (e) {
		ins.op = e->op;
		ins.type = e->type;
		ins.flags = e->flags;
		ins.arg_type = e->argc ? e->arg[e->argc - 1]->type : 0;
	}
	vec_push(m->arena, &code->ins, ins);
	return &code->ins.data[code->ins.count - 1];
}

static int compile(Machine *m, Code *code, const Expr *e);

/* Compile e so that its value lands in dst; nodes met inside are not known outside. */
static void
compile_arm(Machine *m, Code *code, const Expr *e, int dst)
{
	int mark = m->known.count;
	int slot = compile(m, code, e);
	add_instruction(m, code, ACT_MOVE, NULL, dst)->arg[0] = slot;
	m->known.count = mark;
}

/* select(c, a, b); and(a, b) is a ? b : false; or(a, b) is a ? true : b. */
static void
compile_lazy(Machine *m, Code *code, const Expr *e, int dst)
{
	ExprCtx *ctx = m->kernel->ctx;
	const Expr *yes = e->op == EX_or ? expr_bool(ctx, true) : e->arg[1];
	const Expr *no = e->op == EX_select ? e->arg[2] : e->op == EX_or ? e->arg[1] : NULL;
	int condition = compile(m, code, e->arg[0]);
	add_instruction(m, code, ACT_UNLESS, NULL, 0)->arg[0] = condition;
	int unless = code->ins.count - 1;
	compile_arm(m, code, yes, dst);
	add_instruction(m, code, ACT_JUMP, NULL, 0);
	int jump = code->ins.count - 1;
	code->ins.data[unless].target = code->ins.count;
	compile_arm(m, code, no ? no : expr_bool(ctx, false), dst);
	code->ins.data[jump].target = code->ins.count;
}

static Act
act_of(const Expr *e)
{
	DType type = e->argc ? e->arg[0]->type : DT_NONE;
	if (type == DT_I64 && e->op == EX_add)
		return ACT_ADD_I64;
	if (type == DT_I64 && e->op == EX_mul)
		return ACT_MUL_I64;
	if (type == DT_F32 && e->op == EX_mul)
		return ACT_MUL_F32;
	if (type == DT_I64 && e->op == EX_le)
		return ACT_LE_I64;
	if (type == DT_I64 && e->op == EX_lt)
		return ACT_LT_I64;
	return e->op == EX_cast      ? ACT_CAST
	       : e->op == EX_bitcast ? ACT_BITCAST
	       : e->op == EX_at      ? ACT_AT
	                             : ACT_OP;
}

static void
compile_read(Machine *m, Code *code, const Expr *e, int dst)
{
	int slots[ARRAY_MAX_RANK];
	for (int d = 0; d < e->argc; d++)
		slots[d] = compile(m, code, e->arg[d]);
	Instruction *ins = add_instruction(m, code, ACT_READ, e, dst);
	ins->storage = storage_of(m, e->tensor);
	ins->arg[0] = code->list.count;
	for (int d = 0; d < e->argc; d++)
		vec_push(m->arena, &code->list, slots[d]);
}

static void
compile_node(Machine *m, Code *code, const Expr *e, int dst)
{
	if (e->op == EX_select || e->op == EX_and || e->op == EX_or) {
		compile_lazy(m, code, e, dst);
	} else if (e->op == EX_read) {
		compile_read(m, code, e, dst);
	} else {
		int slots[3] = {0};
		for (int i = 0; i < e->argc; i++)
			slots[i] = compile(m, code, e->arg[i]);
		Instruction *ins = add_instruction(m, code, act_of(e), e, dst);
		memcpy(ins->arg, slots, sizeof slots);
	}
}

/* The slot that holds e once the code so far has run. */
static int
compile(Machine *m, Code *code, const Expr *e)
{
	if (e->op == EX_var)
		return var_slot(m, e->var);
	for (int i = m->known.count - 1; i >= 0; i--)
		if (m->known.data[i].e == e)
			return m->known.data[i].slot;
	int slot = new_slot(m);
	if (e->op == EX_const)
		m->slots.data[slot] = e->value;
	else if (e->op == EX_symbol)
		m->slots.data[slot].i64 = dim_value(m, e);
	else
		compile_node(m, code, e, slot);
	vec_push(m->arena, &m->known, (Known){e, slot});
	return slot;
}

static const int *
compile_index(Machine *m, Code *code, int rank, const Expr *const *index)
{
	int *slots = NEW_N(m->arena, int, rank + 1);
	for (int d = 0; d < rank; d++)
		slots[d] = compile(m, code, index[d]);
	return slots;
}

static void
compile_operands(Machine *m, Code *code, const Stmt *stmt)
{
	for (int i = 0; i < stmt->warp_op->nargs && stmt->warp_op->kind != WARP_HINT; i++) {
		const Expr *arg = stmt->args[i];
		if (warp_op_takes_place(stmt->warp_op, i)) {
			Storage *storage = storage_of(m, arg->tensor);
			code->from[i] = (Place){storage, compile_index(m, code, arg->argc, arg->arg)};
		} else {
			code->arg[i] = compile(m, code, arg);
		}
	}
}

static Code *
compile_stmt(Machine *m, const Stmt *stmt)
{
	Code *code = NEW(m->arena, Code);
	code->stmt = stmt;
	code->number = ++m->ncode;
	const Expr *fields[] = {stmt->lo, stmt->hi, stmt->condition, stmt->value};
	m->stmt = stmt;
	m->known.count = 0;
	for (int i = 0; i < (int)countof(fields); i++)
		if (fields[i])
			code->result[i] = compile(m, code, fields[i]);
	if (stmt->var)
		code->var = var_slot(m, stmt->var);
	if (stmt->buffer)
		code->to.storage = storage_of(m, &stmt->buffer->tensor);
	if (stmt->index)
		code->to.index = compile_index(m, code, stmt->buffer->tensor.rank, stmt->index);
	if (stmt->kind == STMT_WARP_OP)
		compile_operands(m, code, stmt);
	for (int i = 0; i < 2 && (stmt->kind == STMT_FOR || stmt->kind == STMT_IF); i++)
		code->active[i] = NEW_N(m->arena, int, m->count);
	code->body = compile_list(m, stmt->body);
	code->other = compile_list(m, stmt->other);
	return code;
}

Code *
compile_list(Machine *m, const Stmt *list)
{
	Code *first = NULL, **link = &first;
	for (; list; list = list->next) {
		*link = compile_stmt(m, list);
		link = &(*link)->next;
	}
	return first;
}

/* ---- running --------------------------------------------------------------------------------- */

static void
report(const Machine *m, int64_t index, int64_t extent)
{
	OutsideIndices *reports = m->reports;
	if (!reports)
		machine_fail(m, FAIL_INVALID, "index %lld is outside 0..%lld", (long long)index,
		             (long long)extent);
	int at = 0, count = reports->list.count;
	OutsideIndex *list = reports->list.data, new = {index, extent};
	while (at < count &&
	       (list[at].index < index || (list[at].index == index && list[at].extent < extent)))
		at++;
	if (at < count && list[at].index == index && list[at].extent == extent)
		return;
	vec_push(reports->arena, &reports->list, new);
	list = reports->list.data;
	memmove(list + at + 1, list + at, (size_t)(count - at) * sizeof *list);
	list[at] = new;
}

static int64_t
checked_index(const Machine *m, int64_t index, int64_t extent, int flags)
{
	int64_t wrapped = (flags & AT_WRAP) && index < 0 ? index + extent : index;
	if (wrapped >= 0 && wrapped < extent)
		return wrapped;
	if (flags & AT_CHECK)
		report(m, index, extent);
	return wrapped < 0 || extent == 0 ? 0 : extent - 1;
}

static Scalar
reinterpret(const Instruction *ins, Scalar value)
{
	unsigned char bytes[8] = {0};
	element_store(ins->arg_type, bytes, 0, value);
	return element_load(ins->type, bytes, 0);
}

static Scalar
apply(Machine *m, const Code *code, const Instruction *ins)
{
	const Scalar *slots = m->at;
	if (m->watch)
		m->watch->key = ((int64_t)code->number << 32) + (ins - code->ins.data) + 1;
	if (ins->act == ACT_READ)
		return read_at(m, ins->storage,
		               locate_elements(m, (Place){ins->storage, &code->list.data[ins->arg[0]]}, 1));
	Scalar a = slots[ins->arg[0]];
	if (ins->act == ACT_CAST)
		return scalar_cast(ins->type, ins->flags, ins->arg_type, a);
	if (ins->act == ACT_BITCAST)
		return reinterpret(ins, a);
	if (ins->act == ACT_AT)
		return (Scalar){.i64 = checked_index(m, a.i64, slots[ins->arg[1]].i64, ins->flags)};
	Scalar args[3] = {a, slots[ins->arg[1]], slots[ins->arg[2]]};
	return scalar_eval(ins->op, ins->type, args, ins->arg_type);
}

void
run_code(Machine *m, const Code *code)
{
	Scalar *slots = m->at;
	for (int pc = 0; pc < code->ins.count; pc++) {
		const Instruction *ins = &code->ins.data[pc];
		Scalar a = slots[ins->arg[0]], b = slots[ins->arg[1]];
		Scalar *dst = &slots[ins->dst];
		switch ((Act)ins->act) {
		case ACT_ADD_I64:
			dst->u64 = a.u64 + b.u64;
			break;
		case ACT_MUL_I64:
			dst->u64 = a.u64 * b.u64;
			break;
		case ACT_LE_I64:
			dst->u64 = a.i64 <= b.i64;
			break;
		case ACT_LT_I64:
			dst->u64 = a.i64 < b.i64;
			break;
		case ACT_MUL_F32:
			*dst = (Scalar){.f32 = a.f32 * b.f32};
			break;
		case ACT_MOVE:
			*dst = a;
			break;
		case ACT_JUMP:
			pc = ins->target - 1;
			break;
		case ACT_UNLESS:
			pc = a.u64 ? pc : ins->target - 1;
			break;
		default:
			*dst = apply(m, code, ins);
			break;
		}
	}
}
