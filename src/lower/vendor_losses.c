/* What a call loses of NaN and infinities (vendor.def): whether it may, and in words. */
#include <string.h>

#include "lower/vendor_call.h"

/* Those that are known when compiling; of a question no bytes are known, and they do not matter. */
static bool
weights_are_finite(const VendorStep *v)
{
	const MBuffer *weights = v->args[1]->kind == PB_VIEW ? v->args[1]->base : v->args[1];
	return weights->kind == PB_WEIGHT && (!weights->data || array_is_finite(weights->data));
}

/* The stage omits terms that the call multiplies. */
static bool
pads_infinities(const VendorStep *v)
{
	const Stage *main = v->match->program->stages[0];
	return (v->match->row->loses & LOSES_padding) && main->guard && !weights_are_finite(v);
}

bool
vendor_may_pad(const VendorStep *v)
{
	bool may = vendor_losses(v->low->context).calls & LOSES_padding;
	return may || !pads_infinities(v);
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
		put_loss(&text, m->post[i].row->loses, m->post[i].row->pattern);
	return text.size ? buf_text(&text) : NULL;
}
