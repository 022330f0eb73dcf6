/** Escape sequences: control (CSI), strings (OSC, DCS, …) to their end, and others. */
const SEQUENCES =
	// oxlint-disable-next-line no-control-regex
	/(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-Z\\`-~]/g;

/** Sets a colour or style. */
// oxlint-disable-next-line no-control-regex
const COLOUR = /(\u001b\[[0-9;:]*m)/;

const RESET = "\u001b[0m";

/** Control characters, line ends too, and reversals of the writing direction. */
// oxlint-disable-next-line no-control-regex
export const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** On one line: each of {@link UNPRINTABLE} becomes "?". */
export function printable(text: string): string {
	return text.replace(UNPRINTABLE, "?");
}

/** Line by line, without escape sequences; with `colours` those of colours and styles stay. */
export function printableLines(text: string, { colours = false } = {}): string {
	return text
		.split(/\r?\n/)
		.map((line) => (colours ? coloured(line) : plain(line)))
		.join("\n");
}

/** The end of a line with a progress bar: what follows the last carriage return. */
export function afterReturns(line: string): string {
	const text = line.replace(/(?<!\r)\r+$/, "");
	return text.slice(text.lastIndexOf("\r") + 1);
}

function plain(line: string): string {
	return printable(line.replace(SEQUENCES, "").replaceAll("\t", "    "));
}

/** The line's colours end with it. */
function coloured(line: string): string {
	const pieces = line.split(COLOUR);
	if (pieces.length === 1) return plain(line);
	// Each second piece is a separator.
	return pieces.map((piece, index) => (index % 2 === 0 ? plain(piece) : piece)).join("") + RESET;
}
