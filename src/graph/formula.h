/* The scalar of a row with a formula, over reads at the loops of `stage` (broadcasting). */
#ifndef GRAPH_FORMULA_H
#define GRAPH_FORMULA_H

#include "graph/meaning.h"

const Expr *formula_scalar(const Build *build, StageBuilder *stage);

#endif
