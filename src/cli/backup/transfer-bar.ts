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

/** Time left is shown once a rate is known, ms. */
const SETTLED_MS = 1000;

/** `verb`: what is done with the bytes, such as `copied`. */
export function transferBar(verb: string): TransferBar {
	const bar = progressBar({ now: systemClock.now });
	const begun = systemClock.now();
	return {
		show(done, total) {
			const passed = systemClock.now() - begun;
			const rate = passed > 0 ? (done / passed) * 1000 : 0;
			const left =
				passed > SETTLED_MS && rate > 0 && total > done
					? `, ${Math.ceil((total - done) / rate)} s left`
					: "";
			const share = total > 0 ? Math.min(1, done / total) : 0;
			bar.show(share, `${bytesText(done)} ${verb}, ${bytesText(rate)}/s${left}`);
		},
		stage: (text) => bar.show(1, text),
		clear: bar.clear,
	};
}

/** In decimal units: `12.3 MB`. */
export function bytesText(bytes: number): string {
	if (bytes < 1e6) return `${Math.ceil(bytes / 1000)} kB`;
	return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}
