import { afterEach, describe, expect, it } from "vitest";
import { rawJson } from "../raw-json.ts";
import {
	scriptedService,
	type ScriptedService,
	type Seen,
} from "../../../../test/support/worker-kit/scripted-service.ts";
import { startWorker } from "../../../../test/support/worker-kit/run-worker.ts";
import type { StartOptions } from "../types.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const COUNT = 5;
const jobs = Array.from({ length: COUNT }, (_, n) => ({ id: `job-${n}`, input: { n } }));
const idsIn = ({ body }: Seen): string[] => body.split("\n").map((line) => (JSON.parse(line) as { id: string }).id);

/**
 * A worker that runs all jobs at once, of a service that says it takes `batchSize` results in one
 * post; `answer` is for such posts.
 */
async function working({
	batchSize = 128,
	answer,
	handler = (job) => job.id,
}: {
	batchSize?: number;
	answer?: (seen: Seen) => [status: number, text: string];
	handler?: (job: { id: string; input: unknown }) => unknown;
}): Promise<{ service: ScriptedService; allReported: () => Promise<void> }> {
	const service = await scriptedService();
	service.script = (seen, response) => {
		if (seen.route === "job-take-batch" && batchSize > 0) response.setHeader("Sluice-Job-Done-Batch", batchSize);
		if (seen.route !== "job-done-batch") return false;
		const [status, text] = answer?.(seen) ?? [200, JSON.stringify(seen.body.split("\n").map(() => 200))];
		response.writeHead(status, { "content-type": "application/json" }).end(text);
		return true;
	};
	service.give(...jobs);
	// All end in one turn of the event loop, however slowly they were started.
	const started = Promise.withResolvers<void>();
	let count = 0;
	const together: StartOptions["handler"] = async (job) => {
		count += 1;
		if (count === COUNT) started.resolve();
		await started.promise;
		return handler(job);
	};
	const worker = startWorker(service, { handler: together, concurrency: 10 });
	cleanups.push(() => worker.stop().then(() => service.down()));
	const allReported = async (): Promise<void> => {
		await service.until(({ route }) => route.startsWith("job-done"));
		// It ends when all that it holds is acknowledged.
		await worker.stop();
	};
	return { service, allReported };
}

describe("results of several jobs", () => {
	it("go together where the service takes them so, a line each", async () => {
		const { service, allReported } = await working({});
		await allReported();
		expect(service.of("job-done-batch").map(({ ids, query, body }) => ({ ids, query, body }))).toEqual([
			{
				ids: ["w-1"],
				query: { gpu: "none" },
				body: jobs.map(({ id }) => `{"id":"${id}","output":"${id}"}`).join("\n"),
			},
		]);
		expect(service.results()).toEqual([]);
	});

	it("go alone elsewhere, as RunPod's own service has it", async () => {
		const { service, allReported } = await working({ batchSize: 0 });
		await allReported();
		expect(service.of("job-done-batch")).toEqual([]);
		expect(service.results()).toHaveLength(COUNT);
	});

	it("no more of them than the service takes", async () => {
		const { service, allReported } = await working({ batchSize: 2 });
		await allReported();
		expect(service.of("job-done-batch").map((seen) => idsIn(seen).length)).toEqual([2, 2]);
		expect(service.results()).toHaveLength(1);
	});

	it("those that are long or have line breaks go alone", async () => {
		const outputs = ["short", rawJson('{\n"a": 1}'), "x".repeat(20_000), "short", "short"];
		const { service, allReported } = await working({
			handler: ({ input }) => outputs[(input as { n: number }).n],
		});
		await allReported();
		expect(service.of("job-done-batch").flatMap(idsIn)).toEqual(["job-0", "job-3", "job-4"]);
		expect(service.of("job-done").flatMap(({ ids }) => ids[1])).toEqual(["job-1", "job-2"]);
	});

	it.each<[what: string, result: unknown, rest: object]>([
		["nothing", undefined, {}],
		["an object without members", {}, {}],
		["an empty error", { error: "" }, {}],
		["a sign that it wants a new process", { refresh_worker: true }, { stopPod: true }],
	])("that say %s are lines like others", async (_, result, rest) => {
		const { service, allReported } = await working({ handler: () => result });
		await allReported();
		const lines = service
			.of("job-done-batch")
			.flatMap(({ body }) => body.split("\n").map((line) => JSON.parse(line) as unknown));
		expect(lines).toEqual(jobs.map(({ id }) => ({ id, ...rest })));
	});

	it("a line that is refused for good is posted alone before it is given up", async () => {
		const { service, allReported } = await working({
			answer: ({ body }) => [200, JSON.stringify(body.split("\n").map((_, at) => (at === 1 ? 400 : 200)))],
		});
		await allReported();
		expect(service.of("job-done").map(({ ids, body }) => [ids[1], body])).toEqual([["job-1", '{"output":"job-1"}']]);
	});

	it("those that were refused for the moment are repeated, the others are not", async () => {
		let posts = 0;
		const { service, allReported } = await working({
			answer: ({ body }) => [
				200,
				JSON.stringify(body.split("\n").map((_, at) => ((posts += 1) <= COUNT && at % 2 === 1 ? 503 : 200))),
			],
		});
		await allReported();
		const repeated = [
			...service.of("job-done-batch").slice(1).flatMap(idsIn),
			...service.of("job-done").flatMap(({ ids }) => ids[1]!),
		];
		expect(repeated.toSorted()).toEqual(["job-1", "job-3"]);
	});

	it.each([
		["fails", 500, "{}"],
		["is unavailable", 503, "{}"],
	])("are all repeated when the post %s", async (_, status, text) => {
		let failed = false;
		const { service, allReported } = await working({
			answer: ({ body }) =>
				failed ? [200, JSON.stringify(body.split("\n").map(() => 200))] : ((failed = true), [status, text]),
		});
		await allReported();
		const repeated = [
			...service.of("job-done-batch").slice(1).flatMap(idsIn),
			...service.of("job-done").flatMap(({ ids }) => ids[1]!),
		];
		expect(repeated.toSorted()).toEqual(jobs.map(({ id }) => id));
	});

	it.each([
		["is not known", 404, "{}"],
		["is answered with something else", 200, "{}"],
		["is answered for fewer", 200, "[200]"],
		["is answered with no JSON", 200, "<html>"],
	])("go alone from then on when the post %s", async (_, status, text) => {
		const { service, allReported } = await working({ answer: () => [status, text] });
		await service.until(({ route }) => route === "job-done", COUNT);
		service.give(...jobs.map(({ id, input }) => ({ id: `again-${id}`, input })));
		await service.until(({ route }) => route === "job-done", 2 * COUNT);
		await allReported();
		expect(service.of("job-done-batch")).toHaveLength(1);
		expect(
			service
				.of("job-done")
				.map(({ ids }) => ids[1]!)
				.toSorted(),
		).toEqual([...jobs.map(({ id }) => `again-${id}`), ...jobs.map(({ id }) => id)]);
	});
});
