/**
 * Commands on many jobs, and further ways to print them: filters, `--file -`; workers
 * that are stopped (D36).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KEY, call } from "../support/service.ts";
import { sluice } from "./command.ts";
import { managed } from "./managed.ts";
import { ended, run, started } from "./site.ts";
import { until } from "../support/until.ts";

describe("sluice jobs", () => {
	it("D36: cancels and retries by a filter, after a count", async (test) => {
		const { ask, stdoutOf, service } = await managed(test, () => ({
			words: { launcher: { type: "external" } },
		}));
		const ids = [];
		for (let n = 0; n < 3; n += 1) ids.push(await run(service, "words", { n }));
		const cancel = ["jobs", "cancel", "words"];
		expect(await stdoutOf(...cancel, "--status", "IN_PROGRESS")).toBe("No matching jobs.\n");
		expect(await stdoutOf(...cancel, "--all", "--dry-run")).toBe("3 jobs would be changed.\n");
		const search = ["--search", '"n": 2'];
		expect(await stdoutOf(...cancel, ...search, "--dry-run")).toBe("1 job would be changed.\n");
		const listed = await stdoutOf("jobs", "list", "words", ...search);
		expect(ids.map((id) => listed.includes(id))).toEqual([false, false, true]);
		expect(await ask(...cancel, "--all")).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^Cancel 3 jobs of endpoint 'words'\? Pass --yes/),
		});
		expect(await ask(...cancel)).toMatchObject({
			code: 2,
			stderr: "Pass the id of a job, a filter such as --status IN_QUEUE, or --all.\n",
		});
		expect(await ask(...cancel, ids[0]!, "--all")).toMatchObject({ code: 2 });
		expect(await stdoutOf(...cancel, ids[0]!, ids[1]!)).toBe(
			`Job ${ids[0]} is CANCELLED.\nJob ${ids[1]} is CANCELLED.\n`,
		);
		expect(await ask(...cancel, "--status", "IN_QUEUE", "--yes")).toEqual({
			code: 0,
			stdout: "Cancelled: 1 job.\n",
			stderr: "Faster for all of them: sluice jobs purge words\n",
		});
		expect(await stdoutOf("jobs", "retry", "words", "--all", "--json", "--yes")).toBe(
			'{"matched":0,"more":false,"done":0}\n',
		);
	});

	it("D36: workers stop lets a launched worker finish, and refuses others", async (test) => {
		const { ask, stdoutOf, place } = await managed(test, (at) => ({
			words: { ...at.launched(), workersMin: 1 },
			outside: { launcher: { type: "external" } },
		}));
		const id = await until("a worker", async () => {
			const { workers } = JSON.parse(await stdoutOf("workers", "list", "words", "--json"));
			return workers.find((each: { state: string }) => each.state === "idle")?.id;
		});
		expect(await ask("workers", "stop", "words", id)).toMatchObject({ code: 2 });
		expect(await stdoutOf("workers", "stop", "words", id, "--yes")).toMatch(
			new RegExp(`^Worker ${id} gets no more jobs`),
		);
		await until("its end", () => place.notes().some((each) => each.what === "down"));
		expect((await ask("workers", "stop", "words", "none", "--yes")).stderr).toBe(
			"Endpoint 'words' has no worker 'none'. 'sluice workers list words' lists its workers.\n",
		);
	});

	it("D36: workers stop --all ends all launched workers once their jobs have ended, and no others", async (test) => {
		const { ask, stdoutOf, place, service } = await managed(test, (at) => ({
			words: at.launched({ idleTimeout: 3600 }),
			lines: at.launched({ idleTimeout: 3600 }),
			outside: { launcher: { type: "external" } },
		}));
		const outside = await place.attach(service, "outside");
		const held = await run(service, "words", { until: "allowed" });
		await started(place, held);
		await ended(service, "lines", await run(service, "lines", {}));
		expect(await ask("workers", "stop")).toMatchObject({ code: 2, stderr: expect.stringContaining("pass --all") });
		expect(await ask("workers", "stop", "--all")).toMatchObject({ code: 2 });
		expect(await stdoutOf("workers", "stop", "--all", "--yes")).toMatch(/^2 workers get no more jobs/);
		const downs = () => place.notes().filter(({ what }) => what === "down").length;
		await until("the idle one ends", () => downs() === 1);
		place.allow("allowed");
		expect(await ended(service, "words", held)).toMatchObject({ status: "COMPLETED" });
		await until("the other one ends", () => downs() === 2);
		expect(outside.exitCode).toBe(null);
	});

	it("D36: --file - reads standard input, and continues with the same lines", async (test) => {
		const { cwd, service } = await managed(test, (place) => ({ words: place.launched() }));
		const output = join(cwd, "out.jsonl");
		const piped = (input: string) =>
			sluice(test, ["jobs", "submit", "words", "--file", "-", "--output", output], {
				cwd,
				env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY },
				input,
			});
		const first = await piped('{"n": 1}\n{"n": 2}\n');
		expect(first).toMatchObject({ code: 0, stderr: "2 lines: 2 COMPLETED.\n" });
		const second = await piped('{"n": 1}\n{"n": 2}\n{"n": 3}');
		expect(second).toMatchObject({ code: 0, stderr: "3 lines: 3 COMPLETED.\n" });
		const { json } = await call(service.url, "/v1/endpoints/words/jobs");
		expect(json.jobs).toHaveLength(3);
		expect(readFileSync(output, "utf8").match(/"index":[123],/g)).toHaveLength(3);
	});

	it("D36: line ends and tabs of strings are printed as such", async (test) => {
		const { stdoutOf, service } = await managed(test, () => ({
			words: { launcher: { type: "external" } },
		}));
		const input = { text: "one\n\ttwo", path: "C:\\new" };
		const { json } = await call(service.url, "/v2/words/run", { body: { input } });
		expect(await stdoutOf("jobs", "get", "words", json.id)).toContain(
			'Input\n{"text":"one\n    two","path":"C:\\\\new"}\n',
		);
	});
});
