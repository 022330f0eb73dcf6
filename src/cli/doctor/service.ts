/** `sluice doctor` checks of a running service: readiness, API key, clock, endpoints. */
import type { Endpoint } from "../../api/endpoints.ts";
import type { JobDetail, JobList } from "../../api/job-records.ts";
import type { EndedWorker } from "../../api/workers.ts";
import { type Finding, ok, problem, warning } from "../../core/finding.ts";
import type { EndpointToCheck } from "../../launchers/definition.ts";
import { isManaged } from "../../launchers/index.ts";
import { SET_URL, failureReason, noServiceAt, notSluice } from "../errors.ts";
import type { Connection } from "../connection.ts";
import { parseJson, path } from "../service-client.ts";

/** ms. */
const REQUEST_TIMEOUT_MS = 5000;
/** The Date header has a resolution of 1 s. */
const MAX_CLOCK_DIFFERENCE_MS = 5000;

interface ServiceCheck {
	/** Whether anything responds at the address. */
	answers: boolean;
	findings: Finding[];
	endpoints: readonly EndpointToCheck[];
}

/** GET with the API key; a string is the reason of a failure. */
type Fetcher = (path: string) => Promise<Reply | string>;

interface Reply {
	status: number;
	json: unknown;
	error: string | undefined;
	date: string | null;
}

/** Fixes by wait reason (D29). Other reasons resolve without action. */
const WAIT_FIXES: Readonly<Record<string, (id: string) => string>> = {
	no_worker_allowed: (id) => `sluice endpoints update ${id} --set workersMax=3`,
	no_worker: (id) => `Start a worker with the variables of: sluice worker-env ${id}`,
	workers_crashing: (id) =>
		"Read their last lines in the service's log, or run the handler with: sluice dev HANDLER. " +
		`Settings: sluice endpoints get ${id}`,
	no_gpu_free: () => "Give the service more GPUs (gpus in sluice.yaml), or other endpoints fewer (gpusPerWorker).",
	paused: (id) => `sluice endpoints resume ${id}`,
};

/** `isNew`: the service has not been started yet. */
export async function checkService(q: {
	connection: Connection;
	now: () => number;
	isNew: boolean;
}): Promise<ServiceCheck> {
	const { now } = q;
	const unanswered = q.isNew ? warning : problem;
	const { base, key, keyFrom } = q.connection;
	const alive = await fetchFrom(base, "/healthz");
	const failed = (answers: boolean, ...findings: Finding[]): ServiceCheck => ({
		answers,
		findings,
		endpoints: [],
	});
	if (typeof alive === "string")
		return failed(
			false,
			unanswered(
				"service",
				noServiceAt(base, alive),
				"Start it with 'sluice serve', or set SLUICE_URL to its address.",
			),
		);
	if (alive.status !== 200 || alive.json === undefined)
		return failed(true, problem("service", notSluice(base, alive.status), SET_URL));
	const findings = [await readyFinding(base), ...clockFindings(alive.date, now())];
	if (key === undefined || key === "")
		return failed(
			true,
			...findings,
			problem(
				"key",
				"There is no API key to check the service with.",
				"Set SLUICE_API_KEY to an API key of the service; the first start printed one.",
			),
		);
	const get: Fetcher = (target) => fetchFrom(base, target, key);
	const list = await get("/v1/endpoints");
	if (typeof list === "string" || list.status !== 200)
		return failed(
			true,
			...findings,
			problem(
				"key",
				`The service rejected the key in ${keyFrom}: ${errorOf(list)}`,
				"Create one with an admin key: sluice keys create --name doctor --scope read",
			),
		);
	findings.push(ok("key", `The key in ${keyFrom} is valid.`));
	const { endpoints } = list.json as { endpoints: Endpoint[] };
	if (endpoints.length === 0)
		findings.push(
			warning(
				"endpoints",
				"No endpoints yet.",
				"Describe one in sluice.yaml, or: sluice endpoints create hello --from FOLDER",
			),
		);
	for (const endpoint of endpoints) findings.push(...(await endpointFindings(get, endpoint)));
	return { answers: true, findings, endpoints };
}

async function readyFinding(base: string): Promise<Finding> {
	const ready = await fetchFrom(base, "/readyz");
	if (typeof ready !== "string" && ready.status === 200) return ok("service", `The service at ${base} is ready.`);
	const reason = typeof ready === "string" || ready.error === undefined ? "." : `: ${ready.error}`;
	const code = typeof ready === "string" ? undefined : (ready.json as { code?: unknown })?.code;
	return problem(
		"service",
		`The service at ${base} is running but not ready${reason}`,
		code === "store_unavailable"
			? "Free space on the store's disk, or make it reachable: the service then continues."
			: "It is stopping, or its store is not writable: see its log.",
	);
}

