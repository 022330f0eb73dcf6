/** `sluice batches` against a service with workers (D36, D57). */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { KEY } from "../support/service.ts";
import { until } from "../support/until.ts";
import { type Running, start } from "./command.ts";
import { ROOT } from "./guide-shell.ts";
import { managed, type Managed } from "./managed.ts";

const ID = /^batch_[0-9a-f]{32}\n$/;
const PATH = "/v1/chat/completions";

interface Answer {
	custom_id: string;
	response: { status_code: number; body: any } | null;
	error: { code: string } | null;
}

/** A service with a text generator that answers as vLLM's worker does, and an endpoint without workers. */
async function ready(test: TestContext): Promise<Managed> {
	const command = [process.execPath, join(ROOT, "examples/openai/worker.js")];
	return await managed(test, () => ({
		ep: { launcher: { type: "process", command }, workersMax: 1 },
		idle: { launcher: { type: "external" } },
	}));
}

/** A line of a file; the worker has one model, `harbour-1`. */
function line(id: string, members: object = {}, model = "harbour-1"): string {
	const body = { model, messages: [{ role: "user", content: "The wind" }], max_tokens: 5, seed: 7 };
	return `${JSON.stringify({ custom_id: id, method: "POST", url: PATH, body, ...members })}\n`;
}

function write({ cwd }: Managed, lines: readonly string[], name = "lines.jsonl"): string {
	writeFileSync(join(cwd, name), lines.join(""));
	return name;
}

/** Sorted by `custom_id`. */
function answersIn(text: string): Answer[] {
	const all = text
		.split("\n")
		.filter((each) => each !== "")
		.map((each) => JSON.parse(each) as Answer);
	return all.toSorted((a, b) => (a.custom_id < b.custom_id ? -1 : 1));
}

/** A command that goes on while the test does something else. */
function begin(test: TestContext, { cwd, service }: Managed, ...args: string[]): Running {
	return start(test, ["batches", ...args], { cwd, env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY } });
}

