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
