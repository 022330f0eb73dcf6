/**
 * Objects of S3 clients (D59). Objects that share a content, and a content and the rows of its files, change together:
 * one transaction at a time changes them.
 */
import type { FileRow } from "../contract/files.ts";
import {
	type BucketRow,
	type ContentPart,
	MOST_BUCKETS,
	MOST_UPLOADS,
	type ObjectPlace,
	type ObjectRow,
	type PartRow,
	type Removed,
	type UploadRow,
} from "../contract/objects.ts";
import { read, write } from "../operations/operation.ts";
import { add, excess, holdEndpoint } from "./files.ts";
import { listed } from "./object-list.ts";
import { change, columns, lock, rows, sql, type Work } from "./work.ts";

const OBJECTS = columns<ObjectRow>("endpoint, bucket, key, content, bytes, etag, headers, created_at, expires_at");
const BUCKETS = columns<BucketRow>("endpoint, name, created_at");
const UPLOADS = columns<UploadRow>("id, endpoint, bucket, key, headers, created_at");
const PARTS = columns<PartRow>("number, file, bytes, etag, created_at");
const CONTENT = columns<ContentPart>("file, bytes");

const AT = "endpoint = $1 AND bucket = $2 AND key = $3";
const LIVE = (now: string): string => `(expires_at IS NULL OR expires_at > ${now})`;

const FIND = sql(`SELECT ${OBJECTS.names} FROM objects WHERE ${AT} AND ${LIVE("$4")}`);
const CONTENT_AT = sql(`SELECT content FROM objects WHERE ${AT}`);
const INSERT = sql(`
  INSERT INTO objects (${OBJECTS.names}, folder) VALUES (${OBJECTS.parameters}, $10)`);
const REMOVE = sql(`DELETE FROM objects WHERE ${AT}`);
const USED = sql("SELECT 1 FROM objects WHERE content = $1 LIMIT 1");
const IN_FOLDER = `FROM objects WHERE endpoint = $1 AND folder = $2`;
const LIST_FOLDER = sql(`
  SELECT ${OBJECTS.names} ${IN_FOLDER} AND ${LIVE("$3")} ORDER BY created_at DESC, bucket, key LIMIT $4`);
const SOME_IN_FOLDER = sql(`SELECT endpoint, bucket, key ${IN_FOLDER} LIMIT $3`);
const EXPIRED = sql("SELECT endpoint, bucket, key FROM objects WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2");

const HAS_BUCKET = sql("SELECT 1 FROM buckets WHERE endpoint = $1 AND name = $2");
const ALL_BUCKETS = sql(`SELECT ${BUCKETS.names} FROM buckets WHERE endpoint = $1 ORDER BY name`);
const COUNT_BUCKETS = sql("SELECT count(*) FROM buckets WHERE endpoint = $1");
const INSERT_BUCKET = sql(`INSERT INTO buckets (${BUCKETS.names}) VALUES (${BUCKETS.parameters})`);
const REMOVE_BUCKET = sql("DELETE FROM buckets WHERE endpoint = $1 AND name = $2");
const IN_BUCKET = sql(`SELECT 1 FROM objects WHERE endpoint = $1 AND bucket = $2 AND ${LIVE("$3")} LIMIT 1`);

const INSERT_UPLOAD = sql(`INSERT INTO object_uploads (${UPLOADS.names}) VALUES (${UPLOADS.parameters})`);
const COUNT_UPLOADS = sql("SELECT count(*) FROM object_uploads WHERE endpoint = $1");
const UPLOAD_AT = sql(`SELECT ${UPLOADS.names} FROM object_uploads WHERE ${AT} AND id = $4`);
const UPLOAD_BY_ID = sql("SELECT endpoint FROM object_uploads WHERE id = $1");
const REMOVE_UPLOAD = sql("DELETE FROM object_uploads WHERE id = $1");
const OLD_UPLOADS = sql("SELECT id FROM object_uploads WHERE created_at < $1 ORDER BY created_at LIMIT $2");
const LIST_UPLOADS = sql(`
  SELECT ${UPLOADS.names} FROM object_uploads
  WHERE endpoint = $1 AND bucket = $2 AND key >= $3 AND substr(key, 1, length($3)) = $3 AND (key, id) > ($4, $5)
  ORDER BY key, id LIMIT $6`);

const INSERT_PART = sql(`
  INSERT INTO object_parts (upload, endpoint, ${PARTS.names}) VALUES ($1, $2, $3, $4, $5, $6, $7)`);