describe("sluice batches", () => {
	it.concurrent("D36, D57: create --wait --output, list, get and results", async (test) => {
		const here = await ready(test);
		const { ask, stdoutOf, cwd } = here;
		expect(await stdoutOf("batches", "list", "ep")).toBe(
			"No batches. Create one: sluice batches create ep FILE.jsonl\n",
		);
		const file = write(here, [line("a"), line("b"), "\n", line("c")]);
		const args = ["batches", "create", "ep", file, "--metadata", "run=nightly", "--wait", "--output", "answers.jsonl"];
		const made = await ask(...args);
		expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(ID) });
		const id = made.stdout.trim();
		expect(made.stderr).toContain(`Batch ${id} is completed: 3/3 requests done, none failed, after `);
		expect(made.stderr).toMatch(/^Tokens: \d+ in, \d+ out\.\nWrote answers\.jsonl: \d+ kB\.\n$/m);
		const text = readFileSync(join(cwd, "answers.jsonl"), "utf8");
		const answers = answersIn(text);
		expect(answers.map((each) => each.custom_id)).toEqual(["a", "b", "c"]);
		for (const { response, error } of answers) {
			expect(error).toBeNull();
			expect(response).toMatchObject({ status_code: 200, body: { object: "chat.completion" } });
		}
		expect(await stdoutOf("batches", "results", "ep", id)).toBe(text);
		const again = await ask("batches", "results", "ep", id, "--output", "answers.jsonl");
		expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("pass --force to replace it") });
		await stdoutOf("batches", "results", "ep", id, "--output", "answers.jsonl", "--force");
		expect(await ask("batches", "results", "ep", id, "--errors")).toEqual({
			code: 0,
			stdout: "",
			stderr: `No request of batch ${id} failed.\n`,
		});
		const [headings, listed] = (await stdoutOf("batches", "list", "ep")).split("\n");
		expect(headings!.split(/ +/)).toEqual(["ID", "STATUS", "DONE", "FAILED", "TOKENS", "CREATED", "EXPIRES"]);
		expect(listed).toMatch(new RegExp(`^${id} +completed +3/3 +0 +\\d+ +\\d{4}-`));
		const shown = await stdoutOf("batches", "get", "ep", id);
		for (const part of ["completed", PATH, "3/3", "run=nightly"]) expect(shown).toContain(part);
		// Before a byte is uploaded.
		expect(await ask(...args)).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("exists") });
		expect((await stdoutOf("files", "list", "ep", "--purpose", "batch", "-o", "name")).split("\n")).toHaveLength(2);
	});

	it.concurrent("D36, D57: a request that fails is exit 1 and in the file of errors", async (test) => {
		const here = await ready(test);
		const { ask, stdoutOf } = here;
		const file = write(here, [line("a"), line("b", {}, "unknown")]);
		const made = await ask("batches", "create", "ep", file, "--wait", "--json");
		expect(made.code).toBe(1);
		const { id, status, request_counts: counts } = JSON.parse(made.stdout);
		expect({ status, counts }).toEqual({ status: "completed", counts: { total: 2, completed: 1, failed: 1 } });
		const [failed] = answersIn(await stdoutOf("batches", "results", "ep", id, "--errors"));
		expect(failed).toMatchObject({ custom_id: "b", response: { status_code: 404, body: { error: {} } } });
		expect(answersIn(await stdoutOf("batches", "results", "ep", id))).toMatchObject([{ custom_id: "a" }]);

		const none = await ask(
			"batches",
			"create",
			"ep",
			write(here, [line("a", {}, "unknown")]),
			"--wait",
			"--output",
			"-",
		);
		expect(none).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("1/1 requests done, 1 failed") });
		const [second = ""] = (await stdoutOf("batches", "list", "ep", "-o", "name")).split("\n");
		expect(await ask("batches", "results", "ep", second)).toMatchObject({
			code: 1,
			stderr:
				`Batch ${second} is completed and has no answers.\n` +
				`See why: sluice batches results ep ${second} --errors\n`,
		});
	});
});

describe("a faulty file", () => {
	it.concurrent("D36, D57: is refused with line and member before it is uploaded", async (test) => {
		const here = await ready(test);
		const { ask, stdoutOf } = here;
		const file = write(here, [line("a"), line("a"), line("b", { method: "GET" }), "{"]);
		expect(await ask("batches", "create", "ep", file)).toEqual({
			code: 1,
			stdout: "",
			stderr: expect.stringMatching(
				/^lines\.jsonl is no .*\nLine 2: custom_id "a" .*\nLine 3: method .*\nLine 4: it is not JSON: .*\n$/,
			),
		});
		expect(await ask("batches", "create", "ep", write(here, ["\n"]))).toMatchObject({
			code: 1,
			stderr: "lines.jsonl has no requests.\n",
		});
		expect(await ask("batches", "create", "ep", "none.jsonl")).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("none.jsonl cannot be read"),
		});
		expect(await stdoutOf("files", "list", "ep", "-o", "name")).toBe("");
	});

	it.concurrent("D36, D57: that is uploaded makes a batch that fails, with its first errors", async (test) => {
		const here = await ready(test);
		const { ask, stdoutOf } = here;
		write(here, [line("a"), ...Array.from({ length: 6 }, () => line("a"))]);
		const file = (await stdoutOf("files", "put", "ep", "lines.jsonl", "-o", "name")).trim();
		// The path is read from its first line.
		const made = await ask("batches", "create", "ep", file, "--wait");
		expect(made).toMatchObject({ code: 1, stdout: expect.stringMatching(ID) });
		const id = made.stdout.trim();
		expect(made.stderr).toContain(`Batch ${id} is failed`);
		expect(made.stderr).toMatch(/^- Line 2: .*\(duplicate_custom_id\)$/m);
		expect(made.stderr.match(/^- Line /gm)).toHaveLength(5);
		expect(made.stderr).toContain("and 1 more error;");
		const results = await ask("batches", "results", "ep", id);
		expect(results).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("is failed and has no answers.\n- Line 2: "),
		});
	});

	it.concurrent("D36, D57: what the service refuses leaves the file, whose id is named", async (test) => {
		const here = await ready(test);
		const refused = await here.ask("batches", "create", "ep", write(here, [line("a")]), "--window", "8d");
		expect(refused).toMatchObject({ code: 1, stdout: "" });
		const file = /To use it: sluice batches create ep (file-[0-9a-f]{32})\n$/.exec(refused.stderr)?.[1];
		expect(await here.stdoutOf("files", "list", "ep", "-o", "name")).toBe(`${file}\n`);
		const missing = await here.ask("batches", "create", "ep", "file-0", "--path", PATH);
		expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no file 'file-0'") });
	});
});

