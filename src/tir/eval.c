/* The interpreter of kernels: the oracle of every loop transformation and of the emitted C.
 *
 * Statements are walked as a tree; the scalars of each statement are compiled once, when the kernel
 * is loaded, into a flat program over slots (one instruction per distinct node, jumps around the
 * parts of lazy operations), so that a convolution of a few million terms takes about a second.
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
#include "tir/stmt.h"

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

typedef struct Instruction {
	uint8_t act, op, type, arg_type, flags;
	int dst, arg[3];
	int target;
	const struct Storage *storage; /* ACT_READ: indices are slots list[arg[0]…] */
} Instruction;

/* Where a buffer's elements are. */
typedef struct Storage {
	const Buffer *buffer;
	int64_t *dims, *strides;
	int64_t count; /* elements that may be addressed */
	unsigned char *data;
	unsigned char *is_set; /* locals: which elements were written; NULL: all */
} Storage;

/* The compiled scalars of one statement. */
typedef struct Code {
	VEC(Instruction) ins;
	IntVec list;
	int result[4]; /* lo, hi / condition / value: slots */
	int *index;    /* STORE: slots */
	Storage *storage;
	int var; /* FOR, LET: slot */
} Code;

typedef struct Known {
	const Expr *e;
	int slot;
} Known;

typedef struct Machine {
	const Kernel *kernel;
	Arena *arena;
	const Binding *binding;
	Map codes;    /* Stmt to Code */
	Map storages; /* Tensor to Storage */
	Map vars;     /* Var to slot + 1 */
	VEC(Scalar) slots;
	VEC(Known) known; /* nodes computed so far in the program being compiled: a stack of scopes */
} Machine;

/* ---- compiling ------------------------------------------------------------------------------- */

static int
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

static int64_t
dim_value(const Machine *m, const Expr *dim)
{
	int64_t value;
	if (!dim_eval(dim, m->binding, &value))
		fail(&m->kernel->loc, "kernel %s: a dim has no value under this binding", m->kernel->name);
	return value;
}

