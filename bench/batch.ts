/**
 * A batch next to 64 clients that send its requests one by one to `/openai`, on the same worker, in turn: requests per
 * second of both, the ratio of each turn, and the processor time of service and worker for 1,000 requests (with
 * PostgreSQL without the database). Then other clients beside a batch and without one, in turn: no-op jobs by
 * `/runsync` on another endpoint, and chats on the endpoint of the batch, whose worker takes so long for each that the
 * batch has half the rate that it had before. Prints JSON.
 * `node bench/batch.ts [--lines 5000] [--turns 6] [--seconds 5] [--store postgres]`, after `npm run build`; needs `wrk`
 * and Linux, for `postgres` what `test/store` needs.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startPostgres } from "../test/support/postgres-server.ts";
import { atRate } from "./http-worker/requests.ts";
import { flushTimes, machine, median, spread } from "./machine.ts";
import { processorSeconds } from "./memory-of.ts";
import { end, KEY, startService, startWorker } from "./processes.ts";
import { shoot } from "./wrk.ts";

const { values } = parseArgs({
	options: {
		lines: { type: "string", default: "5000" },
		turns: { type: "string", default: "6" },
		seconds: { type: "string", default: "5" },
		store: { type: "string", default: "sqlite" },
	},
});
const [lines, turns, seconds] = [values.lines, values.turns, values.seconds].map(Number) as [number, number, number];

/** Requests at a time: of the clients, of the batch, and what the worker takes. */
const AT_ONCE = 64;
/** Requests per second of the clients beside a batch. */
const RATES = { runsync: 40, chat: 10 };
/** Lines of the batch beside which others are measured; it is cancelled before its end. */
const MOST_LINES = 100_000;
const LOOK_MS = 20;
/** Until the service has removed the results that are in a file of a batch, and what else it left for later. */
const QUIET_MS = 500;

const PATH = "/v1/chat/completions";
const CHAT = JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(170) }] });
const authorization = `Bearer ${KEY}`;
const headers = { authorization, "content-type": "application/json" };

async function asked(url: string, init: RequestInit = {}): Promise<any> {
	const answer = await fetch(url, { headers: { authorization }, ...init });
	if (!answer.ok) throw new Error(`HTTP ${answer.status} of ${url}: ${await answer.text()}`);
	return await answer.json();
}

const post = (url: string, body: unknown): Promise<any> =>
	asked(url, { method: "POST", headers, body: JSON.stringify(body) });

/** Batches of one endpoint. */
function batchesAt(service: string, endpoint: string) {
	const url = `${service}/v2/${endpoint}/openai/v1`;
	const look = (id: string): Promise<any> => asked(`${url}/batches/${id}`);

	return {
		async upload(count: number): Promise<string> {
			const text = Array.from(
				{ length: count },
				(_, n) => `{"custom_id":"line-${n}","method":"POST","url":"${PATH}","body":${CHAT}}\n`,
			);
			const form = new FormData();
			form.append("purpose", "batch");
			form.append("file", new File(text, "lines.jsonl"));
			return (await asked(`${url}/files`, { method: "POST", body: form })).id;
		},
		async create(input: string): Promise<string> {
			return (await post(`${url}/batches`, { input_file_id: input, endpoint: PATH, completion_window: "24h" })).id;
		},
		async end(id: string): Promise<any> {
			for (;;) {
				const batch = await look(id);
				if (["completed", "failed", "cancelled", "expired"].includes(batch.status)) return batch;
				await sleep(LOOK_MS);
			}
		},
		/** Resolves when so many of its requests run as fit into the worker, or nearly. */
		async atWork(): Promise<void> {
			while ((await asked(`${service}/v2/${endpoint}/health`)).jobs.inProgress < AT_ONCE / 2) await sleep(LOOK_MS);
		},
		cancel: (id: string): Promise<unknown> => post(`${url}/batches/${id}/cancel`, {}),
	};
}

/** Part of the time of all cores in which they had nothing to do, until the returned function is called. */
function idleTime(): () => number {
	const read = (): number[] => readFileSync("/proc/stat", "utf8").split("\n")[0]!.split(/\s+/).slice(1, 9).map(Number);
	const before = read();
	return () => {
		const passed = read().map((ticks, n) => ticks - before[n]!);
		const all = passed.reduce((sum, ticks) => sum + ticks, 0);
		return Number(((passed[3]! + passed[4]!) / all).toFixed(3));
	};
}

const ratios = (some: readonly number[], others: readonly number[]): number[] =>
	some.map((each, n) => Number((each / others[n]!).toPrecision(3)));

