/* Attributes of steps by name, and the text of post-ops. */
#include "base/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

const StepAttr *
step_attr(int count, const StepAttr *attrs, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(attrs[i].name, name) == 0)
			return &attrs[i];
	return NULL;
}

int64_t
step_attr_int(int count, const StepAttr *attrs, const char *name, int index, int64_t otherwise)
{
	const StepAttr *attr = step_attr(count, attrs, name);
	return attr && attr->kind == SA_INTS && index < attr->count ? attr->ints[index] : otherwise;
}

typedef struct PostInfo {
	const char *name;
	int numbers;
	bool has_argument;
} PostInfo;

static const PostInfo infos[] = {
#define POST_KIND(name, numbers, has_argument) {#name, numbers, has_argument},
#include "base/post.def"
#undef POST_KIND
};

void
posts_write(Buf *buf, int count, const StepPost *posts)
{
	for (int i = 0; i < count; i++) {
		const PostInfo *info = &infos[posts[i].kind];
		buf_printf(buf, "%s%s", i ? ";" : "", info->name);
		if (info->has_argument)
			buf_printf(buf, "(%d)", posts[i].arg);
		for (int k = 0; k < info->numbers; k++) {
			buf_putc(buf, k ? ',' : '(');
			buf_double(buf, posts[i].numbers[k]);
		}
		buf_puts(buf, info->numbers ? ")" : "");
	}
}

/* One at *text, which moves behind it. */
static bool
read_post(const char **text, StepPost *post)
{
	size_t length = strcspn(*text, "(;");
	int kind = 0;
	while (kind < POST_KINDS &&
	       (strlen(infos[kind].name) != length || memcmp(infos[kind].name, *text, length) != 0))
		kind++;
	if (kind == POST_KINDS)
		return false;
	const char *at = *text + length;
	double numbers[POST_NUMBERS] = {0};
	int count = infos[kind].numbers + infos[kind].has_argument;
	for (int k = 0; k < count; k++) {
		char *end;
		if (*at != (k ? ',' : '('))
			return false;
		numbers[k] = strtod(at + 1, &end);
		if (end == at + 1)
			return false;
		at = end;
	}
	if (count && *at++ != ')')
		return false;
	*post = (StepPost){.kind = kind, .numbers = {numbers[0], numbers[1]}, .arg = -1};
	if (infos[kind].has_argument && numbers[0] >= 0 && numbers[0] < INT16_MAX)
		post->arg = (int)numbers[0];
	*text = at + (*at == ';');
	return *at == ';' || *at == 0;
}

int
posts_read(const char *text, StepPost posts[POST_MAX], char *error, size_t error_size)
{
	int count = 0;
	while (*text) {
		if (count == POST_MAX || !read_post(&text, &posts[count])) {
			refuse_with(error, error_size, "post-op '%.20s' is not known or one too many", text);
			return -1;
		}
		count++;
	}
	return count;
}
