/**
 * What the HTTP layer does with a request, without sockets: one call of the engine, and the answer.
 * Paths, bodies and status codes are those of the service.
 */
import { type JobResult, jobView, statusView } from "../../src/kernel/core/jobs/job-view.ts";
import { isFinal } from "../../src/kernel/core/jobs/job-states.ts";
import { errorBody } from "../../src/kernel/core/errors.ts";
import { readReport } from "../../src/kernel/core/jobs/report.ts";
import { readSubmission } from "../../src/kernel/core/jobs/submission.ts";
import type { Engine } from "../../src/kernel/engine/engine.ts";
import type { SubmitRequest } from "../../src/kernel/engine/jobs/submit.ts";
import type { BoundedRead } from "../../src/kernel/engine/jobs/stream/stream.ts";
import type { Worker } from "../../src/kernel/engine/workers/worker-registry.ts";
import { refusalOf } from "../../src/kernel/http/exchange/reply.ts";
import type { Connection, Reply, Request } from "./network.ts";

const WAIT_MS = { runsync: 90_000, "status-sync": 90_000, stream: 10_000 };
const KEEP_ALIVE_MS = 15_000;

const bounded: BoundedRead = (read) => read(1_000_000);

const ok = (text: string): Reply => ({ status: 200, text });

/** `onBug`: an error that is no answer. */
export async function answer(
	engine: Engine,
	request: Request,
	connection: Connection,
	onBug: (error: unknown) => void,
): Promise<Reply> {
	try {
		const [kind] = request.path;
		return await (kind === "v2" ? client : worker)(engine, request, connection);
	} catch (error) {
		const refusal = refusalOf(error, "simulated");
		if (refusal.code === "internal") onBug(error);
		return { status: refusal.status, text: errorBody(refusal) };
	}
}

async function client(engine: Engine, request: Request, connection: Connection): Promise<Reply> {
	const { path, query, method } = request;
	const [, endpoint = "", operation = "", id = ""] = path;
	const { caller } = connection;
	const { jobs } = engine;
	const job = { endpoint, id };
	const wait = (usual: number): number => Number(query.get("wait") ?? usual);
	const view = (found: JobResult): Reply => ok(String(jobView(found, engine.now())));

	switch (operation) {
		case "run":
			return ok(statusView(await jobs.submit(submission(engine, request, "run")), "IN_QUEUE"));
		case "runsync": {
			const ms = wait(WAIT_MS.runsync);
			return view(await jobs.submitAndWait(submission(engine, request, "runsync"), { ms, caller }));
		}
		case "status":
			return view(await jobs.status(job));
		case "status-sync":
			return view(await jobs.statusSync({ ...job, ms: wait(WAIT_MS["status-sync"]), caller }));
		case "cancel":
			return ok(statusView(id, await jobs.cancel(job)));
		case "retry":
			await jobs.retry(job);
			return ok(statusView(id, "IN_QUEUE"));
		case "purge-queue":
			return ok(JSON.stringify({ removed: await jobs.purge(endpoint), status: "completed" }));
		case "health":
			return ok(JSON.stringify(await engine.metrics.health(endpoint)));
		case "stream": {
			if (!query.has("wait")) return await events(engine, request, connection);
			const q = { ...job, waitMs: wait(WAIT_MS.stream), caller, bounded };
			const found = await jobs.streamNext(q);
			const { delivered } = found;
			return {
				...ok(`[${found.chunks.join(",")}]`),
				next: String(found.next),
				...(delivered && { sent: delivered }),
			};
		}
		default:
			throw new Error(`no operation ${method} ${operation}`);
	}
}

function submission(engine: Engine, { path, body, key }: Request, operation: "run" | "runsync"): SubmitRequest {
	const { input, policy, webhook } = JSON.parse(body) as Record<string, unknown>;
	const read = readSubmission({ input: "object", policy, webhook });
	if (!read.ok) throw new Error(JSON.stringify(read.faults));
	return {
		id: engine.jobs.newId(operation),
		endpoint: engine.endpoints.get(path[1]!),
		operation,
		options: read.options,
		input: JSON.stringify(input),
		...(key === undefined ? {} : { idempotency: { key, bodyHash: body } }),
	};
}

