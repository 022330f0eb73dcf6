/** Reads at the end, or after a fault: what became of a job, and the counts of an endpoint. */
import { type Api, seenOf } from "./api.ts";
import { isEnd } from "./checker/job-history.ts";
import type { Time } from "./time.ts";
import type { Tracked, Tracker } from "./tracker.ts";

/** Longest wait for a webhook after the end of its job, ms. */
const WEBHOOK_MS = 60_000;

/** Whether deliveries of its webhook may still arrive. */
export function waitsFor({ endedAt, deliveries, expected }: Tracked, now: () => number): boolean {
	return deliveries.size < expected && now() - (endedAt ?? 0) < WEBHOOK_MS;
}

/** Reads a job until there is an answer. */
export async function auditJob(q: {
	api: Api;
	time: Time;
	tracker: Tracker;
	job: Tracked;
}): Promise<"ended" | "open" | "missing"> {
	const { api, time, tracker, job } = q;
	for (let turn = 0; ; turn += 1) {
		const url = `${api.url(turn)}/v2/${job.endpoint}/status/${job.id}`;
		const { result, from, to, status, json } = await api.call(url);
		const seen = result === "ok" ? seenOf(json) : undefined;
		const shown = status === 404 ? { missing: true as const } : seen ? { seen } : {};
		const op = { op: "read", by: "audit", job: job.id, how: "status" } as const;
		tracker.record({ ...op, ...shown, result, from, to });
		if (status === 404) return "missing";
		if (seen && isEnd(seen)) {
			job.endedAt ??= to;
			return "ended";
		}
		if (result === "ok") {
			delete job.endedAt;
			job.met = to;
			return "open";
		}
		await time.sleep(50);
	}
}

/** Cancels a job that runs until it is cancelled, and whose id no client has. */
export async function cancelJob({ api, tracker, job }: { api: Api; tracker: Tracker; job: Tracked }): Promise<void> {
	const { result, from, to, status, json } = await api.call(`${api.url(0)}/v2/${job.endpoint}/cancel/${job.id}`, {
		method: "POST",
	});
	// No server listened: nothing was refused.
	if (result === "fail" && status === undefined) return;
	const missing = status === 404 ? { missing: true as const } : {};
	const state = result === "ok" ? { state: json.status } : {};
	tracker.record({ op: "cancel", by: "audit", job: job.id, ...missing, ...state, result, from, to });
}

/** Whether jobs wait or run, also such as no client knows, since the submission and the take of it had no answer. */
export async function holdsJobs(api: Api, endpoints: readonly string[]): Promise<boolean> {
	for (const endpoint of endpoints) {
		const { json } = await api.call(`${api.url(0)}/v2/${endpoint}/health`);
		if (!json?.jobs || json.jobs.inQueue + json.jobs.inProgress > 0) return true;
	}
	return false;
}

/** When nothing happens at the endpoint any more. */
export async function readHealth(api: Api, tracker: Tracker, endpoint: string): Promise<void> {
	const { result, from, to, json } = await api.call(`${api.url(0)}/v2/${endpoint}/health`);
	const jobs = json?.jobs;
	tracker.record({ op: "health", by: "audit", endpoint, idle: true, jobs, result, from, to });
}
