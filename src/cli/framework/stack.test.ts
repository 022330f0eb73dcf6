import { expect, it } from "vitest";
import { trimmedStack } from "./stack.ts";

it("D36: of a JavaScript stack the user's frames are left", () => {
	const stack = [
		"Error: no such model",
		"    at load (file:///home/ann/greet/model.ts:3:9)",
		"    at handler (file:///home/ann/greet/handler.ts:7:3)",
		"    at run (file:///usr/lib/node_modules/sluice/dist/worker/run-job.js:68:41)",
		"    at process.processTicksAndRejections (node:internal/process/task_queues:104:5)",
	];
	expect(trimmedStack(stack.join("\n"))).toBe(
		[...stack.slice(0, 3), "(2 frames of libraries hidden; --verbose shows them)"].join("\n"),
	);
	expect(trimmedStack(stack.slice(0, 3).join("\n"))).toBe(stack.slice(0, 3).join("\n"));
	const onlyLibrary = [stack[0], stack[4]].join("\n");
	expect(trimmedStack(onlyLibrary)).toBe(onlyLibrary);
});

it("D36: of a Python traceback the user's frames are left, with their source and the error", () => {
	const text = `Traceback (most recent call last):
  File "/home/ann/.venv/lib/python3.12/site-packages/runpod/serverless/modules/rp_job.py", line 182, in run_job
    handler_return = handler(job)
                     ^^^^^^^^^^^^
  File "/home/ann/greet/handler.py", line 5, in handler
    return 1 / job["input"]["n"]
           ~~^~~~~~~~~~~~~~~~~~~
ZeroDivisionError: division by zero`;
	expect(trimmedStack(text)).toBe(`Traceback (most recent call last):
  File "/home/ann/greet/handler.py", line 5, in handler
    return 1 / job["input"]["n"]
           ~~^~~~~~~~~~~~~~~~~~~
ZeroDivisionError: division by zero
(1 frame of libraries hidden; --verbose shows them)`);
});
