/* row_read: texts of vendor.def as patterns. */
#include "program/row.h"

#include <ctype.h>
#include <string.h>

static const char *
trimmed(Arena *arena, const char *text, size_t length)
{
	while (length > 0 && *text == ' ')
		text++, length--;
	while (length > 0 && text[length - 1] == ' ')
		length--;
	return arena_strndup(arena, text, length);
}

/* The item with `copy` for each #. */
static const char *
numbered(Arena *arena, const char *item, int copy)
{
	Buf buf = {.arena = arena};
	for (; *item; item++) {
		if (*item == '#')
			buf_printf(&buf, "%d", copy);
		else
			buf_putc(&buf, *item);
	}
	return buf_text(&buf);
}

/* Up to the next comma, but for those between an operator's operands. */
static size_t
item_length(const char *text)
{
	size_t length = 0;
	for (int depth = 0; text[length] && (depth > 0 || text[length] != ','); length++)
		depth += (text[length] == '(') - (text[length] == ')');
	return length;
}

int
row_list(Arena *arena, const char *text, int copies, const char *items[ROW_LIST])
{
	int count = 0;
	while (text && *text) {
		size_t length = item_length(text);
		const char *item = trimmed(arena, text, length);
		int times = strchr(item, '#') ? copies : 1;
		must(count + times <= ROW_LIST);
		for (int copy = 0; copy < times; copy++)
			items[count++] = numbered(arena, item, copy);
		text += length + (text[length] == ',');
	}
	return count;
}

bool
row_entry(Arena *arena, const char **text, const char **name, const char **list)
{
	*text += *text ? strspn(*text, "; ") : 0;
	if (!*text || !**text)
		return false;
	size_t length = strcspn(*text, ";"), head = strcspn(*text, ":;");
	*name = arena_strndup(arena, *text, head);
	*list = arena_strndup(arena, *text + head + 1, head < length ? length - head - 1 : 0);
	*text += length;
	return true;
}

static int
find_iter(const RowForm *form, const char *name, size_t length)
{
	for (int i = 0; i < form->niter; i++)
		if (strlen(form->iters[i]) == length && memcmp(form->iters[i], name, length) == 0)
			return i;
	return -1;
}

/* A number before `*` belongs to the iterator behind it, one behind `-` is an offset that is
 * subtracted; in brackets one behind `+` is added, and what they are divided by stands behind. */
static void
note_number(Arena *arena, const RowForm *form, const char *at, size_t length, RowItem *item)
{
	size_t behind = at[length] == '*' ? strspn(at + length + 1, "abcdefghijklmnopqrstuvwxyz"
	                                                            "0123456789")
	                                  : 0;
	int iter = find_iter(form, at + length + 1, behind);
	const char *name = arena_strndup(arena, at, length);
	char sign = at >= item->text + 2 ? at[-2] : ' ';
	if (iter >= 0) {
		item->factor[iter] = name;
		item->minus |= sign == '-' ? 1u << iter : 0;
	} else if (sign == '-' || (sign == '+' && *item->text == '(')) {
		item->offset = name;
		item->is_added = sign == '+';
	} else if (sign == ')' && at[-1] == '/') {
		item->over = name;
	}
	item->is_linear |= item->offset || iter >= 0;
}

static void
read_item(Arena *arena, const RowForm *form, const char *text, RowItem *item)
{
	size_t length = strlen(text);
	*item = (RowItem){.may_stand = *text == '~', .iter = -1, .first = -1};
	item->may_lack = text[length - 1] == '?';
	item->text =
		arena_strndup(arena, text + item->may_stand, length - item->may_stand - item->may_lack);
	for (const char *at = item->text; *at; at += length) {
		for (length = 0; isalnum((unsigned char)at[length]) || at[length] == '_';)
			length++;
		int iter = length ? find_iter(form, at, length) : -1;
		if (iter >= 0) {
			item->first = item->iters ? item->first : iter;
			item->iters |= 1u << iter;
			item->iter = item->text[length] ? -1 : iter;
		} else if (islower((unsigned char)*at)) {
			note_number(arena, form, at, length, item);
		}
		length += length == 0;
	}
}

/* What stands in the next brackets; *at moves behind them. */
static const char *
inside(Arena *arena, const char **at, char open, char close)
{
	const char *from = strchr(*at, open) + 1, *to = strchr(from, close);
	*at = to + 1;
	return arena_strndup(arena, from, (size_t)(to - from));
}

static void
read_tensor(Arena *arena, const RowForm *form, const char **at, RowTensor *tensor)
{
	const char *items[ROW_LIST], *open = strchr(*at, '[');
	tensor->name = arena_strndup(arena, open - 1, 1);
	tensor->rank = row_list(arena, inside(arena, at, '[', ']'), form->copies, items);
	must(tensor->rank <= ROW_DIMS);
	for (int d = 0; d < tensor->rank; d++) {
		RowItem *item = &tensor->items[d];
		read_item(arena, form, items[d], item);
		if (item->first >= 0)
			item->extent = arena_printf(arena, "%s_%s", tensor->name, form->iters[item->first]);
		tensor->moved |= item->iters;
		if (!item->may_stand && (item->iter >= 0 || item->is_linear))
			tensor->needed |= item->iters;
	}
}

void
row_read(Arena *arena, const VendorRow *row, int copies, RowForm *form)
{
	const char *at = row->stage, *items[ROW_LIST];
	*form = (RowForm){.row = row, .copies = copies};
	form->nloop = form->niter = row_list(arena, inside(arena, &at, '[', ']'), copies, items);
	for (int i = 0; i < form->nloop; i++)
		form->iters[i] = arena_strndup(arena, items[i], strcspn(items[i], "?"));
	at = strchr(at, '=') + 2;
	form->reduce = arena_strndup(arena, at, strcspn(at, "("));
	form->niter += row_list(arena, inside(arena, &at, '(', ')'), copies, items);
	for (int i = form->nloop; i < form->niter; i++)
		form->iters[i] = items[i - form->nloop];
	const char *start = row->stage;
	read_tensor(arena, form, &start, &form->result);
	while (strchr(at, '[')) {
		RowTensor *operand = &form->operands[form->noperand++];
		read_tensor(arena, form, &at, operand);
		for (int d = 0; d < operand->rank; d++) {
			form->has_windows |= operand->items[d].iter < 0;
			form->is_divided |= operand->items[d].over != NULL;
		}
	}
}
