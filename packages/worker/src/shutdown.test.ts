import { type AddressInfo, createServer } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "./clock.ts";
import { openPoll } from "./polling/poll.ts";
import { startProcess } from "../../../test/support/worker-kit/process-worker.ts";
import { startWorker } from "../../../test/support/worker-kit/run-worker.ts";
import { scriptedService } from "../../../test/support/worker-kit/scripted-service.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function service() {
	const started = await scriptedService();
	cleanups.push(() => started.down());
	return started;
}

describe("B.8: graceful stop", () => {
	it("takes no more jobs, finishes and reports those held, then resolves", async () => {
		let finish = () => {};
		const finished = new Promise<void>((resolve) => (finish = resolve));
		const scripted = await service();
		const worker = startWorker(scripted, {
			handler: () => finished.then(() => "done"),
			concurrency: 2,
		});
		scripted.give({ id: "a", input: 1 });
		await scripted.until((one) => one.route === "job-take");
		const stopped = worker.stop();
		await vi.waitFor(() => expect(scripted.openTakes()).toBe(0), 20_000);
		scripted.give({ id: "too-late", input: 1 });
		await scripted.until((one) => one.query.job_id === "a");
		finish();
		await stopped;
		expect(scripted.results()).toEqual(['{"output":"done"}']);
		expect(scripted.queue).toHaveLength(1);
	});

	it("ends at once when idle", async () => {
		const scripted = await service();
		const worker = startWorker(scripted, { handler: () => 1 });
		await scripted.until((one) => one.route === "job-take");
		await worker.stop();
		expect(scripted.of("job-take")).toHaveLength(1);
	});

	it("runs a job whose answer crosses the goodbye", async () => {
		const scripted = await service();
		scripted.script = (seen, response) => {
			if (seen.route !== "job-take") return false;
			stop = worker.stop();
			response.writeHead(200, { "content-type": "application/json" }).end('{"id":"a","input":1}');
			return true;
		};
		let stop: Promise<void> | undefined;
		const worker = startWorker(scripted, { handler: () => "ran" });
		await scripted.until((one) => one.route === "job-done");
		await stop;
		expect(scripted.results()).toEqual(['{"output":"ran"}']);
	});

	it("SIGTERM: the process reports and exits with 0", async () => {
		const scripted = await service();
		const child = startProcess(
			scripted.env(),
			"async (job, { log }) => { log('begun'); await new Promise((r) => setTimeout(r, 400)); return 'done'; }",
		);
		cleanups.push(() => child.kill());
		scripted.give({ id: "a", input: 1 });
		await child.printed("begun");
		child.signal("SIGTERM");
		expect(await child.exit).toEqual({ code: 0, signal: null });
		expect(scripted.results()).toEqual(['{"output":"done"}']);
	});

	it("a second SIGTERM aborts the handlers and reports nothing", async () => {
		const scripted = await service();
		const child = startProcess(
			scripted.env(),
			"(job, { signal, log }) => new Promise((_, no) => { signal.addEventListener('abort', " +
				"() => no(signal.reason)); setTimeout(() => 0, 60000).unref(); log('begun'); })",
		);
		cleanups.push(() => child.kill());
		scripted.give({ id: "a", input: 1 });
		await child.printed("begun");
		child.signal("SIGTERM");
		await child.printed("no more jobs");
		child.signal("SIGTERM");
		expect(await child.exit).toEqual({ code: 0, signal: null });
		expect(scripted.results()).toEqual([]);
	});
});

describe("B.3: poll", () => {
	const options = (origin: string) => ({
		origin,
		headers: ["authorization", "k"],
		timeoutMs: 200,
		clock: systemClock,
	});

	it("is cut when no answer comes, and can be asked again", async () => {
		const scripted = await service();
		const poll = openPoll(options(new URL(scripted.env().RUNPOD_WEBHOOK_PING!).origin));
		expect(await poll.get("/worker/ep/job-take/w")).toEqual({ kind: "cut" });
		const again = poll.get("/worker/ep/job-take/w");
		await scripted.until((one) => one.route === "job-take", 2);
		scripted.release();
		expect(await again).toMatchObject({ kind: "answer", status: 204 });
		await poll.hangUp(0);
	});

	it("hangs up in one direction first, so that an answer in flight still arrives", async () => {
		const events: string[] = [];
		const server = createServer({ allowHalfOpen: true }, (socket) => {
			socket.on("data", () => events.push("request"));
			socket.on("end", () => {
				events.push("goodbye");
				socket.end("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
			});
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		cleanups.push(() => void server.close());
		const poll = openPoll({
			...options(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
			timeoutMs: 5000,
		});
		const answer = poll.get("/");
		await vi.waitFor(() => expect(events).toEqual(["request"]), 20_000);
		await poll.hangUp(5000);
		expect(await answer).toMatchObject({ kind: "answer", status: 200, text: "{}" });
		expect(events).toEqual(["request", "goodbye"]);
	});
});
