/* The two panes: sheets drawn as SVG, moved together. */

const panes = {};
const view = { tab: "graph", search: "", side: null, node: null };
let isLinked = true;

function makePane(side) {
	const pane = { side, graph: data[side], sheet: 0, x: 0, y: 0, k: 1 };
	pane.world = sv("g");
	pane.svg = sv("svg", { role: "img", "aria-label": "the graph " + side },
		sv("defs", null, sv("marker", { id: "tip-" + side, viewBox: "0 0 8 8", refX: 7, refY: 4,
			markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" },
			sv("path", { d: "M0 0.5L8 4L0 7.5z", fill: "var(--edge)" }))), pane.world);
	pane.crumbs = el("div", { class: "crumbs" });
	const zoom = el("div", { class: "zoom" },
		el("button", { title: "smaller", onclick: () => zoomAt(pane, 1 / 1.25) }, "−"),
		el("button", { title: "larger", onclick: () => zoomAt(pane, 1.25) }, "+"),
		el("button", { title: "show all", onclick: () => { fit(pane, true); follow(pane); } },
			"all"));
	pane.element = el("section", { class: "pane", "data-side": side },
		el("div", { class: "top" }, pane.crumbs, zoom), pane.svg);
	listen(pane);
	return panes[side] = pane;
}

function listen(pane) {
	let grip = null;
	pane.svg.addEventListener("pointerdown", (event) => {
		grip = { x: event.clientX - pane.x, y: event.clientY - pane.y, id: event.pointerId };
	});
	pane.svg.addEventListener("pointermove", (event) => {
		if (!grip || !event.buttons) return;
		pane.x = event.clientX - grip.x;
		pane.y = event.clientY - grip.y;
		place(pane);
		follow(pane);
	});
	pane.svg.addEventListener("pointerup", () => { grip = null; });
	pane.svg.addEventListener("wheel", (event) => {
		event.preventDefault();
		if (event.ctrlKey || event.metaKey) {
			const frame = pane.svg.getBoundingClientRect();
			zoomAt(pane, Math.exp(-event.deltaY / 200), event.clientX - frame.left,
				event.clientY - frame.top);
			return;
		}
		pane.x -= event.deltaX;
		pane.y -= event.deltaY;
		place(pane);
		follow(pane);
	}, { passive: false });
}

const sheetOf = (pane) => pane.graph.sheets[pane.sheet];
function place(pane) {
	pane.world.setAttribute("transform", `translate(${pane.x},${pane.y}) scale(${pane.k})`);
	pane.world.classList.toggle("far", pane.k < 0.3); /* nothing can be read: colours alone */
}

/* Where the begin of a sheet is when it is shown from its begin, and to its end. */
const ends = (pane) => [24, pane.svg.clientHeight - 24 - sheetOf(pane).h * pane.k];

/* Where a sheet begins: the middle of its first box. */
const anchor = (pane) => sheetOf(pane).boxes.length
	? sheetOf(pane).boxes[0][0] + sheetOf(pane).boxes[0][2] / 2 : 0;

/* The other pane shows the same share of its own sheet: begins and ends stand side by side. */
function follow(pane) {
	const other = panes[pane.side === "before" ? "after" : "before"];
	if (!isLinked || !other) return;
	other.k = pane.k;
	other.x = pane.x + (anchor(pane) - anchor(other)) * pane.k;
	const [begin, end] = ends(pane), [first, last] = ends(other);
	other.y = first + (Math.abs(end - begin) < 1 ? 0.5
		: (pane.y - begin) / (end - begin)) * (last - first);
	place(other);
}

function zoomAt(pane, factor, x, y) {
	x = x === undefined ? pane.svg.clientWidth / 2 : x;
	y = y === undefined ? pane.svg.clientHeight / 2 : y;
	const k = Math.min(3, Math.max(0.02, pane.k * factor));
	pane.x = x - (x - pane.x) * k / pane.k;
	pane.y = y - (y - pane.y) * k / pane.k;
	pane.k = k;
	place(pane);
	follow(pane);
}

/* All of the sheet, or its begin at a size that can be read. */
function fit(pane, isWhole) {
	const sheet = sheetOf(pane), w = pane.svg.clientWidth, h = pane.svg.clientHeight;
	const whole = Math.min((w - 48) / sheet.w, (h - 48) / sheet.h, 1);
	pane.k = isWhole ? whole : Math.max(whole, 0.8);
	pane.x = sheet.w * pane.k < w ? (w - sheet.w * pane.k) / 2 : w / 2 - anchor(pane) * pane.k;
	pane.y = sheet.h * pane.k < h - 48 ? (h - sheet.h * pane.k) / 2 : 24;
	place(pane);
}

function edgePath(edge) {
	let path = `M${edge[2]} ${edge[3]}`;
	for (let i = 4; i < edge.length; i += 2) {
		const x0 = edge[i - 2], y0 = edge[i - 1], x = edge[i], y = edge[i + 1];
		const middle = (y0 + y) / 2;
		path += x === x0 ? `L${x} ${y}` : `C${x0} ${middle} ${x} ${middle} ${x} ${y}`;
	}
	return path;
}

function drawNode(pane, node, box) {
	const type = node.out.length ? pane.graph.values[node.out[0]][1] :
		node.in.length ? pane.graph.values[node.in[0]][1] : "";
	const title = node.of ? node.of.slice(0, 3).join(" + ") + (node.of.length > 3
		? ` + ${node.of.length - 3}` : "") : node.op;
	return sv("g", { class: "box " + node.state, transform: `translate(${box[0]},${box[1]})`,
		onclick: () => choose(pane.side, node.index) },
		sv("title", null, `${node.name}\n${node.op}: ${type}`),
		sv("rect", { class: "body", width: box[2], height: box[3], rx: 7 }),
		sv("rect", { class: "bar", x: 5, y: 7, width: 4, height: box[3] - 14, rx: 2 }),
		sv("text", { x: 17, y: 19 }, clip(title, "600 12.5px " + family, box[2] - 25)),
		sv("text", { x: 17, y: 34, class: "name" },
			clip(node.name, "11px " + family, box[2] - 25, true)),
		sv("text", { x: 17, y: 48, class: "type" },
			clip(type, "10.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
			box[2] - 25)));
}

/* How many nodes of each state are on a sheet and those in it. */
function countStates(graph, index) {
	const sheet = graph.sheets[index], counts = {};
	for (const [node, inner] of sheet.items) {
		const some = inner >= 0 ? countStates(graph, inner) : { [graph.nodes[node].state]: 1 };
		for (const state in some) counts[state] = (counts[state] || 0) + some[state];
	}
	return counts;
}

/* Without inputs and outputs. */
const nodeCount = (graph, index) =>
	Object.entries(countStates(graph, index)).reduce((sum, [state, count]) =>
		sum + (state === "io" ? 0 : count), 0);

function drawSheet(pane, index, box) {
	const sheet = pane.graph.sheets[index], counts = countStates(pane.graph, index);
	const all = Object.values(counts).reduce((a, b) => a + b, 0);
	let x = 17;
	const parts = Object.entries(counts).map(([state, count]) => {
		const width = (box[2] - 34) * count / all;
		x += width;
		return sv("rect", { class: "bar " + state, x: x - width, y: 43, width, height: 5 });
	});
	return sv("g", { class: "box region", transform: `translate(${box[0]},${box[1]})`,
		onclick: () => openSheet(pane, index) },
		sv("title", null, `${sheet.title}: ${all} nodes; click to open`),
		sv("rect", { x: 4, y: 4, width: box[2], height: box[3], rx: 7 }),
		sv("rect", { class: "body", width: box[2], height: box[3], rx: 7 }),
		sv("text", { x: 17, y: 20 }, clip(sheet.title, "600 12.5px " + family, box[2] - 25)),
		sv("text", { x: 17, y: 35, class: "name" }, all + " nodes"), parts);
}

function render(pane) {
	const sheet = sheetOf(pane), edges = sv("g"), boxes = sv("g");
	pane.edges = sheet.edges.map((edge) => {
		const path = sv("path", { class: "edge" + (edge[0] > edge[1] ? " up" : ""),
			d: edgePath(edge),
			"marker-end": `url(#tip-${pane.side})` });
		edges.append(path);
		return path;
	});
	pane.boxes = sheet.items.map(([node, inner], i) => {
		const box = node >= 0 ? drawNode(pane, pane.graph.nodes[node], sheet.boxes[i]) :
			drawSheet(pane, inner, sheet.boxes[i]);
		boxes.append(box);
		return box;
	});
	pane.world.replaceChildren(edges, boxes);
	pane.crumbs.replaceChildren(el("b", null, data.titles[SIDES.indexOf(pane.side)]),
		...crumbs(pane));
	mark(pane);
}

function crumbs(pane) {
	const path = [];
	for (let at = pane.sheet; at >= 0; at = pane.graph.sheets[at].parent) path.unshift(at);
	const title = (at) => at === 0 ? nodeCount(pane.graph, 0) + " nodes"
		: pane.graph.sheets[at].title;
	return path.flatMap((at, i) => {
		if (path.length > 4 && i > 0 && i < path.length - 2) return i === 1 ? [" › …"] : [];
		return [i ? " › " : "", at === pane.sheet ? el("span", null, title(at)) :
			el("a", { onclick: () => openSheet(pane, at) }, title(at))];
	});
}

const pathOf = (pane, index) => {
	const titles = [];
	for (let at = index; at > 0; at = pane.graph.sheets[at].parent)
		titles.unshift(pane.graph.sheets[at].title);
	return titles.join("/");
};

function openSheet(pane, index, isAlone) {
	pane.sheet = index;
	render(pane);
	fit(pane);
	const other = panes[pane.side === "before" ? "after" : "before"];
	if (!isLinked || isAlone) return;
	const path = pathOf(pane, index);
	const found = other.graph.sheets.findIndex((sheet, i) => pathOf(other, i) === path);
	if (found >= 0) openSheet(other, found, true);
	follow(pane);
}

/* Whether an item of a sheet is one of these nodes, or has one inside. */
function holds(graph, [node, inner], set) {
	if (node >= 0) return set.has(node);
	for (const index of set)
		for (let at = graph.nodes[index].sheet; at >= 0; at = graph.sheets[at].parent)
			if (at === inner) return true;
	return false;
}

function mark(pane) {
	const sheet = sheetOf(pane), graph = pane.graph;
	const isSide = view.side === pane.side, node = view.node !== null
		? data[view.side].nodes[view.node] : null;
	const chosen = new Set(isSide && node ? [node.index] : []);
	const near = new Set(!isSide && node ? node.other : []);
	const hits = new Set(view.search ? searchNodes(view.search)
		.filter((hit) => hit.side === pane.side)
		.map((hit) => hit.node.index) : []);
	sheet.items.forEach((item, i) => {
		pane.boxes[i].classList.toggle("chosen", holds(graph, item, chosen));
		pane.boxes[i].classList.toggle("near", holds(graph, item, near));
		pane.boxes[i].classList.toggle("hit", holds(graph, item, hits));
	});
	sheet.edges.forEach((edge, i) => pane.edges[i].classList.toggle("near",
		pane.boxes[edge[0]].classList.contains("chosen")
			|| pane.boxes[edge[1]].classList.contains("chosen")));
}

/* Show a node in the middle of its pane. */
function reveal(pane, index) {
	const home = pane.graph.nodes[index].sheet;
	if (pane.sheet !== home) {
		pane.sheet = home;
		render(pane);
		fit(pane);
	}
	const sheet = sheetOf(pane), box = sheet.boxes[sheet.items.findIndex(([node]) =>
		node === index)];
	pane.k = Math.max(pane.k, 0.7);
	pane.x = pane.svg.clientWidth / 2 - (box[0] + box[2] / 2) * pane.k;
	pane.y = pane.svg.clientHeight / 2 - (box[1] + box[3] / 2) * pane.k;
	place(pane);
}

function choose(side, index, isQuiet) {
	view.side = side;
	view.node = index;
	showNode();
	const node = data[side].nodes[index], other = panes[side === "before" ? "after" : "before"];
	if (view.tab !== "graph") showTab("graph");
	reveal(panes[side], index);
	if (node.other.length) {
		other.k = Math.max(panes[side].k, 0.7);
		reveal(other, node.other[0]);
	} else {
		follow(panes[side]);
	}
	SIDES.forEach((name) => mark(panes[name]));
	if (!isQuiet) writeHash();
}
