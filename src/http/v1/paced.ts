/**
 * Scans of the store for one key run one after the other, each followed by a pause: other work gets
 * most of the store's time (D41).
 */
import type { Clock } from "../../clock.ts";

/** Pause after a scan, in durations of the scan: one key uses a quarter of the time. */
const PAUSE = 3;

export interface ScanQueue {
	/** Runs the scan in the turn of its key. */
	run<T>(key: string, scan: () => Promise<T>): Promise<T>;
}

export function scanQueue(clock: Clock): ScanQueue {
	/** Ends with the pause after the last scan of the key. */
	const last = new Map<string, Promise<void>>();

	return {
		async run(key, scan) {
			const before = last.get(key);
			const over = Promise.withResolvers<void>();
			last.set(key, over.promise);
			await before;
			const began = clock.now();
			// A scan that fails has used no time of the store.
			let pause = 0;
			try {
				const found = await scan();
				pause = PAUSE * (clock.now() - began);
				return found;
			} finally {
				const done = (): void => {
					if (last.get(key) === over.promise) last.delete(key);
					over.resolve();
				};
				if (pause > 0) void clock.sleep(pause).then(done);
				else done();
			}
		},
	};
}
