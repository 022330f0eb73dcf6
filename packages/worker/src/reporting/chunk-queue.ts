/**
 * Posts the chunks of one job in order, one post at a time. If the service supports batches (header
 * `Sluice-Job-Stream-Batch`), chunks made during a post share the next one. Otherwise the generator waits for each
 * answer, like RunPod's SDK.
 */
import type { PostOutcome } from "./result-poster.ts";

export interface ChunkQueue {
	/** Resolves when the next chunk may be made. Never rejects. */
	add(body: string): Promise<void>;
	/** Resolves when all are acknowledged or given up. */
	end(): Promise<void>;
}

/** Longer chunks are posted alone, characters. */
const MAX_CHUNK = 16_384;
/** Maximum chunks and characters that wait, or share a post. */
export const MOST_WAITING = 16;
const MAX_BATCH = 262_144;

export interface ChunkQueueOptions {
	/** Maximum chunks of a post. 0 or 1: no batches. */
	batchSize: () => number;
	/** The service refuses batches that it offered. None are sent from now on. */
	refused: () => void;
	/** Posts until the body is acknowledged. Returns the last outcome. `index`: number of the first chunk. */
	deliver(body: string, index: number, together: boolean): Promise<PostOutcome | undefined>;
}

export function createChunkQueue({ batchSize, refused, deliver }: ChunkQueueOptions): ChunkQueue {
	const waiting: string[] = [];
	let length = 0;
	let index = 0;
	let posting: Promise<void> | undefined;
	let roomMade = (): void => {};

	function nextBatch(): number {
		const most = Math.min(batchSize(), MOST_WAITING);
		let size = 0;
		let count = 0;
		for (; count < waiting.length && count < most; count += 1) {
			const body = waiting[count]!;
			size += body.length;
			if (body.length > MAX_CHUNK || size > MAX_BATCH || body.includes("\n")) break;
		}
		return Math.max(count, 1);
	}

	async function postAll(): Promise<void> {
		while (waiting.length > 0) {
			const count = nextBatch();
			const bodies = waiting.slice(0, count);
			const outcome = await deliver(bodies.join("\n"), index, count > 1);
			if (count > 1 && typeof outcome === "number" && outcome >= 400) {
				refused();
				continue;
			}
			waiting.splice(0, count);
			for (const body of bodies) length -= body.length;
			index += count;
			roomMade();
		}
		posting = undefined;
	}

	function isFull(): boolean {
		return waiting.length >= (batchSize() > 1 ? MOST_WAITING : 1) || length >= MAX_BATCH;
	}

	return {
		async add(body) {
			waiting.push(body);
			length += body.length;
			posting ??= postAll();
			while (isFull()) await new Promise<void>((resolve) => (roomMade = resolve));
		},
		async end() {
			await posting;
		},
	};
}