const PART = sql(`SELECT ${PARTS.names} FROM object_parts WHERE upload = $1 AND number = $2`);
const REMOVE_PART = sql("DELETE FROM object_parts WHERE upload = $1 AND number = $2");
const LIST_PARTS = sql(`
  SELECT ${PARTS.names} FROM object_parts WHERE upload = $1 AND number > $2 ORDER BY number LIMIT $3`);
const ALL_PARTS = sql(`SELECT ${PARTS.names} FROM object_parts WHERE upload = $1 ORDER BY number`);

/** Statements for all or some of the parts of an upload. */
function partsWhere(where: string, sqlite = where) {
	const each = (text: (where: string) => string) => sql(text(where), text(sqlite));
	return {
		content: each((its) => `SELECT ${CONTENT.names} FROM object_parts WHERE ${its} ORDER BY number`),
		totals: each(
			(its) => `
  SELECT files.endpoint, count(*), sum(files.bytes) FROM object_parts JOIN files ON files.id = object_parts.file
  WHERE ${its} GROUP BY files.endpoint`,
		),
		removeFiles: each((its) => `DELETE FROM files WHERE id IN (SELECT file FROM object_parts WHERE ${its})`),
		remove: each((its) => `DELETE FROM object_parts WHERE ${its}`),
	};
}

const PARTS_OF = partsWhere("upload = $1");
/** `$2`: a JSON array of the numbers of the chosen ones. */
const OTHERS_OF = partsWhere(
	"upload = $1 AND number NOT IN (SELECT CAST(jsonb_array_elements_text(CAST($2 AS jsonb)) AS bigint))",
	"upload = $1 AND number NOT IN (SELECT value FROM json_each($2))",
);

const FILE = sql("SELECT endpoint, bytes FROM files WHERE id = $1");
const REMOVE_FILE = sql("DELETE FROM files WHERE id = $1");
const SUBTRACT = sql("UPDATE file_totals SET files = files - $2, bytes = bytes - $3 WHERE endpoint = $1");

/** Files after which a transaction removes no more objects: others wait for it. */
const MANY_FILES = 200;

/** All that changes objects begins with it, after the endpoint. */
function* one(): Work<void> {
	yield* lock("file_totals");
}

const isFile = (content: string): boolean => content.startsWith("file-");

/** The key up to its first slash, that of a job if it begins with the job's id. */
function folderOf(key: string): string | null {
	const slash = key.indexOf("/");
	return slash > 0 ? key.slice(0, slash) : null;
}

function* removeFile(id: string): Work<string[]> {
	const [found] = yield* rows(FILE, id);
	if (!found) return [];
	yield* change(REMOVE_FILE, id);
	yield* change(SUBTRACT, found[0]!, 1, Number(found[1]));
	return [id];
}

/** Returns the files whose rows are removed with the parts. */
function* removeParts(which: typeof PARTS_OF, ...values: readonly string[]): Work<string[]> {
	const files = (yield* rows(which.content, ...values)).map(([file]) => file as string);
	if (files.length === 0) return [];
	for (const [endpoint, count, bytes] of yield* rows(which.totals, ...values))
		yield* change(SUBTRACT, endpoint!, Number(count), Number(bytes));
	yield* change(which.removeFiles, ...values);
	yield* change(which.remove, ...values);
	return files;
}

/** Removes what no object has any more. */
function* release(content: string): Work<string[]> {
	if ((yield* rows(USED, content)).length > 0) return [];
	return yield* isFile(content) ? removeFile(content) : removeParts(PARTS_OF, content);
}

function* removeAt({ endpoint, bucket, key }: ObjectPlace): Work<string[]> {
	const [found] = yield* rows(CONTENT_AT, endpoint, bucket, key);
	if (!found) return [];
	yield* change(REMOVE, endpoint, bucket, key);
	return yield* release(found[0] as string);
}

function* insertAt(object: ObjectRow): Work<string[]> {
	const { endpoint, bucket, key } = object;
	const [found] = yield* rows(CONTENT_AT, endpoint, bucket, key);
	yield* change(REMOVE, endpoint, bucket, key);
	yield* change(INSERT, ...OBJECTS.values(object), folderOf(key));
	return found ? yield* release(found[0] as string) : [];
}