static Storage *
storage_of(Machine *m, const Tensor *tensor)
{
	Storage *storage = map_find_ptr(&m->storages, tensor);
	if (storage)
		return storage;
	const Buffer *buffer = (const Buffer *)tensor;
	storage = NEW(m->arena, Storage);
	storage->buffer = buffer;
	storage->dims = NEW_N(m->arena, int64_t, tensor->rank + 1);
	storage->strides = NEW_N(m->arena, int64_t, tensor->rank + 1);
	int64_t dense = 1;
	for (int d = tensor->rank - 1; d >= 0; d--) {
		storage->dims[d] = dim_value(m, tensor->hi[d]);
		storage->strides[d] = buffer->stride ? dim_value(m, buffer->stride[d]) : dense;
		dense *= storage->dims[d];
	}
	storage->count = dense;
	map_set_ptr(&m->storages, tensor, storage);
	return storage;
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

static void
compile_stmt(Machine *m, const Stmt *stmt)
{
	Code *code = NEW(m->arena, Code);
	const Expr *fields[] = {stmt->lo, stmt->hi, stmt->condition, stmt->value};
	m->known.count = 0;
	for (int i = 0; i < (int)countof(fields); i++)
		if (fields[i])
			code->result[i] = compile(m, code, fields[i]);
	if (stmt->var)
		code->var = var_slot(m, stmt->var);
	if (stmt->buffer) {
		code->storage = storage_of(m, &stmt->buffer->tensor);
		code->index = NEW_N(m->arena, int, stmt->buffer->tensor.rank + 1);
	}
	for (int d = 0; stmt->kind == STMT_STORE && d < stmt->buffer->tensor.rank; d++)
		code->index[d] = compile(m, code, stmt->index[d]);
	map_set_ptr(&m->codes, stmt, code);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Storage types under a byte: several codes in one, the first in the low bits. */
static int64_t
load_code(DType type, const unsigned char *data, int64_t at)
{
	int bits = dtype_bits(type), per_byte = 8 / bits;
	return data[at / per_byte] >> at % per_byte * bits & ((1 << bits) - 1);
}

static void
store_code(DType type, unsigned char *data, int64_t at, uint64_t code)
{
	int bits = dtype_bits(type), per_byte = 8 / bits, shift = (int)(at % per_byte) * bits;
	unsigned mask = ((1u << bits) - 1) << shift;
	unsigned char *byte = &data[at / per_byte];
	*byte = (unsigned char)((*byte & ~mask) | ((unsigned)code << shift & mask));
}

static Scalar
load(DType type, const unsigned char *data, int64_t at)
{
	Scalar value = {.u64 = 0};
	if (type == DT_F32)
		memcpy(&value.f32, data + 4 * at, 4);
	else if (type == DT_F64)
		memcpy(&value.f64, data + 8 * at, 8);
	else if (type == DT_F16 || type == DT_BF16)
		memcpy(&value.bits16, data + 2 * at, 2);
	else if (dtype_is_arithmetic(type))
		value.i64 = dtype_load_i64(type, data, at);
	else
		value.i64 = load_code(type, data, at);
	return value;
}

static void
store(DType type, unsigned char *data, int64_t at, Scalar value)
{
	if (type == DT_F32)
		memcpy(data + 4 * at, &value.f32, 4);
	else if (type == DT_F64)
		memcpy(data + 8 * at, &value.f64, 8);
	else if (type == DT_F16 || type == DT_BF16)
		memcpy(data + 2 * at, &value.bits16, 2);
	else if (dtype_is_arithmetic(type))
		dtype_store_i64(type, data, at, value.i64);
	else
		store_code(type, data, at, value.u64);
}

/* The position of an element; fails where an index leaves its range. */
static int64_t
locate(const Machine *m, const Storage *storage, const int *index)
{
	int64_t at = 0;
	for (int d = 0; d < storage->buffer->tensor.rank; d++) {
		int64_t i = m->slots.data[index[d]].i64;
		if (i < 0 || i >= storage->dims[d])
			fail_as(FAIL_BUG, &m->kernel->loc, "kernel %s: index %lld of %s is outside 0..%lld",
			        m->kernel->name, (long long)i, storage->buffer->tensor.name,
			        (long long)storage->dims[d]);
		at += i * storage->strides[d];
	}
	if (at < 0 || at >= storage->count || !storage->data)
		fail_as(FAIL_BUG, &m->kernel->loc, "kernel %s: element %lld of %s is outside its %lld",
		        m->kernel->name, (long long)at, storage->buffer->tensor.name,
		        (long long)storage->count);
	return at;
}

static Scalar
read_element(const Machine *m, const Storage *storage, const int *index)
{
	int64_t at = locate(m, storage, index);
	if (storage->is_set && !storage->is_set[at])
		fail_as(FAIL_BUG, &m->kernel->loc, "kernel %s: %s is read before it is written",
		        m->kernel->name, storage->buffer->tensor.name);
	return load(storage->buffer->tensor.type, storage->data, at);
}

/* ---- running --------------------------------------------------------------------------------- */

static int64_t
checked_index(const Machine *m, int64_t index, int64_t extent, int flags)
{
	int64_t wrapped = (flags & AT_WRAP) && index < 0 ? index + extent : index;
	if (wrapped >= 0 && wrapped < extent)
		return wrapped;
	if (flags & AT_CHECK)
		fail(&m->kernel->loc, "kernel %s: index %lld is outside 0..%lld", m->kernel->name,
		     (long long)index, (long long)extent);
	return wrapped < 0 || extent == 0 ? 0 : extent - 1;
}

static Scalar
reinterpret(const Instruction *ins, Scalar value)
{
	unsigned char bytes[8] = {0};
	store(ins->arg_type, bytes, 0, value);
	return load(ins->type, bytes, 0);
}

static Scalar
apply(const Machine *m, const Code *code, const Instruction *ins)
{
	const Scalar *slots = m->slots.data;
	if (ins->act == ACT_READ)
		return read_element(m, ins->storage, &code->list.data[ins->arg[0]]);
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

static void
run_code(Machine *m, const Code *code)
{
	Scalar *slots = m->slots.data;
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

static void run_list(Machine *m, const Stmt *list);

static void
run_store(Machine *m, const Stmt *stmt, const Code *code)
{
	Storage *storage = code->storage;
	DType type = storage->buffer->tensor.type;
	Scalar value = m->slots.data[code->result[3]];
	if (stmt->op != STORE_SET) {
		Scalar args[3] = {read_element(m, storage, code->index), value};
		value = scalar_eval(reduce_fold(stmt->op), type, args, type);
	}
	int64_t at = locate(m, storage, code->index);
	store(type, storage->data, at, value);
	if (storage->is_set)
		storage->is_set[at] = 1;
}

/* Each execution of an alloc gives fresh contents. */
static void
run_alloc(Machine *m, const Stmt *stmt, const Code *code)
{
	Storage *storage = code->storage;
	DType type = storage->buffer->tensor.type;
	size_t bytes;
	if (!storage->data) {
		if (storage->count < 0 || !dtype_bytes(type, storage->count, &bytes))
			fail(&m->kernel->loc, "the size of %s overflows", storage->buffer->tensor.name);
		storage->data = arena_alloc(m->arena, bytes);
		storage->is_set = arena_alloc(m->arena, (size_t)storage->count);
	}
	memset(storage->is_set, stmt->value != NULL, (size_t)storage->count);
	for (int64_t i = 0; stmt->value && i < storage->count; i++)
		store(type, storage->data, i, m->slots.data[code->result[3]]);
}

static void
run_for(Machine *m, const Stmt *stmt, const Code *code)
{
	int64_t lo = m->slots.data[code->result[0]].i64, hi = m->slots.data[code->result[1]].i64;
	for (int64_t i = lo; i < hi; i++) {
		m->slots.data[code->var].i64 = i;
		run_list(m, stmt->body);
	}
}

static void
run_stmt(Machine *m, const Stmt *stmt)
{
	const Code *code = map_find_ptr(&m->codes, stmt);
	run_code(m, code);
	bool condition = m->slots.data[code->result[2]].u64 != 0;
	switch (stmt->kind) {
	case STMT_FOR:
		run_for(m, stmt, code);
		break;
	case STMT_STORE:
		run_store(m, stmt, code);
		break;
	case STMT_IF:
		run_list(m, condition ? stmt->body : stmt->other);
		break;
	case STMT_LET:
		m->slots.data[code->var] = m->slots.data[code->result[3]];
		break;
	case STMT_ALLOC:
		run_alloc(m, stmt, code);
		break;
	case STMT_CHECK:
		if (!condition)
			fail(&m->kernel->loc, "kernel %s: check %d failed with value %lld", m->kernel->name,
			     stmt->code, (long long)m->slots.data[code->result[3]].i64);
		break;
	case STMT_SYNC:
		fail_unsupported(&stmt->loc, "kernel %s: a barrier between threads is not interpreted",
		                 m->kernel->name);
	}
}

static void
run_list(Machine *m, const Stmt *list)
{
	for (; list; list = list->next)
		run_stmt(m, list);
}

static void
bind_arguments(Machine *m, Array *const *buffers)
{
	for (int i = 0; i < m->kernel->buffers.count; i++) {
		const Buffer *buffer = m->kernel->buffers.data[i];
		if (!buffers[i])
			continue;
		Storage *storage = storage_of(m, &buffer->tensor);
		must(buffers[i]->type == buffer->tensor.type);
		storage->count = array_count(buffers[i]);
		storage->data = buffers[i]->data;
	}
}

void
kernel_eval(const Kernel *kernel, const Binding *binding, Array *const *buffers)
{
	Arena *arena = arena_new_in(kernel->arena, "interpreting a kernel");
	Machine m = {.kernel = kernel, .arena = arena, .binding = binding};
	m.codes.arena = m.storages.arena = m.vars.arena = arena;
	new_slot(&m); /* slot 0: of statements without a condition */
	bind_arguments(&m, buffers);
	for (StmtWalk walk = stmt_walk(arena, kernel->body); stmt_step(&walk);)
		compile_stmt(&m, walk.stmt);
	run_list(&m, kernel->body);
	arena_reset(arena);
}
