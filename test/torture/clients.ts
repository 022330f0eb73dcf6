/** Clients that submit what the plan says, and do with their jobs what it says. */
import { type Answer, type Api, isPurged, seenOf } from "./api.ts";
import { brief, type Chunks, type Seen } from "./history.ts";
import { isEnd } from "./checker/job-history.ts";
import { readEvents } from "./events.ts";
import { type EndpointName, type Plan, planOf } from "./plan.ts";
import type { Time } from "./time.ts";
import type { Tracked, Tracker } from "./tracker.ts";

const RETRY_MS = 30;
const WAIT_MS = 10_000;

/** Jobs of `/run` that may wait for a worker, so that the queue does not grow without end. */
const OUTSTANDING = 3000;

/** A purge after so many submissions of a client. */
const PURGE_EVERY = 25;

const DEFAULTS = { ttlMs: 86_400_000, timeoutMs: 600_000 };

export interface ClientOptions {
	seed: number;
	api: Api;
	time: Time;
	tracker: Tracker;
	/** Of webhooks. */
	receiver: string;
	/** The next number of a submission. */
	nextNumber: () => number;
	/** Resolves when the next job may be submitted. */
	pace?: ((signal: AbortSignal) => Promise<void>) | undefined;
	/** Of how many jobs of `bulk` one has a large payload. */
	oneLargeOf?: number | undefined;
}

