/* The tabs, the page's address, and the begin. */

function graphTab() {
	const counts = { before: countStates(data.before, 0), after: countStates(data.after, 0) };
	const legend = Object.entries(STATES).map(([state, [label, what]]) =>
		el("span", { class: state, title: what }, el("i"),
		label + " " + (state === "folded" ? counts.before.folded || 0 :
			`${counts.before[state] || 0} ${isPair ? "|" : "→"} ${counts.after[state] || 0}`)));
	return [el("div", { class: "tools" }, el("div", { class: "search" }, searchBox, hitList),
		el("div", { class: "legend" }, legend),
		el("label", { class: "link" }, el("input", { type: "checkbox", checked: true,
			onchange: (event) => { isLinked = event.target.checked; } }), "move both")),
		el("div", { class: "stage" }, SIDES.map((side) => panes[side].element), aside)];
}

function stepsOfSubject(subject) {
	const { steps, machine, memory } = subject, charts = [];
	const rows = steps.map((step) => ({ ...step, step,
		by: [step.library, step.row].filter(Boolean).join(" "),
		rate: step.seconds && step.flops ? step.flops / step.seconds / 1e9 : null,
		share: share(step) }));
	const timed = steps.filter((step) => step.seconds);
	if (timed.length) charts.push(card("Slowest steps", timeChart(timed), kinds()));
	const products = timed.filter((step) => step.flops && step.bytes);
	if (products.length && machine && machine.peaks.f32)
		charts.push(card("Roofline, f32", rooflineChart(products, machine)));
	if (memory.some((bytes) => bytes > 0))
		charts.push(card("Memory of intermediate values", memoryChart(memory)));
	const columns = [["at", "step", null], ["kind", "kind", null], ["by", "by", null],
		["name", "node", null], ["result", "result", null],
		["flops", "FLOP", flopsText], ["bytes", "bytes", bytesText]];
	if (timed.length) columns.push(["seconds", "time", timeText], ["rate", "GFLOP/s", round],
		["share", "of the peak", (x) => round(100 * x) + " %"]);
	return [el("div", { class: "charts" }, charts),
		card(`${steps.length} steps`, table(columns, rows, (item) => chooseStep(item.step)))];
}

function choicesOfSubject(subject) {
	const rows = subject.choices.filter((choice) => choice.key);
	return rows.length ? card(`${rows.length} choices`,
		el("p", { class: "small" },
			"What was decided by measuring; the same choices are made again with --choices."),
		table([["key", "asked", null], ["chosen", "chosen", null],
			["candidates", "candidates", null]], rows)) : null;
}

/* Events counted by what `key` says of them, with the first of their nodes. */
function counted(list, key) {
	const rows = new Map();
	for (const event of list) {
		const name = key(event), item = rows.get(name)
			|| { ...event, done: 0, refused: 0, count: 0, names: [] };
		item[event.reason ? "refused" : "done"]++;
		item.count++;
		if (item.names.length < 4) item.names.push(short(event.node, 44));
		item.where = item.names.join(", ") + (item.count > item.names.length ? ", …" : "");
		rows.set(name, item);
	}
	return [...rows.values()];
}

function passesOfSubject(subject) {
	const times = subject.passes.map(([pass, seconds]) => ({ pass, seconds }));
	const rows = counted(subject.events, (event) => event.pass + "\n" + event.rule);
	return rows.length ? card("Rewrites, in the order of their first",
		table([["pass", "pass", null], ["rule", "rule", null], ["done", "done", String],
			["refused", "not done", String], ["where", "for example", null]], rows, chooseEvent),
		subject.cut ? el("p", { class: "small" },
			`${subject.cut} lines of the history were left out: it would be too long`) : null,
		times.length ? table([["pass", "pass", null], ["seconds", "time", timeText]], times) : null,
		el("p", { class: "small" }, times.length ? "Times are of compiling once more for this page."
			: "Times of passes are no part of a bundle; with --runs the page has some."))
			: null;
}

function chooseEvent(event) {
	const index = data.before.byName.get(event.node);
	if (index !== undefined) choose("before", index);
}

const refused = (subject) => subject.events.filter((event) => event.reason)
	.concat((subject.proof.not_proved || [])
	.map((value) => ({ pass: "the proof", reason: value.reason, node: value.value })));

