/* Tables that sort, and charts. */

/* ---- tables ---- */

const TIGHT = new Set(["at", "kind", "by", "pass", "rule"]); /* never broken */

/* columns: [key, label, how a cell is shown (numbers), or null (texts)] */
function table(columns, rows, onclick) {
	let by = null, isDown = true;
	const body = el("tbody"), head = columns.map(([key, label, show]) =>
		el("th", { class: show ? "num" : null,
		onclick: () => { isDown = by === key ? !isDown : Boolean(show); by = key; draw(); } },
			label));
	const value = (item) => item[by] === undefined || item[by] === null ? -Infinity : item[by];
	function draw() {
		const sorted = by === null ? rows : [...rows].sort((a, b) => {
			const x = value(a), y = value(b);
			return (isDown ? -1 : 1) * (typeof x === "string" && typeof y === "string" ?
				x.localeCompare(y, "en", { numeric: true }) : x > y ? 1 : x < y ? -1 : 0);
		});
		head.forEach((th, i) => {
			if (columns[i][0] !== by) th.removeAttribute("aria-sort");
			else th.setAttribute("aria-sort", isDown ? "descending" : "ascending");
		});
		body.replaceChildren(...sorted.map((item) =>
			el("tr", onclick ? { class: "go", onclick: () => onclick(item) } : null,
			columns.map(([key, label, show]) =>
				el("td", { class: show ? "num" : key === "result" ? "mono" : TIGHT.has(key)
				? "tight" : null },
				item[key] === undefined || item[key] === null ? "" : show ? show(item[key])
					: String(item[key]))))));
	}
	draw();
	return el("div", { class: "wide" }, el("table", null, el("thead", null, el("tr", null, head)),
		body));
}

const card = (title, ...children) => el("div", { class: "card" }, el("h2", null, title),
	...children);

function chooseStep(step) {
	for (const side of isPair ? SIDES.filter((name) => subjectOf(name) === step.subject)
		: ["after", "before"])
		for (const name of [step.name, ...step.names]) {
			const index = data[side].byName.get(name);
			if (index !== undefined) return choose(side, index);
		}
}

/* ---- charts ---- */

const kinds = () => el("p", { class: "legend" },
	[["vendor", "a library's call"], ["kernel", "our kernel"], ["other", "other"]]
	.map(([kind, label]) => el("span", { class: kind }, el("i"), label)));
const kindClass = (step) => step.kind === "kernel" || step.kind === "vendor" ? step.kind : "other";

function timeChart(steps) {
	const slow = [...steps].sort((a, b) => b.seconds - a.seconds).slice(0, 20), h = 19, w = 620;
	const most = slow[0].seconds;
	return sv("svg", { viewBox: `0 0 ${w} ${slow.length * h + 4}` }, slow.map((step, i) =>
		sv("g", { class: "mark", onclick: () => chooseStep(step) },
			sv("title", null, `step ${step.at} ${step.name}`),
			sv("rect", { class: kindClass(step), x: 250, y: i * h + 3,
				width: Math.max(1, step.seconds / most * 290), height: h - 6, rx: 2 }),
			sv("text", { class: "label", x: 242, y: i * h + 14, "text-anchor": "end" },
				clip(step.name, "11px " + family, 240, true)),
			sv("text", { x: 256 + step.seconds / most * 290, y: i * h + 14 },
				timeText(step.seconds)))));
}

function rooflineChart(steps, machine) {
	const w = 640, h = 384, left = 54, foot = 34, peak = machine.peaks.f32,
		band = machine.bandwidth;
	const points = steps.map((step) => ({ step, x: step.flops / step.bytes,
		y: step.flops / step.seconds / 1e9 }));
	const log = Math.log10;
	const x0 = Math.floor(log(Math.min(0.1, ...points.map((p) => p.x)))),
		x1 = Math.ceil(log(Math.max(100, ...points.map((p) => p.x))));
	const y0 = Math.floor(log(Math.max(1e-3, Math.min(1, ...points.map((p) => p.y))))),
		y1 = Math.ceil(log(Math.max(peak, ...points.map((p) => p.y))));
	const px = (x) => left + (log(x) - x0) / (x1 - x0) * (w - left - 24);
	const py = (y) => h - foot - (Math.max(y0, log(y)) - y0) / (y1 - y0) * (h - foot - 14);
	const ticks = [];
	for (let e = x0; e <= x1; e++)
		ticks.push(sv("line", { class: "tick", x1: px(10 ** e), x2: px(10 ** e), y1: 14,
			y2: h - foot }),
			sv("text", { x: px(10 ** e), y: h - foot + 15, "text-anchor": "middle" },
				String(10 ** e)));
	for (let e = y0; e <= y1; e++)
		ticks.push(sv("line", { class: "tick", x1: left, x2: w - 24, y1: py(10 ** e),
			y2: py(10 ** e) }),
			sv("text", { x: left - 7, y: py(10 ** e) + 4, "text-anchor": "end" }, String(10 ** e)));
	const slope = `M${px(10 ** x0)} ${py(band * 10 ** x0)}`;
	const roof = slope + `L${px(peak / band)} ${py(peak)}L${px(10 ** x1)} ${py(peak)}`;
	return sv("svg", { viewBox: `0 0 ${w} ${h}` }, ticks,
		sv("path", { class: "roof", d: roof }),
		points.map(({ step, x, y }) => sv("circle",
			{ class: "mark " + kindClass(step), cx: px(x), cy: py(y),
			r: 3 + 9 * Math.sqrt(step.seconds / (step.subject.seconds || 1)),
				onclick: () => chooseStep(step) },
			sv("title", null, `${step.name}\n${round(y)} GFLOP/s, ${round(x)} FLOP per byte`))),
		sv("text", { x: w - 24, y: h - 4, "text-anchor": "end" }, "FLOP per byte of memory"),
		sv("text", { x: left, y: 9 }, "GFLOP/s"));
}

function memoryChart(memory) {
	const w = 620, h = 384, left = 64, foot = 34, most = Math.max(...memory), count = memory.length;
	const px = (i) => left + i / count * (w - left - 12),
		py = (b) => h - foot - b / most * (h - foot - 22);
	let path = `M${px(0)} ${py(0)}`;
	memory.forEach((bytes, i) => { path += `V${py(bytes)}H${px(i + 1)}`; });
	const every = Math.max(1, Math.ceil(count / 10 / 5) * 5), ticks = [];
	for (let i = 0; i < count; i += every)
		ticks.push(sv("text", { x: px(i + 0.5), y: h - foot + 15, "text-anchor": "middle" },
			String(i)));
	for (let i = 0; i <= 4; i++)
		ticks.push(sv("line", { class: "tick", x1: left, x2: w - 12, y1: py(most * i / 4),
			y2: py(most * i / 4) }),
			sv("text", { x: left - 7, y: py(most * i / 4) + 4, "text-anchor": "end" },
				bytesText(most * i / 4)));
	return sv("svg", { viewBox: `0 0 ${w} ${h}` }, ticks,
		sv("path", { class: "fill", d: path + `V${py(0)}Z` }),
		sv("text", { x: w - 14, y: h - 4, "text-anchor": "end" }, "step"));
}
