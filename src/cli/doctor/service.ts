import type { Endpoint } from "../../kernel/api/endpoints.ts";
import type { JobDetail, JobList } from "../../kernel/api/job-records.ts";
import type { Worker } from "../../kernel/api/workers.ts";
import { type Finding, ok, problem, warning } from "../../kernel/core/finding.ts";
import { isManaged } from "../../kernel/launchers/index.ts";
import { SET_URL, failureReason, noServiceAt, notSluice } from "../client/errors.ts";
import type { Connection } from "../client/connection.ts";
import { printableLines } from "../../kernel/lib/terminal-text.ts";
import { asSentence } from "../../kernel/lib/text.ts";
import { parseJson, path } from "../client/service-client.ts";

const REQUEST_TIMEOUT_MS = 5000;
/** The Date header has a resolution of 1 s. */
const MAX_CLOCK_DIFFERENCE_MS = 5000;
/** Warnings about workers of one endpoint that are printed. */
const MOST_WARNINGS = 3;

type Fetcher = (path: string) => Promise<Reply>;

interface Reply {
	status: number;
	json: unknown;
	error: string | undefined;
	failure: string;
	date: string | null;
}

/** Fixes by wait reason (D29). Other reasons resolve without action. */
const WAIT_FIXES: Readonly<Record<string, (id: string) => string>> = {
	no_worker_allowed: (id) => `sluice endpoints update ${id} --set workersMax=3`,
	no_worker: (id) => `Start a worker with the variables of: sluice worker-env ${id}`,
	workers_crashing: (id) => `The whole log: sluice workers logs ${id}. Then: sluice workers start ${id}`,
	no_gpu_free: () => "Give the service more GPUs (gpus in sluice.yaml), or other endpoints fewer (gpusPerWorker).",
	paused: (id) => `sluice endpoints resume ${id}`,
};

/** `answers`: whether anything responds. `isNew`: the service was never started. */
export async function checkService(
	{ base, key, keyFrom }: Connection,
	{ now, isNew }: { now: () => number; isNew: boolean },
): Promise<{ answers: boolean; findings: Finding[]; endpoints: readonly Endpoint[] }> {
	const alive = await fetchFrom(base, "/healthz");
	const findings: Finding[] = [];
	const ended = (finding: Finding) => ({
		answers: alive.status !== 0,
		findings: [...findings, finding],
		endpoints: [],
	});
	if (alive.status === 0) {
		const fix = "Start it with 'sluice serve', or set SLUICE_URL to its address.";
		return ended((isNew ? warning : problem)("service", noServiceAt(base, alive.failure), fix));
	}
	if (alive.status !== 200 || alive.json === undefined)
		return ended(problem("service", notSluice(base, alive.status), SET_URL));
	findings.push(await readyFinding(base), ...clockFindings(alive.date, now()));
	if (!key) {
		const fix = "Set SLUICE_API_KEY to an API key of the service; the first start printed one.";
		return ended(problem("key", "There is no API key to check the service with.", fix));
	}
	const get: Fetcher = (target) => fetchFrom(base, target, key);
	const list = await get("/v1/endpoints");
	if (list.status !== 200) {
		const message = `The service rejected the key in ${keyFrom}: ${list.error ?? list.failure}`;
		const fix = "Create one with an admin key: sluice keys create --name doctor --scope read";
		return ended(problem("key", message, fix));
	}
	findings.push(ok("key", `The key in ${keyFrom} is valid.`));
	const { endpoints } = list.json as { endpoints: Endpoint[] };
	if (endpoints.length === 0) {
		const fix = "Describe one in sluice.yaml, or: sluice endpoints create hello --from FOLDER";
		findings.push(warning("endpoints", "No endpoints yet.", fix));
	}
	for (const endpoint of endpoints) findings.push(...(await endpointFindings(get, endpoint)));
	return { answers: true, findings, endpoints };
}

async function readyFinding(base: string): Promise<Finding> {
	const { status, json, error } = await fetchFrom(base, "/readyz");
	if (status === 200) return ok("service", `The service at ${base} is ready.`);
	const reason = error === undefined ? "." : `: ${error}`;
	return problem(
		"service",
		`The service at ${base} is running but not ready${reason}`,
		(json as { code?: unknown } | undefined)?.code === "store_unavailable"
			? "Free space on the store's disk, or make it reachable: the service then continues."
			: "It is stopping, or its store is not writable: see its log.",
	);
}

export async function publicUrlFinding(publicUrl: string): Promise<Finding> {
	const { status, failure } = await fetchFrom(publicUrl, "/healthz");
	const test = `curl -sS -m 5 ${publicUrl}/healthz`;
	return status === 200
		? ok("publicUrl", `${publicUrl} reaches the service from here. Test it where workers run: ${test}`)
		: problem(
				"publicUrl",
				`${publicUrl} does not reach the service from here (${failure}).`,
				`Correct publicUrl: workers and snippets use it. If only workers reach it, test it there: ${test}`,
			);
}

