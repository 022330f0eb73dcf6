/** Workers that use the addresses of their variables as they are, or replace only some placeholders (D26, D36). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bench, type Bench, workerEnvOf } from "../../support/sdk-worker-bench.ts";
import { call } from "../../support/service.ts";

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

/** A plain worker: takes, pings and posts to these addresses; only the job id is put into the last one. */
async function worksOnce(env: Record<string, string>, placeholders: (address: string) => string): Promise<any> {
	const id = await b.submit();
	const ask = async (variable: string, query: string, body?: object): ReturnType<typeof call> => {
		const { pathname, search } = new URL(env[variable]!);
		const path = placeholders(pathname).replace(/(?<=\/job-done\/.*)\/[^/]*$/, `/${id}`);
		const headers = { authorization: env["RUNPOD_AI_API_KEY"]! };
		return await call(b.url, `${path}${search}${query}`, { headers, key: null, ...(body && { body }) });
	};
	const taken = await ask("RUNPOD_WEBHOOK_GET_JOB", "&job_in_progress=0");
	expect(taken.json, taken.text).toMatchObject({ id });
	expect((await ask("RUNPOD_WEBHOOK_PING", `&job_id=${id}`)).status).toBe(200);
	expect((await ask("RUNPOD_WEBHOOK_POST_OUTPUT", "&isStream=false", { output: 1 })).status).toBe(200);
	return await b.status(id);
}

/** As they were before the worker's id was in them. */
const asPlaceholders = (worker: string) => (address: string) =>
	address.replace(`/job-take/${worker}`, "/job-take/$ID").replace(`/${worker}`, "/$RUNPOD_POD_ID");

describe("addresses of the variables of one worker", () => {
	it("D36: contain its id, so that a worker may use them as they are", async () => {
		const env = await workerEnvOf(b.url, b.ep);
		const worker = env["RUNPOD_POD_ID"]!;
		expect(await worksOnce(env, (address) => address)).toMatchObject({ status: "COMPLETED", workerId: worker });
	});

	it.each([
		["as they are", (address: string) => address],
		["percent-encoded", (address: string) => address.replaceAll("$", "%24")],
	])(
		"D26: literal $ID and $RUNPOD_POD_ID in place of the worker id, %s, stand for that of the token",
		async (_, as) => {
			const env = await workerEnvOf(b.url, b.ep);
			const worker = env["RUNPOD_POD_ID"]!;
			const ended = await worksOnce(env, (address) => as(asPlaceholders(worker)(address)));
			expect(ended).toMatchObject({ status: "COMPLETED", workerId: worker });
			const { workers } = (await call(b.url, `/v1/endpoints/${b.ep}/workers`)).json;
			expect(workers.map(({ id }: { id: string }) => id)).toEqual([worker]);
		},
	);

	it("D26: of a token for many workers they stand for none: 401 says what to set", async () => {
		const env = await workerEnvOf(b.url, b.ep, { replicas: true });
		const { pathname } = new URL(env["RUNPOD_WEBHOOK_PING"]!);
		const headers = { authorization: env["RUNPOD_AI_API_KEY"]! };
		expect(await call(b.url, pathname, { headers, key: null })).toMatchObject({
			status: 401,
			json: { code: "worker_unauthorized", error: expect.stringContaining("instead of a worker id") },
		});
		expect(await worksOnce(env, (address) => address.replace(/\$(RUNPOD_POD_)?ID/, "many-1"))).toMatchObject({
			status: "COMPLETED",
			workerId: "many-1",
		});
	});
});
