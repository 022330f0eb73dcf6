/** Which line of a worker's output explains its end. */
import { describe, expect, it } from "vitest";
import { errorLine, exitText, lastCharacters } from "./ended-worker.ts";

const NODE = `node:internal/modules/package_json_reader:301
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'sharp' imported from /srv/worker.js
    at Object.getPackageJSONURL (node:internal/modules/package_json_reader:301:9)
    at packageResolve (node:internal/modules/esm/resolve:768:81) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v24.21.0`;

const HEAP = `FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
----- Native stack trace -----

 1: 0xe16044 node::OOMErrorHandler(char const*, v8::OOMDetails const&) [node]`;

const PYTHON = `Traceback (most recent call last):
  File "/srv/worker.py", line 3, in <module>
    raise ValueError("Error: not this line")
ValueError: no model at /models/a
[W] resource_tracker: there appear to be 2 leaked objects`;

describe("D47: the line of a worker's output that explains its end", () => {
	it.each([
		["of Node, before its stack", NODE, /^Error \[ERR_MODULE_NOT_FOUND\]: Cannot find package 'sharp' imported from/],
		["of a full JavaScript heap", HEAP, /^FATAL ERROR: Reached heap limit .* heap out of memory$/],
		["of Python, before what follows it", PYTHON, /^ValueError: no model at \/models\/a$/],
		[
			"of CUDA",
			"torch.OutOfMemoryError: CUDA out of memory.\nKilled",
			/^torch\.OutOfMemoryError: CUDA out of memory\.$/,
		],
		[
			"the cause, which is last",
			"Error: not ready\n  [cause]: Error: ECONNREFUSED",
			/^\[cause\]: Error: ECONNREFUSED$/,
		],
		["the last one where none names an error", "loading model\nbye\n\n", /^bye$/],
		["a bounded part of a long one", `Error: ${"🙂".repeat(1000)}`, /^Error: (🙂){146}�$/],
	])("%s", (_, output, line) => {
		expect(errorLine(output)).toMatch(line);
	});

	it("none of a worker that wrote nothing", () => {
		expect(errorLine(" \n")).toBeUndefined();
	});
});

it("D47: one that ended with code 0 before it asked for a job may never ask for one, which the sentence says", () => {
	const life = { createdAt: 0, endedAt: 1, warmup: undefined };
	expect(exitText({ code: 0 }, { ...life, readyAt: undefined })).toBe(
		"it ended with exit code 0 before it asked for a job, as a program does that never calls runpod.serverless.start",
	);
	expect(exitText({ code: 1 }, { ...life, readyAt: undefined })).toBe(
		"it ended with exit code 1 before it asked for a job",
	);
	expect(exitText({ code: 0 }, { ...life, readyAt: 1 })).toBe("it ended with exit code 0 soon after its start");
});

it("D47: of an output 2,000 characters are kept, from a whole line on, or the end of a longer line", () => {
	expect(lastCharacters("x".repeat(2000))).toBe("x".repeat(2000));
	expect(lastCharacters(`${"a".repeat(1500)}\n${"b".repeat(1500)}`)).toBe("b".repeat(1500));
	expect(lastCharacters(`start ${"c".repeat(5000)}`)).toBe("c".repeat(2000));
	expect(lastCharacters(`${"🦀".repeat(4000)}x`)).toMatch(/^\ufffd(🦀)+x$/u);
});
