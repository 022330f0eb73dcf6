/** Removes library frames from stack traces of JavaScript and Python. */

import { counted } from "./table.ts";

const LIBRARY = new RegExp(
	[
		String.raw`\(?node:`,
		"/node_modules/",
		String.raw`/(?:dist/worker|packages/worker/src|(?:dist|src)/cli/dev)/[\w./-]+\.[jt]s`,
		"/lib/python3[^/]*/",
		"<frozen ",
	].join("|"),
);

const JS_FRAME = /^\s+at /;
const PYTHON_FRAME = /^\s*File "/;

/** Unchanged if no frame is the user's. `all`: what shows the whole. */
export function trimmedStack(text: string, all = "--verbose"): string {
	const lines = text.split("\n");
	const kept: string[] = [];
	let hidden = 0;
	let hasOwn = false;
	let isHidden = false;
	for (const line of lines) {
		const isFrame = JS_FRAME.test(line) || PYTHON_FRAME.test(line);
		// Python puts the source below its frame.
		if (isFrame) {
			isHidden = LIBRARY.test(line);
			if (isHidden) hidden += 1;
			else hasOwn = true;
		} else if (!/^\s{4}/.test(line)) isHidden = false;
		if (!isHidden) kept.push(line);
	}
	if (hidden === 0 || !hasOwn) return text;
	return `${kept.join("\n")}\n(${counted(hidden, "frame")} of libraries hidden; ${all} shows them)`;
}
