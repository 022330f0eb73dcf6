import { systemClock } from "../../kernel/system/clock.ts";

const WIDTH = 30;
const REDRAW_MS = 100;
const RATE_AFTER_MS = 2000;

interface Progress {
	/** 0 to 1. Undefined if unknown. */
	share: number | undefined;
	count: number;
	rate?: (count: number) => string;
	text: string;
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
			current = barText(progress, now() - startedAt).slice(0, (stream.columns || 80) - 1);
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

function paceText({ share, count }: Progress, elapsedMs: number, rate: (count: number) => string): string {
	if (count === 0 || elapsedMs < RATE_AFTER_MS) return "";
	const left = !share || share >= 1 ? "" : `, ${leftText((elapsedMs * (1 - share)) / share)} left`;
	return `${rate((count * 1000) / elapsedMs)}/s${left}  `;
}

/** Such as `[###---] 50 %  12/s, 1 min 5 s left  100 lines: 100 COMPLETED`. */
export function barText(progress: Progress, elapsedMs: number): string {
	const { share, rate: rateText = countText, text } = progress;
	const pace = paceText(progress, elapsedMs, rateText);
	if (share === undefined) return `${pace}${text}`;
	const filled = Math.round(Math.min(1, Math.max(0, share)) * WIDTH);
	const bar = "#".repeat(filled) + "-".repeat(WIDTH - filled);
	return `[${bar}] ${Math.floor(share * 100)} %  ${pace}${text}`;
}

function countText(count: number): string {
	return count < 100 ? count.toPrecision(2) : String(Math.round(count));
}

function leftText(ms: number): string {
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
