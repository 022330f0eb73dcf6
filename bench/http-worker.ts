/**
 * What an HTTP worker adds: one server called directly, through an HTTP worker, and its work done by a worker of the
 * kit, all in one run. Prints JSON: times in ms at 1 and 8 in flight and at a fixed rate of half of what the HTTP
 * worker can do, jobs per second at 64 in flight, tokens of a stream as fast as possible and at a model's pace, bodies
 * of 1 and 10 MB in and out, memory of both workers in MB. `added` is the HTTP worker less the worker of the kit,
 * `ratio` the one to the other. `node bench/http-worker.ts [seconds] [rounds]`, after `npm run build`; needs `wrk` and
 * Linux.
 */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atRate, oneByOne } from "./http-worker/requests.ts";
import { machine, median, spread } from "./machine.ts";
import { residentMb } from "./memory-of.ts";
import { end, KEY, startServer, startService, startWorker } from "./processes.ts";
import { round } from "./stream-reader.ts";
import { shoot } from "./wrk.ts";

const [seconds = 4, rounds = 5] = process.argv.slice(2).map(Number);
/** Until the compiler has made what is busy fast, s. */
const WARM_UP = Math.min(6, 2 * seconds);
/** Tokens of a stream as fast as possible; a model's pace, ms for each, and so many of these. */
const TOKENS = { fast: 2000, everyMs: 20, paced: 100 };
const SIZES = [1_000_000, 10_000_000];

const SIDES = ["direct", "kit", "http"] as const;
type Side = (typeof SIDES)[number];
type Figures = Record<Side, number[]>;

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const children: ChildProcess[] = [];

/** Runs each side in turn, round by round. */
async function inTurn(take: (side: Side) => Promise<number>, count = rounds): Promise<Figures> {
	const found: Figures = { direct: [], kit: [], http: [] };
	for (let each = 0; each < count; each += 1) for (const side of SIDES) found[side].push(await take(side));
	return found;
}

const spreads = (found: Figures) =>
	Object.fromEntries(SIDES.map((side) => [side, spread(found[side])])) as Record<Side, ReturnType<typeof spread>>;

/** Times, and what the HTTP worker adds to the worker of the kit. */
const times = (found: Figures) => ({ ...spreads(found), added: spread(found.http.map((ms, n) => ms - found.kit[n]!)) });

/** Rates, and the HTTP worker's as a part of that of the worker of the kit. */
const rates = (found: Figures) => ({
	...spreads(found),
	ratio: spread(found.http.map((each, n) => each / found.kit[n]!)),
});

try {
	const external = { launcher: { type: "external" }, limits: "off" };
	const server = await startServer("http-worker/server.ts");
	children.push(server.child);
	const place = { url: server.url, concurrency: 256, ready: { tcp: true } };
	const http = { ...place, request: { path: "/echo" } };
	const chatHttp = { ...place, preset: "openai", ready: { path: null, tcp: true } };
	const endpoints = {
		kit: external,
		chatKit: external,
		http: { ...external, http },
		chatHttp: { ...external, http: chatHttp },
	};
	const service = await startService(folder, { file: { endpoints } });
	children.push(service.child);
	const attach = async (endpoint: string, file: string, mapping?: object): Promise<ChildProcess> => {
		const env = mapping && { SLUICE_HTTP: JSON.stringify(mapping) };
		const child = await startWorker(service.url, file, { endpoint, ...(env && { env }) });
		children.unshift(child);
		return child;
	};
	const adapter = await attach("http", "../bin/sluice-http.js", http);
	const kit = await attach("kit", "echo-worker.ts");
	const idleMb = { http: residentMb(adapter.pid!), kit: residentMb(kit.pid!) };
	await attach("chatKit", "stream-worker.ts");
	await attach("chatHttp", "../bin/sluice-http.js", chatHttp);

	const urls: Record<Side, string> = {
		direct: `${server.url}/echo`,
		kit: `${service.url}/v2/kit/runsync`,
		http: `${service.url}/v2/http/runsync`,
	};
	const chats: Record<Side, string> = {
		direct: `${server.url}/v1/chat/completions`,
		kit: `${service.url}/v2/chatKit/openai/v1/chat/completions`,
		http: `${service.url}/v2/chatHttp/openai/v1/chat/completions`,
	};
	const headers = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };
	const body = JSON.stringify({ input: { prompt: "x".repeat(170) } });
	let refused = 0;
	const load = async (side: Side, connections: number, length = seconds) => {
		const found = await shoot({ url: urls[side], body, headers }, { connections, seconds: length });
		refused += found.refused;
		return found;
	};
	for (const side of SIDES) await load(side, 64, WARM_UP);

	const at64 = await inTurn(async (side) => (await load(side, 64)).perSecond);
	const at8 = await inTurn(async (side) => (await load(side, 8)).p50);
	const at1 = await inTurn(async (side) => (await load(side, 1)).p50);
	const perSecond = Math.floor(median(at64.http) / 2);
	const paced = await inTurn(async (side) => (await atRate(urls[side], body, { perSecond, seconds })).p50);

	const fast = { chunks: TOKENS.fast, everyMs: 0 };
	const pace = { chunks: TOKENS.paced, everyMs: TOKENS.everyMs };
	for (const side of SIDES) await round(chats[side], 1, fast);
	const tokens = await inTurn(async (side) => (await round(chats[side], 1, fast)).perSecond);
	const delays = await inTurn(async (side) => (await round(chats[side], 1, pace)).p50);

	const sizes = [];
	for (const bytes of SIZES) {
		const text = JSON.stringify({ input: { image: "A".repeat(bytes) } });
		const found = await inTurn(async (side) => (await oneByOne(urls[side], text, 3)).p50);
		sizes.push({ bytes, p50Ms: times(found) });
	}

	const result = {
		bench: "http-worker",
		...machine(),
		seconds,
		rounds,
		p50MsAt1: times(at1),
		p50MsAt8: times(at8),
		perSecondAt64: rates(at64),
		p50MsAtHalfRate: { perSecond, ...times(paced) },
		tokensPerSecond: rates(tokens),
		p50MsOfTokenEvery20Ms: times(delays),
		sizes,
		idleMb,
		afterAllMb: { http: residentMb(adapter.pid!), kit: residentMb(kit.pid!) },
		refused,
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	for (const child of children) await end(child, "SIGKILL");
	rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
