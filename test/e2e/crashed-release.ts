/** A release whose workers crash or whose jobs fail, under load: it is undone without a human, no job is lost (D50). */
import { expect } from "vitest";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { ended, run, type Site } from "./site.ts";

type Service = { url: string };

/** Settings of the endpoint: there is room for a worker of the new version beside the old one. */
export const RELEASED = { workersMin: 1, workersMax: 2 };

/** Settings of an endpoint whose new version gets half of the jobs until they are compared. */
export const COMPARED = {
	workersMin: 2,
	workersMax: 2,
	release: { canary: { percent: 50, minJobs: 20, maxSlowdown: 0 } },
};

/** A command of a worker that crashes, in a shell. */
export const CRASHES = ["/bin/sh", "-c", "echo no such model >&2; exit 3"];

/** Submits jobs one after the other until the returned function is called, which answers their ids. */
export function submitting(service: () => Service, endpoint: string): () => Promise<string[]> {
	let over = false;
	const ids: string[] = [];
	const done = (async () => {
		for (let n = 0; !over; n += 1) {
			const answer = await call(service().url, `/v2/${endpoint}/run`, { body: { input: { n, ms: 50 } } }).catch(
				() => undefined,
			);
			if (answer?.status !== 200) continue;
			ids.push(answer.json.id as string);
			// At the pace of the workers.
			await ended(service(), endpoint, ids.at(-1)!).catch(() => undefined);
		}
	})();
	return async () => {
		over = true;
		await done;
		return ids;
	};
}

/** Every second job of the new version fails. */
export async function canaryRelease(
	place: Site,
	{ service, endpoint }: { service: Service; endpoint: string },
): Promise<void> {
	const asked = async (path: string, q: object = {}): Promise<any> => {
		const { status, json, text } = await call(service.url, `/v1/endpoints/${endpoint}${path}`, q);
		expect(status, text).toBe(200);
		return json;
	};
	await ended(service, endpoint, await run(service, endpoint, {}), 40_000);
	await until("version 1 to be healthy", async () => (await asked("/releases")).releases[0].state === "healthy");
	const stop = submitting(() => service, endpoint);
	const began = performance.now();
	await asked("", { method: "PATCH", body: { env: { FAIL_EACH: "2" } } });
	const [undone] = await until(
		"the rollback",
		async () => {
			const { releases } = await asked("/releases");
			return releases[0].source === "rollback" && releases;
		},
		60_000,
	);
	console.log(`${endpoint}: undone ${Math.round(performance.now() - began)} ms after the change`);
	expect(undone.reason).toMatch(/^Version 2 was rolled back to version 1: its jobs were worse: \d+ of \d+ jobs failed/);
	const ids = await stop();
	for (const id of ids) {
		const { status } = await ended(service, endpoint, id);
		const { release } = await asked(`/jobs/${id}`);
		expect(release === 2 ? ["COMPLETED", "FAILED"] : ["COMPLETED"]).toContain(status);
		expect([1, 2, 3]).toContain(release);
		expect(place.runs(id), id).toHaveLength(1);
	}
}

/** `launcher`: a merge patch with which workers crash. */
export async function crashedRelease(
	place: Site,
	{ service, endpoint, launcher }: { service: Service; endpoint: string; launcher: object },
): Promise<void> {
	const asked = async (path: string, q: object = {}): Promise<any> => {
		const { status, json, text } = await call(service.url, `/v1/endpoints/${endpoint}${path}`, q);
		expect(status, text).toBe(200);
		return json;
	};
	const releases = async (): Promise<any[]> => (await asked("/releases")).releases;
	const { workerId: first } = await ended(service, endpoint, await run(service, endpoint, {}), 40_000);
	await until("version 1 to be healthy", async () => (await releases())[0].state === "healthy");
	const stop = submitting(() => service, endpoint);
	const began = performance.now();
	await asked("", { method: "PATCH", body: { launcher } });
	await until("the rollback", async () => (await releases())[0].source === "rollback", 40_000);
	console.log(`${endpoint}: undone ${Math.round(performance.now() - began)} ms after the change`);
	const ids = [...(await stop()), await run(service, endpoint, {})];
	for (const id of ids) {
		expect(await ended(service, endpoint, id)).toMatchObject({ status: "COMPLETED", workerId: first });
		expect(place.runs(id)).toHaveLength(1);
		expect([1, 3]).toContain((await asked(`/jobs/${id}`)).release);
	}
	expect(ids.length).toBeGreaterThan(5);
	const [undone, failed, ...rest] = await releases();
	expect([undone, failed, ...rest].map(({ version, state }) => [version, state])).toEqual([
		[3, "healthy"],
		[2, "failed"],
		[1, "healthy"],
	]);
	expect(undone.reason).toMatch(/^Version 2 was rolled back to version 1: its workers crashed 3 times/);
	expect(failed).toMatchObject({ failures: 3, jobs: { completed: 0, failed: 0 } });
}
