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
