/**
 * Moves texts out of payload files that rows mostly do not refer to any more, so that one result
 * that is kept for long does not keep a whole file.
 */
import type { Clock } from "../../../clock.ts";
import { StoreUnavailable } from "../../contract/store.ts";
import type { TextMoves } from "../thread/text-moves.ts";
import type { PayloadFiles, Written } from "./payload-files.ts";

/** Bytes in files that no row refers to: this many stay, or as many as rows refer to. */
const UNUSED_BYTES = 256 * 2 ** 20;

/** Maximum number of texts and bytes of a step. */
const STEP_TEXTS = 64;
const STEP_BYTES = 8 * 2 ** 20;

/** Pause between steps, so that jobs go first, ms. */
const PAUSE_MS = 50;

export interface Compaction {
	/** Begins if there is something to do, unless it has begun. */
	begin(): void;
	/** Ends after the current step. */
	stop(): Promise<void>;
}

export function openCompaction({
	files,
	moves,
	clock,
	unusedBytes = UNUSED_BYTES,
}: {
	files: PayloadFiles;
	moves: TextMoves;
	clock: Clock;
	unusedBytes?: number;
}): Compaction {
	const stopped = new AbortController();
	/** Files with a text that cannot be moved. */
	const damaged = new Set<number>();
	let running: Promise<void> | undefined;

	function due(): number | undefined {
		const { bytes, referenced } = files.total();
		if (bytes - referenced <= Math.max(unusedBytes, referenced)) return undefined;
		const found = files.mostUnused(damaged);
		return found && found.referenced <= found.bytes / 2 ? found.number : undefined;
	}

	/** Moves some texts of a file; false when it has none. */
	async function step(segment: number): Promise<boolean> {
		const texts = await moves.textsIn({ segment, limit: STEP_TEXTS });
		const written: Written[] = [];
		try {
			const moved = [];
			let bytes = 0;
			for (const from of texts) {
				const copy = await files.write(await files.read(from));
				written.push(copy);
				moved.push({ from, to: copy.block });
				bytes += from.length;
				if (bytes >= STEP_BYTES) break;
			}
			if (moved.length > 0) await moves.move(moved);
			return moved.length > 0;
		} finally {
			for (const { settled } of written) settled();
		}
	}

	async function run(): Promise<void> {
		for (let segment; !stopped.signal.aborted && (segment = due()) !== undefined; )
			try {
				while (!stopped.signal.aborted && (await step(segment))) await clock.sleep(PAUSE_MS, stopped.signal);
			} catch (error) {
				if (!(error instanceof StoreUnavailable) || error.why !== "damaged") throw error;
				damaged.add(segment);
			}
	}

	return {
		begin() {
			if (running || stopped.signal.aborted || due() === undefined) return;
			// The store or its disk cannot be written now: the next change begins again.
			running = run()
				.catch(() => {})
				.finally(() => (running = undefined));
		},
		async stop() {
			stopped.abort();
			await running;
		},
	};
}
