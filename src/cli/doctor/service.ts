import type { Endpoint } from "../../kernel/api/endpoints.ts";
import { type Finding, ok, problem, warning } from "../../kernel/core/finding.ts";
import { isManaged } from "../../kernel/launchers/index.ts";
import { SET_URL, failureReason, noServiceAt, notSluice } from "../client/errors.ts";
import type { Connection } from "../client/connection.ts";
import { printableLines } from "../../kernel/lib/terminal-text.ts";
import { parseJson } from "../client/service-client.ts";

const REQUEST_TIMEOUT_MS = 5000;
/** The Date header has a resolution of 1 s. */
const MAX_CLOCK_DIFFERENCE_MS = 5000;

interface Reply {
	status: number;
	json: unknown;
	error: string | undefined;
	failure: string;
	date: string | null;
}

/** Reasons for missing workers that pass without the operator. */
const PASSING: ReadonlySet<string> = new Set([
	"starting",
	"queued",
	"unschedulable",
	"evicted",
	"preempted",
	"node_failed",
	"node_drained",
]);

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
	const list = await fetchFrom(base, "/v1/endpoints", key);
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
	return { answers: true, findings: [...findings, ...endpoints.map(endpointFinding)], endpoints };
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
			: "The service is stopping, or its store cannot be written: see its log.",
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

/** What the service says of an endpoint, with the command that helps. */
function endpointFinding({ id, paused, jobs, workers, workersMax, launcher, reason }: Endpoint): Finding {
	const check = `endpoint ${id}`;
	const waits = jobs.inQueue === 0 ? "" : jobs.inQueue === 1 ? "1 job waits: " : `${jobs.inQueue} jobs wait: `;
	const level = jobs.inQueue === 0 ? warning : problem;
	if (paused) return level(check, `${waits}It is paused.`, `sluice endpoints resume ${id}`);
	if (reason?.code === "no_gpu_free") {
		const fix = "Give the service more GPUs (gpus in sluice.yaml), or other endpoints fewer (gpusPerWorker).";
		return level(check, waits + reason.message, fix);
	}
	// The reason is that of the last worker that ended, which others may have replaced.
	const isServed = jobs.inQueue === 0 && workers.idle + workers.running > 0 && reason?.code !== "crashed";
	if (reason && !isServed && !PASSING.has(reason.code) && reason.progress === undefined) {
		const lines = printableLines(reason.lastLine ?? "").trimEnd();
		const fix = `Read the whole log: sluice workers logs ${id}. Then: sluice workers start ${id}`;
		return { ...problem(check, waits + reason.message, fix), ...(lines !== "" && { lines: [lines] }) };
	}
	if (workers.unhealthy > 0) {
		const message = `${workers.unhealthy} of its workers report that they are unhealthy.`;
		return problem(check, message, `List them: sluice workers list ${id}. The service's log has the reasons.`);
	}
	if (workersMax === 0 && jobs.inQueue > 0)
		return problem(check, `${waits}workersMax is 0.`, `sluice endpoints update ${id} --set workersMax=3`);
	if (!isManaged(launcher.type) && workers.idle + workers.initializing + workers.running === 0) {
		const fix = `Start a worker with the variables of: sluice worker-env ${id}`;
		return level(check, `${waits}No worker is attached.`, fix);
	}
	return ok(check, `Jobs waiting: ${jobs.inQueue}. Workers: ${workers.running} busy, ${workers.idle} idle.`);
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
