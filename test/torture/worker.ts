/**
 * A worker in this process: it speaks the worker protocol, and misbehaves as the plan says. Pings
 * name what it holds, so that only what it drops on purpose is lost.
 */
import type { Api, Answer } from "./api.ts";
import { DELTA, LAST } from "./checker/response-rules.ts";
import { brief, type DropOp } from "./history.ts";
import { suspension } from "./faults/suspension.ts";
import { type Input, returnOf } from "./plan.ts";
import type { Time } from "./time.ts";
import type { Tracked, Tracker } from "./tracker.ts";

const PING_MS = 1000;
const RETRY_MS = 30;

/** How long a `late` job is left out of pings before its report, ms: longer than a lease. */
const LATE_MS = 7000;
const SLOW_MS = 1000;

/** How long its process is stopped, ms, at least and at most. */
const STOP_MS = [1000, 20_000] as const;

/** Longer than any wait for a cancel or timeout, ms. */
const HANG_MS = 180_000;

interface Run {
	id: string;
	take: number;
	input: Input;
	job: Tracked;
	/** No worker had the job before. */
	first: boolean;
	/** Number of the attempt that the service gave. */
	attempt: number | undefined;
	/** How it returns the job; a repeat names the same attempt. */
	back: (ReturnType<typeof returnOf> & { attempt: number }) | undefined;
	/** Ended by a stop, or with the worker. */
	over: AbortController;
	/** Named in pings. */
	named: boolean;
	/** It is a background response: what it reports and streams is in OpenAI's form. */
	isResponse: boolean;
}

/** A job as the service hands it out. A server of a version before runs were numbered sends neither number. */
interface TakenJob {
	id: string;
	/** Of a request of a batch, or of a background response: in the form of OpenAI's API. */
	input: Input | { openai_input: Input; openai_background?: object };
	run?: number;
	attempt?: number;
}

export interface WorkerOptions {
	endpoint: string;
	api: Api;
	time: Time;
	token: string;
	tracker: Tracker;
	/** It sends no pings and asks for no stops. */
	silent?: true;
	/** Most jobs at once. */
	concurrency: number;
	/** Part of the takes after which it crashes. */
	crashes: number;
	/** Part of the takes after which its process is stopped for a while; 0 by default. */
	stops?: number;
	random: () => number;
	/** Numbers all runs of the harness. */
	nextRun: () => number;
}

/** What a worker answers to a background response has. */
const FINISHED = { object: "response", status: "completed" } as const;

/** Events of a stream with this text, or its last event, as a server sends them. */
function eventsOf(text: string): string {
	const end = { type: "response.completed", response: { ...FINISHED, run: text } };
	return `data: ${JSON.stringify(text.endsWith(LAST) ? end : { type: DELTA, delta: text })}\n\n`;
}

/** Works until the signal; after a crash it begins again, under its name or another one. */
export async function work(name: string, o: WorkerOptions, signal: AbortSignal): Promise<void> {
	for (let life = 0, id = name; !signal.aborted; life += 1) {
		if (o.random() < 0.5) id = `${name}-${life}`;
		await live(id, o, signal);
	}
}

