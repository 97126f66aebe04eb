"use strict";
/* The page's script, from here on: data.js reads the data, graph.js draws the graphs, node.js has
 * search and a node's page, tables.js tables and charts, tabs.js puts them together.
 *
 * Names come from models and may be anything: they get into the page as texts of nodes
 * (textContent) and as values of attributes set one by one, never as HTML.
 */
const data = JSON.parse(document.getElementById("data").textContent);
const SIDES = ["before", "after"];
const STATES = data.subjects.length > 1 ? {
	kept: ["the same", "the same in both"],
	fused: ["different", "of the same nodes of the model, but not the same"],
	new: ["only here", "the other one has nothing of these nodes"],
} : {
	kept: ["kept", "as it was"],
	fused: ["fused", "part of a group, or joined to another node"],
	folded: ["folded", "computed when compiling, or not needed"],
	new: ["new", "replaced by, or made as, something else"],
};

/* ---- elements ---- */

function fill(element, attributes, children) {
	for (const [key, value] of Object.entries(attributes || {}))
		if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			element.setAttribute(key, value === true ? "" : value);
	for (const child of children.flat(Infinity))
		if (child !== null && child !== undefined) element.append(child);
	return element;
}
const el = (tag, attributes, ...children) =>
	fill(document.createElement(tag), attributes, children);
const sv = (tag, attributes, ...children) =>
	fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/* ---- numbers ---- */

const short = (text, most) =>
	text.length <= most ? text : "…" + text.slice(text.length - most + 1);
/* A text in as many pixels as it may have, without its end, or without its begin: names end with
 * what tells them apart. */
const pen = document.createElement("canvas").getContext("2d");
const family = getComputedStyle(document.body).fontFamily;
function clip(text, font, most, isTail) {
	pen.font = font;
	const cut = (count) =>
		isTail ? "…" + text.slice(text.length - count) : text.slice(0, count) + "…";
	if (text.length < 400 && pen.measureText(text).width <= most) return text;
	let low = 0, high = Math.min(text.length, 400);
	while (low + 1 < high) {
		const middle = (low + high) >> 1;
		if (pen.measureText(cut(middle)).width <= most) low = middle;
		else high = middle;
	}
	return cut(low);
}
const round = (number) => number === 0 ? "0" : Math.abs(number) >= 100 ? number.toFixed(0) :
	number.toPrecision(3).replace(/\.?0+$/, "");
function scaled(number, units) {
	let at = 0;
	while (number >= 1000 && at + 1 < units.length) { number /= 1000; at++; }
	return round(number) + " " + units[at];
}
const bytesText = (number) => scaled(number, ["B", "KB", "MB", "GB"]);
const flopsText = (number) => scaled(number, ["", "k", "M", "G", "T"]);
const timeText = (seconds) => scaled(seconds * 1e6, ["µs", "ms", "s"]);

/* ---- what the data means ---- */

const lines = (text) => (text || "").split("\n").filter(Boolean).map((line) => {
	try { return JSON.parse(line); } catch { return {}; }
});
const names = (text) => (text || "").split(", ").filter(Boolean);
function grouped(items, key) {
	const groups = new Map();
	for (const item of items) {
		if (!groups.has(key(item))) groups.set(key(item), []);
		groups.get(key(item)).push(item);
	}
	return groups;
}

/* A bundle: its plan, its choices, its history. */
function readSubject(subject) {
	subject.choices = lines(subject.choices);
	const row = (subject.choices[0] || {}).row;
	const history = lines(subject.history);
	subject.cut = (history[0] || {}).cut;
	subject.events = history.filter((line) => line.pass && line.nodes).flatMap(lineEvents)
		.sort((a, b) => a.number === b.number ? 0 : a.number - b.number);
	subject.eventsByName = grouped(subject.events, (event) => event.node);
	const joins = subject.events.filter((event) => event.made && event.made !== event.node);
	subject.eventsByMade = grouped(joins, (event) => event.made);
	subject.proof = lines((subject.proof || "").replace(/\n/g, " "))[0] || {};
	correctMachine(subject.machine, row);
	readSteps(subject);
}

/* A line of the history is a rule or a reason, and each of its nodes a rewrite. */
const lineEvents = (line) => line.nodes.map((node, i) =>
	({ pass: line.pass, rule: line.rule, reason: line.reason,
	node, made: (line.made || [])[i] || "", number: (line.rewrites || [])[i] || Infinity }));

/* The peaks of the row as the machine was measured to have them when the bundle was made. */
function correctMachine(machine, row) {
	if (!machine || !row || !machine.peaks.f32) return;
	const factor = row.gflops * machine.threads / machine.peaks.f32;
	for (const units in machine.peaks) machine.peaks[units] *= factor;
	machine.bandwidth = row.bandwidth * machine.threads;
}

/* Steps by the name of the node of the result that they compute. */
function readSteps(subject) {
	for (const step of subject.steps) {
		step.subject = subject;
		step.names = names(step.from);
	}
	subject.stepsByName = grouped(subject.steps, (step) => step.name);
	subject.seconds = subject.steps.filter((step) => !step.at.includes("."))
		.reduce((sum, step) => sum + (step.seconds || 0), 0);
}

