/** Batches of a store (D57), with the code that runs them, and a worker that answers, without a server around them. */
import { randomBytes } from "node:crypto";
import { isFinal } from "../../../src/kernel/core/jobs/job-states.ts";
import type { JobResult } from "../../../src/kernel/core/jobs/job-view.ts";
import { ApiError } from "../../../src/kernel/core/errors.ts";
import { uuidv7 } from "../../../src/kernel/lib/ids.ts";
import { stringOf } from "../../../src/kernel/lib/json/json-text.ts";
import type { FilesFolder } from "../../../src/kernel/store/contract/files.ts";
import type { Store } from "../../../src/kernel/store/contract/store.ts";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { folderContents } from "../../../src/modules/files/contents/folder.ts";
import { lentFiles } from "../../../src/modules/files/lent.ts";
import type { FilesContext } from "../../../src/modules/files/files.ts";
import { filesSettings } from "../../../src/modules/files/settings.ts";
import { type Batch, type Control, openBatch, type RunContext } from "../../../src/modules/openai-async/batch.ts";
import { finish } from "../../../src/modules/openai-async/finish.ts";
import { inputFrom } from "../../../src/modules/openai-async/input.ts";
import { answerOf, runRequest } from "../../../src/modules/openai-async/job.ts";
import { linesFrom, requestIn } from "../../../src/modules/openai-async/lines.ts";
import { outcomeOf } from "../../../src/modules/openai-async/outcome.ts";
import { type EndedLine, storeParts } from "../../../src/modules/openai-async/parts.ts";
import { NO_COUNTS, type OpenLine, type Progress, sumOf } from "../../../src/modules/openai-async/progress.ts";
import { runBatch } from "../../../src/modules/openai-async/run.ts";
import type { BatchRow } from "../../../src/kernel/store/contract/batches.ts";
import { LEASE, RECORD, T0, TIMEOUT } from "../../store/site.ts";

export type BatchSide = Pick<Store, "batches" | "files" | "jobs">;

export const PATH = "/v1/completions";

const WORKER = "batch-worker";
const DAY_MS = 86_400_000;

/** Requests whose results share a part. */
const PART_LINES = 4;

/** Of how many requests the worker fails one. */
const ONE_FAILS_OF = 4;

/** The time of a run goes on by so much with each job that ends, so that its row is replaced now and then, ms. */
const JOB_MS = 1000;

export const customIdOf = (line: number): string => `line ${line}`;

export const fails = (line: number): boolean => line % ONE_FAILS_OF === 0;

/** A file of so many requests. */
export function inputOf(lines: number): Buffer {
	const texts = Array.from({ length: lines }, (_, n) =>
		JSON.stringify({ custom_id: customIdOf(n + 1), method: "POST", url: PATH, body: { line: n + 1 } }),
	);
	return Buffer.from(texts.join("\n"));
}

export interface BatchRuns {
	/** Stores a batch as the service does. */
	create(q: { id: string; endpoint: string; input: string }): Promise<BatchRow>;
	/** To the end, wherever its row is. */
	run(row: BatchRow): Promise<void>;
	/** The same with several parts, which otherwise needs thousands of requests. */
	runInParts(row: BatchRow): Promise<void>;
}

export function batchRuns(store: BatchSide, folder: FilesFolder): BatchRuns {
	const jobs = answeredJobs(store);
	const removals: Promise<unknown>[] = [];
	const now = (): number => T0 + jobs.ended() * JOB_MS;
	const kernel = {
		...{ now, random: randomBytes, clock: systemClock, space: { admit() {} }, store, jobs },
		endpoints: { get: (id: string) => ({ id, limits: "off" }) },
		workers: { registry: { of: () => [] } },
		background: { run: (_: string, task: Promise<unknown>) => void removals.push(task) },
	} as unknown as RunContext["kernel"] & FilesContext["kernel"];
	const contents = folderContents(folder, store.files, systemClock);
	const files = { ...lentFiles({ kernel, contents }), bounds: filesSettings({}) };
	const shared: RunContext["shared"] = { unstoredBytes: 0, validation: async () => () => {} };
	const d: RunContext = { kernel, files, shared, ended() {}, collected() {} };
	const control: Control = {
		signal: new AbortController().signal,
		cancelledAt: () => undefined,
		beside: () => 1,
		onCancel: () => () => {},
	};

	/** Runs its requests, whose results are kept by their jobs. */
	async function answers(batch: Batch): Promise<EndedLine[]> {
		const { row, progress } = batch;
		const input = await inputFrom(files, { endpoint: row.endpoint, input: progress.input, byte: 0 });
		const ended: Promise<EndedLine>[] = [];
		for await (const line of linesFrom(input!, { line: 1, byte: 0 })) {
			const request = await requestIn(line, PATH);
			if (!("customId" in request)) throw new Error(request.message);
			ended.push(answered(batch, line, request));
		}
		await input!.close();
		return await Promise.all(ended);
	}

	async function answered(
		{ row, progress, requestId }: Batch,
		{ line, byte }: Pick<OpenLine, "line" | "byte">,
		{ customId, body }: { customId: string; body: Parameters<typeof runRequest>[1]["body"] },
	): Promise<EndedLine> {
		const { id: batch, endpoint } = row;
		const q = { batch, endpoint, line, path: PATH, body, expiresAt: progress.expiresAt };
		const found = (await runRequest(kernel, q, { signal: control.signal, stored() {} }))!;
		const name = { id: requestId(line), customId };
		const answer = found.job.state === "COMPLETED" ? await answerOf(kernel, found) : undefined;
		return { line, byte, customId, job: found.job.id, size: 0, ...outcomeOf(name, found, answer) };
	}

	return {
		async create({ id, endpoint, input }) {
			const progress: Progress = {
				...{ state: "validating", path: PATH, input, window: "24h", metadata: null, outputMs: DAY_MS, request: id },
				...{ expiresAt: T0 + DAY_MS, at: {}, total: 0, open: [], output: [], errors: [], faults: [] },
				...{ collected: NO_COUNTS, shown: NO_COUNTS, outputFile: null, errorFile: null },
			};
			const row = { id, endpoint, key: "k", createdAt: T0, isOpen: true, version: 0, fingerprint: id };
			const stored = await store.batches.insert({
				row: { ...row, progress: JSON.stringify(progress) },
				repeatsSince: T0,
			});
			return stored!.batch;
		},
		async run(row) {
			await runBatch(d, openBatch(d, row), control);
			await Promise.all(removals);
		},
		async runInParts(row) {
			const batch = openBatch(d, row);
			let open: readonly EndedLine[] = await answers(batch);
			const kept = (): OpenLine[] => open.map(({ line, byte, customId, job }) => ({ line, byte, customId, job }));
			await batch.save({ state: "in_progress", total: open.length, open: kept() });
			while (open.length > 0) {
				const lines = open.slice(0, PART_LINES);
				open = open.slice(PART_LINES);
				const shown = (sum: Progress["shown"]) => open.reduce((all, { counts }) => sumOf(all, counts), sum);
				await storeParts(d, batch, { lines, isBounded: true, after: (sum) => ({ open: kept(), shown: shown(sum) }) });
				for (const { job: id } of lines) await jobs.retain({ endpoint: row.endpoint, id, retainMs: 0 });
			}
			await batch.save({ state: "finalizing", ending: "completed" });
			await finish(d, batch, control);
		},
	};
}

