/* Boxes of graphs; and as data of the page: nodes, values, and the sheets they are drawn on. */
#include <string.h>

#include "bundle/json.h"
#include "cli/page/net.h"
#include "cli/page/page.h"
#include "cli/page/sheets.h"
#include "cli/report/fate.h"
#include "cli/report/nodes.h"
#include "graph/meaning.h"

enum { TEXT_MOST = 2000 }; /* bytes of a node's text, and of a meaning's */

static bool
is_group(const Node *node)
{
	return node->op->code == OP_fused;
}

static void
add_box(Net *net, NetBox box)
{
	void *number = (void *)(intptr_t)(net->boxes.count + 1);
	vec_push(net->arena, &net->boxes, box);
	if (box.is_input)
		map_set_ptr(&net->makers, box.value, number);
	for (int i = 0; box.node && i < box.node->noutput; i++)
		if (box.node->outputs[i])
			map_set_ptr(&net->makers, box.node->outputs[i], number);
}

static void
add_nodes(Net *net, const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		for (int i = 0; !is_group(node) && i < node->nregion; i++)
			add_nodes(net, node->regions[i]);
		add_box(net, (NetBox){.node = node});
	}
}

const char *
net_name(const NetBox *box)
{
	return box->value ? box->value->name : node_called(box->node);
}

const char *
net_word(Arena *arena, const NetBox *box)
{
	if (!box->node)
		return box->is_input ? "Input" : "Output";
	if (!is_group(box->node))
		return box->node->op->name;
	Buf text = {.arena = arena};
	for (const Node *node = box->node->regions[0]->first; node; node = node->next)
		buf_printf(&text, "%s%s", node->prev ? " + " : "", node->op->name);
	return buf_text(&text);
}

static void
add_maker(const Net *net, IntVec *makers, const Value *value)
{
	intptr_t maker = value ? (intptr_t)map_find_ptr(&net->makers, value) : 0;
	if (maker)
		vec_push(net->arena, makers, (int)maker - 1);
}

IntVec
net_inputs(const Net *net, const NetBox *box)
{
	IntVec makers = {0};
	const Node *node = box->node;
	if (box->value && !box->is_input)
		add_maker(net, &makers, box->value);
	for (int i = 0; node && i < node->ninput; i++)
		add_maker(net, &makers, node->inputs[i]);
	for (int i = 0; node && !is_group(node) && i < node->nregion; i++)
		for (int k = 0; k < node->regions[i]->nresult; k++)
			add_maker(net, &makers, node->regions[i]->results[k]);
	return makers;
}

Net *
net_new(Arena *arena, const Graph *graph)
{
	Net *net = NEW(arena, Net);
	*net = (Net){.arena = arena, .graph = graph};
	net->numbers.arena = net->makers.arena = arena;
	for (int i = 0; i < graph->body->nparam; i++)
		add_box(net, (NetBox){.value = graph->body->params[i], .is_input = true});
	add_nodes(net, graph->body);
	for (int i = 0; i < graph->body->nresult; i++)
		add_box(net, (NetBox){.value = graph->body->results[i]});
	return net;
}

/* ---- what is written ---- */

static int
value_number(Net *net, const Value *value)
{
	intptr_t number = (intptr_t)map_find_ptr(&net->numbers, value);
	if (number)
		return (int)number - 1;
	vec_push(net->arena, &net->values, value);
	map_set_ptr(&net->numbers, value, (void *)(intptr_t)net->values.count);
	return net->values.count - 1;
}

static void
write_value(Net *net, Buf *json, const Value *value)
{
	if (value)
		json_put(json, json->data[json->size - 1] == '[' ? "%d" : ",%d", value_number(net, value));
}

static void
write_values(Net *net, Buf *json, const NetBox *box)
{
	const Node *node = box->node;
	json_put(json, ",'in':[");
	if (box->value && !box->is_input)
		write_value(net, json, box->value);
	for (int i = 0; node && i < node->ninput; i++)
		write_value(net, json, node->inputs[i]);
	for (int i = 0; node && !is_group(node) && i < node->nregion; i++)
		for (int k = 0; k < node->regions[i]->nresult; k++)
			write_value(net, json, node->regions[i]->results[k]);
	json_put(json, "],'out':[");
	if (box->is_input)
		write_value(net, json, box->value);
	for (int i = 0; node && i < node->noutput; i++)
		write_value(net, json, node->outputs[i]);
	json_put(json, "]");
}

/* A text of at most so many bytes, which ends with what a character ends with. */
static const char *
shortened(Arena *arena, const char *text)
{
	size_t size = strlen(text), most = TEXT_MOST;
	if (size <= most)
		return text;
	while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	return arena_printf(arena, "%.*s …", (int)most, text);
}

static void
write_meaning(Net *net, Buf *json, const Node *node)
{
	Map *texts = net->about->texts;
	if (node->nregion || !node_has_meaning(node))
		return;
	Buf text = {.arena = net->arena};
	program_print(&text, node_meaning(net->graph, node));
	const char *meaning = shortened(net->arena, buf_text(&text));
	intptr_t number = (intptr_t)map_find(texts, meaning);
	if (!number) {
		number = texts->count + 1;
		map_set(texts, meaning, (void *)number);
	}
	json_put(json, ",'meaning':%d", (int)number - 1);
}

/* What became of it, as explain says it. */
static void
write_fate(const Net *net, Buf *json, const Node *node)
{
	const NetAbout *about = net->about;
	const char *fate = fate_of(net->arena, about->plan, about->history, net->graph, node);
	if (fate)
		json_put(json, ",'fate':%s", fate);
}