export async function publicUrlFinding(publicUrl: string): Promise<Finding> {
	const response = await fetchFrom(publicUrl, "/healthz");
	const test = `curl -sS -m 5 ${publicUrl}/healthz`;
	if (typeof response !== "string" && response.status === 200)
		return ok("publicUrl", `${publicUrl} reaches the service from here. Test it where workers run: ${test}`);
	const reason = typeof response === "string" ? response : `HTTP ${response.status}`;
	return problem(
		"publicUrl",
		`${publicUrl} does not reach the service from here (${reason}).`,
		`Correct publicUrl: workers and snippets use it. If only workers reach it, test it there: ${test}`,
	);
}

function clockFindings(date: string | null, now: number): Finding[] {
	const apartMs = Math.abs(Date.parse(date ?? "") - now);
	if (Number.isNaN(apartMs) || apartMs <= MAX_CLOCK_DIFFERENCE_MS) return [];
	return [
		warning(
			"clock",
			`The clocks of this machine and the service differ by ${Math.round(apartMs / 1000)} s.`,
			"Synchronise both with NTP: webhook signatures and times in lists depend on them.",
		),
	];
}

async function endpointFindings(get: Fetcher, { id, paused, jobs, workers, launcher }: Endpoint): Promise<Finding[]> {
	const check = `endpoint ${id}`;
	const findings: Finding[] = [];
	const attached = workers.idle + workers.initializing + workers.running;
	if (workers.unhealthy > 0)
		findings.push(
			problem(
				check,
				`${workers.unhealthy} of its workers report that they are unhealthy.`,
				`List them: sluice workers list ${id}. The service's log has the reasons.`,
			),
		);
	findings.push(...(await strayFindings(get, id)));
	if (jobs.inQueue > 0) findings.push(...(await waitFindings(get, id, jobs.inQueue)));
	else if (!isManaged(launcher.type) && attached === 0)
		findings.push(warning(check, "No worker is attached: jobs will wait.", WAIT_FIXES["no_worker"]!(id)));
	else if (paused) findings.push(warning(check, "It is paused: jobs will wait.", WAIT_FIXES["paused"]!(id)));
	if (findings.length > 0) return findings;
	return [ok(check, `${jobs.inQueue} jobs wait, ${workers.running} workers are busy, ${workers.idle} are idle.`)];
}

/** Workers that run where their platform has lost them. */
async function strayFindings(get: Fetcher, id: string): Promise<Finding[]> {
	const list = await read<{ ended?: EndedWorker[] }>(get(path`/v1/endpoints/${id}/workers?ended=true`));
	return (list?.ended ?? [])
		.filter(({ calledAt }) => calledAt !== undefined)
		.map((worker) =>
			problem(
				`endpoint ${id}`,
				`Its worker ${worker.id} has ended for its platform and still runs: ${worker.message}`,
				"Log in there, find the process with: ps -ef, and end it: it may hold a GPU that counts as free.",
			),
		);
}

async function waitFindings(get: Fetcher, id: string, waiting: number): Promise<Finding[]> {
	const query = new URLSearchParams({ status: "IN_QUEUE", limit: "1" });
	const list = await read<JobList>(get(path`/v1/endpoints/${id}/jobs?${query}`));
	const job = list?.jobs[0]?.id;
	if (job === undefined) return [];
	const details = await read<JobDetail>(get(path`/v1/endpoints/${id}/jobs/${job}`));
	const reason = details?.reason;
	const fix = reason && WAIT_FIXES[reason.code];
	if (!reason || !fix) return [];
	const { code, message, worker } = reason;
	const printed = worker?.lastLine === undefined ? "" : ` The last one printed: ${worker.lastLine}`;
	return [problem(`endpoint ${id}`, `${waiting} jobs wait: ${message} (${code})${printed}`, fix(id))];
}

async function read<Body>(request: Promise<Reply | string>): Promise<Body | undefined> {
	const response = await request;
	return typeof response === "string" || response.status !== 200 ? undefined : (response.json as Body | undefined);
}

function errorOf(response: Reply | string): string {
	return typeof response === "string" ? response : (response.error ?? `HTTP ${response.status}`);
}

async function fetchFrom(base: string, target: string, key?: string): Promise<Reply | string> {
	try {
		const response = await fetch(base + target, {
			headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
			signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
		});
		const json = parseJson(await response.text());
		const { error } = (json ?? {}) as { error?: unknown };
		return {
			status: response.status,
			json,
			error: typeof error === "string" ? error : undefined,
			date: response.headers.get("date"),
		};
	} catch (error) {
		return failureReason(error);
	}
}