/** One life of a worker, until the signal or its crash. */
export async function live(id: string, o: WorkerOptions, ended: AbortSignal): Promise<void> {
	const { endpoint, token, tracker, stops: stopped = 0 } = o;
	const { api, time, stop } = suspension(o);
	const { now, sleep } = time;
	const held = new Map<string, Run>();
	const dead = new AbortController();
	const signal = AbortSignal.any([ended, dead.signal]);
	let turn = Math.floor(o.random() * 100);
	let free: (() => void) | undefined;

	const path = (operation: string, rest = "") => `${api.url(turn)}/worker/${endpoint}/${operation}/${id}${rest}`;

	function releaseRun(run: Run): void {
		// What a dead worker holds is dropped at its end.
		if (held.get(run.id) === run && !signal.aborted) held.delete(run.id);
		free?.();
	}

	/** Nothing is sent about it any more. */
	function leave(run: Run): void {
		run.job.running -= 1;
		releaseRun(run);
	}

	function drop(run: Run, why: DropOp["why"]): void {
		const at = now();
		tracker.record({ op: "drop", by: id, job: run.id, why, result: "ok", from: at, to: at });
		run.named = false;
	}

	/** Until it is acknowledged, or the worker is dead; each try is an operation of its own. */
	async function post(
		send: () => Promise<Answer>,
		record: (answer: Answer) => void,
		over: AbortSignal = signal,
	): Promise<boolean> {
		while (!over.aborted) {
			const answer = await send();
			record(answer);
			if (answer.result === "ok") return true;
			turn += 1;
			await sleep(RETRY_MS);
		}
		return false;
	}

	async function report(run: Run, kind: "complete" | "fail", value: unknown): Promise<void> {
		const body = kind === "complete" ? { output: value } : { error: value };
		const text = kind === "complete" ? brief(JSON.stringify(value)) : String(value);
		await post(
			() =>
				api.call(path("job-done", `/${run.id}?isStream=false`), {
					token,
					body: JSON.stringify(body),
				}),
			({ result, from, to }) => tracker.record({ op: "report", by: id, job: run.id, kind, text, result, from, to }),
		);
	}

	/** Returns the job (D54). */
	async function giveBack(run: Run, back: NonNullable<Run["back"]>): Promise<void> {
		const body = JSON.stringify({ return: back });
		await post(
			() => api.call(path("job-done", `/${run.id}?isStream=false`), { token, body }),
			({ result, from, to }) => recordReturn(run, back, { result, from, to }),
		);
	}

	function recordReturn(
		{ id: job, take }: Run,
		{ loss }: NonNullable<Run["back"]>,
		answer: Pick<Answer, "result" | "from" | "to">,
	): void {
		tracker.record({ op: "return", by: id, job, take, loss, ...answer });
	}

	const resultOf = ({ take, input, isResponse }: Run, more = "") => ({
		...(isResponse && FINISHED),
		n: input.n,
		run: `${id}#${take}${more}`,
		...((input.payload?.length ?? 0) > 100 ? { payload: input.payload } : {}),
	});

	/** Results of many jobs in one post. */
	async function reportAll(runs: readonly Run[]): Promise<void> {
		const outputs = runs.map((run) => JSON.stringify(resultOf(run)));
		const lines = runs.map(({ id: job, back }, index) =>
			back ? JSON.stringify({ id: job, return: back }) : `{"id":"${job}","output":${outputs[index]}}`,
		);
		const texts = outputs.map(brief);
		await post(
			() => api.call(path("job-done-batch"), { token, body: lines.join("\n") }),
			({ result, from, to, json }) => {
				for (const [index, run] of runs.entries()) {
					const each = result === "ok" && json?.[index] !== 200 ? "unknown" : result;
					if (run.back) {
						recordReturn(run, run.back, { result: each, from, to });
						continue;
					}
					const text = texts[index]!;
					const op = { op: "report", by: id, job: run.id, kind: "complete", text } as const;
					tracker.record({ ...op, result: each, from, to });
				}
			},
		);
		for (const run of runs) leave(run);
	}

	async function stream(run: Run): Promise<boolean> {
		// Numbered posts are repeated; of others a repeat could be taken for a new chunk (D7). Like those of the kit they
		// name their attempt: one that arrives late is not stored under the next attempt of the worker.
		const over = AbortSignal.any([signal, run.over.signal]);
		const numbered = run.take % 2 === 0;
		// Of a response the last one ends its events.
		const count = (run.input.chunks ?? 0) + Number(run.isResponse);
		const isLast = (at: number): boolean => run.isResponse && at === count - 1;
		const textOf = (at: number): string => `${run.id}:${run.take}:${at}${isLast(at) ? LAST : ""}`;
		for (let at = 0; at < count; ) {
			const together = numbered ? Math.min(count - at, 1 + Math.floor(o.random() * 4)) : 1;
			const texts = Array.from({ length: together }, (_, n) => textOf(at + n));
			const body = texts.map((text) => JSON.stringify({ output: run.isResponse ? eventsOf(text) : text })).join("\n");
			const operation = together > 1 ? "job-stream-batch" : "job-stream";
			const named = run.attempt === undefined ? "" : `&attempt=${run.attempt}`;
			const query = numbered ? `?chunk=${at}${named}` : "?isStream=false";
			for (;;) {
				const { result, from, to } = await api.call(path(operation, `/${run.id}${query}`), {
					token,
					body,
				});
				for (const text of texts)
					tracker.record({
						op: "chunk",
						by: id,
						job: run.id,
						take: run.take,
						text,
						result,
						from,
						to,
					});
				if (result === "ok") break;
				turn += 1;
				if (!numbered || over.aborted) break;
				await sleep(RETRY_MS);
			}
			if (over.aborted) return false;
			at += together;
			if (o.random() < 0.3) await sleep(o.random() * 200, over);
			if (over.aborted) return false;
		}
		return true;
	}

	async function execute(run: Run): Promise<void> {
		const { work: kind } = run.input;
		const { signal: over } = run.over;
		if (kind === "hang") {
			await sleep(HANG_MS, over);
			// A run of a lost job is not stopped (D18).
			if (!over.aborted) drop(run, "omitted");
			return;
		}
		if (kind === "slow") {
			const body = JSON.stringify({ status: "IN_PROGRESS", output: "half" });
			await api.call(path("job-done", `/${run.id}?isStream=false`), { token, body });
			await sleep(SLOW_MS, over);
		}
		if (kind === "chunks" && !(await stream(run))) return;
		if (kind === "late" && run.first) drop(run, "omitted");
		// The next run lasts as long where the first one's report is to find it: with pings.
		if (kind === "late" && (run.first || !o.silent)) await sleep(LATE_MS, over);
		if (over.aborted) return;
		if (run.back) return await giveBack(run, run.back);
		if (kind === "fail" && run.first) return await report(run, "fail", `failed in run ${run.take}`);
		await report(run, "complete", resultOf(run));
		if (kind === "twice") await report(run, "complete", resultOf(run, " again"));
	}

	function begin({ id: jobId, input: given, attempt }: TakenJob): Run {
		const isOfBatch = "openai_input" in given;
		const input = isOfBatch ? given.openai_input : given;
		const isResponse = isOfBatch && given.openai_background !== undefined;
		const job = tracker.meet(jobId, endpoint, isOfBatch ? input.n : undefined);
		job.runs += 1;
		job.running += 1;
		const over = new AbortController();
		const back = attempt === undefined ? undefined : returnOf(input, job.runs);
		return {
			...{ id: jobId, take: o.nextRun(), input, job, attempt, first: job.runs === 1, over, named: true, isResponse },
			back: back && { ...back, attempt: attempt! },
		};
	}

	async function take(): Promise<void> {
		const size = o.concurrency - held.size;
		const idle = held.size === 0;
		const query = `?batch_size=${size}&job_in_progress=${idle ? 0 : 1}`;
		const answer = await api.call(path("job-take-batch", query), { token, signal, headers: { "sluice-run": "1" } });
		const { result, from, to } = answer;
		const taken = result === "ok" ? ((answer.json as TakenJob[] | undefined) ?? []) : [];
		const jobs = taken.map(begin);
		if (jobs.length > 0 || result !== "ok")
			tracker.record({
				op: "take",
				by: id,
				endpoint,
				size,
				idle,
				jobs: jobs.map(({ id: job, input, take: serial }, index) => {
					const { run } = taken[index]!;
					const shown = brief(JSON.stringify(input));
					return { id: job, n: input.n, input: shown, take: serial, ...(run !== undefined && { run }) };
				}),
				result,
				from,
				to,
			});
		if (result !== "ok") {
			turn += 1;
			if (!signal.aborted) await sleep(RETRY_MS);
			return;
		}
		for (const run of jobs) held.set(run.id, run);
		if (jobs.length > 0 && stopped > 0 && o.random() < stopped) await suspend();
		if (jobs.length > 0 && o.random() < o.crashes) {
			for (const { job } of jobs) job.running -= 1;
			return dead.abort();
		}
		const echoes = jobs.filter(({ input }) => input.work === "echo");
		const small = echoes.filter(({ input }) => (input.payload?.length ?? 0) <= 100);
		for (const run of jobs) if (!small.includes(run)) void execute(run).finally(() => leave(run));
		if (small.length > 0) await reportAll(small);
	}

	/** What it holds may be lost meanwhile. */
	async function suspend(): Promise<void> {
		const from = now();
		await stop(STOP_MS[0] + o.random() * (STOP_MS[1] - STOP_MS[0]));
		for (const { id: job } of held.values())
			tracker.record({ op: "drop", by: id, job, why: "suspended", result: "ok", from, to: now() });
	}

	async function takes(): Promise<void> {
		while (!signal.aborted) {
			if (held.size < o.concurrency) await take();
			else
				await new Promise<void>((resolve) => {
					free = resolve;
					signal.addEventListener("abort", () => resolve(), { once: true });
				});
		}
	}

	async function pings(): Promise<void> {
		while (!signal.aborted) {
			await sleep(PING_MS, signal);
			if (signal.aborted) return;
			const named = [...held.values()].filter((run) => run.named).map((run) => run.id);
			const { result, from, to } = await api.call(path("ping", `?job_id=${named.join(",")}`), {
				token,
				signal,
			});
			if (result !== "ok") turn += 1;
			if (named.length > 0) tracker.record({ op: "ping", by: id, endpoint, named, result, from, to });
		}
	}

	/** A stop ends the run, whatever the job waits for. */
	async function stops(): Promise<void> {
		while (!signal.aborted) {
			const answer = await api.call(path("job-stop"), { token, signal });
			for (const job of (answer.json?.jobsToStop as string[]) ?? []) {
				const run = held.get(job);
				if (!run) continue;
				drop(run, "stopped");
				run.over.abort();
				releaseRun(run);
			}
			if (answer.result !== "ok") {
				turn += 1;
				if (!signal.aborted) await sleep(RETRY_MS);
			} else if (answer.status === 204) await sleep(PING_MS);
		}
	}

	await Promise.all(o.silent ? [takes()] : [takes(), pings(), stops()]);
	for (const run of held.values()) {
		drop(run, "crash");
		run.over.abort();
	}
}
