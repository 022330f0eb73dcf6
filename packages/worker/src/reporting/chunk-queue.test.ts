/** Chunks of a generator, with a service that takes several in one post. */
import type { ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { scriptedService, type Seen } from "../../../../test/support/worker-kit/scripted-service.ts";
import { MOST_WAITING } from "./chunk-queue.ts";
import { startWorker } from "../../../../test/support/worker-kit/run-worker.ts";

interface Post {
	seen: Seen;
	answer: (status?: number) => void;
}

const outputsOf = ({ body }: Seen): unknown[] =>
	body.split("\n").map((line) => (JSON.parse(line) as { output: unknown }).output);

/** A worker that streams `items`, of a service whose answers to chunks are given by hand. */
async function streaming(items: Iterable<unknown> | (() => Generator<unknown>)) {
	const service = await scriptedService();
	const posts: Post[] = [];
	let made = 0;
	let wake = (): void => {};
	service.script = (seen, response: ServerResponse) => {
		if (seen.route === "job-take") response.setHeader("Sluice-Job-Stream-Batch", 128);
		if (!seen.route.startsWith("job-stream")) return false;
		posts.push({ seen, answer: (status = 200) => void response.writeHead(status).end("{}") });
		wake();
		return true;
	};
	const worker = startWorker(service, {
		handler: function* () {
			for (const item of typeof items === "function" ? items() : items) {
				made += 1;
				wake();
				yield item;
			}
		},
	});
	onTestFinished(() => worker.stop().then(() => service.down()));
	service.give({ id: "job-1", input: {} });
	const until = async (holds: () => boolean): Promise<void> => {
		while (!holds()) await new Promise<void>((resolve) => (wake = resolve));
	};
	return {
		service,
		made: () => made,
		until,
		/** The next post that is not answered. */
		async post(): Promise<Post> {
			await until(() => posts.length > 0);
			return posts.shift()!;
		},
		ended: () => service.until((one) => one.route === "job-done"),
	};
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

it("D7: chunks that are made during a post share the next one, in order, with the number of the first", async () => {
	const stream = await streaming(numbers(5));
	const first = await stream.post();
	expect([first.seen.route, first.seen.query["chunk"], outputsOf(first.seen)]).toEqual(["job-stream", "0", [0]]);
	await stream.until(() => stream.made() === 5);
	first.answer();
	const second = await stream.post();
	expect([second.seen.route, second.seen.ids, second.seen.query["chunk"]]).toEqual([
		"job-stream-batch",
		["w-1", "job-1"],
		"1",
	]);
	expect(outputsOf(second.seen)).toEqual([1, 2, 3, 4]);
	expect(stream.service.results()).toEqual([]);
	second.answer();
	expect((await stream.ended()).body).toBe('{"output":[]}');
});

it("D7: the generator waits while as many chunks as may wait are on their way", async () => {
	const stream = await streaming(numbers(200));
	const got: unknown[] = [];
	await stream.until(() => stream.made() === MOST_WAITING);
	for (let post = await stream.post(); ; post = await stream.post()) {
		got.push(...outputsOf(post.seen));
		expect(stream.made()).toBeLessThanOrEqual(got.length + MOST_WAITING);
		post.answer();
		if (got.length === 200) break;
	}
	await stream.ended();
	expect(got).toEqual(numbers(200));
});

it("D7: a post that failed is repeated as it was, and those behind it follow", async () => {
	const stream = await streaming(numbers(4));
	(await stream.post()).answer();
	const failed = await stream.post();
	failed.answer(503);
	const again = await stream.post();
	expect([again.seen.route, again.seen.query["chunk"], again.seen.body]).toEqual([
		failed.seen.route,
		failed.seen.query["chunk"],
		failed.seen.body,
	]);
	again.answer();
	const got = [0, ...outputsOf(again.seen)];
	while (got.length < 4) {
		const post = await stream.post();
		got.push(...outputsOf(post.seen));
		post.answer();
	}
	expect(got).toEqual(numbers(4));
	await stream.ended();
});

it("D7: a service that does not know the path gets them one by one from then on", async () => {
	const stream = await streaming(numbers(4));
	const first = await stream.post();
	await stream.until(() => stream.made() === 4);
	first.answer();
	const refused = await stream.post();
	expect(refused.seen.route).toBe("job-stream-batch");
	refused.answer(404);
	for (const number of [1, 2, 3]) {
		const { seen, answer } = await stream.post();
		expect([seen.route, seen.query["chunk"], outputsOf(seen)]).toEqual(["job-stream", String(number), [number]]);
		answer();
	}
	await stream.ended();
	// Takes offer it still.
	stream.service.give({ id: "job-2", input: {} });
	for (let left = 4; left > 0; left -= 1) {
		const { seen, answer } = await stream.post();
		expect([seen.route, seen.ids[1]]).toEqual(["job-stream", "job-2"]);
		answer();
	}
});

it("D7: a long chunk goes alone, in its place; those of a generator that fails come before its error", async () => {
	const stream = await streaming(function* () {
		yield* [0, 1, "x".repeat(20_000), 3];
		throw new Error("broke half way");
	});
	const first = await stream.post();
	await stream.until(() => stream.made() === 4);
	first.answer();
	const got: unknown[] = [];
	for (let left = 3; left > 0; left -= 1) {
		const { seen, answer } = await stream.post();
		got.push(outputsOf(seen).map((output) => String(output).length));
		expect(seen.query["chunk"]).toBe(String(got.length));
		answer();
	}
	expect(got).toEqual([[1], [20_000], [1]]);
	expect((await stream.ended()).body).toContain("broke half way");
});