function* ensureBucket({ endpoint, name, createdAt }: BucketRow): Work<boolean> {
	if ((yield* rows(HAS_BUCKET, endpoint, name)).length > 0) return true;
	if (Number((yield* rows(COUNT_BUCKETS, endpoint))[0]![0]) >= MOST_BUCKETS) return false;
	yield* change(INSERT_BUCKET, endpoint, name, createdAt);
	return true;
}

const bucketOf = ({ endpoint, bucket, createdAt }: { endpoint: string; bucket: string; createdAt: number }) => ({
	endpoint,
	name: bucket,
	createdAt,
});

function* found({ endpoint, bucket, key, now }: ObjectPlace & { now: number }): Work<ObjectRow | undefined> {
	return (yield* rows(FIND, endpoint, bucket, key, now)).map(OBJECTS.from)[0];
}

function* contentOf({ content, bytes }: ObjectRow): Work<ContentPart[]> {
	return isFile(content) ? [{ file: content, bytes }] : (yield* rows(PARTS_OF.content, content)).map(CONTENT.from);
}

/** `removed`: how many of the places, from the first one, were handled. */
function* removePlaces(places: readonly (readonly unknown[])[]): Work<Removed> {
	const freed: string[] = [];
	let removed = 0;
	for (const [endpoint, bucket, key] of places as [string, string, string][]) {
		if (freed.length >= MANY_FILES) break;
		freed.push(...(yield* removeAt({ endpoint, bucket, key })));
		removed += 1;
	}
	return { removed, freed };
}

/** Returns the bytes of the parts that are wanted, or the number of one that is not as wanted. */
function* chosenBytes(upload: string, wanted: readonly { number: number; etag: string }[]) {
	const stored = new Map((yield* rows(ALL_PARTS, upload)).map(PARTS.from).map((part) => [part.number, part]));
	let bytes = 0;
	for (const { number, etag } of wanted) {
		const part = stored.get(number);
		if (part?.etag !== etag) return { badPart: number };
		bytes += part.bytes;
	}
	return { bytes };
}

function* storePart(upload: string, endpoint: string, part: PartRow, row: FileRow): Work<string[]> {
	const [before] = (yield* rows(PART, upload, part.number)).map(PARTS.from);
	yield* change(REMOVE_PART, upload, part.number);
	yield* change(INSERT_PART, upload, endpoint, ...PARTS.values(part));
	yield* add(row);
	return before ? yield* removeFile(before.file) : [];
}

