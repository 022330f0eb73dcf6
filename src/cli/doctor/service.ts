/**
 * What `sluice doctor` asks of a running service: whether it is there and ready, the key, the
 * clock, the endpoints and their workers.
 */
import { ok, problem, warning } from "../../core/finding.ts";
import type { Finding } from "../../core/finding.ts";
import type { EndpointToCheck } from "../../launchers/definition.ts";
import { isManaged } from "../../launchers/index.ts";
import { path } from "../service-client.ts";

/** How long the service may take to answer, ms. */
const ANSWER_MS = 5000;
/** How far two clocks may be apart, ms; the header is exact to a second. */
const APART_MS = 5000;

interface Listed extends EndpointToCheck {
	paused: boolean;
	jobs: { inQueue: number };
	workers: Record<"idle" | "initializing" | "running" | "unhealthy", number>;
}

/** A look at the service. `there`: whether one answers at all; `endpoints` as it lists them. */
export interface ServiceCheck {
	there: boolean;
	findings: Finding[];
	endpoints: readonly EndpointToCheck[];
}

/** Ways out by the reason for which a job waits (D29). What is not here passes by itself. */
const WAYS_OUT: Readonly<Record<string, (id: string) => string>> = {
	no_worker_allowed: (id) => `sluice endpoints update ${id} --set workersMax=3`,
	no_worker: (id) => `Start a worker with the variables of: sluice worker-env ${id}`,
	workers_crashing: (id) =>
		`Read what they said last in the service's log, or run the handler by itself: sluice dev HANDLER. Then: sluice endpoints get ${id}`,
	no_gpu_free: () =>
		"Give the service more GPUs with gpus in sluice.yaml, or fewer to others with gpusPerWorker.",
	paused: (id) => `sluice endpoints resume ${id}`,
};

/** Looks at the service at `base`. */
export async function serviceFindings({
	base,
	key,
	now,
}: {
	base: string;
	key: string | undefined;
	now: () => number;
}): Promise<ServiceCheck> {
	const alive = await get(base, "/healthz");
	if (typeof alive === "string")
		return {
			there: false,
			findings: [
				problem(
					"service",
					`No service answers at ${base} (${alive}).`,
					"Start it with 'sluice serve', or set SLUICE_URL to its address.",
				),
			],
			endpoints: [],
		};
	if (alive.status !== 200 || alive.json === undefined)
		return {
			there: true,
			findings: [
				problem(
					"service",
					`What answers at ${base} is not Sluice (HTTP ${alive.status}).`,
					"Set SLUICE_URL to the address of the service.",
				),
			],
			endpoints: [],
		};
	const findings: Finding[] = [];
	const ready = await get(base, "/readyz");
	if (typeof ready !== "string" && ready.status === 200)
		findings.push(ok("service", `The service at ${base} is ready.`));
	else
		findings.push(
			problem(
				"service",
				`The service at ${base} runs, but is not ready${typeof ready === "string" || ready.error === undefined ? "." : `: ${ready.error}`}`,
				"It is stopping, or its store cannot be written: see its log.",
			),
		);
	findings.push(...clockFindings(alive.date, now()));
	if (key === undefined)
		return {
			there: true,
			findings: [
				...findings,
				problem(
					"key",
					"SLUICE_API_KEY is not set.",
					"Set it to a key of the service; the first start printed one.",
				),
			],
			endpoints: [],
		};
	const list = await get(base, "/v1/endpoints", key);
	if (typeof list === "string" || list.status !== 200) {
		const said = typeof list === "string" ? list : (list.error ?? `HTTP ${list.status}`);
		return {
			there: true,
			findings: [
				...findings,
				problem(
					"key",
					`The key of SLUICE_API_KEY was not accepted: ${said}`,
					"Make one with an admin key: sluice keys create --name doctor --scope read",
				),
			],
			endpoints: [],
		};
	}
	findings.push(ok("key", "The key of SLUICE_API_KEY is good."));
	const { endpoints } = list.json as { endpoints: Listed[] };
	if (endpoints.length === 0)
		findings.push(
			warning(
				"endpoints",
				"There is no endpoint yet.",
				"Describe one in sluice.yaml, or: sluice endpoints create hello --from FOLDER",
			),
		);
	for (const endpoint of endpoints) findings.push(...(await endpointFindings(base, key, endpoint)));
	return { there: true, findings, endpoints };
}

