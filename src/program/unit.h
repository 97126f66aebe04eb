/* What program passes work on: a program and what is known around it.
 *
 * Passes replace `program` by another that means the same; inputs and outputs keep their positions.
 * Without values, layouts or `fixed` (a program read from a text) these are settings of the pass by
 * the tensor's name: FoldNumbers.E=2.0, ApplyLayouts.X=nc16hw, CollapseDims.X=fixed.
 */
#ifndef PROGRAM_UNIT_H
#define PROGRAM_UNIT_H

#include "base/pass.h"
#include "target/target.h"

typedef struct ProgramUnit {
	Arena *arena;
	const char *name;
	const Target *target;
	const Program *program;
	const Array *const *values; /* of inputs, NULL entries unknown */
	const char *const *layouts; /* of inputs, then outputs; NULL entries plain */
	const bool *fixed;          /* likewise: dims and strides stay as they are */
	bool is_stored;             /* dims are those of storage: ApplyLayouts has run */
} ProgramUnit;

/* The unit's program is `form` from now on. Whether that is another one. */
bool unit_take(ProgramUnit *unit, const Program *form);
/* The same, but a form whose stages cannot stand in one kernel any more is left, and logged. */
bool unit_take_nest(ProgramUnit *unit, const Program *form, PassContext *context);

/* Where they are not given: from the settings of the pass at work; NULL: nothing is set. */
const Array *const *unit_values(const ProgramUnit *unit, const PassContext *context);
const char *const *unit_layouts(const ProgramUnit *unit, const PassContext *context);
const bool *unit_fixed(const ProgramUnit *unit, const PassContext *context);

bool pass_FoldNumbers(ProgramUnit *unit, PassContext *context);
bool pass_InlineStages(ProgramUnit *unit, PassContext *context);
bool pass_LiftTables(ProgramUnit *unit, PassContext *context);
bool pass_ApplyLayouts(ProgramUnit *unit, PassContext *context);
bool pass_SqueezeDims(ProgramUnit *unit, PassContext *context);
bool pass_SplitDims(ProgramUnit *unit, PassContext *context);
bool pass_PickTerms(ProgramUnit *unit, PassContext *context);
bool pass_CollapseDims(ProgramUnit *unit, PassContext *context);

#endif
