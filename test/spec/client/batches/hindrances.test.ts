/** What stands in the way of a batch (D57): bounds, missing bytes, other batches, stops. It ends, and loses nothing. */
import type { OpenAI } from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { ApiError } from "../../../../src/kernel/core/errors.ts";
import { ERRORS } from "../../../../src/modules/files/errors.ts";
import type { Progress } from "../../../../src/modules/openai-async/progress.ts";
import { advanceUntil, manualClock, type ManualClock } from "../../../support/manual-clock.ts";
import { call, folder, type Folder, startService, type TestService } from "../../../support/service.ts";
import { endWith, handWorker, type HandWorker } from "../../hand-worker.ts";
import { clientOf } from "../files/files-client.ts";
import { created, line, REQUEST, results, uploaded } from "./batch-client.ts";

const MINUTE = 60_000;
const WIDE = { ep: { limits: { queue: 1000 } } };

let clock: ManualClock;
let place: Folder;
let service: TestService;
let client: OpenAI;
let worker: HandWorker;

async function begin(q: { endpoints?: Record<string, object>; files?: object; again?: boolean } = {}): Promise<void> {
	if (!q.again) {
		clock = manualClock();
		place = folder();
	}
	const { endpoints = WIDE, files } = q;
	const settings = files && { settings: { files } };
	service = await startService({ endpoints, ...settings, clock, in: place, pauseMs: Infinity });
	client = clientOf(service, "ep");
	worker = await handWorker(service, "ep");
}
afterEach(async () => {
	await endWith(service, clock);
	place.remove();
});

const lines = (count: number, body: object = {}): string[] =>
	Array.from({ length: count }, (_, n) => line(`id-${n}`, body));

async function rowOf(id: string): Promise<{ version: number; isOpen: boolean } & Progress> {
	const row = (await service.engine.kernel.store.batches.find({ endpoint: "ep", id }))!;
	return { ...(JSON.parse(row.progress) as Progress), version: row.version, isOpen: row.isOpen };
}

const waiting = async (): Promise<number> => (await call(service.url, "/v2/ep/health")).json.jobs.inQueue;
const queued = (count: number): Promise<void> => advanceUntil(clock, async () => (await waiting()) === count, 100);

/** Takes so many jobs, as they come, and posts this output for each. */
async function answer(count: number, output: object): Promise<void> {
	for (let done = 0; done < count; done += 1) {
		await advanceUntil(clock, async () => (await waiting()) > 0, 1000);
		const job = (await worker.take())!;
		await worker.done(job.id, { output: [output] });
	}
}

async function pass(minutes: number): Promise<void> {
	for (let minute = 0; minute < minutes; minute += 1) await clock.advance(MINUTE);
}

const OPEN: readonly string[] = ["validating", "in_progress", "finalizing", "cancelling"];

/** Lets time pass until the batch has ended. */
async function ended(id: string): Promise<OpenAI.Batch> {
	const found = (): Promise<OpenAI.Batch> => client.batches.retrieve(id);
	await advanceUntil(clock, async () => !OPEN.includes((await found()).status), 1000);
	return await found();
}