/** Chunks as server-sent events up to the end of the job. */
async function events(engine: Engine, request: Request, connection: Connection): Promise<Reply> {
	const { path, query } = request;
	const { caller } = connection;
	const job = { endpoint: path[1]!, id: path[3]! };
	await engine.jobs.status(job);
	connection.write("");
	const follower = engine.jobs.follow(job);
	try {
		for (let at = Number(query.get("offset") ?? 0); !caller.disconnected; ) {
			const q = { ...job, waitMs: KEEP_ALIVE_MS, caller, bounded, from: at, follower };
			const { chunks, next, state } = await engine.jobs.streamFrom(q);
			for (const [index, chunk] of chunks.entries())
				connection.write(`id: ${next - chunks.length + index}\ndata: ${chunk}\n\n`);
			at = Math.max(at, next);
			if (isFinal(state)) break;
		}
	} finally {
		follower.close();
	}
	if (caller.disconnected) return ok("");
	const last = await engine.jobs.status(job);
	return ok(`event: end\ndata: ${String(jobView(last, engine.now()))}\n\n`);
}

async function worker(engine: Engine, request: Request, connection: Connection): Promise<Reply> {
	const { path, query, body } = request;
	const [, endpoint = "", operation = "", name = "", id = ""] = path;
	const { left } = connection;
	engine.endpoints.get(endpoint);
	const caller = engine.workers.recordCall({ id: name, endpoint });
	switch (operation) {
		case "job-take-batch": {
			const limit = Number(query.get("batch_size"));
			const idle = query.get("job_in_progress") === "0";
			const jobs = await engine.jobs.take({ worker: caller, limit, idle, signal: left });
			if (jobs.length === 0) return { status: 204, text: "" };
			const texts = jobs.map(
				({ id: job, input, run, attempt }) =>
					`{"id":"${job}","input":${String(input)}${run === undefined ? "" : `,"run":${run},"attempt":${attempt}`}}`,
			);
			return {
				...ok(`[${texts.join(",")}]`),
				sent: (written) => (written ? undefined : engine.jobs.requeueUndelivered(caller, jobs)),
			};
		}
		case "job-stop": {
			const jobsToStop = await engine.workers.pollStops({ worker: caller, signal: left });
			return jobsToStop.length === 0 ? { status: 204, text: "" } : ok(JSON.stringify({ jobsToStop }));
		}
		case "ping": {
			const named = (query.get("job_id") ?? "").split(",").filter((each) => each !== "");
			await engine.jobs.ping({ worker: caller, said: { named }, signal: left });
			return ok("{}");
		}
		case "job-done":
			await report(engine, caller, { ...(JSON.parse(body) as Posted), id });
			return ok("{}");
		case "job-done-batch": {
			const lines = body.split("\n").map((line) => JSON.parse(line) as Posted);
			return ok(JSON.stringify(await Promise.all(lines.map((line) => statusOf(engine, caller, line)))));
		}
		case "job-stream":
		case "job-stream-batch": {
			const lines = body.split("\n");
			const pieces = lines.map(
				(line) => `{"output":${JSON.stringify((JSON.parse(line) as Posted).output)},"metrics":{}}`,
			);
			const numberIn = (key: string) => (query.has(key) ? Number(query.get(key)) : undefined);
			const numbers = { number: numberIn("chunk"), attempt: numberIn("attempt") };
			const q = { worker: caller, id, pieces, ...numbers, count: lines.length };
			return { ...ok("{}"), sent: await engine.jobs.addChunks(q) };
		}
		default:
			throw new Error(`no operation ${operation}`);
	}
}

interface Posted {
	id: string;
	output?: unknown;
	error?: unknown;
	status?: unknown;
	return?: unknown;
}

async function report(engine: Engine, caller: Worker, posted: Posted): Promise<void> {
	const text = (value: unknown): string | undefined => (value === undefined ? undefined : JSON.stringify(value));
	const parts = {
		output: text(posted.output),
		error: text(posted.error),
		status: text(posted.status),
		return: text(posted.return),
	};
	const given = Object.fromEntries(Object.entries(parts).filter(([, each]) => each !== undefined));
	await engine.jobs.report({ worker: caller, id: posted.id, report: readReport(given) });
}

async function statusOf(engine: Engine, caller: Worker, line: Posted): Promise<number> {
	try {
		await report(engine, caller, line);
		return 200;
	} catch (error) {
		const refusal = refusalOf(error, "");
		if (refusal.code === "internal") throw error;
		return refusal.status;
	}
}