function clockFindings(date: string | null, now: number): Finding[] {
	const apartMs = Math.abs(Date.parse(date ?? "") - now);
	if (Number.isNaN(apartMs) || apartMs <= MAX_CLOCK_DIFFERENCE_MS) return [];
	const message = `The clocks of this machine and the service differ by ${Math.round(apartMs / 1000)} s.`;
	const fix = "Synchronise both with NTP: webhook signatures and times in lists depend on them.";
	return [warning("clock", message, fix)];
}

async function endpointFindings(get: Fetcher, endpoint: Endpoint): Promise<Finding[]> {
	const { id, paused, jobs, workers, launcher, reason } = endpoint;
	const check = `endpoint ${id}`;
	const findings: Finding[] = [];
	if (workers.unhealthy > 0) {
		const message = `${workers.unhealthy} of its workers report that they are unhealthy.`;
		findings.push(problem(check, message, `List them: sluice workers list ${id}. The service's log has the reasons.`));
	}
	findings.push(...(await workerFindings(get, id)));
	const attached = workers.idle + workers.initializing + workers.running;
	if (jobs.inQueue > 0) findings.push(...(await waitFindings(get, id, jobs.inQueue)));
	else if (!isManaged(launcher.type) && attached === 0)
		findings.push(warning(check, "No worker is attached: jobs will wait.", WAIT_FIXES["no_worker"]!(id)));
	else if (paused) findings.push(warning(check, "It is paused: jobs will wait.", WAIT_FIXES["paused"]!(id)));
	else if (reason?.code === "crashed") {
		const printed = reason.lastLine === undefined ? "" : ` The last one printed: ${reason.lastLine}`;
		findings.push(problem(check, reason.message + printed, WAIT_FIXES["workers_crashing"]!(id)));
	}
	if (findings.length > 0) return findings;
	return [ok(check, `Jobs waiting: ${jobs.inQueue}. Workers: ${workers.running} busy, ${workers.idle} idle.`)];
}

/** Finds what warnings there are about the workers. */
async function workerFindings(get: Fetcher, id: string): Promise<Finding[]> {
	const list = await read<{ workers: Worker[] }>(get(path`/v1/endpoints/${id}/workers`));
	const texts = [...new Set((list?.workers ?? []).flatMap((worker) => worker.warning ?? []))];
	if (texts.length === 0) return [];
	const more = texts.length > MOST_WARNINGS ? [`${texts.length - MOST_WARNINGS} more workers have such warnings.`] : [];
	const message = [...texts.slice(0, MOST_WARNINGS).map(asSentence), ...more].join(" ");
	return [warning(`endpoint ${id}`, message, `List its workers: sluice workers list ${id}`)];
}

async function waitFindings(get: Fetcher, id: string, waiting: number): Promise<Finding[]> {
	const list = await read<JobList>(get(path`/v1/endpoints/${id}/jobs?status=IN_QUEUE&limit=1`));
	const job = list?.jobs[0]?.id;
	if (job === undefined) return [];
	const reason = (await read<JobDetail>(get(path`/v1/endpoints/${id}/jobs/${job}`)))?.reason;
	if (!reason) return [];
	const { code, message, worker } = reason;
	// Workers that crash start again: while one does, the crash of the one before is still what there is to correct.
	const restarts = code === "worker_starting" && worker !== undefined;
	const fix = WAIT_FIXES[restarts ? "workers_crashing" : code];
	if (!fix) return [];
	const lines = printableLines(worker?.lastOutput ?? worker?.lastLine ?? "").trimEnd();
	const waits = waiting === 1 ? "1 job waits" : `${waiting} jobs wait`;
	const before = restarts ? ` The one before: ${worker.message}` : "";
	const found = problem(`endpoint ${id}`, `${waits}: ${message}${before} (${code})`, fix(id));
	return [lines === "" ? found : { ...found, lines: lines.split("\n") }];
}

async function read<Body>(request: Promise<Reply>): Promise<Body | undefined> {
	const { status, json } = await request;
	return status === 200 ? (json as Body | undefined) : undefined;
}

async function fetchFrom(base: string, target: string, key?: string): Promise<Reply> {
	try {
		const response = await fetch(base + target, {
			...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
			signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
		});
		const { status } = response;
		const json = parseJson(await response.text());
		const { error } = (json ?? {}) as { error?: unknown };
		return {
			status,
			json,
			error: typeof error === "string" ? error : undefined,
			failure: `HTTP ${status}`,
			date: response.headers.get("date"),
		};
	} catch (error) {
		return { status: 0, json: undefined, error: undefined, failure: failureReason(error), date: null };
	}
}
