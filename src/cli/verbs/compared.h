/* What compare has found so far; the files of the verb add to it. */
#ifndef CLI_VERBS_COMPARED_H
#define CLI_VERBS_COMPARED_H

#include "base/buf.h"
#include "cli/measure/turns.h"
#include "cli/report/report.h"

typedef struct Compared {
	const Options *options;
	Arena *arena;
	Report *report;
	int count;
	Subject **subjects;
	StrVec warnings;
	Buf said;           /* sentences behind the tables */
	double slower_most; /* --fail-if-slower, as a share */
	bool differs, is_slower;
} Compared;

/* --tensors and --kernels. Fails (FAIL_USAGE) where no subject is an ONNX model. */
void compared_tensors(Compared *c, Progress *progress);

/* --output: a value of the subject of this number, as a file. */
void compared_write(Compared *c, int subject, const char *name, const Array *array);

#endif
