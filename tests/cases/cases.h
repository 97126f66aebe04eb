/* ONNX backend test cases: finding them, deciding which to skip, running a batch.
 *
 *     node/test_relu/model.onnx, test_data_set_0/input_0.pb, output_0.pb …
 *     light/light_resnet50.onnx, light_resnet50_output_0.pb     input: arange(n)/n
 */
#ifndef CASES_CASES_H
#define CASES_CASES_H

#include "exec.h"

#include "cli/cli.h"
#include "graph/graph.h"
#include "onnx/tensor_file.h"

typedef struct Case {
	const char *name;  /* "test_relu" */
	const char *model; /* path */
	const char *folder;
	bool is_light;
	int nset; /* data sets */
	CaseResult result;
	const char *detail; /* reason of a skip, what went wrong */
} Case;

typedef VEC(Case) CaseVec;

/* All cases under a folder whose name matches the glob (NULL: all), by name. */
CaseVec cases_find(Arena *arena, const char *folder, const char *glob);

/* A case read: the graph with shape-deciding inputs fixed to the first data set's values. */
typedef struct CaseModel {
	Graph *graph;
	int ninput;               /* of the model as it came */
	const char *const *names; /* of its inputs */
	const Type *types;
	bool *is_fixed;
} CaseModel;

/* Read and decide: false with a reason when the case is to be skipped. What is wrong otherwise
 * fails. */
bool case_read(Arena *arena, const Case *c, bool is_compiled, CaseModel *model,
               const char **reason);

/* Inputs and expected outputs of a data set; an input that is absent has kind TYPE_UNKNOWN. */
Data case_input(Arena *arena, const Case *c, const CaseModel *model, int set, int index);
bool case_output(Arena *arena, const Case *c, const CaseModel *model, int set, int index,
                 Data *data);

/* ---- running (run.c) ---- */

typedef void CaseDone(void *arg, Case *c);
/* Called before each case is touched, so that a crash can be laid at its door. */
typedef void CaseBegin(void *arg, const Case *c);

/* Run cases in this process: compiled, a batch per call of the C compiler, or interpreted. */
void cases_run(const Options *options, bool is_compiled, int count, Case **cases, CaseBegin *begin,
               CaseDone *done, void *arg);

#endif
