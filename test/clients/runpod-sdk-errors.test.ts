/**
 * RunPod's JavaScript SDK from npm, unmodified, at both bases: options of a submission, and what its
 * errors contain (protocol A.4, A.10; D2, D3).
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { KEY } from "../support/service.ts";
import { bench, type Bench } from "../support/sdk-worker-bench.ts";
import type { SdkProtocol } from "../support/sdk-protocol.ts";
import { all, arrivals } from "./arrivals.ts";

// It keeps console.log when it is loaded, and prints each state it polls.
const { log } = console;
console.log = () => {};
const { default: runpodSdk } = await import("runpod-sdk");
console.log = log;

type Endpoint = NonNullable<ReturnType<ReturnType<typeof runpodSdk>["endpoint"]>>;

let b: Bench;
let worker: SdkProtocol;
let seen: ReturnType<typeof arrivals>;
beforeAll(async () => {
	b = await bench();
});
beforeEach(async () => {
	await b.fresh();
	worker = await b.worker();
	seen = arrivals(b.ep);
});
afterEach(() => seen.stop());
afterAll(() => b?.end());

const INPUT = { input: { p: 1 } };

describe.each(["/v2", "/sdk/v2"])("at %s", (prefix) => {
	/** The endpoint as the SDK gives it. */
	function sdk(q: { key?: string; endpoint?: string } = {}): Endpoint {
		return runpodSdk(q.key ?? KEY, { baseUrl: b.url + prefix }).endpoint(q.endpoint ?? b.ep)!;
	}

	/** Submits and hands out a job. */
	async function running(): Promise<string> {
		const { id } = await sdk().run(INPUT);
		await b.takes(worker, id);
		return id;
	}

	describe("webhook, policy, s3Config", () => {
		it("spec 2.3, D22: they are taken, and s3Config reaches the worker and no answer", async () => {
			const s3Config = {
				accessId: "id",
				accessSecret: "not to be seen",
				bucketName: "b",
				endpointUrl: "https://s3.example.com",
				objectPath: "a/b",
			};
			const { id } = await sdk().run({
				...INPUT,
				s3Config,
				webhook: "https://example.com/hook",
				webhookV2: "https://example.com/2",
				policy: { executionTimeout: 6000, ttl: 10_000, lowPriority: true },
			});
			expect(JSON.parse((await worker.take()).text)).toMatchObject({
				id,
				input: INPUT.input,
				s3Config,
			});
			await worker.done(id, { output: 1 });
			expect(JSON.stringify(await sdk().status(id))).not.toContain("not to be seen");
		});

		it("D15: policy.ttl ends the wait in the queue", async () => {
			const { id } = await sdk().run({ ...INPUT, policy: { ttl: 10_000 } });
			await b.clock.advance(10_000);
			expect(await sdk().status(id)).toMatchObject({
				status: "TIMED_OUT",
				error: expect.any(String),
				completed: true,
				succeeded: false,
			});
		});

		it("D15: policy.executionTimeout ends the run", async () => {
			const { id } = await sdk().run({ ...INPUT, policy: { executionTimeout: 6000 } });
			await b.takes(worker, id);
			await b.clock.advance(6000);
			expect(await sdk().statusSync(id)).toMatchObject({
				status: "TIMED_OUT",
				executionTime: 6000,
				completed: true,
				succeeded: false,
			});
		});

		it.each<[string, object]>([
			["webhook", { webhook: "" }],
			["webhook", { webhook: "ftp://example.com" }],
			["policy.executionTimeout", { policy: { executionTimeout: 3000 } }],
			["policy.ttl", { policy: { ttl: 9999 } }],
		])("spec 2.3, 2.4: a bad %s is 400 and named: %j", async (field, beside) => {
			await expect(sdk().run({ ...INPUT, ...beside })).rejects.toMatchObject({
				response: { status: 400, data: { error: expect.any(String), details: [{ field }] } },
			});
		});
	});

	describe("errors: .response.status and .response.data", () => {
		/** Every call is refused with this. */
		async function refused(calls: Promise<unknown>[], status: number, code: string): Promise<void> {
			const wanted = {
				reason: {
					message: `Request failed with status code ${status}`,
					response: { status, data: { error: expect.stringMatching(/\.$/), code } },
				},
			};
			for (const result of await Promise.allSettled(calls)) expect(result).toMatchObject(wanted);
		}

		const ofJob = (endpoint: Endpoint, id: string): Promise<unknown>[] => [
			endpoint.status(id),
			endpoint.statusSync(id),
			endpoint.cancel(id),
			all(endpoint.stream(id)),
		];
		const others = (endpoint: Endpoint): Promise<unknown>[] => [
			endpoint.run(INPUT),
			endpoint.runSync(INPUT),
			endpoint.health(),
			endpoint.purgeQueue(),
		];

		it("spec 5, 7: a wrong key is 401", async () => {
			const endpoint = sdk({ key: "wrong" });
			await refused([...others(endpoint), ...ofJob(endpoint, "0")], 401, "unauthorized");
		});

		it("spec 5, 7: an unknown endpoint is 404", async () => {
			const endpoint = sdk({ endpoint: "none" });
			await refused([...others(endpoint), ...ofJob(endpoint, "0")], 404, "endpoint_not_found");
		});

		it("D3: an unknown job, and one that has expired, is 404", async () => {
			await refused(ofJob(sdk(), "none"), 404, "job_not_found");
			const id = await running();
			await worker.done(id, { output: 1 });
			await b.clock.advance(30 * 60_000);
			await refused(ofJob(sdk(), id), 404, "job_not_found");
		});

		it("spec 7: an input that is no object is 400", async () => {
			await refused([sdk().run({ input: [1] }), sdk().runSync({ input: undefined })], 400, "bad_request");
		});

		it("D23: a full queue is 429", async () => {
			await b.fresh({ limits: { queue: 0 } });
			await sdk().run(INPUT);
			await refused([sdk().run(INPUT), sdk().runSync(INPUT)], 429, "queue_full");
		});
	});
});
