/** Stack traces of Python and JavaScript as runs of lines: those of libraries apart from the worker's own. */

export interface TracePart {
	/** Frames of packages or of the language itself. */
	library: boolean;
	text: string;
	frames: number;
}

const LIBRARY = /site-packages|dist-packages|node_modules|node:|lib\/python\d|<frozen |\(native\)/;
const FRAME = /^\s*(?:File "|at )/;

/** The parts, without the lines that only repeat the message. */
export function partsOf(trace: string, message: string): readonly TracePart[] {
	const parts: TracePart[] = [];
	let library = false;
	for (const line of trace.trimEnd().split(/\r?\n/)) {
		const isFrame = FRAME.test(line);
		// The code of a Python frame is indented more than its place.
		const belongs = /^ {4}/.test(line) && parts.length > 0;
		if (!isFrame && !belongs && isRepeated(line, message)) continue;
		if (isFrame) library = LIBRARY.test(line);
		else if (!belongs) library = false;
		const last = parts.at(-1);
		if (last?.library === library) {
			last.text += `\n${line}`;
			last.frames += Number(isFrame);
		} else parts.push({ library, text: line, frames: Number(isFrame) });
	}
	return parts.filter(({ text }) => text.trim() !== "");
}

/** `ValueError: no such model` where the message says the same. */
function isRepeated(line: string, message: string): boolean {
	const [first = ""] = message.split(/\r?\n/, 1);
	const said = line.trim();
	return said !== "" && first !== "" && (said === first || said.endsWith(`: ${first}`) || first.endsWith(`: ${said}`));
}
