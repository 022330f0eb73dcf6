/**
 * The log: one line on stderr for each event that an operator wants to know. A listener of
 * `events.ts`; nothing else writes lines.
 */
import type { Clock } from "./clock.ts";
import type { EventBus, EventName, Events } from "./events.ts";

type Line<N extends EventName> = (facts: Events[N]) => string | undefined;

/** Sentences by event; events of every job are left out, they are counted elsewhere. */
const LINES: { [N in EventName]?: Line<N> } = {
	"service.draining": ({ drainMs }) => `stopping: running jobs get up to ${drainMs / 1000} s`,
	"service.away": ({ ms }) =>
		`the service did not run for ${Math.round(ms / 1000)} s; all leases were extended`,
	"server.joined": ({ server, url }) => `server ${server} at ${url} shares the store`,
	"server.left": ({ server, url }) => `server ${server} at ${url} is gone`,
	"worker.launched": ({ endpoint, worker }) => `${endpoint}: worker ${worker} started`,
	"worker.adopted": ({ endpoint, worker }) => `${endpoint}: worker ${worker} taken over`,
	"worker.ready": ({ endpoint, worker }) => `${endpoint}: worker ${worker} ready`,
	"worker.unhealthy": ({ endpoint, worker, reason }) =>
		`${endpoint}: worker ${worker} is unhealthy: ${oneLine(reason)}`,
	"worker.warned": ({ endpoint, worker, warning }) =>
		`${endpoint}: worker ${worker}: ${oneLine(warning)}`,
	"worker.stopping": ({ endpoint, worker, why }) =>
		`${endpoint}: worker ${worker} is stopped: ${why}`,
	"worker.exited": ({ endpoint, worker, code, signal, lastOutput }) =>
		`${endpoint}: worker ${worker} ended${signal ? ` by ${signal}` : code === undefined ? "" : ` with code ${code}`}${code === undefined || code === 0 ? "" : `; its last lines:\n${indented(lastOutput)}`}`,
	"worker.failed": ({ endpoint, reason, retryMs }) =>
		`${endpoint}: no worker could be started: ${reason}; next try in ${retryMs / 1000} s`,
	"worker.duplicate": ({ endpoint, worker }) =>
		`${endpoint}: a second process polls as worker ${worker} and was refused`,
	"job.returned": ({ endpoint, id, worker, why }) =>
		`${endpoint}: job ${id} ${why === "lost" ? `was lost by worker ${worker}` : "was returned"} and waits again`,
	"endpoint.paused": ({ endpoint }) => `${endpoint}: paused`,
	"endpoint.resumed": ({ endpoint }) => `${endpoint}: resumed`,
	"endpoint.removed": ({ endpoint }) => `${endpoint}: deleted; its jobs are being cancelled`,
	"queue.purged": ({ endpoint, removed }) =>
		`${endpoint}: the queue was purged, ${removed} jobs removed`,
	"stop.unconfirmed": ({ endpoint, id, worker }) =>
		`${endpoint}: worker ${worker} was told to stop job ${id} and has not confirmed it`,
	"webhook.failed": ({ endpoint, id, host, reason, retryMs }) =>
		`${endpoint}: the webhook of job ${id} to ${host} failed: ${reason}; ${retryMs === undefined ? "it is not tried again" : `next try in ${retryMs / 1000} s`}`,
	"store.away": ({ why }) => `the store cannot be written: ${why}`,
	"posts.refused": ({ heldBytes }) =>
		`${Math.round(heldBytes / 2 ** 20)} MiB of workers' posts are held until the store is back; further ones are refused`,
	"store.back": () => "the store can be written again",
	// 503: that the store is away is told once for all requests.
	"request.failed": ({ method, path, status, reference, error }) =>
		status === 503
			? undefined
			: `${method} ${path} was answered ${status}${reference === "" ? "" : ` (${reference})`}: ${sentence(error, status === 500)}`,
	fault: ({ where, error }) => `${where}: ${sentence(error, true)}`,
};

/** Writes lines for events with `write`, each with its time. */
export function log({
	events,
	clock,
	write,
}: {
	events: EventBus;
	clock: Clock;
	write: (line: string) => void;
}): void {
	events.onAny((name, facts) => {
		const line = (LINES[name] as Line<typeof name> | undefined)?.(facts);
		if (line !== undefined) write(`${new Date(clock.now()).toISOString()} ${line}\n`);
	});
}

/** A worker's own words, which could pass for lines of this log or steer a terminal. */
function oneLine(text: string): string {
	// oxlint-disable-next-line no-control-regex
	return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ");
}

function indented(text: string): string {
	return text
		.trimEnd()
		.split("\n")
		.map((line) => `    ${line}`)
		.join("\n");
}

function sentence(error: unknown, stack: boolean): string {
	if (!(error instanceof Error)) return String(error);
	return stack ? (error.stack ?? error.message) : error.message;
}
