/* What a call loses of NaN and infinities (vendor.def): whether it may, and in words. */
#include <string.h>

#include "lower/vendor_call.h"

/* Known when compiling; of a question no bytes are known, and they do not matter. */
static bool
is_finite(const MBuffer *arg)
{
	const MBuffer *buffer = arg->kind == PB_VIEW ? arg->base : arg;
	return buffer->kind == PB_WEIGHT && (!buffer->data || array_is_finite(buffer->data));
}

/* The stage omits terms that the call multiplies. */
static bool
pads_infinities(const VendorStep *v)
{
	const Stage *main = v->match->program->stages[0];
	return (v->match->row->loses & LOSES_padding) && main->guard && !is_finite(v->args[1]);
}

bool
vendor_may_pad(const VendorStep *v)
{
	bool may = vendor_losses(v->low->context).calls & LOSES_padding;
	return may || !pads_infinities(v);
}

/* Whether what post-op `post` gets can be NaN: a sum of integers is none. */
static bool
may_be_special(const VendorStep *v, int post)
{
	const VendorMatch *m = v->match;
	bool may = dtype_is_float(m->program->stages[0]->acc) || (m->bias && !is_finite(v->args[2]));
	for (int i = 0; i <= post; i++)
		may |= m->post[i].operand && !is_finite(v->args[v->posts[i].arg]);
	return may;
}

/* "NaN in Relu"; of a pattern its operator. */
static void
put_loss(Buf *text, unsigned loses, const char *where)
{
	static const char *const words[] = {"", "NaN", "infinities", "NaN and infinities"};
	const char *lost = words[loses & (LOSES_nan | LOSES_infinity)];
	if (*lost)
		buf_printf(text, "%s%s in %.*s", text->size ? ", " : "", lost, (int)strcspn(where, "("),
		           where);
}

const char *
vendor_losses_text(const Variant *variant)
{
	const VendorStep *v = variant->step;
	const VendorMatch *m = v->match;
	Buf text = {.arena = v->low->arena};
	put_loss(&text, m->row->loses, m->row->name);
	put_loss(&text, pads_infinities(v) ? LOSES_infinity : 0, "padding");
	if (vendor_is_other_algorithm(variant))
		put_loss(&text, LOSES_infinity, variant->algorithm);
	for (int i = 0; i < m->npost; i++)
		if (may_be_special(v, i))
			put_loss(&text, m->post[i].row->loses, m->post[i].row->pattern);
	return text.size ? buf_text(&text) : NULL;
}