/* Of a model's node: what it is told, what it means, and what became of it. */
static void
write_given(Net *net, Buf *json, const Node *node)
{
	Buf text = {.arena = net->arena};
	for (int i = 0; i < node->nattr; i++) {
		attr_print(&text, &node->attrs[i]);
		buf_puts(&text, "\n");
	}
	if (node->nattr)
		json_put(json, ",'attributes':%s", shortened(net->arena, buf_text(&text)));
	write_meaning(net, json, node);
	write_fate(net, json, node);
}

/* The names of nodes without one are those of what they make, which keeps its name. */
static void
add_origins(const Net *net, StrVec *origins, const Node *node)
{
	for (int i = 0; i < node->origins.count; i++)
		vec_push(net->arena, origins, node->origins.data[i]);
	for (int i = 0; node->origins.count == 0 && i < node->noutput; i++)
		if (node->outputs[i])
			vec_push(net->arena, origins, node->outputs[i]->name);
	const Node *inner = is_group(node) ? node->regions[0]->first : NULL;
	for (; inner && node->origins.count == 0; inner = inner->next)
		add_origins(net, origins, inner);
}

/* Of a result's: its text, and the model's nodes that it comes from. */
static void
write_made(const Net *net, Buf *json, const Node *node)
{
	Buf text = {.arena = net->arena};
	StrVec origins = {0};
	node_print(&text, node);
	json_put(json, ",'text':%s,'from':[", shortened(net->arena, buf_text(&text)));
	add_origins(net, &origins, node);
	for (int i = 0; i < origins.count; i++)
		json_put(json, i ? ",%s" : "%s", origins.data[i]);
	buf_puts(json, "]");
	if (!is_group(node))
		return;
	json_put(json, ",'of':[");
	for (const Node *n = node->regions[0]->first; n; n = n->next)
		json_put(json, n->prev ? ",%s" : "%s", n->op->name);
	buf_puts(json, "]");
}

static void
write_boxes(Net *net, Buf *json)
{
	json_put(json, "'nodes':[");
	for (int i = 0; i < net->boxes.count; i++) {
		const NetBox *box = &net->boxes.data[i];
		json_put(json, i ? ",\n{'name':%s,'op':%s" : "\n{'name':%s,'op':%s", net_name(box),
		         net_word(net->arena, box));
		write_values(net, json, box);
		if (box->node && net->about)
			write_given(net, json, box->node);
		else if (box->node)
			write_made(net, json, box->node);
		buf_puts(json, "}");
	}
	json_put(json, "],\n'values':[");
	for (int i = 0; i < net->values.count; i++) {
		const Value *value = net->values.data[i];
		json_put(json, i ? ",\n[%s,%s,%d]" : "\n[%s,%s,%d]", value->name,
		         type_text(net->arena, &value->type),
		         (int)(intptr_t)map_find_ptr(&net->makers, value) - 1);
	}
	buf_puts(json, "]");
}

/* ---- sheets ---- */

static void
write_layout(Buf *json, const Layout *layout)
{
	json_put(json, ",'w':%d,'h':%d,'boxes':[", layout->w, layout->h);
	for (int i = 0; i < layout->boxes.count; i++) {
		const LayoutBox *box = &layout->boxes.data[i];
		json_put(json, i ? ",[%d,%d,%d,%d]" : "[%d,%d,%d,%d]", box->x, box->y, box->w, box->h);
	}
	json_put(json, "],'edges':[");
	for (int i = 0; i < layout->edges.count; i++) {
		const LayoutEdge *edge = &layout->edges.data[i];
		json_put(json, i ? ",[%d,%d" : "[%d,%d", edge->from, edge->to);
		for (int k = 0; k < edge->points.count; k++)
			json_put(json, ",%d,%d", edge->points.data[k].x, edge->points.data[k].y);
		buf_puts(json, "]");
	}
	buf_puts(json, "]");
}

static void
write_sheets(const Net *net, Buf *json, int most)
{
	SheetNode *nodes = NEW_N(net->arena, SheetNode, net->boxes.count + 1);
	for (int i = 0; i < net->boxes.count; i++)
		nodes[i] = (SheetNode){net_name(&net->boxes.data[i]), net_inputs(net, &net->boxes.data[i])};
	Sheets sheets = sheets_make(net->arena, net->boxes.count, nodes, most);
	json_put(json, ",\n'sheets':[");
	for (int s = 0; s < sheets.count; s++) {
		const Sheet *sheet = &sheets.data[s];
		json_put(json,
		         s ? ",\n{'title':%s,'parent':%d,'items':[" : "\n{'title':%s,'parent':%d,'items':[",
		         sheet->title, sheet->parent);
		for (int i = 0; i < sheet->items.count; i++)
			json_put(json, i ? ",[%d,%d]" : "[%d,%d]", sheet->items.data[i].node,
			         sheet->items.data[i].sheet);
		buf_puts(json, "]");
		write_layout(json, &sheet->layout);
		buf_puts(json, "}");
	}
	buf_puts(json, "]");
}

void
net_write(Buf *json, const Graph *graph, int most, const NetAbout *about)
{
	Net *net = net_new(json->arena, graph);
	net->about = about;
	buf_puts(json, "{");
	write_boxes(net, json);
	write_sheets(net, json, most);
	buf_puts(json, "}");
}
