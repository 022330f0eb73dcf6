/** What jobs cost in a SQLite store: frames of the log, pages of checkpoints, processor time. */
import { readFileSync } from "node:fs";
import { processMicros, threadOf } from "./processor.ts";
import type { Meter } from "./meter.ts";

const PAGE = 4096;
const FRAME = 24 + PAGE;
const HEADER = 32;
/** Frames after which the store makes a checkpoint and begins the log again (`wal_autocheckpoint`). */
const CHECKPOINT_FRAMES = 4000;

/** Position in the log: how often it began again, its frames, and those of the time before. */
interface Position {
	sequence: number;
	frames: number;
	/** 0 where the present frames have overwritten them. */
	before: number;
}

function position(path: string): Position {
	const log = readFileSync(path);
	const salt = log.readUInt32BE(16);
	const count = Math.floor((log.length - HEADER) / FRAME);
	const saltAt = (index: number): number => log.readUInt32BE(HEADER + index * FRAME + 8);
	let frames = 0;
	while (frames < count && saltAt(frames) === salt) frames += 1;
	let before = count;
	while (before > frames && saltAt(before - 1) !== salt - 1) before -= 1;
	return { sequence: log.readUInt32BE(12), frames, before: before > frames ? before : 0 };
}

/** Frames between two positions; a log that neither shows had `CHECKPOINT_FRAMES`. */
function framesBetween(from: Position, to: Position): number {
	const times = to.sequence - from.sequence;
	if (times === 0) return to.frames - from.frames;
	const last = Math.max(to.before, CHECKPOINT_FRAMES);
	return last + (times - 1) * CHECKPOINT_FRAMES - from.frames + to.frames;
}

/** `file`: the database of the service with this `pid`. */
export function sqliteMeter({ pid, file }: { pid: number; file: string }): Meter {
	const read = () => ({
		log: position(`${file}-wal`),
		database: threadOf(pid, "sqlite"),
		service: threadOf(pid, "service"),
		process: processMicros(pid),
	});
	return {
		begin: async () => {
			const from = read();
			return async () => {
				const to = read();
				const frames = framesBetween(from.log, to.log);
				const written = to.database.written - from.database.written;
				return {
					walFrames: frames,
					// What the thread wrote without the log: it writes to no socket.
					checkpointPages: Math.max(0, written - frames * FRAME) / PAGE,
					bytesWritten: written,
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
