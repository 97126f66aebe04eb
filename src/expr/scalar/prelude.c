#include "expr/scalar/prelude.h"

#include <string.h>

#include "base/fail.h"

const char *
prelude_text(const char *name)
{
	for (int i = 0; i < prelude_count; i++)
		if (strcmp(prelude_texts[i].name, name) == 0)
			return prelude_texts[i].text;
	must(!"a prelude text of this name");
	return "";
}

/* One instance of the float functions (lanes_open.h says how). */
static void
print_width(Buf *buf, int width, int lanes)
{
	buf_printf(buf, "#define TW_WIDTH %d\n#define TW_LANES %d\n", width, lanes);
	buf_puts(buf, prelude_text("lanes_open.h"));
	buf_puts(buf, prelude_text("float.h"));
	buf_puts(buf, prelude_text(width == 64 ? "math64.h" : "math32.h"));
	buf_puts(buf, prelude_text("lanes_close.h"));
}

void
prelude_print_scalars(Buf *buf)
{
	static const char *const names[] = {"types.h", "ints.h", "convert.h", "storage.h", "pi_bits.h"};
	for (size_t i = 0; i < countof(names); i++)
		buf_puts(buf, prelude_text(names[i]));
	print_width(buf, 64, 0);
	print_width(buf, 32, 0);
}

void
prelude_print_lanes(Buf *buf, int lanes)
{
	must(lanes == 4 || lanes == 8 || lanes == 16);
	print_width(buf, 64, lanes / 2);
	print_width(buf, 32, lanes);
}