data.subjects.forEach(readSubject);
const isPair = data.subjects.length > 1; /* two bundles of a model: their graphs, side by side */
const subjectOf = (side) => data.subjects[isPair && side === "after" ? 1 : 0];

/* Inputs and outputs of a graph, whose names nodes may have, too. */
const isEnd = (node) => node.op === "Input" || node.op === "Output";
const endKey = (node) => node.op + "\n" + node.name;

function prepare(graph) {
	graph.byName = new Map();
	graph.nodes.forEach((node, index) => {
		node.index = index;
		node.from = node.from || [];
		node.readers = [];
		if (!isEnd(node) && !graph.byName.has(node.name)) graph.byName.set(node.name, index);
	});
	graph.ends = new Map(graph.nodes.filter(isEnd).map((node) => [endKey(node), node.index]));
	for (const { name, index } of graph.nodes.filter(isEnd))
		if (!graph.byName.has(name)) graph.byName.set(name, index);
	graph.nodes.forEach((node) => {
		for (const value of node.in) {
			const maker = graph.values[value][2];
			if (maker >= 0) graph.nodes[maker].readers.push(node.index);
		}
	});
	graph.sheets.forEach((sheet, index) => {
		sheet.marks = [];
		for (const [node, inner] of sheet.items)
			if (node >= 0) graph.nodes[node].sheet = index;
	});
}
SIDES.forEach((side) => prepare(data[side]));

/* What the history says of a node, of what was joined to it, and then of what was made of it. */
function eventsOf(node, subject) {
	const found = [...subject.eventsByMade.get(node.name) || []];
	const seen = new Set([node.name]), open = [[node.name, 0]];
	while (open.length && found.length < 100) {
		const [name, since] = open.shift();
		for (const event of subject.eventsByName.get(name) || []) {
			if (event.number < since) continue;
			found.push(event);
			if (!event.made || seen.has(event.made)) continue;
			seen.add(event.made);
			open.push([event.made, event.number]);
		}
	}
	return found.sort((a, b) => a.number === b.number ? 0 : a.number - b.number);
}

function join(left, right) {
	if (left.other.includes(right.index)) return;
	left.other.push(right.index);
	right.other.push(left.index);
}

/* Which nodes became which, by the names that nodes of the result have from the model. */
function relate(before, after) {
	for (const node of after.nodes) {
		const known = isEnd(node) ? before.ends : before.byName;
		for (const name of isEnd(node) ? [endKey(node)] : node.from)
			if (known.has(name)) join(before.nodes[known.get(name)], node);
		const same = node.other.some((index) => before.nodes[index].op === node.op);
		node.state = isEnd(node) ? "io" : node.of || (same && node.other.length > 1) ? "fused"
			: same ? "kept" : "new";
	}
	for (const node of before.nodes) {
		node.events = eventsOf(node, data.subjects[0]);
		const isReplaced = !node.other.length;
		for (const { made } of isReplaced ? node.events : [])
			if (after.byName.has(made)) join(node, after.nodes[after.byName.get(made)]);
		const states = node.other.map((index) => after.nodes[index].state);
		node.state = isEnd(node) ? "io" : !states.length ? "folded" : isReplaced ? "new" :
			["kept", "fused", "new"].find((state) => states.includes(state));
	}
}

/* Which nodes of two results are of the same nodes of the model, and whether they are the same. */
function relatePair(left, right) {
	const come = (node) => isEnd(node) ? [endKey(node)] : node.from;
	const origins = right.nodes.flatMap((node) => come(node).map((name) => ({ name, node })));
	const byOrigin = grouped(origins, (item) => item.name);
	for (const node of left.nodes)
		for (const name of come(node))
			for (const { node: other } of byOrigin.get(name) || []) join(node, other);
	const key = (node) => [node.op, node.name, ...[...node.from].sort()].join("\n");
	const isSame = (node, other) => node.other.some((i) => key(other.nodes[i]) === key(node));
	for (const [graph, other] of [[left, right], [right, left]])
		for (const node of graph.nodes)
			node.state = isEnd(node) ? "io" : !node.other.length ? "new" :
				isSame(node, other) ? "kept" : "fused";
}

for (const side of SIDES) for (const node of data[side].nodes) node.other = [];
(isPair ? relatePair : relate)(data.before, data.after);

/* The steps of a node: of the result those of its name, else those that come from all it is of. */
function stepsOf(side, node) {
	const subject = subjectOf(side), isResult = isPair || side === "after";
	if (isResult && subject.stepsByName.has(node.name)) return subject.stepsByName.get(node.name);
	const wanted = isResult ? node.from : [node.name];
	return subject.steps.filter((step) => wanted.some((name) => step.names.includes(name)));
}

function share(step) {
	const machine = step.subject.machine;
	const peak = machine && (machine.peaks[step.units] || machine.peaks.f32);
	if (!step.seconds || !step.flops || !step.units || !peak) return null;
	return step.flops / step.seconds / 1e9 / peak;
}