export const objects = {
	put: write<"objects.put">(function* ({ object, file, ifAbsent, now, ...bounds }) {
		if (!(yield* holdEndpoint(object.endpoint))) return "no endpoint";
		const over = yield* excess(object.endpoint, file.bytes, bounds);
		if (over) return over;
		if (ifAbsent && (yield* found({ ...object, now }))) return "exists";
		if (!(yield* ensureBucket(bucketOf(object)))) return "too many buckets";
		yield* add(file);
		return { freed: yield* insertAt(object) };
	}),

	copy: write<"objects.copy">(function* ({ from, object, now }) {
		if (!(yield* holdEndpoint(object.endpoint))) return "no endpoint";
		yield* one();
		const source = yield* found({ ...from, now });
		if (!source) return "no object";
		if (!(yield* ensureBucket(bucketOf(object)))) return "too many buckets";
		const { content, bytes, etag } = source;
		const headers = object.headers ?? source.headers;
		return { etag, freed: yield* insertAt({ ...object, content, bytes, etag, headers }) };
	}),

	find: read<"objects.find">(function* (q) {
		const object = yield* found(q);
		return object && { ...object, parts: yield* contentOf(object) };
	}),

	inFolder: read<"objects.inFolder">(function* ({ endpoint, folder, now, limit }) {
		return (yield* rows(LIST_FOLDER, endpoint, folder, now, limit)).map(OBJECTS.from);
	}),

	remove: write<"objects.remove">(function* ({ endpoint, bucket, keys }) {
		yield* one();
		return yield* removePlaces(keys.map((key) => [endpoint, bucket, key]));
	}),

	removeFolder: write<"objects.removeFolder">(function* ({ endpoint, folder, limit }) {
		yield* one();
		return yield* removePlaces(yield* rows(SOME_IN_FOLDER, endpoint, folder, limit));
	}),

	expire: write<"objects.expire">(function* ({ now, uploadsBefore, limit }) {
		yield* one();
		const objects = yield* removePlaces(yield* rows(EXPIRED, now, limit));
		const freed = [...objects.freed];
		let { removed } = objects;
		for (const [id] of (yield* rows(OLD_UPLOADS, uploadsBefore, limit)) as [string][]) {
			if (freed.length >= MANY_FILES) break;
			yield* change(REMOVE_UPLOAD, id);
			freed.push(...(yield* removeParts(PARTS_OF, id)));
			removed += 1;
		}
		return { removed, freed };
	}),

	buckets: read<"objects.buckets">(function* ({ endpoint }) {
		return (yield* rows(ALL_BUCKETS, endpoint)).map(BUCKETS.from);
	}),

	hasBucket: read<"objects.hasBucket">(function* ({ endpoint, name }) {
		return (yield* rows(HAS_BUCKET, endpoint, name)).length > 0;
	}),

	createBucket: write<"objects.createBucket">(function* (row) {
		if (!(yield* holdEndpoint(row.endpoint))) return "no endpoint";
		yield* one();
		return (yield* ensureBucket(row)) ? "created" : "too many buckets";
	}),

	removeBucket: write<"objects.removeBucket">(function* ({ endpoint, name, now }) {
		yield* one();
		if ((yield* rows(IN_BUCKET, endpoint, name, now)).length > 0) return "not empty";
		return (yield* change(REMOVE_BUCKET, endpoint, name)) > 0 ? "removed" : "no bucket";
	}),

	createUpload: write<"objects.createUpload">(function* ({ upload }) {
		if (!(yield* holdEndpoint(upload.endpoint))) return "no endpoint";
		yield* one();
		if (Number((yield* rows(COUNT_UPLOADS, upload.endpoint))[0]![0]) >= MOST_UPLOADS) return "too many uploads";
		if (!(yield* ensureBucket(bucketOf(upload)))) return "too many buckets";
		yield* change(INSERT_UPLOAD, ...UPLOADS.values(upload));
		return "created";
	}),

	findUpload: read<"objects.findUpload">(function* ({ endpoint, bucket, key, id }) {
		return (yield* rows(UPLOAD_AT, endpoint, bucket, key, id)).map(UPLOADS.from)[0];
	}),

	uploads: read<"objects.uploads">(function* ({ endpoint, bucket, prefix, after, limit }) {
		return (yield* rows(LIST_UPLOADS, endpoint, bucket, prefix, after.key, after.id, limit)).map(UPLOADS.from);
	}),

	putPart: write<"objects.putPart">(function* ({ upload, part, row, ...bounds }) {
		if (!(yield* holdEndpoint(row.endpoint))) return "no endpoint";
		const over = yield* excess(row.endpoint, row.bytes, bounds);
		if (over) return over;
		// It may have been completed or aborted meanwhile.
		if ((yield* rows(UPLOAD_BY_ID, upload)).length === 0) return "no upload";
		return { freed: yield* storePart(upload, row.endpoint, part, row) };
	}),

	parts: read<"objects.parts">(function* ({ upload, after, limit }) {
		return (yield* rows(LIST_PARTS, upload, after, limit)).map(PARTS.from);
	}),

	complete: write<"objects.complete">(function* ({ object, parts, maxBytes, ifAbsent, now }) {
		yield* one();
		const { endpoint, bucket, key, content } = object;
		const current = yield* found({ ...object, now });
		if (current?.content === content) return current.etag === object.etag ? { freed: [] } : "no upload";
		if ((yield* rows(UPLOAD_AT, endpoint, bucket, key, content)).length === 0) return "no upload";
		if (ifAbsent && current) return "exists";
		const chosen = yield* chosenBytes(content, parts);
		if ("badPart" in chosen) return { badPart: chosen.badPart! };
		if (chosen.bytes > maxBytes) return "too large";
		const numbers = JSON.stringify(parts.map(({ number }) => number));
		const freed = yield* removeParts(OTHERS_OF, content, numbers);
		yield* change(REMOVE_UPLOAD, content);
		// It was there when the upload began, and its bound held then.
		yield* ensureBucket(bucketOf(object));
		freed.push(...(yield* insertAt({ ...object, bytes: chosen.bytes })));
		return { freed };
	}),

	abort: write<"objects.abort">(function* ({ endpoint, bucket, key, id }) {
		yield* one();
		if ((yield* rows(UPLOAD_AT, endpoint, bucket, key, id)).length === 0) return "no upload";
		yield* change(REMOVE_UPLOAD, id);
		return { freed: yield* removeParts(PARTS_OF, id) };
	}),

	list: read<"objects.list">(listed),
};