/** Both in turn; each second turn in the other order. The first turn warms up. */
async function inTurn<T>(one: () => Promise<T>, other: () => Promise<T>): Promise<[T[], T[]]> {
	const found: [T[], T[]] = [[], []];
	for (let turn = -1; turn < turns; turn += 1) {
		const isSwapped = turn % 2 === 1;
		const first = await (isSwapped ? other : one)();
		const second = await (isSwapped ? one : other)();
		if (turn < 0) continue;
		found[0].push(isSwapped ? second : first);
		found[1].push(isSwapped ? first : second);
	}
	return found;
}

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
try {
	const postgres = values.store === "postgres" ? await startPostgres() : undefined;
	closing.push(() => postgres?.remove());
	const database = await postgres?.createDatabase();
	const external = { launcher: { type: "external" }, limits: "off" };
	const service = await startService(folder, {
		file: { endpoints: { chat: external, paced: external, noop: external } },
		...(database && { store: database.url }),
	});
	closing.push(() => end(service.child));
	const attach = async (file: string, endpoint: string, env: Record<string, string>): Promise<number> => {
		const child = await startWorker(service.url, file, { endpoint, env });
		closing.push(() => end(child, "SIGKILL"));
		return child.pid!;
	};
	const worker = await attach("chat-worker.ts", "chat", { CHAT_CONCURRENCY: String(AT_ONCE) });
	await attach("noop-worker.ts", "noop", {});

	const fast = batchesAt(service.url, "chat");
	const input = await fast.upload(lines);
	const direct = { url: `${service.url}/v2/chat/openai${PATH}`, body: CHAT, headers };
	let refused = 0;

	/** Requests per second, and ms of processor time for 1,000 of them. */
	async function measured(run: () => Promise<number>): Promise<{ perSecond: number; service: number; worker: number }> {
		const times = (): number[] => [service.child.pid!, worker].map(processorSeconds);
		const [before, began] = [times(), performance.now()];
		const requests = await run();
		const took = (performance.now() - began) / 1000;
		await sleep(QUIET_MS);
		const [ofService, ofWorker] = times().map((each, n) => ((each - before[n]!) * 1_000_000) / requests);
		return { perSecond: requests / took, service: ofService!, worker: ofWorker! };
	}

	const [batches, clients] = await inTurn(
		() =>
			measured(async () => {
				const batch = await fast.end(await fast.create(input));
				if (batch.request_counts.completed !== lines) throw new Error(`a batch is ${JSON.stringify(batch)}`);
				return lines;
			}),
		() =>
			measured(async () => {
				const load = await shoot(direct, { connections: AT_ONCE, seconds });
				refused += load.refused;
				return load.perSecond * seconds;
			}),
	);

	const rates = batches.map((each) => each.perSecond);
	const chatMs = (AT_ONCE * 1000 * 2) / median(rates);
	await attach("chat-worker.ts", "paced", { CHAT_CONCURRENCY: String(AT_ONCE), CHAT_MS: String(chatMs) });
	const slow = batchesAt(service.url, "paced");
	const long = await slow.upload(Math.min(MOST_LINES, Math.ceil(median(rates) * seconds * 4)));
	const noop = JSON.stringify({ input: { prompt: "x".repeat(170) } });
	const chat = `${service.url}/v2/paced/openai${PATH}`;

	/** Times of both clients, one after the other, and the idle part of the processor meanwhile. */
	async function others() {
		const idle = idleTime();
		const runsync = await atRate(`${service.url}/v2/noop/runsync`, noop, { perSecond: RATES.runsync, seconds });
		const idlePart = idle();
		return { idlePart, runsync, chat: await atRate(chat, CHAT, { perSecond: RATES.chat, seconds }) };
	}

	async function beside() {
		const id = await slow.create(long);
		await slow.atWork();
		const idle = idleTime();
		await sleep(1000);
		const alone = idle();
		const found = await others();
		await slow.cancel(id);
		const { status, request_counts: counts } = await slow.end(id);
		if (status !== "cancelled") throw new Error(`the batch is ${status} with ${JSON.stringify(counts)}`);
		return { ...found, alone };
	}

	const [during, without] = await inTurn(beside, async () => ({ ...(await others()), alone: 1 }));
	const compared = (of: (each: (typeof during)[number]) => number) => {
		const [with_, none] = [during.map(of), without.map(of)];
		return { beside: spread(with_), without: spread(none), ratio: spread(ratios(with_, none)) };
	};
	const processor = (some: typeof batches) => ({
		service: spread(some.map((each) => each.service)),
		worker: spread(some.map((each) => each.worker)),
	});
	const allRatios = ratios(
		rates,
		clients.map((each) => each.perSecond),
	);
	const result = {
		...{ bench: "batch", ...machine(), flushMs: flushTimes(folder), store: values.store, lines, turns, seconds },
		linesPerSecond: spread(rates),
		callsPerSecond: spread(clients.map((each) => each.perSecond)),
		...{ ratio: spread(allRatios), ratios: allRatios },
		processorMsPer1000: { batch: processor(batches), calls: processor(clients) },
		refused,
		paced: {
			chatMs: Math.round(chatMs),
			idlePart: {
				batch: spread(during.map((each) => each.alone)),
				beside: spread(during.map((each) => each.idlePart)),
				without: spread(without.map((each) => each.idlePart)),
			},
			runsyncP50Ms: compared((each) => each.runsync.p50),
			runsyncP99Ms: compared((each) => each.runsync.p99),
			chatP50Ms: compared((each) => each.chat.p50),
		},
	};
	process.stdout.write(`${JSON.stringify(result, undefined, "\t")}\n`);
} finally {
	for (const step of closing.toReversed()) await step();
}
process.exit(0);
