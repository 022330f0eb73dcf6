/** One batch, from its upload to its files, while servers and workers are killed (D17, D57). */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { setTimeout as sleep } from "node:timers/promises";
import { spread, type Spread } from "../../../bench/machine.ts";
import type { BatchObject } from "../../../src/modules/openai-async/routes.ts";
import { call, KEY } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { random as randomOf } from "../plan.ts";
import { check, type Checked } from "./check.ts";
import { ENDPOINT, lineOf, PATH } from "./requests.ts";
import type { CampaignSite } from "./site.ts";

const API = `/v2/${ENDPOINT}/openai/v1`;

/** Between two reads of the batch, ms. */
const READ_MS = 200;

/** Kills come after this part of their pace at least, and at most. */
const PAUSES = [0.5, 1.5] as const;

const FINAL = ["completed", "failed", "expired", "cancelled"];

export interface CampaignOptions {
	site: CampaignSite;
	lines: number;
	/** Between two kills on average, ms. */
	everyMs: number;
	/** The batch must end in this time, ms. */
	limitMs: number;
	seed?: number;
	/** Every other kill is one of a worker; by default. */
	workers?: boolean;
	/** So many kills, for which the batch waits: each part of it begins after another one. By default as many as fit. */
	exactly?: number;
	progress?: (batch: BatchObject, kills: number) => void;
}

export interface Campaign extends Checked {
	seconds: number;
	linesPerSecond: number;
	kills: { server: number; worker: number };
	/** Until batches could run again after the kill of a server. */
	downMs: Spread | undefined;
	runs: number;
	/** Requests that ran more than once. */
	again: number;
}

/** Uploads so many requests and creates a batch of them. Returns its id. */
export async function createBatch(url: string, lines: number): Promise<string> {
	const form = new FormData();
	form.append("purpose", "batch");
	const text = Array.from({ length: lines }, (_, n) => `${lineOf(n)}\n`);
	form.append("file", new File(text, "lines.jsonl"));
	const headers = { authorization: `Bearer ${KEY}` };
	const uploaded = await fetch(`${url}${API}/files`, { method: "POST", headers, body: form });
	const input = ((await uploaded.json()) as { id: string }).id;
	const body = { input_file_id: input, endpoint: PATH, completion_window: "24h" };
	const { status, json, text: answer } = await call(url, `${API}/batches`, { body });
	if (status !== 200) throw new Error(`the batch was refused: ${answer}`);
	return json.id as string;
}

/** Undefined while no server answers. */
export async function batchAt(urls: readonly string[], id: string): Promise<BatchObject | undefined> {
	for (const url of urls) {
		const answer = await call(url, `${API}/batches/${id}`).catch(() => undefined);
		if (answer?.status === 200) return answer.json as BatchObject;
	}
	return undefined;
}

/** Holds the files of a batch that has ended against its requests. */
export async function checkAt(url: string, batch: BatchObject, count: number): Promise<Checked> {
	const read = async (path: string): Promise<Response> => {
		const answer = await fetch(url + path, { headers: { authorization: `Bearer ${KEY}` } });
		if (answer.status === 200) return answer;
		throw new Error(`${path} cannot be read: ${await answer.text()}`);
	};
	async function* linesOf(file: string | null): AsyncGenerator<string> {
		if (file === null) return;
		const { body } = await read(`${API}/files/${file}/content`);
		yield* createInterface({ input: Readable.fromWeb(body as ReadableStream<Uint8Array>) });
	}
	const files = { output: linesOf(batch.output_file_id), errors: linesOf(batch.error_file_id) };
	const { violations, ...counts } = await check(batch, { count, ...files });
	// Parts are in no list, but they are counted.
	const metrics = await (await read("/metrics")).text();
	const kept = Number(/^sluice_files\{endpoint="batch"\} (\d+)$/m.exec(metrics)?.[1]);
	const expected = 1 + [batch.output_file_id, batch.error_file_id].filter((id) => id !== null).length;
	if (kept !== expected) violations.push(`${kept} files are stored, not ${expected}`);
	return { ...counts, violations };
}

export async function campaign(q: CampaignOptions): Promise<Campaign> {
	const { site, lines, everyMs, exactly } = q;
	const random = randomOf(q.seed ?? 1);
	const over = new AbortController();
	const kills = { server: 0, worker: 0 };
	const downs: number[] = [];
	const shrunk: string[] = [];
	/** Results that were counted last. */
	let counted = 0;
	const began = performance.now();
	const id = await createBatch(site.urls()[0]!, lines);

	async function watch(): Promise<BatchObject> {
		let last = { completed: 0, failed: 0 };
		for (;;) {
			const batch = await batchAt(site.urls(), id);
			if (batch) {
				q.progress?.(batch, kills.server + kills.worker);
				const { completed, failed } = batch.request_counts;
				if (completed < last.completed || failed < last.failed)
					shrunk.push(`request_counts went from ${JSON.stringify(last)} to ${JSON.stringify({ completed, failed })}`);
				last = { completed, failed };
				counted = completed + failed;
				if (FINAL.includes(batch.status)) return batch;
			}
			if (performance.now() - began > q.limitMs)
				throw new Error(`the batch has not ended: ${JSON.stringify(batch)}\n${site.log()}`);
			await sleep(READ_MS);
		}
	}

	/** A batch without new results since the last kill has nothing new to lose. */
	const goesOn = (before: number): boolean => over.signal.aborted || shrunk.length > 0 || counted > before;

	async function breakThings(): Promise<void> {
		const [least, most] = PAUSES;
		let before = 0;
		for (let turn = 0; turn !== exactly; turn += 1) {
			if (exactly !== undefined) site.hold(Math.floor((lines * (turn + 1)) / (exactly + 1)));
			await sleep(everyMs * (least + random() * (most - least)), undefined, { signal: over.signal }).catch(() => {});
			const isServer = q.workers === false || turn % 2 === 0;
			if (isServer) await until("the batch to go on", () => goesOn(before), q.limitMs);
			if (over.signal.aborted) return;
			before = counted;
			if (isServer) {
				downs.push(await site.killServer());
				kills.server += 1;
			} else if (site.killWorker(random) !== undefined) kills.worker += 1;
		}
		site.hold(Infinity);
	}

	const [batch] = await Promise.all([watch().finally(() => over.abort()), breakThings()]);
	const seconds = (performance.now() - began) / 1000;
	const url = await until("a server", () => site.urls()[0]);
	const { violations, ...counts } = await checkAt(url, batch, lines);
	const runs = site.runs();
	const times = new Map<number, number>();
	for (const n of runs) times.set(n, (times.get(n) ?? 0) + 1);
	return {
		seconds: Math.round(seconds),
		linesPerSecond: Number((lines / seconds).toPrecision(3)),
		kills,
		downMs: downs.length > 0 ? spread(downs) : undefined,
		runs: runs.length,
		again: [...times.values()].filter((count) => count > 1).length,
		...counts,
		violations: [...violations, ...shrunk],
	};
}
