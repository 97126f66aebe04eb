/* tilewright compile: the whole compiler on one page.
 *
 *     read → graph passes → lower → loop passes → C → machine code → bundle
 */
#include "cli/compile.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/inputs.h"
#include "cli/oracle.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/session.h"
#include "codegen/codegen.h"

Compiled
compile_file(const Options *options, Arena *arena, const char *path, const char *output)
{
	(void)options, (void)arena, (void)output;
	fail_unsupported(NULL, "%s: bundles", path);
}

/* ---- bundles of models, for run and bench ---- */

static void
remove_file(void *path)
{
	unlink(path);
}

const char *
bundle_of(const Options *options, Arena *arena, const char *path)
{
	if (file_kind(path, file_map(arena, path)) == FILE_BUNDLE)
		return path;
	const char *folder = getenv("TMPDIR");
	char *output = arena_printf(arena, "%s/tilewright-XXXXXX", folder ? folder : "/tmp");
	int file = mkstemp(output);
	if (file < 0)
		fail_environment(NULL, "cannot make a temporary file %s", output);
	close(file);
	arena_defer(arena, remove_file, output);
	compile_file(options, arena, path, output);
	return output;
}

int
verb_compile(const Options *options)
{
	compile_file(options, options->arena, options->args.data[0], options->output);
	return 0;
}
