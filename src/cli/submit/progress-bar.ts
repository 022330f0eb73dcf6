/** A progress bar on a terminal. */
const WIDTH = 30;
/** Minimum time between redraws, ms. */
const REDRAW_MS = 100;
/** The rate is shown after this, ms. */
const RATE_AFTER_MS = 2000;

interface Progress {
	/** 0 to 1; undefined if unknown. */
	share: number | undefined;
	/** Lines or bytes done. */
	count: number;
	/** The count of a second as text. */
	rate?: (count: number) => string;
	text: string;
}

interface ProgressBar {
	show(progress: Progress): void;
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
	const startedAt = now();
	let drawnAt = 0;
	let current = "";
	const draw = (text: string): void => void (stream.isTTY && stream.write(`\r\u001b[K${text}`));
	return {
		show(progress) {
			current = barText(progress, now() - startedAt).slice(0, (stream.columns || 80) - 1);
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

/** Such as `[###---] 50 %  12/s, 1 min 5 s left  100 lines: 100 COMPLETED`. */
export function barText(progress: Progress, elapsedMs: number): string {
	const { share, count, rate: rateText = countText, text } = progress;
	const isKnown = count > 0 && elapsedMs >= RATE_AFTER_MS;
	const rate = isKnown ? (count * 1000) / elapsedMs : undefined;
	const left =
		rate === undefined || !share || share >= 1 ? "" : `, ${spanText((elapsedMs * (1 - share)) / share)} left`;
	const pace = rate === undefined ? "" : `${rateText(rate)}/s${left}  `;
	if (share === undefined) return `${pace}${text}`;
	const filled = Math.round(Math.min(1, Math.max(0, share)) * WIDTH);
	const bar = "#".repeat(filled) + "-".repeat(WIDTH - filled);
	return `[${bar}] ${Math.floor(share * 100)} %  ${pace}${text}`;
}

function countText(count: number): string {
	return count < 100 ? count.toPrecision(2) : String(Math.round(count));
}

function spanText(ms: number): string {
	const seconds = Math.max(1, Math.round(ms / 1000));
	if (seconds < 60) return `${seconds} s`;
	const minutes = Math.floor(seconds / 60);
	if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
	return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
