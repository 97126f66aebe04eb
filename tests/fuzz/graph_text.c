/* The text of graphs: what reads and checks, prints as a text that reads back as itself. */
#include "fuzz.h"
#include "driver/texts.h"

static const char *
print(Arena *arena, const char *text)
{
	Buf buf = {.arena = arena};
	graph_print(&buf, text_graph(arena, "fuzz.txt", text));
	return buf_text(&buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_text(print, data, size);
	return 0;
}