/** Jobs of a store, which a worker takes and reports while a client waits for them. */
function answeredJobs({ jobs }: BatchSide) {
	let ended = 0;
	let turn: Promise<unknown> = Promise.resolve();

	async function found({ endpoint, id }: { endpoint: string; id: string }): Promise<JobResult> {
		const result = await jobs.get({ endpoint, id, now: T0 });
		if (!result) throw new ApiError("job_not_found", { endpoint, job: id });
		return result;
	}

	async function report({ job: { endpoint, id } }: Pick<JobResult, "job">, input: string): Promise<void> {
		const { line } = JSON.parse(input).openai_input as { line: number };
		const outcome = fails(line)
			? ({ on: "fail", error: `no ${line}` } as const)
			: ({ on: "complete", output: `{"line":${line}}` } as const);
		await jobs.report({ endpoint, id, worker: WORKER, outcome, now: T0 });
		ended += 1;
	}

	/** Also of a job that the worker had when the power was lost. */
	async function end(job: { endpoint: string; id: string }): Promise<JobResult> {
		const before = await found(job);
		if (isFinal(before.job.state)) return before;
		const q = { ...job, now: T0 };
		if (before.job.state === "IN_PROGRESS") await report(before, stringOf((await jobs.record(q))!.input!));
		else {
			const claim = { endpoint: job.endpoint, worker: WORKER, limit: 100, maxBytes: 1e6, now: T0 };
			const taken = await jobs.claim(claim);
			await Promise.all(taken.jobs.map((each) => report(each, stringOf(each.input!))));
		}
		return await found(job);
	}

	/** One at a time, since each takes all that wait. */
	async function inTurn(job: { endpoint: string; id: string }): Promise<JobResult> {
		const own = turn.then(() => end(job));
		turn = own.catch(() => {});
		return await own;
	}

	return {
		ended: () => ended,
		newId: () => `openai-${uuidv7(T0, randomBytes)}`,
		async submitAndWait(q: {
			id: string;
			endpoint: { id: string };
			input: string;
			kept: { retainMs: number };
			idempotency: { key: string; bodyHash: string };
			options: { ttlMs: number };
			stored: (id: string) => void;
		}): Promise<JobResult> {
			const { id, input, idempotency } = q;
			const endpoint = q.endpoint.id;
			const times = { ttlMs: q.options.ttlMs, executionTimeoutMs: TIMEOUT, leaseMs: LEASE };
			const kept = { retainMs: q.kept.retainMs, recordMs: RECORD };
			const answer = await jobs.insert({
				submission: { id, endpoint, operation: "openai", lowPriority: true, ...times, ...kept },
				...{ input, now: T0, idempotency: { ...idempotency, keptMs: DAY_MS } },
			});
			if (!answer.ok) throw new Error(`The job was refused: ${answer.why}.`);
			q.stored(answer.job.id);
			return await inTurn({ endpoint, id: answer.job.id });
		},
		statusSync: (job: { endpoint: string; id: string }) => inTurn(job),
		status: found,
		cancel: ({ endpoint, id }: { endpoint: string; id: string }) => jobs.move({ endpoint, id, on: "cancel", now: T0 }),
		retain: ({ endpoint, id, retainMs }: { endpoint: string; id: string; retainMs: number }) =>
			jobs.retain({ endpoint, id, retainMs, now: T0 }),
	};
}
