import { expect, it } from "vitest";
import { workerLine } from "./worker-lines.ts";

const json = (level: string, message: string, requestId: string | null = "j1"): string =>
	JSON.stringify({ requestId, message, level });

it("D36: debugging of the SDKs and exceptions that the job's end repeats are for --verbose", () => {
	const noise = [
		json("DEBUG", "Started working on job"),
		json("INFO", "Finished."),
		json("INFO", "Jobs in queue: 1", null),
		json("ERROR", "Captured Handler Exception"),
		json("ERROR", '{\n    "error_type": "x",\n    "error_traceback": "y"\n}'),
		json("ERROR", "The handler failed: Error: boom\n    at x"),
		"DEBUG  | j1 | polling",
	];
	for (const line of noise) {
		expect(workerLine(line, { verbose: false, colours: false }), line).toBeUndefined();
		expect(workerLine(line, { verbose: true, colours: false }), line).toMatch(/^worker \| /);
	}
});

it("D36: what the handler writes stays, its colours on a terminal only", () => {
	const plain = { verbose: false, colours: false };
	expect(workerLine("loaded", plain)).toBe("worker | loaded");
	expect(workerLine(json("INFO", "step 1"), plain)).toBe("worker | INFO  j1 step 1");
	expect(workerLine(json("ERROR", "no disk"), plain)).toBe("worker | ERROR j1 no disk");
	expect(workerLine("\u001b[31mred\u001b[0m\u001b[2J", plain)).toBe("worker | red");
	expect(workerLine("\u001b[31mred", { verbose: false, colours: true })).toBe("worker | \u001b[31mred\u001b[0m");
});

it("D36: a syntax error is its place, its line, a caret and the message; --verbose has the rest", () => {
	const printed = `file:///project/worker.js:3
const a = ;
          ^

SyntaxError: Unexpected token ';'
    at compileSourceTextModule (node:internal/modules/esm/utils:318:16)
    at #translate (node:internal/modules/esm/loader:451:20)
    at node:internal/main/run_main_module:36:49

Node.js v24.1.0`.split("\n");
	const shown = (verbose: boolean) => printed.map((line) => workerLine(line, { verbose, colours: false }));
	expect(shown(false).filter((line) => line !== undefined)).toEqual([
		"worker | file:///project/worker.js:3",
		"worker | const a = ;",
		"worker |           ^",
		"worker | SyntaxError: Unexpected token ';'",
	]);
	expect(shown(true)).not.toContain(undefined);
	const own = "    at handler (file:///project/worker.js:3:1)";
	expect(workerLine(own, { verbose: false, colours: false })).toBe(`worker | ${own}`);
});