function refusedOfSubject(subject) {
	const rows = counted(refused(subject), (event) =>
		[event.pass, event.rule, event.reason].join("\n"));
	return rows.length ? card("What was not done, and why",
		table([["pass", "by", null], ["rule", "rule", null], ["reason", "reason", null],
			["count", "times", String],
			["where", "for example", null]], rows, chooseEvent)) : null;
}

/* A tab of what each subject has of something; null: none has any. */
function subjectsTab(make) {
	const parts = data.subjects.map((subject) => [subject, make(subject)])
		.filter(([, content]) => content);
	return parts.length ? el("div", { class: "scroll" }, parts.map(([subject, content]) =>
		[isPair ? el("h2", { class: "of" }, subject.name) : null, content].flat())) : null;
}

const count = (of) => isPair ? null : of(data.subjects[0]);
const tabs = [
	["graph", "Graphs", graphTab, null],
	["steps", "Steps", () => subjectsTab(stepsOfSubject), count((subject) => subject.steps.length)],
	["passes", "Passes", () => subjectsTab(passesOfSubject),
		count((subject) => subject.events.filter((event) => !event.reason).length)],
	["choices", "Choices", () => subjectsTab(choicesOfSubject),
		count((subject) => subject.choices.filter((choice) => choice.key).length)],
	["left", "Not done", () => subjectsTab(refusedOfSubject),
		count((subject) => refused(subject).length)],
];
const buttons = new Map(), contents = new Map();

function showTab(name) {
	view.tab = buttons.has(name) ? name : "graph";
	for (const [key, button] of buttons) button.setAttribute("aria-selected", key === view.tab);
	document.querySelector("main").replaceChildren(...[contents.get(view.tab)].flat());
	writeHash();
}

function writeHash() {
	const parts = [];
	if (view.tab !== "graph") parts.push("tab=" + view.tab);
	if (view.search) parts.push("search=" + encodeURIComponent(view.search));
	const node = view.node === null ? null : data[view.side].nodes[view.node];
	if (node) parts.push("side=" + view.side, "node=" + encodeURIComponent(node.name));
	const address = parts.length ? "#" + parts.join("&") : location.pathname;
	if (isReady) history.replaceState(null, "", address);
}

/* "#tab=steps&search=conv&node=/conv1/Conv&side=before" */
function readHash() {
	const parts = new Map(location.hash.slice(1).split("&").map((part) => {
		const at = part.indexOf("=");
		try {
			return [part.slice(0, at), decodeURIComponent(part.slice(at + 1))];
		} catch {
			return ["", ""];
		}
	}));
	showTab(parts.get("tab") || "graph");
	if (parts.has("search")) {
		searchBox.value = parts.get("search");
		setSearch(searchBox.value);
	}
	if (!parts.has("node")) return;
	for (const side of parts.has("side") ? [parts.get("side")] : SIDES) {
		const index = SIDES.includes(side) ? data[side].byName.get(parts.get("node")) : undefined;
		if (index !== undefined) {
			hitList.hidden = true;
			return choose(side, index);
		}
	}
}

let isReady = false;
document.title = data.model + " · Tilewright";
SIDES.forEach(makePane);
const nav = el("nav", { role: "tablist" });
for (const [name, label, make, number] of tabs) {
	const content = make();
	if (!content) continue;
	contents.set(name, content);
	const button = el("button", { role: "tab", onclick: () => showTab(name) }, label,
		number === null ? null : el("span", null, String(number)));
	buttons.set(name, button);
	nav.append(button);
}
document.body.append(
	el("header", { class: isPair ? "pair" : null },
		el("h1", null, data.model, el("small", null, data.origin)),
		data.subjects.map((subject) => el("dl", { class: "facts" },
			(isPair ? [["bundle", subject.name]] : []).concat(subject.facts)
			.map(([label, value]) => el("div", { title: value }, el("dt", null, label),
				el("dd", null, value))))), nav),
	el("main"));
showTab("graph");
SIDES.forEach((side) => { render(panes[side]); fit(panes[side]); });
readHash();
isReady = true;
window.addEventListener("hashchange", readHash);