/** Whether the address that workers and clients are told leads to the service. */
export async function publicUrlFinding(publicUrl: string): Promise<Finding> {
	const found = await get(publicUrl, "/healthz");
	if (typeof found !== "string" && found.status === 200)
		return ok("publicUrl", `${publicUrl} leads to the service.`);
	return problem(
		"publicUrl",
		`${publicUrl} does not lead to the service from here (${typeof found === "string" ? found : `HTTP ${found.status}`}).`,
		"Correct publicUrl: workers and snippets use it.",
	);
}

function clockFindings(date: string | null, now: number): Finding[] {
	const there = Date.parse(date ?? "");
	if (Number.isNaN(there) || Math.abs(there - now) <= APART_MS) return [];
	return [
		warning(
			"clock",
			`The clock here and that of the service are ${Math.round(Math.abs(there - now) / 1000)} s apart.`,
			"Set both by NTP: times in lists and webhook signatures are compared with them.",
		),
	];
}

async function endpointFindings(
	base: string,
	key: string,
	{ id, paused, jobs, workers, launcher }: Listed,
): Promise<Finding[]> {
	const check = `endpoint ${id}`;
	const findings: Finding[] = [];
	if (workers.unhealthy > 0)
		findings.push(
			problem(
				check,
				`${workers.unhealthy} of its workers report that they are unfit.`,
				`See which: sluice workers list ${id}; the service's log says why.`,
			),
		);
	if (jobs.inQueue > 0) findings.push(...(await waitingFindings(base, key, id, jobs.inQueue)));
	else if (!isManaged(launcher.type) && workers.idle + workers.initializing + workers.running === 0)
		findings.push(
			warning(check, "No worker is attached: jobs will wait.", WAYS_OUT["no_worker"]!(id)),
		);
	else if (paused)
		findings.push(warning(check, "It is paused: jobs will wait.", WAYS_OUT["paused"]!(id)));
	return findings.length > 0
		? findings
		: [
				ok(
					check,
					`${jobs.inQueue} jobs wait, ${workers.running} workers run, ${workers.idle} are idle.`,
				),
			];
}

/** Why the oldest waiting job that is listed waits. */
async function waitingFindings(
	base: string,
	key: string,
	id: string,
	waiting: number,
): Promise<Finding[]> {
	const query = new URLSearchParams({ status: "IN_QUEUE", limit: "1" });
	const list = await get(base, path`/v1/endpoints/${id}/jobs?${query}`, key);
	const job =
		typeof list === "string"
			? undefined
			: (list.json as { jobs?: { id: string }[] } | undefined)?.jobs?.[0]?.id;
	const one =
		job === undefined ? undefined : await get(base, path`/v1/endpoints/${id}/jobs/${job}`, key);
	const reason =
		one === undefined || typeof one === "string"
			? undefined
			: (one.json as { reason?: { code: string; message: string } } | undefined)?.reason;
	const way = reason && WAYS_OUT[reason.code];
	if (!reason || !way) return [];
	return [
		problem(`endpoint ${id}`, `${waiting} jobs wait: ${reason.message} (${reason.code})`, way(id)),
	];
}

interface Got {
	status: number;
	json: unknown;
	/** The service's own sentence. */
	error: string | undefined;
	date: string | null;
}

/** An answer, or why there is none. */
async function get(base: string, target: string, key?: string): Promise<Got | string> {
	try {
		const response = await fetch(base + target, {
			headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
			signal: AbortSignal.timeout(ANSWER_MS),
		});
		const text = await response.text();
		let json: unknown;
		try {
			json = JSON.parse(text);
		} catch {
			json = undefined;
		}
		const { error } = (json ?? {}) as { error?: unknown };
		return {
			status: response.status,
			json,
			error: typeof error === "string" ? error : undefined,
			date: response.headers.get("date"),
		};
	} catch (error) {
		const { cause, message } = error as Error;
		return cause instanceof Error && cause.message !== "" ? cause.message : message;
	}
}
