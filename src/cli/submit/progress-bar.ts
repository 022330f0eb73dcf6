/** A progress bar on a terminal. */
const WIDTH = 30;
/** Minimum time between redraws, ms. */
const REDRAW_MS = 100;

export interface ProgressBar {
	/** `share`: 0 to 1. */
	show(share: number, text: string): void;
	/** Above the bar. */
	line(text: string): void;
	clear(): void;
}

/** Draws to stderr if it is a terminal; always prints lines. */
export function progressBar({
	now,
	stream = process.stderr,
}: {
	now: () => number;
	stream?: NodeJS.WriteStream;
}): ProgressBar {
	let drawnAt = 0;
	let current = "";
	const draw = (text: string): void => void (stream.isTTY && stream.write(`\r\u001b[K${text}`));
	return {
		show(share, text) {
			const filled = Math.round(Math.min(1, Math.max(0, share)) * WIDTH);
			const bar = "#".repeat(filled) + "-".repeat(WIDTH - filled);
			current = `[${bar}] ${Math.floor(share * 100)} %  ${text}`;
			if (now() - drawnAt < REDRAW_MS) return;
			drawnAt = now();
			draw(current);
		},
		line(text) {
			draw("");
			stream.write(`${text}\n`);
			draw(current);
		},
		clear: () => draw(""),
	};
}
