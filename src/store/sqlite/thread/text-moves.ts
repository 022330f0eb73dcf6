/** Operations of the database thread that are not in the contract: texts move between payload files. */
import type { FileBlock } from "../payload-files/file-block.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";

export interface TextMoves {
	/** Texts of a file that rows refer to. */
	textsIn(q: { segment: number; limit: number }): Promise<FileBlock[]>;
	/** Rows refer to the copies instead; texts to which no row refers any more are passed over. */
	move(q: readonly { from: FileBlock; to: FileBlock }[]): Promise<void>;
}

/** In the order of their numbers, which follow those of the contract's operations. */
export const MOVE_NAMES = ["textsIn", "move"] as const;
export const MOVE_KINDS = ["read", "write"] as const;

export function moveHandlers({ texts }: Pick<UnitOfWork, "texts">): ((q: never) => unknown)[] {
	return [
		(q: Parameters<TextMoves["textsIn"]>[0]) => texts.inSegment(q.segment, q.limit),
		(q: Parameters<TextMoves["move"]>[0]) => {
			for (const each of q) texts.move(each);
		},
	];
}
