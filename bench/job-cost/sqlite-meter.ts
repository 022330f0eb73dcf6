/** What jobs cost in a SQLite store: bytes of its log and of checkpoints, processor time. */
import { processMicros, threadOf } from "./processor.ts";
import type { Meter } from "./meter.ts";

/** A page in the log, with its header. Checkpoints write the page alone: counted as 0.994. */
const FRAME = 24 + 4096;

/** `pid`: the service. Its database thread writes to files only. */
export function sqliteMeter(pid: number): Meter {
	const read = () => ({
		database: threadOf(pid, "sqlite"),
		service: threadOf(pid, "service"),
		process: processMicros(pid),
	});
	return {
		begin: async () => {
			const from = read();
			return async () => {
				const to = read();
				const written = to.database.written - from.database.written;
				return {
					bytesWritten: written,
					pagesWritten: written / FRAME,
					processorMicros: {
						all: to.process - from.process,
						service: to.service.micros - from.service.micros,
						database: to.database.micros - from.database.micros,
					},
				};
			};
		},
	};
}
