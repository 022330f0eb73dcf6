/** The end of a schedule: everything comes to rest, and every job is read. */
import type { Api } from "../torture/api.ts";
import { auditJob, readHealth, waitsFor } from "../torture/audit.ts";
import type { Time } from "../torture/time.ts";
import type { Tracked, Tracker } from "../torture/tracker.ts";

/** Longest simulated time until all is settled, ms. */
export const SETTLE_MS = 400_000;

/** Between two reads of open jobs when nothing is submitted any more, ms. */
const AUDIT_MS = 1000;

/** Reads of an open job after which it is cancelled. */
const TURNS = 20;

interface Settled {
	api: Api;
	time: Time;
	tracker: Tracker;
	endpoints: readonly { id: string; retention: { run: number } }[];
}

/** Until every job has ended and each webhook has arrived; `last`: nothing follows. */
export async function settle(o: Settled, last: boolean): Promise<void> {
	const { api, time, tracker } = o;
	for (const job of tracker.jobs.values()) {
		job.left = true;
		// The wait for its webhooks begins.
		if (job.endedAt !== undefined) job.endedAt = time.now();
	}
	const open = new Set(tracker.jobs.values());
	for (let turn = 1; ; turn += 1) {
		// Their clients have no answer, or are dead: without this nothing cancels what hangs.
		if (turn % TURNS === 0) for (const job of open) await cancel(o, job);
		for (const job of tracker.jobs.values()) if (job.running > 0) open.add(job);
		for (const job of open) {
			const state = await auditJob({ api, time, tracker, job });
			const isCertain = state === "missing" || (state === "ended" && !waitsFor(job, time.now));
			if (isCertain && job.running === 0) open.delete(job);
		}
		if (open.size === 0 && (await isIdle(o))) break;
		await time.sleep(AUDIT_MS);
	}
	if (!last) return;
	for (const job of [...tracker.jobs.values()]) tracker.close(job);
	// Of results that have expired the end may be unknown.
	for (const { id, retention } of o.endpoints) if (retention.run > SETTLE_MS) await readHealth(api, tracker, id);
}

async function cancel({ api, tracker }: Settled, { endpoint, id }: Tracked): Promise<void> {
	const { result, from, to, json } = await api.call(`/v2/${endpoint}/cancel/${id}`, {
		method: "POST",
	});
	const state = result === "ok" ? { state: json.status } : {};
	tracker.record({ op: "cancel", by: "audit", job: id, ...state, result, from, to });
}

/** Nothing waits or runs, also of what no client knows. */
async function isIdle({ api, endpoints }: Settled): Promise<boolean> {
	for (const { id } of endpoints) {
		const { json } = await api.call(`/v2/${id}/health`);
		if (!json?.jobs || json.jobs.inQueue + json.jobs.inProgress > 0) return false;
	}
	return true;
}
