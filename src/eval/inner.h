/* Inside of src/eval. */
#ifndef EVAL_INNER_H
#define EVAL_INNER_H

#include "eval/eval.h"

/* What a value is now: one of the two, by the mode. Memory is its own unless it was given. */
typedef struct Cell {
	const Array *array;
	const BoundArray *bounds;
	Arena *memory; /* NULL: given, constant, or shared with another cell */
} Cell;

struct Eval {
	Arena *arena;
	const Graph *graph;
	EvalMode mode;
	bool keeps_all;
	BoundWay way;
	Map cells;    /* Value to Cell */
	Map programs; /* Node to Program: regions of loops run again and again */
	Map last;     /* Region to Map from Value to the Node that uses it last */
	Map defs;     /* Value to DefList: the symbols it defines */
	int nsymbol;
	int64_t turns; /* that Loops have made, */
	double handed; /* and elements that these handed on */
	int64_t *symbol_value;
	bool *symbol_known;
};

Cell *eval_cell(Eval *eval, const Value *value); /* fails when there is none */
Cell *eval_find_cell(Eval *eval, const Value *value);
/* Record a result: binds the symbols it defines. */
void eval_set_cell(Eval *eval, const Value *value, Cell cell);
/* A copy with memory of its own; of what a value is now. */
Cell cell_copy(const Cell *from);
Cell eval_copy(Eval *eval, const Value *value);
void eval_drop(Eval *eval, const Value *value);

/* One element of an integer or bool value as a number: conditions, counts. */
int64_t eval_number(Eval *eval, const Value *value, const Loc *loc);

/* What control nodes do. */
void eval_control(Eval *eval, const Node *node);
/* What an operator that stands for other nodes does: those, in a graph of their own. */
void eval_expanded(Eval *eval, const Node *node);
void eval_host(Eval *eval, const Node *node);

#endif
