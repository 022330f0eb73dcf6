import { systemClock } from "../../kernel/system/clock.ts";

const WIDTH = 30;
/** The bar of a long text. */
const LEAST_WIDTH = 10;
const REDRAW_MS = 100;
const RATE_AFTER_MS = 2000;

interface Progress {
	/** 0 to 1. Undefined if unknown. */
	share: number | undefined;
	count: number;
	rate?: (count: number) => string;
	/** Where the caller knows better than the average since the bar was begun. */
	pace?: Pace | undefined;
	text: string;
}

export interface Pace {
	perSecond: number;
	/** Undefined while it cannot be estimated. */
	leftMs: number | undefined;
}

const LINE_MS = 10_000;

/** Draws on a terminal; elsewhere prints a line every 10 s. */
export function progressBar(now: () => number, stream: Stream = process.stderr) {
	const startedAt = now();
	let drawnAt = 0;
	let printedAt = startedAt;
	let current = "";
	const draw = (text: string): void => void (stream.isTTY && stream.write(`\r\u001b[K${text}`));
	return {
		show(progress: Progress) {
			if (!stream.isTTY) {
				if (now() - printedAt < LINE_MS) return;
				printedAt = now();
				return void stream.write(`${lineText(progress, printedAt - startedAt)}\n`);
			}
			const columns = (stream.columns || 80) - 1;
			current = barText(progress, now() - startedAt, columns).slice(0, columns);
			if (now() - drawnAt < REDRAW_MS) return;
			drawnAt = now();
			draw(current);
		},
		line(text: string) {
			draw("");
			stream.write(`${text}\n`);
			draw(current);
		},
		clear: () => draw(""),
	};
}

type Stream = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;

/** Such as `50 %, 12/s, 1 min 5 s left, 100 lines: 100 COMPLETED`. */
function lineText(progress: Progress, elapsedMs: number): string {
	const share = progress.share === undefined ? "" : `${Math.floor(progress.share * 100)} %`;
	const pace = paceText(progress, elapsedMs, progress.rate ?? countText).trimEnd();
	return [share, pace, progress.text].filter(Boolean).join(", ");
}

function paceText(progress: Progress, elapsedMs: number, rate: (count: number) => string): string {
	const pace = progress.pace ?? averagePace(progress, elapsedMs);
	if (!pace) return "";
	return `${rate(pace.perSecond)}/s${pace.leftMs === undefined ? "" : `, ${timeText(pace.leftMs)} left`}  `;
}

function averagePace({ share, count }: Progress, elapsedMs: number): Pace | undefined {
	if (count === 0 || elapsedMs < RATE_AFTER_MS) return undefined;
	const leftMs = !share || share >= 1 ? undefined : (elapsedMs * (1 - share)) / share;
	return { perSecond: (count * 1000) / elapsedMs, leftMs };
}

/** Such as `[###---] 50 %  12/s, 1 min 5 s left  100 lines: 100 COMPLETED`, with a shorter bar if the text is long. */
export function barText(progress: Progress, elapsedMs: number, columns = Infinity): string {
	const { share, rate: rateText = countText, text } = progress;
	const pace = paceText(progress, elapsedMs, rateText);
	if (share === undefined) return `${pace}${text}`;
	const rest = `] ${Math.floor(share * 100)} %  ${pace}${text}`;
	const width = Math.min(WIDTH, Math.max(LEAST_WIDTH, columns - rest.length - 1));
	const filled = Math.round(Math.min(1, Math.max(0, share)) * width);
	return `[${"#".repeat(filled)}${"-".repeat(width - filled)}${rest}`;
}

function countText(count: number): string {
	return count < 100 ? count.toPrecision(2) : String(Math.round(count));
}

/** Such as `12 s`, `1 min 5 s`, `2 h 10 min`. */
export function timeText(ms: number): string {
	const seconds = Math.max(1, Math.round(ms / 1000));
	if (seconds < 60) return `${seconds} s`;
	const minutes = Math.floor(seconds / 60);
	if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
	return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function transferBar(verb: string) {
	const bar = progressBar(systemClock.now);
	return {
		/** `total`: 0 while unknown. */
		show: (done: number, total: number) =>
			bar.show({
				share: total > 0 ? Math.min(1, done / total) : undefined,
				count: done,
				rate: bytesText,
				text: `${bytesText(done)} ${verb}`,
			}),
		stage: (text: string) => bar.show({ share: 1, count: 0, text }),
		clear: bar.clear,
	};
}

/** In decimal units: `12.3 MB`. */
export function bytesText(bytes: number): string {
	if (bytes < 1e6) return `${Math.ceil(bytes / 1000)} kB`;
	return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}
