/** Handlers that give their job back (D54), and what they see of its run (D55). */
import { afterEach, describe, expect, it, vi } from "vitest";
import { startWorker, type RunningWorker } from "../../../test/support/worker-kit/run-worker.ts";
import { scriptedService, type ScriptedService } from "../../../test/support/worker-kit/scripted-service.ts";
import { JobReturn } from "./job-return.ts";
import type { Handler, StartOptions } from "./types.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const RETURNS = { "sluice-job-return": "1" };

/** A worker of a service that answers each take with the next of `answers`, and holds later ones. */
async function working(
	options: StartOptions,
	answers: readonly object[],
	headers: Record<string, string> = RETURNS,
): Promise<{ service: ScriptedService; worker: RunningWorker }> {
	const service = await scriptedService();
	cleanups.push(() => service.down());
	const left = [...answers];
	service.script = (seen, response) => {
		const next = seen.route.startsWith("job-take") ? left.shift() : undefined;
		if (!next) return false;
		response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(next));
		return true;
	};
	const worker = startWorker(service, options);
	cleanups.push(() => worker.stop());
	return { service, worker };
}

const posted = async (service: ScriptedService, count = 1): Promise<any> =>
	JSON.parse((await service.until((one) => one.route === "job-done", count)).body);

const gives = (...given: ConstructorParameters<typeof JobReturn>): StartOptions => ({
	handler: () => {
		throw new JobReturn(...given);
	},
});

describe("D54: a handler that throws JobReturn", () => {
	it("gives the job back, with an error for a server that ignores returns", async () => {
		const { service } = await working(gives("no server"), [{ id: "a", input: 1, run: 2, attempt: 3 }]);
		const { error, ...rest } = await posted(service);
		expect(rest).toEqual({ return: { reason: "no server", loss: false, attempt: 3 } });
		expect(JSON.parse(error)).toMatchObject({ error_type: "JobReturn", error_message: "no server" });
	});

	it("gives it back also if the handler has a kit of its own", async () => {
		const copy = "./job-return.ts?another-copy";
		const kit = (await import(copy)) as { JobReturn: typeof JobReturn };
		expect(new kit.JobReturn("x")).not.toBeInstanceOf(JobReturn);
		const handler = (): never => {
			throw new kit.JobReturn("no server", { loss: true });
		};
		const { service } = await working({ handler }, [{ id: "a", input: 1 }]);
		expect(await posted(service)).toMatchObject({ return: { reason: "no server", loss: true } });
	});

	it("does so as a loss, with a reason that the service takes, and asks to be restarted if it is to", async () => {
		const given = gives(`${"x".repeat(499)}\u{1f600}`, { loss: true });
		const { service } = await working({ ...given, refreshWorker: true }, [{ id: "a", input: 1 }]);
		const body = await posted(service);
		expect(body).toMatchObject({ stopPod: true, return: { loss: true } });
		expect(body.return.reason).toBe(`${"x".repeat(499)}\ufffd`);
		expect(body.return).not.toHaveProperty("attempt");
	});

	it("needs no reason", async () => {
		const { service } = await working(gives(""), [{ id: "a", input: 1 }]);
		expect((await posted(service)).return.reason).toBe("The handler gave no reason.");
	});

	it("does so after the chunks of a generator", async () => {
		const handler = async function* () {
			yield "one";
			throw new JobReturn("no more");
		};
		const { service } = await working({ handler }, [{ id: "a", input: 1 }]);
		expect((await posted(service)).return).toMatchObject({ reason: "no more" });
		expect(service.seen.filter(({ method }) => method === "POST").map(({ route }) => route)).toEqual([
			"job-stream",
			"job-done",
		]);
	});

	it("repeats the report until it is answered", async () => {
		const { service } = await working(gives("no server"), [{ id: "a", input: 1, attempt: 1 }]);
		const { script } = service;
		let refusals = 2;
		service.script = (seen, response) => {
			if (seen.route !== "job-done" || (refusals -= 1) < 0) return script(seen, response);
			response.writeHead(503).end("{}");
			return true;
		};
		await posted(service, 3);
		expect(new Set(service.results()).size).toBe(1);
	});

	it("fails the job where the service does not say that it takes returns, and logs that once", async () => {
		const jobs = [
			{ id: "a", input: 1 },
			{ id: "b", input: 1 },
		];
		const { service, worker } = await working(gives("no server"), jobs, {});
		await posted(service, 2);
		for (const text of service.results()) {
			const body = JSON.parse(text);
			expect(Object.keys(body)).toEqual(["error"]);
			expect(JSON.parse(body.error)).toMatchObject({ error_type: "JobReturn", error_message: "no server" });
		}
		expect(worker.lines.filter((line) => line.includes("does not take jobs back"))).toHaveLength(1);
	});
});

describe("D54: a job that is handed out again while its return has no answer", () => {
	const JOB = { id: "a", input: 1 };

	/** The first run returns the job; posts of returns are not answered. */
	async function unanswered(second: object) {
		const attempts: unknown[] = [];
		const handler: Handler = ({ attempt }) => {
			attempts.push(attempt);
			if (attempts.length === 1) throw new JobReturn("no server");
			return "done";
		};
		// Half of the limit may wait for the answers to their reports.
		const made = await working({ handler, concurrency: 4 }, [[{ ...JOB, attempt: 1 }]]);
		const { service, worker } = made;
		const { script } = service;
		let next: object | undefined;
		const answers: (() => void)[] = [];
		service.script = (seen, response) => {
			if (seen.route === "job-take-batch" && next !== undefined) {
				response.writeHead(200, { "content-type": "application/json", ...RETURNS }).end(JSON.stringify([next]));
				next = undefined;
				return true;
			}
			if (seen.route !== "job-done" || !seen.body.includes("return")) return script(seen, response);
			answers.push(() => response.writeHead(200).end("{}"));
			return true;
		};
		await posted(service);
		next = second;
		service.release();
		return { service, worker, attempts, answer: () => answers.forEach((each) => each()) };
	}

	it("runs as the new attempt, and its result is reported", async () => {
		const { service, attempts, answer } = await unanswered({ ...JOB, attempt: 2 });
		const { body } = await service.until((one) => one.route === "job-done" && one.body.includes("output"));
		expect(body).toBe('{"output":"done"}');
		expect(attempts).toEqual([1, 2]);
		answer();
		expect(service.of("job-done")).toHaveLength(2);
	});

	it.each([
		["the same attempt", { ...JOB, attempt: 1 }],
		["an attempt without a number", JOB],
	])("is ignored as a copy: %s", async (_, second) => {
		const { worker, attempts, answer } = await unanswered(second);
		await vi.waitFor(() => expect(worker.lines.some((line) => line.includes("received again"))).toBe(true), 20_000);
		expect(attempts).toEqual([1]);
		answer();
	});
});

describe("D55: the number of the run", () => {
	it("is asked for by takes only, and given to the handler; it is undefined where the service sends none", async () => {
		const runs: unknown[] = [];
		const handler: Handler = ({ run }) => void runs.push(run);
		const { service } = await working({ handler }, [
			{ id: "a", input: 1, run: 2, attempt: 3 },
			{ id: "b", input: 1 },
		]);
		await posted(service, 2);
		expect(runs).toEqual([2, undefined]);
		await service.until((one) => one.route === "job-stop");
		for (const { route, headers } of service.seen)
			expect(headers["sluice-run"], route).toBe(route.startsWith("job-take") ? "1" : undefined);
	});
});
