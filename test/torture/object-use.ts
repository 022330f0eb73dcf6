/** What clients of objects share: names, contents, and what they record (D59). */
import { brief, type ChangeOp, type Members } from "./history.ts";
import { etagOf, type S3, type S3Answer } from "./s3-api.ts";
import type { Time } from "./time.ts";
import type { Tracker } from "./tracker.ts";

/** Bytes that reads of a range ask for. They lie in several parts of most uploads. */
export const RANGE = [100, 2147] as const;

export interface Stored {
	bucket: string;
	key: string;
}

/** What all clients share. */
export interface ObjectUse {
	s3: S3;
	time: Time;
	tracker: Tracker;
	random: () => number;
	/** A number from 0 to below `most`. */
	whole: (most: number) => number;
	anyServer: () => string;
	/** A content that no other put has. */
	newContent: (name?: string) => string;
	changed(
		by: string,
		server: string,
		answer: S3Answer,
		change: Pick<ChangeOp, "how" | "sets" | "upload"> & Stored,
	): void;
	shown(by: string, server: string, answer: Pick<S3Answer, "from" | "to">, at: Stored, what: What): void;
}

type What = { how?: "list" | "condition" } & ({ members: Members } | { missing: true });

export const objectOf = ({ bucket, key }: Stored): string => `s3 ${bucket}/${key}`;
export const pathOf = ({ bucket, key }: Stored): string => `/${bucket}/${key}`;

/** What each kind of read shows of this content. */
export function setsOf(content: string, etag = etagOf(content)): Members {
	const range = brief(content.slice(RANGE[0], RANGE[1] + 1));
	return { content: brief(content), range, etag, bytes: String(content.length) };
}
