import { describe, expect, it } from "vitest";
import { markOf, withFiles } from "../values/attachments.ts";
import { ago, duration, short } from "./format.ts";
import { filterOf } from "../values/jobs/job-filter.ts";
import { jobEndOf, jobIdOf } from "../values/jobs/job-id.ts";
import { to } from "../client/router.ts";
import { SNIPPETS } from "../values/snippets.ts";
import { textIn } from "../../../src/kernel/lib/stream-text.ts";
import { WORKER_SNIPPETS, isLoopback } from "../pages/endpoint/worker-snippets.ts";

const ID = "01a1ff13-c2e4-775d-a489-6fd9c3e8ce72";

describe("texts of the console", () => {
	it("spans and moments", () => {
		expect([340, 1234, 59_000, 125_000, 11_400_000, 187_200_000].map(duration)).toEqual([
			"340 ms",
			"1.2 s",
			"59 s",
			"2 min 5 s",
			"3 h 10 min",
			"2 d 4 h",
		]);
		expect([ago(0, 1000), ago(0, 119_000), ago(7_300_000, 0)]).toEqual(["just now", "1 min ago", "in 2 h"]);
	});

	it("ids of jobs", () => {
		expect([jobIdOf(` sync-${ID.toUpperCase()}\n`), jobIdOf(ID), jobIdOf(ID.slice(1)), jobIdOf("thumbnail")]).toEqual([
			`sync-${ID}`,
			ID,
			undefined,
			undefined,
		]);
		expect(["…E8CE72", " 6fd9c3e8ce72", "e8ce7", "thumbnail", ID].map(jobEndOf)).toEqual([
			"e8ce72",
			"6fd9c3e8ce72",
			undefined,
			undefined,
			undefined,
		]);
		expect([short(`sync-${ID}`), short("thumbnail-1a2b3c")]).toEqual(["…e8ce72", "thumbnail-1a2b3c"]);
	});

	it("addresses: what is empty is left out, what is odd is escaped", () => {
		expect(
			to(["endpoints", "a/b", "requests"], {
				status: "FAILED,TIMED_OUT",
				worker: "",
				cursor: undefined,
			}),
		).toBe("#/endpoints/a%2Fb/requests?status=FAILED%2CTIMED_OUT");
		expect(filterOf(new URLSearchParams("status=FAILED,NONSENSE&worker=w&from="), 0)).toEqual({
			status: ["FAILED"],
			worker: "w",
		});
	});

	it("chunks that are one text", () => {
		expect(textIn(["hel", "lo"])).toBe("hello");
		expect(
			textIn([
				{ choices: [{ delta: { content: "hel" } }] },
				{ choices: [{ delta: { content: "lo" } }] },
				{ choices: [], usage: {} },
			]),
		).toBe("hello");
		expect(
			textIn(['data: {"choices":[{"text":"hel"}]}\n\n', 'data: {"choices":[{"text":"lo"}]}\n\ndata: [DONE]\n\n']),
		).toBe("hello");
		expect(textIn([{ choices: [{ message: { role: "assistant", content: "hello" } }], usage: {} }])).toBe("hello");
		expect(textIn(['data: {"choices":[{"te', 'xt":"hel"}]}\n\ndata: {"cho'])).toBe("hel");
		expect(textIn(["data: 1\n", "data: 2\n"])).toBe("data: 1\ndata: 2\n");
		expect([textIn([]), textIn([{ width: 1 }]), textIn(["a", 1])]).toEqual([undefined, undefined, undefined]);
	});

	it("snippets hold the address and no key", () => {
		for (const { text } of SNIPPETS) {
			const code = text({ base: "https://jobs.example.com/sluice", id: "thumbnail", input: { size: 64 }, model: "" });
			expect(code).toContain("https://jobs.example.com/sluice/");
			expect(code).toContain("thumbnail");
			expect(code).toContain("SLUICE_API_KEY");
		}
	});

	it("lines for workers hold what each needs, with `$ID` for the SDK to replace", () => {
		const env = { RUNPOD_WEBHOOK_GET_JOB: "http://h/take/$ID", RUNPOD_AI_API_KEY: "it's" };
		const place = { endpoint: "My_model", env, image: "a:1", loopback: true };
		const [docker, compose, shell, kubernetes] = WORKER_SNIPPETS.map(({ text }) => text(place));
		expect(docker).toContain(
			[
				"docker run --rm --network host",
				"-e 'RUNPOD_WEBHOOK_GET_JOB=http://h/take/$ID'",
				"-e 'RUNPOD_AI_API_KEY=it'\\''s' \\",
			].join(" \\\n  "),
		);
		expect(compose).toContain('RUNPOD_WEBHOOK_GET_JOB: "http://h/take/$$ID"');
		expect(shell).toContain(`export RUNPOD_AI_API_KEY='it'\\''s'\n`);
		expect(kubernetes).toContain('  RUNPOD_WEBHOOK_GET_JOB: "http://h/take/$ID"');
		expect(kubernetes).toContain("  name: my-model-worker\n");
		expect(["http://127.0.0.1:1", "http://[::1]", "https://a.example", "x"].map(isLoopback)).toEqual([
			true,
			true,
			false,
			false,
		]);
	});

	it("an attached file that is not there is named", async () => {
		expect(await withFiles(`{"image":${JSON.stringify(markOf("a.png"))}}`, [])).toEqual({
			missing: "a.png",
		});
		expect(await withFiles('{"image":"plain"}', [])).toEqual({ text: '{"image":"plain"}' });
	});
});
