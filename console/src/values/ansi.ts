/**
 * Text for terminals as a page shows it: colours and styles of SGR sequences as names of classes,
 * which have enough contrast in both themes; what a carriage return overwrites and all other escape
 * sequences are left out.
 */

export interface Span {
	text: string;
	/** Space-separated classes; empty for plain text. */
	look: string;
}

/** Control (CSI), strings (OSC, DCS, …) to their end, and others. The first group: of an SGR. */
const SEQUENCES = new RegExp(
	[
		"(?:\\u001b\\[|\\u009b)(?:([0-9;:]*)m|[0-?]*[ -/]*[@-~])",
		"\\u001b[\\]PX^_][^\\u0007\\u001b\\n]*(?:\\u0007|\\u001b\\\\)?",
		"\\u001b[ -/]*[0-Z\\\\`-~]",
	].join("|"),
	"g",
);

// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

interface Look {
	colour: string | undefined;
	bold: boolean;
	dim: boolean;
	italic: boolean;
	underline: boolean;
}

const PLAIN: Look = { colour: undefined, bold: false, dim: false, italic: false, underline: false };

/** The spans of one line. */
export function spansOf(line: string): Span[] {
	const text = line.replace(/(?<!\r)\r+$/, "");
	const shown = text.slice(text.lastIndexOf("\r") + 1);
	const spans: Span[] = [];
	let look = PLAIN;
	let at = 0;
	const add = (end: number): void => {
		const piece = shown.slice(at, end).replace(CONTROLS, "\ufffd");
		if (piece !== "") spans.push({ text: piece, look: classesOf(look) });
	};
	for (const found of shown.matchAll(SEQUENCES)) {
		add(found.index);
		at = found.index + found[0].length;
		if (found[1] !== undefined) look = after(look, found[1]);
	}
	add(shown.length);
	return spans;
}

/** Without colours. */
export function plainText(line: string): string {
	return spansOf(line)
		.map(({ text }) => text)
		.join("");
}

/** The look after the parameters of an SGR sequence. */
function after(before: Look, parameters: string): Look {
	let look = before;
	const codes = parameters.split(";").map((each) => Number(each.split(":")[0]));
	for (let index = 0; index < codes.length; index += 1) {
		const code = codes[index]!;
		if (code === 0) look = PLAIN;
		else if (code === 1) look = { ...look, bold: true };
		else if (code === 2) look = { ...look, dim: true };
		else if (code === 3) look = { ...look, italic: true };
		else if (code === 4) look = { ...look, underline: true };
		else if (code === 22) look = { ...look, bold: false, dim: false };
		else if (code === 23) look = { ...look, italic: false };
		else if (code === 24) look = { ...look, underline: false };
		else if (code === 39) look = { ...look, colour: undefined };
		else if (code >= 30 && code <= 37) look = { ...look, colour: COLOURS[code - 30] };
		else if (code >= 90 && code <= 97) look = { ...look, colour: COLOURS[code - 90] };
		else if (code === 38 || code === 48) {
			// Of 256 colours the first 16 have names; others are shown as plain text.
			const [kind, number = 16] = codes.slice(index + 1);
			if (code === 38) look = { ...look, colour: kind === 5 ? nameOf(number) : undefined };
			index += kind === 5 ? 2 : 4;
		}
	}
	return look;
}

function nameOf(number: number): string | undefined {
	return number < 16 ? COLOURS[number % 8] : undefined;
}

function classesOf({ colour, bold, dim, italic, underline }: Look): string {
	const classes = [
		// Black and white are the page's own colours in one theme or the other.
		colour === undefined || colour === "black" || colour === "white" ? "" : `ansi-${colour}`,
		bold ? "ansi-bold" : "",
		dim || colour === "black" ? "ansi-dim" : "",
		italic ? "ansi-italic" : "",
		underline ? "ansi-underline" : "",
	];
	return classes.filter((each) => each !== "").join(" ");
}
