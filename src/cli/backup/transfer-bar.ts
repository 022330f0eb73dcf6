/** Progress of a transfer on a terminal: share, rate, time left. */
import { systemClock } from "../../clock.ts";
import { progressBar } from "../submit/progress-bar.ts";

export interface TransferBar {
	/** `total`: 0 while unknown. */
	show(done: number, total: number): void;
	/** Text without a share. */
	stage(text: string): void;
	clear(): void;
}

/** `verb`: what is done with the bytes, such as `copied`. */
export function transferBar(verb: string): TransferBar {
	const bar = progressBar({ now: systemClock.now });
	return {
		show: (done, total) =>
			bar.show({
				share: total > 0 ? Math.min(1, done / total) : undefined,
				count: done,
				rate: bytesText,
				text: `${bytesText(done)} ${verb}`,
			}),
		stage: (text) => bar.show({ share: 1, count: 0, text }),
		clear: bar.clear,
	};
}

/** In decimal units: `12.3 MB`. */
export function bytesText(bytes: number): string {
	if (bytes < 1e6) return `${Math.ceil(bytes / 1000)} kB`;
	return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}
