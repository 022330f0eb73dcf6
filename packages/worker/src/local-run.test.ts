import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "./clock.ts";
import { startProcess } from "../../../test/support/worker-kit/process-worker.ts";
import type { Handler, StartOptions } from "./types.ts";
import { runWorker } from "./worker.ts";

let cwd = "";
beforeEach(() => {
	cwd = mkdtempSync(join(tmpdir(), "sluice-worker-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function locally(handler: Handler, argv: string[], more: Partial<StartOptions> = {}) {
	const written: string[] = [];
	let failed = false;
	await runWorker(
		{ handler, env: {}, ...more },
		{
			clock: systemClock,
			random: () => 0,
			argv,
			cwd,
			write: (line) => written.push(line),
			fail: () => (failed = true),
		},
	);
	return { written, failed };
}

describe("B.11: without a service", () => {
	it("runs --test_input once and prints the result", async () => {
		const { written, failed } = await locally(
			({ id, inputText }) => [id, inputText],
			["--test_input", '{"input": {"n":1.0}}'],
		);
		expect(written).toEqual(['{"output":["local_test","{\\"n\\":1.0}"]}\n']);
		expect(failed).toBe(false);
		expect((await locally((job) => job.id, ['--test_input={"id":"x","input":1}'])).written).toEqual([
			'{"output":"x"}\n',
		]);
	});

	it("reads test_input.json, prints chunks, and says when the job failed", async () => {
		writeFileSync(join(cwd, "test_input.json"), '{"input":2}');
		const { written, failed } = await locally(function* (job) {
			yield job.input;
			throw new Error("broke");
		}, []);
		expect(written[0]).toBe('{"output":2}\n');
		expect(written.at(-1)).toContain("broke");
		expect(failed).toBe(true);
	});

	it("says in a sentence what is missing", async () => {
		await expect(locally(() => 1, [])).rejects.toThrow(/RUNPOD_WEBHOOK_GET_JOB is not set.*test_input\.json/);
		await expect(locally(() => 1, ["--test_input", "{"])).rejects.toThrow(/--test_input is not JSON/);
		await expect(locally(() => 1, ["--test_input", "{}"])).rejects.toThrow(/member "input"/);
		await expect(locally(() => 1, [], { concurrency: 0 })).rejects.toThrow(/concurrency/);
		await expect(runWorker({} as never, {} as never)).rejects.toThrow(/handler/);
	});

	it("is what a process does, which ends with 1 when the job failed", async () => {
		const fine = startProcess({}, "async () => 'ok'", {
			args: ["--test_input", '{"input":{}}'],
			cwd,
		});
		expect(await fine.exit).toEqual({ code: 0, signal: null });
		expect(fine.output()).toBe('{"output":"ok"}\n');
		const failing = startProcess({}, "async () => ({ error: 'bad' })", {
			args: ["--test_input", '{"input":{}}'],
			cwd,
		});
		expect((await failing.exit).code).toBe(1);
	});
});
