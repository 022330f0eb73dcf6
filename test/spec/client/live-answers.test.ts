/**
 * What RunPod's service was seen to answer, beside what this one answers: no member is missing. Further members are
 * allowed, since every client ignores those that it does not know.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";
import { endpointsByName, handWorker, submitted } from "../hand-worker.ts";

const unused = endpointsByName(20, { limits: "off" });
let service: TestService;
let ep: string;
beforeAll(async () => void (service = await startService({ endpoints: unused.settings })));
beforeEach(() => void (ep = unused.next()));
afterAll(() => service.end());

const post = { method: "POST" };
const submit = (): Promise<string> => submitted(service, ep);
const answerOf = async (path: string, init: Parameters<typeof call>[2] = {}): Promise<any> => {
	const { status, json, text } = await call(service.url, path.replace("{ep}", ep), init);
	expect(status, text).toBe(200);
	return json;
};

/** A job that a worker ended with what it posted. */
async function over(posted: object): Promise<string> {
	const worker = await handWorker(service, ep);
	const id = await submit();
	await worker.takeThis(id);
	await worker.done(id, posted);
	return id;
}

/** `members`: as RunPod sends them; `more`: only here. */
const TABLE: Record<string, { members: string[]; more?: string[]; answer: () => Promise<any> }> = {
	"/run": {
		members: ["id", "status"],
		answer: () => answerOf("/v2/{ep}/run", { body: { input: {} } }),
	},
	"/status of a waiting job": {
		members: ["delayTime", "id", "status"],
		more: ["executionTime"],
		answer: async () => answerOf(`/v2/{ep}/status/${await submit()}`),
	},
	"/status of a completed job": {
		members: ["delayTime", "executionTime", "id", "output", "status", "workerId"],
		answer: async () => answerOf(`/v2/{ep}/status/${await over({ output: 1 })}`),
	},
	"/status of a job that failed at its second run": {
		members: ["delayTime", "error", "executionTime", "id", "retries", "status", "workerId"],
		async answer() {
			const id = await over({ error: "first" });
			await answerOf(`/v2/{ep}/retry/${id}`, post);
			const worker = await handWorker(service, ep);
			await worker.takeThis(id);
			await worker.done(id, { error: "second" });
			return answerOf(`/v2/{ep}/status/${id}`);
		},
	},
	"/stream of the SDKs": {
		members: ["status", "stream"],
		answer: async () => answerOf(`/sdk/v2/{ep}/stream/${await over({ output: 1 })}`),
	},
	"/cancel": { members: ["id", "status"], answer: async () => answerOf(`/v2/{ep}/cancel/${await submit()}`, post) },
	"/purge-queue": { members: ["removed", "status"], answer: () => answerOf("/v2/{ep}/purge-queue", post) },
	"/health, workers": {
		members: ["idle", "initializing", "ready", "running", "throttled", "unhealthy"],
		answer: async () => (await answerOf("/v2/{ep}/health")).workers,
	},
	"/health, jobs": {
		members: ["completed", "failed", "inProgress", "inQueue", "retried"],
		answer: async () => (await answerOf("/v2/{ep}/health")).jobs,
	},
};

describe("members of RunPod's answers", () => {
	it.each(Object.entries(TABLE))("spec 4, 6: %s has all of them", async (_, { members, more = [], answer }) => {
		expect(Object.keys(await answer()).toSorted()).toEqual([...members, ...more].toSorted());
	});
});