/** One client of an endpoint, which ends after the job at hand when the signal says so. */
export async function useEndpoint(
	by: string,
	endpoint: EndpointName,
	o: ClientOptions,
	signal: AbortSignal,
): Promise<void> {
	const { api, tracker, seed } = o;
	const { now, sleep } = o.time;
	let turn = o.nextNumber();
	const base = (): string => `${api.url(turn)}/v2/${endpoint}`;

	/** Repeats after what has no answer. */
	async function until<T>(step: () => Promise<{ answer: Answer; value: T }>): Promise<T> {
		for (;;) {
			const { answer, value } = await step();
			if (answer.result === "ok" || (answer.status ?? 500) < 500) return value;
			turn += 1;
			await sleep(RETRY_MS);
		}
	}

	async function submitOnce(plan: Plan): Promise<{ answer: Answer; value: Tracked | undefined }> {
		const { input, operation, key, ttlMs, timeoutMs } = plan;
		const { n } = input;
		const policy = { ttl: ttlMs, executionTimeout: timeoutMs };
		const hook = plan.webhook ? { webhook: o.receiver } : {};
		const answer = await api.call(`${base()}/${operation}`, {
			body: JSON.stringify({ input, policy, ...hook }),
			...(key ? { headers: { "idempotency-key": `n-${n}` } } : {}),
		});
		const { result, from, to, json } = answer;
		const job = result === "ok" ? (json.id as string) : undefined;
		const seen = operation === "runsync" && job !== undefined ? seenOf(json) : undefined;
		tracker.record({
			op: "submit",
			by,
			endpoint,
			operation,
			n,
			input: brief(JSON.stringify(input)),
			ttlMs: ttlMs ?? DEFAULTS.ttlMs,
			timeoutMs: timeoutMs ?? DEFAULTS.timeoutMs,
			...(key ? { key: `n-${n}` } : {}),
			...(plan.webhook ? { webhook: true as const } : {}),
			...(job === undefined ? {} : { job }),
			...(isPurged(json) ? { missing: true as const } : seen ? { seen } : {}),
			result,
			from,
			to,
		});
		if (job === undefined) return { answer, value: undefined };
		const tracked = tracker.meet(job, endpoint);
		if (plan.webhook) tracked.expected = Math.max(tracked.expected, 1);
		if (seen && isEnd(seen)) tracked.endedAt ??= to;
		return { answer, value: tracked };
	}

	/** Undefined when it was refused, or without a key perhaps lost. */
	async function submit(plan: Plan): Promise<Tracked | undefined> {
		const once = () => submitOnce(plan);
		if (!plan.key) {
			const { answer, value } = await once();
			if (answer.result === "unknown" || answer.status === undefined) turn += 1;
			return value;
		}
		if (!plan.together) return await until(once);
		const [first] = await Promise.all([until(once), until(once)]);
		return first;
	}

	async function read(job: Tracked, how: "status" | "status-sync"): Promise<Seen | undefined> {
		const query = how === "status-sync" ? `?wait=${WAIT_MS}` : "";
		return await until(async () => {
			const answer = await api.call(`${base()}/${how}/${job.id}${query}`);
			const { result, from, to, status, json } = answer;
			const seen = result === "ok" ? seenOf(json) : undefined;
			const missing = status === 404 || isPurged(json);
			const shown = missing ? { missing: true as const } : seen ? { seen } : {};
			tracker.record({ op: "read", by, job: job.id, how, ...shown, result, from, to });
			if (seen && isEnd(seen)) job.endedAt ??= to;
			return { answer, value: missing ? undefined : seen };
		});
	}

	/** Its final state; undefined when it is missing. */
	async function end(job: Tracked): Promise<Seen | undefined> {
		for (;;) {
			const seen = await read(job, "status-sync");
			if (!seen || isEnd(seen)) return seen;
		}
	}

	async function change(job: Tracked, op: "cancel" | "retry"): Promise<void> {
		await until(async () => {
			const answer = await api.call(`${base()}/${op}/${job.id}`, { method: "POST" });
			const { result, from, to, status, json } = answer;
			// No server listened: nothing was refused.
			if (result === "fail" && status === undefined) return { answer, value: undefined };
			const missing = status === 404 ? { missing: true as const } : {};
			const state = op === "cancel" && result === "ok" ? { state: json.status } : {};
			tracker.record({ op, by, job: job.id, ...missing, ...state, result, from, to });
			// Without an answer it may have been accepted.
			if (op === "retry" && result !== "fail") {
				delete job.endedAt;
				if (job.expected > 0) job.expected += 1;
			}
			return { answer, value: undefined };
		});
	}

	async function purge(): Promise<void> {
		const { result, from, to, json } = await api.call(`${base()}/purge-queue`, { method: "POST" });
		const removed = result === "ok" ? { removed: json.removed as number } : {};
		tracker.record({ op: "purge", by, endpoint, ...removed, result, from, to });
	}

	async function streamAtCursor(job: Tracked): Promise<void> {
		for (;;) {
			const done = await until(async () => {
				const answer = await api.call(`${base()}/stream/${job.id}?wait=2000`);
				const { result, from, to, status, json, next } = answer;
				const chunks = result === "ok" ? (json as { output: string }[]).map((c) => c.output) : undefined;
				const found = chunks ? { chunks, next: Number(next) } : {};
				const missing = status === 404 ? { missing: true as const } : {};
				tracker.record({ op: "stream", by, job: job.id, ...found, ...missing, result, from, to });
				return { answer, value: chunks?.length ?? -1 };
			});
			if (done > 0) continue;
			const seen = await read(job, "status");
			if (!seen || isEnd(seen)) return;
		}
	}

	/** Server-sent events up to the end, resumed where they break. */
	async function events(job: Tracked, reader: string): Promise<void> {
		for (let start = 0; ; ) {
			const from = now();
			const url = `${base()}/stream/${job.id}${start > 0 ? `?offset=${start}` : ""}`;
			const answer = await readEvents(api, url);
			const { result, status, end: last } = answer;
			const chunks: Chunks = answer.chunks;
			const seen = last === undefined ? undefined : seenOf(last);
			tracker.record({
				op: "events",
				by: reader,
				job: job.id,
				start,
				chunks,
				...(seen ? { seen } : {}),
				...(status === 404 ? { missing: true as const } : {}),
				result,
				from,
				to: now(),
			});
			if (seen || status === 404) return;
			start = (chunks.at(-1)?.[0] ?? start - 1) + 1;
			turn += 1;
			await sleep(RETRY_MS);
		}
	}

	/** What a client does with a job of the endpoint `mixed`. */
	async function mixed(job: Tracked, { input, chance, timeoutMs }: Plan): Promise<void> {
		if (input.work === "hang" && timeoutMs === undefined) {
			if (chance < 0.5) {
				for (let seen = await read(job, "status"); seen?.state === "IN_QUEUE"; ) {
					await sleep(50);
					seen = await read(job, "status");
				}
			}
			await change(job, "cancel");
		}
		const seen = await end(job);
		const again = input.work === "fail" || chance < 0.2;
		if (again || seen?.state === "FAILED") await change(job, "retry");
		if (input.work === "hang" && timeoutMs !== undefined && again) await change(job, "cancel");
		await end(job);
	}

	async function one(): Promise<void> {
		const plan = planOf(seed, endpoint, o.nextNumber(), o.oneLargeOf);
		if (endpoint === "purge" && plan.input.n % PURGE_EVERY === 0) await purge();
		const job = await submit(plan);
		if (!job) return await sleep(RETRY_MS);
		job.left = false;
		if (endpoint === "mixed") await mixed(job, plan);
		else if (endpoint === "plain") await end(job);
		else if (endpoint === "stream") {
			await (plan.chance < 0.5 ? streamAtCursor(job) : events(job, by));
			await end(job);
			await events(job, `${by} all`);
			if (plan.chance < 0.5) await streamAtCursor(job);
		} else if (endpoint === "lapse") {
			if (plan.chance < 0.3) await change(job, "cancel");
			const seen = await end(job);
			if (plan.chance > 0.8 && seen) {
				await change(job, "retry");
				await end(job);
			}
		} else if (endpoint === "queue" || endpoint === "purge") await sleep(plan.chance * 20);
		job.left = true;
	}

	for (;;) {
		await o.pace?.(signal);
		if (signal.aborted) return;
		if (endpoint === "bulk" && tracker.outstanding > OUTSTANDING) await sleep(RETRY_MS);
		else await one();
	}
}
