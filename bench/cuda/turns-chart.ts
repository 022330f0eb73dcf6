/**
 * Draws how two servers took turns on one GPU, as in the README, from the JSON that `http-servers.ts` prints: `node
 * bench/cuda/turns-chart.ts RESULT.json > docs/images/gpu-turns.svg`. A thin line is a request from its submission to
 * its end, a bar is the time in which the server's worker had the GPU.
 */
import { readFileSync } from "node:fs";

/** A burst of requests to two servers, times in s since it began. */
export interface Turns {
	jobs: { server: string; from: number; to: number }[];
	/** When a worker of the server had the GPU. */
	spans: { server: string; state: string; from: number; to: number }[];
}

const WIDTH = 880;
const LEFT = 150;
const RIGHT = 20;
const BAR = 16;
const LINE = 3;
const GAP = 26;
const COLOURS = ["#2563eb", "#c2410c"];

/** The requests of a server in rows, so that those of one row do not overlap. */
function rowsOf(jobs: Turns["jobs"]): number[] {
	const ends: number[] = [];
	return jobs.map(({ from, to }) => {
		const free = ends.findIndex((end) => end <= from);
		const row = free < 0 ? ends.length : free;
		ends[row] = to;
		return row;
	});
}

/** An SVG for light and dark pages. `caption`: what was measured, and where. */
function turnsChart({ jobs, spans }: Turns, caption: string): string {
	const servers = [...new Set(jobs.map(({ server }) => server))];
	const last = Math.max(...[...jobs, ...spans].map(({ to }) => to));
	const x = (seconds: number): number => LEFT + ((WIDTH - LEFT - RIGHT) * Math.max(0, seconds)) / last;
	const rect = (q: { from: number; to: number; y: number; height: number; fill: string; opacity: number }): string =>
		`<rect x="${x(q.from).toFixed(1)}" y="${q.y}" width="${Math.max(1, x(q.to) - x(q.from)).toFixed(1)}" ` +
		`height="${q.height}" fill="${q.fill}" fill-opacity="${q.opacity}"/>`;
	const parts: string[] = [];
	let y = 16;
	for (const [index, server] of servers.entries()) {
		const fill = COLOURS[index % COLOURS.length]!;
		const own = jobs.filter((each) => each.server === server).toSorted((a, b) => a.from - b.from);
		const rows = rowsOf(own);
		const most = Math.max(...rows) + 1;
		for (const [at, { from, to }] of own.entries())
			parts.push(rect({ from, to, y: y + rows[at]! * (LINE + 1), height: LINE, fill, opacity: 0.35 }));
		const under = y + most * (LINE + 1) + 4;
		for (const { from, to, state } of spans.filter((each) => each.server === server))
			parts.push(rect({ from, to, y: under, height: BAR, fill, opacity: state === "busy" ? 1 : 0.6 }));
		parts.push(
			`<text x="${LEFT - 10}" y="${y + 12}" text-anchor="end" font-weight="600">${server}</text>`,
			`<text x="${LEFT - 10}" y="${y + 28}" text-anchor="end" class="muted">${own.length} requests</text>`,
			`<text x="${LEFT - 10}" y="${under + 13}" text-anchor="end" class="muted">has the GPU</text>`,
		);
		y = under + BAR + GAP;
	}
	const step = [5, 10, 20, 30, 60, 120].find((each) => last / each <= 12) ?? 300;
	for (let tick = 0; tick <= last; tick += step)
		parts.push(
			`<line x1="${x(tick)}" x2="${x(tick)}" y1="8" y2="${y - GAP + 6}" stroke="#9ca3af" stroke-opacity="0.3"/>`,
			`<text x="${x(tick)}" y="${y - 4}" text-anchor="middle" class="muted">${tick} s</text>`,
		);
	const height = y + 26;
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">`,
		"<style>text { font: 13px system-ui, sans-serif; fill: #1f2937 } .muted { fill: #6b7280 } ",
		"@media (prefers-color-scheme: dark) { text { fill: #e5e7eb } .muted { fill: #9ca3af } }</style>",
		...parts,
		`<text x="${LEFT}" y="${height - 8}" class="muted">${caption}</text>`,
		"</svg>",
		"",
	].join("\n");
}

const { burst, turns, gpu, modelGb } = JSON.parse(readFileSync(process.argv[2]!, "utf8"));
const caption =
	`${burst.right} of ${burst.jobs} answers right; each model fills ${modelGb} GB of one ${gpu.name}, ` +
	`${Math.round(gpu.sizeMib / 1024)} GiB.`;
process.stdout.write(turnsChart(turns, caption));
