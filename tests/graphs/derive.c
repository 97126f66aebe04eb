/* Derived forms in place of fast ones: DeriveExpressions asks about products of any size, tries
 * what is estimated to be slower, too, and is told times that are made up: one of its candidates,
 * by chance, is the fastest. Everything else is as it is: the search, its rules (half of them, by
 * chance), what holds for open sizes, the comparison at points, the nodes that are made.
 */
#include "graphs.h"

#include <string.h>

#include "base/random.h"
#include "einnet/rules.h"

typedef struct Chooser {
	Oracle oracle;
	const Oracle *asked; /* of everything else; NULL: it answers nothing */
	uint64_t dice;
} Chooser;

static bool
ask_available(void *self, const char *library)
{
	const Chooser *chooser = self;
	const Oracle *asked = chooser->asked;
	return asked && asked->available && asked->available(asked->self, library);
}

static bool
ask_measure(void *self, const VendorCall *call, double *seconds, const char **impl)
{
	const Chooser *chooser = self;
	const Oracle *asked = chooser->asked;
	return asked && asked->measure && asked->measure(asked->self, call, seconds, impl);
}

static bool
ask_accept(void *self, const VendorCall *call, const char **impl)
{
	const Chooser *chooser = self;
	const Oracle *asked = chooser->asked;
	return asked && asked->accept && asked->accept(asked->self, call, impl);
}

static void
make_up_times(void *self, int count, const Program *const *programs, const bool *constant,
              double *seconds, double *relayouts)
{
	Chooser *chooser = self;
	(void)programs, (void)constant;
	int fastest = 1 + (int)(random_next(&chooser->dice) % (uint64_t)(count - 1));
	for (int i = 0; i < count; i++) {
		seconds[i] = i == fastest ? 1e-3 : 2e-3;
		relayouts[i] = 0;
	}
}

static const char *
draw_rules(Arena *arena, uint64_t *dice)
{
	Buf buf = {.arena = arena};
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		if (rule_explores((RuleCode)rule) && random_next(dice) % 2)
			buf_printf(&buf, "%s%s", buf.size ? "," : "", rule_info((RuleCode)rule)->name);
	}
	return buf.size ? buf_text(&buf) : NULL;
}

void
derive_by_chance(Arena *arena, uint64_t seed, PassContext *context, Target *target)
{
	Chooser *chooser = NEW(arena, Chooser);
	*chooser = (Chooser){.asked = target->oracle, .dice = seed};
	chooser->oracle = (Oracle){.self = chooser,
	                           .available = ask_available,
	                           .accept = ask_accept,
	                           .measure = ask_measure,
	                           .time = make_up_times};
	random_next(&chooser->dice);
	target->oracle = &chooser->oracle;
	vec_push(arena, &context->required, "DeriveExpressions");
	map_set(&context->config, "DeriveExpressions.least", "1");
	map_set(&context->config, "DeriveExpressions.promising", "100000");
	map_set(&context->config, "DeriveExpressions.seconds", "1000000");
	map_set(&context->config, "DeriveExpressions.depth", "3");
	map_set(&context->config, "DeriveExpressions.budget", "60");
	const char *rules = random_next(&chooser->dice) % 2 ? draw_rules(arena, &chooser->dice) : NULL;
	if (rules)
		map_set(&context->config, "DeriveExpressions.rules", (void *)(uintptr_t)rules);
}

bool
theme_is_held(const PassContext *context, Theme theme)
{
	const char *pass = theme == THEME_derived ? "DeriveExpressions" : "FakeQuantizationToInteger";
	bool is_there = false;
	for (int i = 0; i < context->log.count; i++) {
		const PassEvent *event = &context->log.data[i];
		bool is_made = theme == THEME_derived
		                   ? event->made && strcmp(event->made, "Expression") == 0
		                   : !event->reason;
		is_there |= is_made && strcmp(event->pass, pass) == 0;
	}
	return theme != THEME_any && is_there;
}
