/**
 * Every event with its facts, level and log line. Events that are of no interest to an operator, or that occur for each
 * job, have the level debug. No event contains a payload or a secret.
 */
import type { JobState } from "./core/jobs/job-states.ts";
import { sharedIdText } from "./core/workers/shared-id.ts";
import type { ExitReason } from "./core/workers/worker-reason.ts";

/** A sentence; the text format prints `below` after it, as indented lines. Undefined: the event has no line. */
type LogLine = string | { sentence: string; below: string } | undefined;

export interface EventDefinition<Facts> {
	level: "debug" | "info" | "warn" | "error";
	/** Default: the name and the facts. */
	line?(facts: Facts): LogLine;
}

type Line<Facts> = NonNullable<EventDefinition<Facts>["line"]>;
export const info = <Facts = Record<never, never>>(line: Line<Facts>): EventDefinition<Facts> => ({
	level: "info",
	line,
});
export const warn = <Facts = Record<never, never>>(line: Line<Facts>): EventDefinition<Facts> => ({
	level: "warn",
	line,
});
export const error = <Facts = Record<never, never>>(line: Line<Facts>): EventDefinition<Facts> => ({
	level: "error",
	line,
});
const debug = <Facts = Record<never, never>>(): EventDefinition<Facts> => ({ level: "debug" });

