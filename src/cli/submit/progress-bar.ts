/** A bar that shows on a terminal how far a long command is. */
const WIDTH = 30;
/** Shortest time between two drawings, ms: a terminal is slow. */
const PAUSE_MS = 100;

/** Draws on standard error; nothing where that is no terminal. */
export function progressBar({
	now,
	stream = process.stderr,
}: {
	now: () => number;
	stream?: NodeJS.WriteStream;
}): { show(share: number, text: string): void; line(text: string): void; clear(): void } {
	let drawnAt = 0;
	let last = "";
	const draw = (text: string): void => void (stream.isTTY && stream.write(`\r\u001b[K${text}`));
	return {
		show(share, text) {
			const filled = Math.round(Math.min(1, Math.max(0, share)) * WIDTH);
			last = `[${"#".repeat(filled)}${"-".repeat(WIDTH - filled)}] ${Math.floor(share * 100)} %  ${text}`;
			if (now() - drawnAt < PAUSE_MS) return;
			drawnAt = now();
			draw(last);
		},
		/** A line above the bar. */
		line(text) {
			draw("");
			stream.write(`${text}\n`);
			draw(last);
		},
		clear: () => draw(""),
	};
}
