/** Stack traces of JavaScript and Python without the frames of libraries. Pure. */

/** Frames of Node, of installed packages, and of Sluice, installed or in its repository. */
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

/** The text with the user's frames only; unchanged if there is none of them. */
export function trimmedStack(text: string): string {
	const lines = text.split("\n");
	const kept: string[] = [];
	let hidden = 0;
	let hasOwn = false;
	let isHidden = false;
	for (const line of lines) {
		const isFrame = JS_FRAME.test(line) || PYTHON_FRAME.test(line);
		// Below a frame, Python has its source, indented further.
		if (isFrame) {
			isHidden = LIBRARY.test(line);
			if (isHidden) hidden += 1;
			else hasOwn = true;
		} else if (!/^\s{4}/.test(line)) isHidden = false;
		if (!isHidden) kept.push(line);
	}
	if (hidden === 0 || !hasOwn) return text;
	const frames = hidden === 1 ? "1 frame" : `${hidden} frames`;
	return `${kept.join("\n")}\n(${frames} of libraries hidden; --verbose shows them)`;
}
