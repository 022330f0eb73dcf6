/** Lists objects by key, with keys that share a folder as one entry (D59). */
import type { ListedObject } from "../contract/objects.ts";
import type { Query } from "../operations/operation.ts";
import { columns, rows, sql, type Value, type Work } from "./work.ts";

const LISTED = columns<ListedObject>("key, bytes, etag, created_at");

const PAGE = `SELECT ${LISTED.names} FROM objects WHERE endpoint = $1 AND bucket = $2`;
const REST = "AND (expires_at IS NULL OR expires_at > $4) ORDER BY key LIMIT $5";
const BEHIND = sql(`${PAGE} AND key > $3 ${REST}`);
const FROM = sql(`${PAGE} AND key >= $3 ${REST}`);

/** A page of folders needs a statement for each large one; the next page goes on. */
const MOST_READS = 100;
const ROWS_WITH_FOLDERS = 64;

/** Behind every key that begins with a text, in the order of UTF-8 bytes. */
const END = "\u{10ffff}";

export interface ObjectPage {
	objects: ListedObject[];
	folders: string[];
	/** What `after` of the next page is to be; undefined at the end. */
	last: string | undefined;
}

export function* listed(q: Query<"objects.list">): Work<ObjectPage> {
	const { endpoint, bucket, prefix, delimiter, after, limit, now } = q;
	const page: ObjectPage = { objects: [], folders: [], last: undefined };
	if (isBehindAll(after, prefix)) return page;
	const folderOf = (key: string): string | undefined => {
		const at = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
		return at < 0 ? undefined : key.slice(0, at + delimiter.length);
	};
	const batch = delimiter === "" ? limit + 1 : Math.min(limit + 1, ROWS_WITH_FOLDERS);
	let folder = after.startsWith(prefix) && folderOf(after) === after ? after : undefined;
	let place = after.startsWith(prefix) ? (folder === undefined ? after : folder + END) : prefix;
	let statement = place === prefix ? FROM : BEHIND;
	let last = after;
	for (let reads = 0; reads < MOST_READS; reads += 1) {
		const values: Value[] = [endpoint, bucket, place, now, batch];
		const found = (yield* rows(statement, ...values)).map(LISTED.from);
		for (const object of found) {
			const { key } = object;
			if (!key.startsWith(prefix)) return page;
			const its = folderOf(key);
			if (its !== undefined && its === folder) continue;
			if (page.objects.length + page.folders.length === limit) return { ...page, last };
			last = its ?? key;
			folder = its;
			if (its === undefined) page.objects.push(object);
			else page.folders.push(its);
		}
		if (found.length < batch) return page;
		const { key } = found.at(-1)!;
		const end = folder === undefined ? undefined : folder + END;
		// A key may have END itself.
		place = end !== undefined && key.startsWith(folder!) && !key.startsWith(end) ? end : key;
		statement = BEHIND;
	}
	return { ...page, last };
}

/** Keys with a prefix follow one another: none of them is behind a key that is behind the prefix and lacks it. */
function isBehindAll(after: string, prefix: string): boolean {
	return !after.startsWith(prefix) && Buffer.compare(Buffer.from(after), Buffer.from(prefix)) > 0;
}