describe("a batch that has not ended", () => {
	it.concurrent("D36, D57: goes on after Ctrl-C, has no results, and can be cancelled", async (test) => {
		const here = await ready(test);
		const { ask, stdoutOf, cwd } = here;
		const file = write(here, [line("a"), line("b")]);
		const waiting = begin(test, here, "create", "idle", file, "--wait", "--output", "answers.jsonl");
		const id = (await until("the id", () => (ID.test(waiting.stdout()) ? waiting.stdout() : undefined))).trim();
		waiting.end("SIGINT");
		expect(await waiting.ended).toEqual({
			code: 130,
			stdout: `${id}\n`,
			stderr: expect.stringContaining(`The batch goes on. Follow it: sluice batches get idle ${id} --wait\n`),
		});
		await until("the batch to run", async () => (await stdoutOf("batches", "get", "idle", id)).includes("0/2"));
		expect(await ask("batches", "results", "idle", id)).toEqual({
			code: 1,
			stdout: "",
			stderr:
				`Batch ${id} has not ended: it is in_progress, 0/2 requests done. ` +
				`Follow it: sluice batches get idle ${id} --wait\n`,
		});
		expect(await stdoutOf("batches", "cancel", "idle", id)).toMatch(new RegExp(`^Batch ${id} is cancell(ing|ed)\\.`));
		const followed = await ask("batches", "get", "idle", id, "--wait", "-o", "json");
		expect(followed.code).toBe(1);
		expect(JSON.parse(followed.stdout)).toMatchObject({ id, status: "cancelled", output_file_id: null });
		const cancelled = answersIn(await stdoutOf("batches", "results", "idle", id, "--errors"));
		expect(cancelled).toMatchObject(
			["a", "b"].map((each) => ({ custom_id: each, response: null, error: { code: "batch_cancelled" } })),
		);
		expect(existsSync(join(cwd, "answers.jsonl"))).toBe(false);
		// Again it is as it was.
		expect(await stdoutOf("batches", "cancel", "idle", id)).toBe(`Batch ${id} is cancelled.\n`);
	});

	it.concurrent("D36, D57: is followed through a kill -9 of the service", async (test) => {
		const here = await ready(test);
		const following = begin(test, here, "create", "idle", write(here, [line("a")]), "--wait");
		const id = (await until("the id", () => (ID.test(following.stdout()) ? following.stdout() : undefined))).trim();
		await here.service.end("SIGKILL");
		await until("the command to notice", () => following.stderr().includes("Retrying."));
		await here.place.serve();
		await here.stdoutOf("batches", "cancel", "idle", id);
		expect(await following.ended).toMatchObject({ code: 1, stdout: `${id}\n` });
		expect(following.stderr()).toMatch(/^No service answers at .* Retrying\.$/m);
		expect(following.stderr()).toContain(`Batch ${id} is cancelled`);
	});

	it.concurrent("D36: of an unknown one the service says so", async (test) => {
		const { ask } = await ready(test);
		for (const verb of ["get", "results", "cancel"])
			expect(await ask("batches", verb, "ep", "batch_0")).toMatchObject({
				code: 1,
				stderr: "There is no batch 'batch_0' on endpoint 'ep'.\n",
			});
	});
});