describe("bounds", () => {
	it("D43, D57: results that wait for their file make room when limits.storedMb is reached", async () => {
		await begin({ endpoints: { ep: { limits: { storedMb: 2, queue: 1000 } } } });
		const { id } = await created(client, lines(100));
		await answer(100, { text: "x".repeat(60_000) });
		await pass(1);
		expect(await client.batches.retrieve(id)).toMatchObject({
			status: "completed",
			request_counts: { completed: 100 },
		});
	});

	it("D23, D57: a queue of one job is enough", async () => {
		await begin({ endpoints: { ep: { limits: { queue: 1 } } } });
		const { id } = await created(client, lines(2));
		await answer(2, {});
		expect((await ended(id)).status).toBe("completed");
	});

	it("D57: full files stop what is to come, and neither the end of a batch nor others", async () => {
		await begin({ files: { endpointMb: 5 } });
		const { id } = await created(client, lines(250), { completion_window: "1h" });
		await answer(150, { text: "x".repeat(60_000) });
		await pass(2);
		const { waits, output } = await rowOf(id);
		expect([waits, output.length > 0]).toEqual([expect.stringContaining("have reached their bound"), true]);
		expect(service.engine.hooks.wantedWorkers!("ep")).toBe(0);
		await pass(60);
		const batch = await ended(id);
		expect(batch).toMatchObject({ status: "expired", request_counts: { completed: 150, failed: 100 } });
		expect((await results(client, batch.output_file_id)).size).toBe(150);
	});

	it("D57: batches without workers stop none of another endpoint, and each can be cancelled", async () => {
		await begin({ endpoints: { ep: {}, dead: {} } });
		const dead = clientOf(service, "dead");
		const made: string[] = [];
		for (let n = 0; n < 20; n += 1) made.push((await created(dead, lines(1))).id);
		await clock.advance(10_000);
		const { id } = await created(client, lines(1));
		await dead.batches.cancel(made.at(-1)!);
		const begun = async (): Promise<boolean> => (await client.batches.retrieve(id)).status === "in_progress";
		await advanceUntil(clock, begun, 1000);
		const end = async (): Promise<boolean> => (await dead.batches.retrieve(made.at(-1)!)).status === "cancelled";
		await advanceUntil(clock, end, 1000);
	});

	it("D57: one that only waits writes nothing", async () => {
		await begin();
		const { id } = await created(client, lines(1));
		await clock.advance(10_000);
		const { version } = await rowOf(id);
		await pass(10);
		expect((await rowOf(id)).version).toBe(version);
	});
});

describe("files that are missing", () => {
	/** Each of the first two results fills a part; resolves when the last two requests may be answered. */
	async function twoParts(): Promise<{ id: string; parts: string[] }> {
		const { id } = await created(client, lines(4));
		await queued(4);
		const parts = async (): Promise<string[]> => (await rowOf(id)).output.map((part) => part.id);
		for (const count of [1, 2]) {
			await answer(1, { text: "x".repeat(17 * 2 ** 20) });
			await advanceUntil(clock, async () => (await parts()).length === count, 1000);
		}
		return { id, parts: await parts() };
	}
	const LOST = { status: "failed", errors: { data: [{ code: "results_missing" }] } };
	const remove = (part: string): Promise<void> => service.engine.hooks.files!.remove(part);

	/** Of what is read of a file, only the first 10 bytes are left, as when a row of it is missing in PostgreSQL. */
	function endsInMidst(id: string): void {
		const files = service.engine.hooks.files!;
		const { open } = files;
		files.open = async (file, range) => {
			const reader = await open(file, range);
			if (file.id !== id) return reader;
			return {
				close: () => reader.close(),
				async *[Symbol.asyncIterator]() {
					for await (const piece of reader) yield piece.subarray(0, 10);
					throw new ApiError(ERRORS.file_missing, { file: file.id });
				},
			};
		};
	}

	it("D57: a batch whose results have lost bytes fails, says so, and has the others in its file", async () => {
		await begin();
		const { id, parts } = await twoParts();
		await remove(parts[0]!);
		await answer(2, {});
		const batch = await ended(id);
		expect(batch).toMatchObject(LOST);
		expect((await results(client, batch.output_file_id)).size).toBe(3);
	});

	it("D57: a part whose bytes end in its midst is left out, and no line of it is half in the file", async () => {
		await begin();
		const { id, parts } = await twoParts();
		endsInMidst(parts[1]!);
		await answer(2, {});
		const batch = await ended(id);
		expect(batch).toMatchObject(LOST);
		expect((await results(client, batch.output_file_id)).size).toBe(3);
	});

	it("D57: a batch that has lost all of its results fails alike, and has no file", async () => {
		await begin();
		const { id } = await created(client, lines(1));
		await queued(1);
		const files = service.engine.hooks.files!;
		const { write } = files;
		files.write = async (pieces) => {
			const written = await write(pieces);
			await remove(written.id);
			return written;
		};
		await answer(1, {});
		const batch = await ended(id);
		expect(batch).toMatchObject({ ...LOST, output_file_id: null, error_file_id: null });
	});

	it("D57: an input whose bytes end in its midst is missing, before the batch runs and while it runs", async () => {
		await begin();
		const LOST_INPUT = { status: "failed", errors: { data: [{ code: "input_file_missing" }] } };
		const input = await uploaded(client, lines(70));
		endsInMidst(input);
		const { id } = await client.batches.create({ ...REQUEST, input_file_id: input });
		expect(await ended(id)).toMatchObject(LOST_INPUT);
		const running = await created(client, lines(70));
		await queued(64);
		await clock.advance(4000);
		endsInMidst(running.input_file_id);
		await endWith(service, clock);
		await begin({ again: true });
		endsInMidst(running.input_file_id);
		await answer(64, {});
		expect(await ended(running.id)).toMatchObject({ ...LOST_INPUT, request_counts: { total: 70, completed: 64 } });
	});

	it("D57: a batch that has lost its input is cancelled as another", async () => {
		await begin();
		const { id, input_file_id: input } = await created(client, lines(70));
		await queued(64);
		await clock.advance(4000);
		await client.files.delete(input);
		await endWith(service, clock);
		await begin({ again: true });
		await answer(10, {});
		await clock.advance(10_000);
		await client.batches.cancel(id);
		expect((await ended(id)).status).toBe("failed");
		expect(await waiting()).toBe(0);
	});

	it("D14, D57: a repeat under its key is the batch, although the input was deleted", async () => {
		await begin();
		const { input_file_id: input } = await created(client, lines(1));
		const again = () =>
			call(service.url, "/v2/ep/openai/v1/batches", {
				body: { ...REQUEST, input_file_id: input },
				headers: { "idempotency-key": "k" },
			});
		const first = await again();
		await client.files.delete(input);
		expect((await again()).json.id).toBe(first.json.id);
	});
});

