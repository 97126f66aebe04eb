/* The table of verbs. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define VERB(name_, text_, args_, least_, most_, groups_, doc_, more_) \
	{.name = text_, \
	 .args = args_, \
	 .least = least_, \
	 .most = most_, \
	 .groups = (groups_) | ALL, \
	 .run = verb_##name_, \
	 .doc = doc_, \
	 .more = more_},
static const Verb verbs[] = {
#include "cli/verbs.def"
};
#undef VERB

const Verb *
verb_at(int index)
{
	return index >= 0 && index < (int)countof(verbs) ? &verbs[index] : NULL;
}

const Verb *
verb_find(const char *name)
{
	for (size_t i = 0; i < countof(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

void
print_help(void)
{
	printf("tilewright: optimise, compile and run ONNX models\n\n"
	       "  tilewright compile model.onnx      makes model.twb, one file that runs\n"
	       "  tilewright run model.twb --profile\n\n"
	       "verbs (tilewright VERB --help says more):\n");
	for (size_t i = 0; i < countof(verbs); i++)
		printf("  %-10s %s\n", verbs[i].name, verbs[i].doc);
	printf("\nexit codes: 0 ok, 1 comparison failed, 2 usage, 3 invalid model, 4 unsupported,\n"
	       "            5 a bug of ours, 6 environment (file, space, memory, compiler, device)\n");
}