export const EVENTS = {
	/** The service accepts requests at this address. */
	"service.listening": debug<{ url: string }>(),
	/** A stop was requested; running jobs get time to finish (D34). */
	"service.draining": info<{ drainMs: number; leaveWorkers: boolean }>(({ drainMs, leaveWorkers }) =>
		leaveWorkers
			? "stopping: launched workers and their jobs are left to the next start"
			: `stopping: running jobs get up to ${drainMs / 1000} s, then launched workers are stopped`,
	),
	/** The service did not run for this time: every lease is extended (D16 Outages). */
	"service.away": warn<{ ms: number }>(
		({ ms }) => `the service did not run for ${Math.round(ms / 1000)} s; all leases were extended`,
	),
	/** The time of day was set, the database's where servers share one, or the machine was suspended (D16). */
	"clock.stepped": warn<{ ms: number }>(
		({ ms }) =>
			`the time of day was set ${ms < 0 ? "back" : "forward"} by ${Math.round(Math.abs(ms) / 1000)} s` +
			`${ms < 0 ? "" : ", or the machine was suspended"}; deadlines are not affected`,
	),
	/** Another server that shares the store is alive. */
	"server.joined": info<{ server: string; url: string }>(
		({ server, url }) => `server ${server} at ${url} shares the store`,
	),
	/** A server that shared the store left, or (`silent`) stopped sending heartbeats. */
	"server.left": warn<{ server: string; url: string; silent: boolean }>(
		({ server, url, silent }) => `server ${server} at ${url} ${silent ? "sends no heartbeats" : "has left"}`,
	),
	/** This server took a role; the role `scale:ENDPOINT` is to start the workers of that endpoint. */
	"lease.taken": debug<{ name: string }>(),
	/** This server does not have the role any more. */
	"lease.lost": debug<{ name: string }>(),
	/** Signals of the store or of other servers may have been lost: what they are about is read again. */
	"signals.lost": debug(),
	/** A job is durable and waits. `again`: a retry queued it. `ignored`: members of the submission without effect. */
	"job.queued": debug<{ endpoint: string; id: string; again?: true; ignored?: readonly string[] | undefined }>(),
	/** Jobs of the endpoint are queued, not dispatched (D29). */
	"endpoint.paused": info<{ endpoint: string }>(({ endpoint }) => `${endpoint}: paused`),
	/** Jobs of a paused endpoint are dispatched again. */
	"endpoint.resumed": info<{ endpoint: string }>(({ endpoint }) => `${endpoint}: resumed`),
	/** The endpoint does not exist for callers any more; its jobs are being cancelled (D39). */
	"endpoint.removed": info<{ endpoint: string }>(
		({ endpoint }) => `${endpoint}: deleted; its jobs are being cancelled`,
	),
	/** The last jobs and rows of a removed endpoint were deleted. */
	"endpoint.deleted": debug<{ endpoint: string }>(),
	/** Endpoints were created, changed or removed, here or by another server. */
	"endpoints.changed": debug(),
	/** The waiting jobs of an endpoint were removed (D11). */
	"queue.purged": info<{ endpoint: string; removed: number }>(
		({ endpoint, removed }) => `${endpoint}: the queue was purged, ${removed} jobs removed`,
	),
	/** A job was sent to a worker after a wait of `waitedMs`. `release`: the version that launched the worker (D50). */
	"job.started": debug<{
		endpoint: string;
		id: string;
		worker: string;
		release?: number | undefined;
		attempt: number;
		waitedMs: number;
	}>(),
	/**
	 * A job reached a final state. `ranMs` is set if its worker reported the end. `elsewhere`: another server that
	 * shares the store recorded the end, and emits this event too.
	 */
	"job.settled": debug<{
		endpoint: string;
		id: string;
		state: JobState;
		ranMs?: number;
		/** The worker that reported the end. */
		worker?: string;
		/** Version of the release that launched its worker (D50). */
		release?: number | undefined;
		elsewhere?: true;
	}>(),
	/** The worker of a job sent a progress value. */
	"job.progressed": debug<{ endpoint: string; id: string }>(),
	/** A job went back to the front of the queue. */
	"job.returned": warn<{ endpoint: string; id: string; worker: string; why: "lost" | "released" }>(
		({ endpoint, id, worker, why }) =>
			`${endpoint}: job ${id} ${why === "lost" ? `was lost by worker ${worker}` : "was returned"} ` +
			"and is back in the queue",
	),
	/** A worker reported the end of a job that it had lost, before another worker got it (D16 Late reports). */
	"job.late": warn<{ endpoint: string; id: string; worker: string }>(
		({ endpoint, id, worker }) =>
			`${endpoint}: worker ${worker} reported job ${id} after it had lost it; the report counts, ` +
			"because no other worker got the job",
	),
	/** A report or chunk changed nothing, because the worker does not hold the job (D16 Fence). */
	"report.dropped": debug<{ endpoint: string; id: string; worker: string; why: "missing" | "state" | "stale" }>(),
	/** A launcher started a worker. */
	"worker.launched": info<{ endpoint: string; worker: string }>((facts) => `${nameOf(facts)} started`),
	/** A worker of an earlier run of the service was taken over (D34). */
	"worker.adopted": info<{ endpoint: string; worker: string }>((facts) => `${nameOf(facts)} taken over`),
	/** A launched worker got its warm-up (D28). */
	"worker.warming": info<{ endpoint: string; worker: string }>((facts) => `${nameOf(facts)} runs its warm-up`),
	/** The warm-up of a launched worker failed; `worker.failed` follows. */
	"warmup.failed": debug<{ endpoint: string; worker: string; reason: string }>(),
	/** A worker has called for the first time and has finished its warm-up, if it has one. */
	"worker.ready": info<{ endpoint: string; worker: string }>((facts) => `${nameOf(facts)} ready`),
	/** A worker reported itself unhealthy, or only its ping process is left. */
	"worker.unhealthy": warn<{ endpoint: string; worker: string; reason: string }>(
		(facts) => `${nameOf(facts)} is unhealthy: ${facts.reason}`,
	),
	/** A worker uses more of a GPU than its part (`gpuMemoryGb`). `ends`: it therefore gets no more jobs (D27). */
	"worker.exceeded": warn<{ endpoint: string; worker: string; why: string; ends: boolean }>(
		(facts) => `${nameOf(facts)}: ${facts.why}`,
	),
	/** A take and pings show that two processes use one worker id; again after ten minutes without a sign (D16). */
	"worker.shared": warn<{ endpoint: string; worker: string }>(
		({ endpoint, worker }) => `${endpoint}: ${sharedIdText(worker)}`,
	),
	/** The lease of a worker that has never pinged ended; emitted once for each worker (D16). */
	"worker.warned": warn<{ endpoint: string; worker: string; warning: string }>(
		(facts) => `${nameOf(facts)}: ${facts.warning}`,
	),
	/** The platform does not run a launched worker yet; emitted again when the reason changes. */
	"worker.waiting": info<{ endpoint: string; worker: string; reason: string; message: string }>(
		(facts) => `${nameOf(facts)} does not run yet: ${facts.message}`,
	),
	/** A launched worker gets no more jobs, and is stopped once it holds none (D28). */
	"worker.draining": debug<{ endpoint: string; worker: string; why: string }>(),
	/** An idle launched worker is asked to release its GPUs (D28). */
	"worker.falling_asleep": info<{ endpoint: string; worker: string; why: string }>(
		(facts) => `${nameOf(facts)} is put to sleep: ${facts.why}`,
	),
	/** A worker that was put to sleep has released its GPUs. */
	"worker.asleep": info<{ endpoint: string; worker: string; ms: number }>(
		(facts) => `${nameOf(facts)} sleeps, after ${facts.ms} ms`,
	),
	/** A worker that slept has its GPUs again and takes jobs. */
	"worker.woken": info<{ endpoint: string; worker: string; ms: number }>(
		(facts) => `${nameOf(facts)} is awake, after ${facts.ms} ms`,
	),
	/**
	 * A start or a wake of a launched worker has ended. `phases`: first `start` or `wake` as a whole, then the parts
	 * that it reached, each with begin and end in ms of the job clock. `fault`: why it failed, such as an exit code.
	 */
	"worker.timed": debug<{
		endpoint: string;
		worker: string;
		outcome: "ready" | "failed" | "stopped";
		fault?: string | undefined;
		phases: readonly (readonly [name: string, from: number, until: number])[];
	}>(),
	/** A launched worker is being stopped to make room for another endpoint. `was`: its state at the decision (D28). */
	"room.made": debug<{ endpoint: string; worker: string; was: "idle" | "busy" }>(),
	/** A launched worker is being stopped. */
	"worker.stopping": info<{ endpoint: string; worker: string; why: string }>(
		(facts) => `${nameOf(facts)} is stopped: ${facts.why}`,
	),
	/** A launched worker exited. `reason`: the platform's description of the exit. */
	"worker.exited": info<{
		endpoint: string;
		worker: string;
		code: number | undefined;
		signal: string | undefined;
		lastOutput: string;
		reason?: ExitReason;
	}>(({ code, signal, lastOutput, reason, ...facts }) => {
		const how = signal ? ` by ${signal}` : code === undefined ? "" : ` with code ${code}`;
		const sentence = `${nameOf(facts)} ended${how}${reason ? `: ${reason.message}` : ""}`;
		return code === undefined || code === 0
			? sentence
			: { sentence, below: `; its last lines:\n${lastOutput.trimEnd()}` };
	}),
	/** A worker crashed, could not be started or is unhealthy (with `launchedAs`). The next start is after `retryMs`. */
	"worker.failed": error<{ endpoint: string; reason: string; retryMs: number; launchedAs?: string | undefined }>(
		({ endpoint, reason, retryMs }) =>
			`${endpoint}: no worker could be started: ${reason}; next try in ${retryMs / 1000} s`,
	),
	/** An operator resumed worker starts, which crashes had paused (D28). */
	"starts.resumed": info<{ endpoint: string }>(({ endpoint }) => `${endpoint}: worker starts resumed`),
	/** Two processes poll with one worker id; the later one was refused (D26). */
	"worker.duplicate": warn<{ endpoint: string; worker: string }>(
		({ endpoint, worker }) => `${endpoint}: a second process polls as worker ${worker} and was refused`,
	),
	/** A worker was asked to stop a job (D18). */
	"stop.sent": debug<{ endpoint: string; id: string; worker: string }>(),
	/**
	 * `stopGraceMs` has passed, and the worker cannot be killed for this job: Sluice did not launch it, or it runs other
	 * jobs (D18).
	 */
	"stop.unconfirmed": warn<{ endpoint: string; id: string; worker: string }>(
		(facts) => `${nameOf(facts)} was asked to stop job ${facts.id} and has not confirmed it`,
	),
	/** A receiver answered a webhook with 200 (D21). Path and query of its URL may be secret. */
	"webhook.delivered": debug<{ endpoint: string; id: string; delivery: string; host: string }>(),
	/** An attempt to send a webhook failed; the next one is after `retryMs`, or never (D21). */
	"webhook.failed": warn<{
		endpoint: string;
		id: string;
		delivery: string;
		host: string;
		reason: string;
		retryMs: number | undefined;
	}>(
		({ endpoint, id, host, reason, retryMs }) =>
			`${endpoint}: the webhook of job ${id} to ${host} failed: ${reason}; ` +
			(retryMs === undefined ? "it is not tried again" : `next try in ${retryMs / 1000} s`),
	),
	/** Some stored secrets may still be encrypted with an earlier key (D22). */
	"secrets.earlier": info(
		() =>
			"stored secrets may be encrypted with the earlier key, which is still needed; run: sluice migrate --reencrypt",
	),
	/** A stored endpoint has an id that is now a path of the management API: only `/sdk/v2` leads to its jobs (D49). */
	"endpoint.reserved": warn<{ endpoint: string }>(
		({ endpoint }) =>
			`/v2/${endpoint} is a path of the management API: call the jobs of the endpoint ${endpoint} at ` +
			`/sdk/v2/${endpoint}, or create an endpoint with another id and delete this one`,
	),
	/** Other users of the machine can replace files in the data folder. */
	"folder.writable": warn<{ path: string }>(
		({ path }) => `other users of this machine can replace files in the data folder; run: chmod 700 ${path}`,
	),
	/** The TLS certificate was read again and is in use (D34). */
	"certificate.reloaded": info(() => "the TLS certificate was read again and is in use"),
	/** The changed certificate files cannot be used; the earlier certificate stays in use. */
	"certificate.failed": error<{ reason: string }>(
		({ reason }) => `the TLS certificate was not replaced, the earlier one stays in use: ${reason}`,
	),
	/** Log lines were dropped, because stderr was not read and the buffer for it was full. */
	"log.dropped": warn<{ lines: number }>(
		({ lines }) => `${lines} lines of this log are missing here: stderr was not read fast enough`,
	),
	/** The store cannot be written. */
	"store.away": error<{ why: string }>(({ why }) => `the store cannot be written: ${why}`),
	/**
	 * The store is unavailable, and the held posts of workers have reached their limit in bytes: further posts are
	 * refused. Emitted once for each outage (D40).
	 */
	"posts.refused": error<{ heldBytes: number }>(
		({ heldBytes }) =>
			`${mebibytes(heldBytes)} of workers' posts are held until the store can be written; ` +
			"further ones are refused",
	),
	/** Less than the reserve is free on the disk of the store: submissions are refused (D41). */
	"disk.low": error<{ freeBytes: number; reserveBytes: number }>(
		({ freeBytes, reserveBytes }) =>
			`the disk of the store has ${mebibytes(freeBytes)} free; below ${mebibytes(reserveBytes)} ` +
			"submissions are refused",
	),
	"disk.enough": info<{ freeBytes: number }>(
		({ freeBytes }) => `the disk of the store has ${mebibytes(freeBytes)} free again`,
	),
	/** The process cannot use the store any more, and exits. */
	"store.failed": error<{ why: string }>(({ why }) => `the store has failed: ${why}`),
	/** The store can be written again. */
	"store.back": info(() => "the store can be written again"),
	/**
	 * A request has ended; only with the access log on. `route`: the path as the API defines it. `bytesIn`, `bytesOut`:
	 * bytes that its connection received and sent since the previous request, headers included. `job`: the job in the
	 * path, or the one that was submitted (D51).
	 */
	"request.served": info<{
		method: string;
		route: string;
		status: number;
		ms: number;
		bytesIn: number;
		bytesOut: number;
		keyId: string | undefined;
		requestId: string;
		traceId: string | undefined;
		endpoint: string | undefined;
		job: string | undefined;
	}>(
		({ method, route, status, ms, bytesIn, bytesOut, ...others }) =>
			`${method} ${route} ${status} ${ms} ms, ${bytesIn} bytes in, ${bytesOut} out${namedFacts(others)}`,
	),
	/** A request was answered with a status of 500 or more. */
	"request.failed": error<{ method: string; path: string; status: number; requestId: string; error: unknown }>(
		({ method, path, status, requestId, error }) => {
			// A single `store.away` stands for all requests of an outage.
			if (status === 503) return undefined;
			const what = `${method} ${path} was answered ${status} (${requestId})`;
			return status === 500
				? withStack(what, error)
				: `${what}: ${error instanceof Error ? error.message : String(error)}`;
		},
	),
	/** Background work failed and is retried. */
	fault: error<{ where: string; error: unknown }>(({ where, error }) => withStack(where, error)),
};

function nameOf({ endpoint, worker }: { endpoint: string; worker: string }): string {
	return `${endpoint}: worker ${worker}`;
}

export function areaOf(event: string): string {
	return event.split(".", 1)[0]!;
}

/** ` name=value` of each fact. */
export function namedFacts(facts: object): string {
	return Object.entries(facts)
		.flatMap(([name, value]) =>
			value === undefined ? [] : [` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`],
		)
		.join("");
}

function mebibytes(bytes: number): string {
	return `${Math.round(bytes / 2 ** 20)} MiB`;
}

function withStack(where: string, error: unknown): LogLine {
	const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
	const [first = "", ...rest] = stack.split("\n");
	return { sentence: `${where}: ${first}`, below: rest.map((line) => `\n${line}`).join("") };
}