describe("stops", () => {
	it("D34, D57: what has ended before a stop is not cancelled after it", async () => {
		await begin();
		const { id } = await created(client, lines(10));
		await queued(10);
		await answer(9, {});
		await client.batches.cancel(id);
		await endWith(service, clock);
		await begin({ again: true });
		expect(await ended(id)).toMatchObject({ request_counts: { total: 10, completed: 9, failed: 1 } });
	});

	it("D34, D57: a stop while results are written forgets no request that runs", async () => {
		await begin();
		const { id } = await created(client, lines(5));
		await queued(5);
		const { files } = service.engine.hooks;
		const { write } = files!;
		const { promise: opened, resolve: open } = Promise.withResolvers<void>();
		const { promise: begun, resolve: writes } = Promise.withResolvers<void>();
		files!.write = async (pieces) => {
			writes();
			await opened;
			return await write(pieces);
		};
		await answer(3, { text: "x".repeat(6_000_000) });
		await begun;
		const stopping = endWith(service, clock);
		await new Promise((resolve) => setImmediate(resolve));
		open();
		await stopping;
		await begin({ again: true });
		const { collected, open: left } = await rowOf(id);
		expect(collected.completed + left.length).toBe(5);
		await answer(2, {});
		const batch = await ended(id);
		expect(batch.request_counts).toMatchObject({ completed: 5 });
		expect((await results(client, batch.output_file_id)).size).toBe(5);
	});
});

it("D57: an error of about 64 KiB is in the file of errors, as it is counted", async () => {
	await begin();
	const { id } = await created(client, lines(2));
	await queued(2);
	for (const size of [65_537, 65_536]) {
		const job = (await worker.take())!;
		const empty = JSON.stringify([{ object: "error", message: "", code: 400 }]).length;
		await worker.done(job.id, { output: [{ object: "error", message: "m".repeat(size - empty), code: 400 }] });
	}
	const batch = await ended(id);
	const { completed, failed } = batch.request_counts!;
	const sizes = [batch.output_file_id, batch.error_file_id].map(async (file) => (await results(client, file)).size);
	expect(await Promise.all(sizes)).toEqual([completed, failed]);
});
