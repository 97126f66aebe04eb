/* For tests of models: an arena, and a folder for a file m.onnx, new for each test. */
#ifndef ONNX_FIXTURE_H
#define ONNX_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx_make.h"
#include "unit.h"

static Arena *arena;
static char folder[] = "/tmp/onnx_test.XXXXXX";

static void
begin(void)
{
	arena = arena_new("test");
	strcpy(folder, "/tmp/onnx_test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void
end(void)
{
	unlink(arena_printf(arena, "%s/m.onnx", folder));
	rmdir(folder);
	arena_free(arena);
}

#endif
