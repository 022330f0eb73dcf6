/**
 * `sluice jobs` and `sluice workers`: listed, cancelled, retried, purged from the command line
 * (D36).
 */
import { describe, expect, it } from "vitest";
import { call } from "../support/service.ts";
import { managed } from "./managed.ts";
import { ended, run, started } from "./site.ts";
import { until } from "../support/until.ts";

const MISSING = "01a1fe4f-2f83-72da-ba0d-d882e83110e2";

describe("sluice jobs", () => {
	it.concurrent("D36: lists and prints jobs of a worker, and the worker", async (test) => {
		const { ask, stdoutOf, place, service } = await managed(test, () => ({
			words: { launcher: { type: "external" } },
		}));
		expect(await ask("jobs", "list", "words")).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(/no jobs\. Submit one/),
		});
		expect(await stdoutOf("workers", "list", "words")).toMatch(/^No workers\..*sluice worker-env words/);

		const waiting = await run(service, "words", { n: 1 });
		expect(await stdoutOf("jobs", "get", "words", waiting)).toMatch(
			/^Waits +No worker is attached to endpoint 'words'.*\(no_worker\)$/m,
		);
		await place.attach(service, "words");
		const job = await ended(service, "words", waiting);
		const running = await run(service, "words", { until: "allowed" });
		await started(place, running);

		const lines = (await stdoutOf("jobs", "list", "words")).trimEnd().split("\n");
		expect(lines[0]).toMatch(/^ID +STATUS +AGE +WAIT +RUN +WORKER$/);
		expect(lines[1]).toMatch(new RegExp(`^${running} +IN_PROGRESS +[\\d.]+m?s +[\\d.]+m?s +\\S+ +${job.workerId}$`));
		expect(lines[2]).toMatch(new RegExp(`^${waiting} +COMPLETED `));
		expect(lines).toHaveLength(3);
		expect(await stdoutOf("jobs", "list", "words", "--status", "COMPLETED,FAILED", "--worker", job.workerId)).toMatch(
			new RegExp(`^ID.*\n${waiting} .*\n$`),
		);
		expect(await stdoutOf("jobs", "list", "words", "--status", "FAILED")).toBe("No matching jobs.\n");

		const first = await ask("jobs", "list", "words", "--limit", "1");
		const cursor = /--cursor (\S+)\n$/.exec(first.stderr)![1]!;
		expect(first.stdout).toContain(running);
		expect((await ask("jobs", "list", "words", "--limit", "1", "--cursor", cursor)).stdout).toContain(waiting);
		expect(JSON.parse(await stdoutOf("jobs", "list", "words", "--limit", "1", "--json"))).toMatchObject({
			jobs: [{ id: running }],
			next: cursor,
		});

		const text = await stdoutOf("jobs", "get", "words", waiting);
		expect(text).toMatch(
			new RegExp(
				`submitted +The job was submitted\\.\n.* started +Worker ${job.workerId} took the ` +
					`job \\(attempt 1\\)\\.\n.* completed +Worker ${job.workerId} reported its result`,
			),
		);
		expect(text).toMatch(/^Status +COMPLETED$/m);
		expect(text).toMatch(/^Input\n\{"n":1\}\n/m);
		expect(text).toMatch(/^Output\n\{"n":1,/m);

		expect(await stdoutOf("workers")).toMatch(
			new RegExp(`^ENDPOINT +WORKER +STATE .*\nwords +${job.workerId} +running +external +\\S+ +1\n$`),
		);
		expect(JSON.parse(await stdoutOf("workers", "list", "--json"))).toMatchObject({
			workers: [{ endpoint: "words", id: job.workerId, state: "running", jobs: [running] }],
		});
		place.allow("allowed");
		await ended(service, "words", running);
	});

	it.concurrent("D36: cancels, retries and purges", async (test) => {
		const { ask, stdoutOf, service } = await managed(test, () => ({
			words: { launcher: { type: "external" } },
		}));
		const id = await run(service, "words", {});
		expect(await ask("jobs", "retry", "words", id)).toEqual({
			code: 1,
			stdout: "",
			stderr: `Job '${id}' is IN_QUEUE; only FAILED and TIMED_OUT jobs can be retried.\n`,
		});
		expect(await stdoutOf("jobs", "cancel", "words", id.slice(-8))).toBe(`Job ${id} is CANCELLED.\n`);
		expect(await ask("jobs", "wait", "words", id.slice(-12))).toEqual({
			code: 1,
			stdout: `${id}  CANCELLED\n`,
			stderr: "",
		});
		expect(await ask("jobs", "get", "words", "z".repeat(12))).toMatchObject({
			code: 1,
			stderr: "No recent job has an id that ends with 'zzzzzzzzzzzz'. For an older job pass the whole id.\n",
		});
		expect(await ask("jobs", "cancel", "words", MISSING)).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("There is no job"),
		});

		const { json } = await call(service.url, "/v2/words/run", {
			body: { input: {}, policy: { ttl: 10_000 } },
		});
		await until(
			"the ttl to pass",
			async () => (await call(service.url, `/v2/words/status/${json.id}`)).json.status === "TIMED_OUT",
		);
		expect(await stdoutOf("jobs", "retry", "words", json.id)).toBe(`Job ${json.id} is IN_QUEUE.\n`);
		expect(await stdoutOf("jobs", "get", "words", json.id)).toMatch(
			/submitted .*\n.* retried +The job was queued again/,
		);

		await run(service, "words", {});
		expect(await ask("jobs", "purge", "words")).toMatchObject({
			code: 2,
			stdout: "",
			stderr: expect.stringContaining("--yes"),
		});
		expect(await stdoutOf("jobs", "purge", "words", "--yes")).toBe("Removed 2 queued jobs.\n");
		expect(JSON.parse(await stdoutOf("jobs", "purge", "words", "--yes", "--json"))).toEqual({
			removed: 0,
			status: "completed",
		});
	});

	it.concurrent("D5: payloads are printed as they were sent, but for what could steer the terminal", async (test) => {
		const { stdoutOf, service } = await managed(test, () => ({
			words: { launcher: { type: "external" } },
		}));
		const input = '{"seed": 18446744073709551615, "x": 1.0, "name": "a\u009b31mb", "\\u001b": 1}';
		const { json } = await call(service.url, "/v2/words/run", { text: `{"input": ${input}}` });
		expect(await stdoutOf("jobs", "get", "words", json.id)).toContain(`Input\n${input.replace("\u009b", "?")}\n`);
		expect(await stdoutOf("jobs", "get", "words", json.id, "--json")).toContain(`"input":${input}`);
		const long = await call(service.url, "/v2/words/run", {
			body: { input: { text: "x".repeat(5000) } },
		});
		expect(await stdoutOf("jobs", "get", "words", long.json.id)).toMatch(/x… \(5011 characters; --json prints all\)\n/);
	});
});
