/* Search, and a node's page. */

/* ---- search ---- */

function searchNodes(text) {
	const wanted = text.toLowerCase(), found = [];
	for (const side of SIDES)
		for (const node of data[side].nodes)
			if (node.name.toLowerCase().includes(wanted) || node.op.toLowerCase() === wanted)
				found.push({ side, node });
	return found;
}

const hitList = el("div", { class: "hits", hidden: true });
const searchBox = el("input", { type: "search", placeholder: "Search a node or an operator",
	"aria-label": "search",
	oninput: () => setSearch(searchBox.value), onfocus: () => setSearch(searchBox.value),
	onkeydown: (event) => {
		if (event.key === "Enter" && hitList.firstChild) hitList.firstChild.click();
		if (event.key === "Escape") hitList.hidden = true;
	} });

function setSearch(text) {
	view.search = text;
	const found = text ? searchNodes(text) : [];
	hitList.replaceChildren(...found.slice(0, 100).map(({ side, node }) => el("button", {
		onclick: () => { hitList.hidden = true; choose(side, node.index); } },
		el("b", null, node.op), el("span", null, short(node.name, 60)), el("i", null, side))));
	if (text && !found.length) hitList.replaceChildren(el("p", { class: "small" },
		"nothing has this name"));
	hitList.hidden = !text;
	SIDES.forEach((side) => mark(panes[side]));
	writeHash();
}
document.addEventListener("pointerdown", (event) => {
	if (!event.target.closest(".search")) hitList.hidden = true;
});

/* ---- a node's page ---- */

const aside = el("aside", { hidden: true });

/* A name that may be broken behind each folder. */
const broken = (name) => name.split("/").flatMap((part, i) => i ? [el("wbr"), "/" + part] : [part]);

const nodeLink = (side, index) => {
	const node = data[side].nodes[index];
	return el("a", { onclick: () => choose(side, index) }, broken(node.name));
};

const opText = (node) => node.of ? node.of.join(" + ") : node.op;

const section = (title, ...children) => {
	const shown = children.flat().filter(Boolean);
	return shown.length ? [el("h3", null, title), ...shown] : [];
};

function valueItem(side, index) {
	const [name, type, maker] = data[side].values[index];
	return el("li", null, maker >= 0 ? nodeLink(side, maker) : el("span", null, name), " ",
		el("span", { class: "small mono" }, type + (maker < 0 ? ", known when compiling" : "")));
}

function stepItem(step) {
	const facts = [step.result, step.flops ? flopsText(step.flops) + "FLOP" : "", step.bytes
		? bytesText(step.bytes) : "",
		step.seconds ? timeText(step.seconds) : "", share(step)
			? round(100 * share(step)) + " % of the peak" : ""];
	const by = step.kind === "vendor" ? `a call: ${step.row} of ${step.library}`
		: step.kind === "kernel" ? "our kernel" : step.kind;
	return el("li", null, el("b", null, `step ${step.at}`), ` ${by}`,
		el("p", { class: "small" }, facts.filter(Boolean).join(" · ")));
}

function sourceItems(steps) {
	const seen = new Set(), item = (what, step, text) => text ? el("details", null,
		el("summary", null, `${what} step ${step.at}, ${text.trimEnd().split("\n").length} lines`),
		el("pre", null, text)) : null;
	return steps.filter((step) => step.kernel && !seen.has(step.kernel) && seen.add(step.kernel))
		.flatMap((step) => {
			const { sources, loops } = step.subject, [script, body] = loops[step.kernel] || [];
			return [item("schedule of", step, script), item("loops of", step, body),
				item(step.kind === "vendor" ? "C of the fallback of" : "C of", step,
					sources[step.kernel])];
		});
}

function eventItem(event) {
	return el("li", null, el("b", null, event.pass), ` ${event.rule || ""}`,
		el("p", { class: "small" },
		event.reason ? "not done: " + event.reason : event.made
			? `${short(event.node, 60)} → ${short(event.made, 60)}` :
			`${short(event.node, 60)} went`));
}

/* Of a node of the result, what was done to those that it came from. */
function historyOf(side, node) {
	if (!isPair && side === "before") return node.events;
	const subject = subjectOf(side);
	const found = node.from.flatMap((name) => eventsOf({ name }, subject))
		.concat(eventsOf(node, subject));
	return [...new Set(found)];
}

function showNode() {
	const side = view.side, node = data[side].nodes[view.node];
	const steps = stepsOf(side, node), other = side === "before" ? "after" : "before";
	const state = STATES[node.state];
	const meaning = node.meaning !== undefined ? data.meanings[node.meaning] :
		node.other.map((index) => data[other].nodes[index].meaning).filter((m) => m !== undefined)
			.filter((m, i, all) => all.indexOf(m) === i).slice(0, 6)
				.map((m) => data.meanings[m]).join("\n");
	const list = (items) => items.length ? el("ul", null, items.slice(0, 40)) : null;
	aside.replaceChildren(...[
		el("button", { class: "close", title: "close", onclick: closeNode }, "×"),
		el("h2", null, broken(node.name)),
		el("p", { class: "state " + node.state }, el("i"), opText(node),
			el("span", { class: "small" }, state ? ` · ${state[0]}: ${state[1]}` : "")),
		node.fate ? el("p", null, node.fate) : null,
		...section(isPair ? "in the other" : side === "before" ? "became" : "came from",
			list(node.other.map((index) => el("li", null, nodeLink(other, index), " ",
				el("span", { class: "small" }, opText(data[other].nodes[index])))))),
		...section("history", list(historyOf(side, node).map(eventItem))),
		...section("steps of the plan", list(steps.map(stepItem))),
		...section("reads", list(node.in.map((value) => valueItem(side, value)))),
		...section("gives", list(node.out.map((value) =>
			el("li", null, el("span", null, data[side].values[value][0]), " ",
			el("span", { class: "small mono" }, data[side].values[value][1]))))),
		...section("read by", list([...new Set(node.readers)]
			.map((index) => el("li", null, nodeLink(side, index))))),
		...section("meaning", meaning ? el("pre", null, meaning) : null),
		...section("attributes", node.attributes ? el("pre", null, node.attributes) : null),
		...section("in the graph's text", node.text ? el("pre", null, node.text) : null),
		...section("kernels", sourceItems(steps))].filter(Boolean));
	aside.hidden = false;
	aside.scrollTop = 0;
}

function closeNode() {
	aside.hidden = true;
	view.node = view.side = null;
	SIDES.forEach((side) => mark(panes[side]));
	writeHash();
}
