/**
 * Which place has the bytes of files (D61): the store remembers the bucket, and the bucket has an object that only it
 * has, so that another bucket, or none, is noticed before a file is missing.
 */
import type { Kernel } from "../../../kernel/module.ts";
import { PLACE_DOCUMENT } from "../../../kernel/store/contract/files.ts";
import type { Bucket } from "./bucket.ts";

/** Object of the bucket; its content is {@link Place.id}. */
const MARK = "place";
const ID_LENGTH = 36;

interface Place {
	/** {@link ID_LENGTH} random characters. */
	id: string;
	/** Name of the bucket, for people. */
	name: string;
	/** Whether the bucket has the object. */
	isMarked: boolean;
}

/** The files of the store are in another place than the one that is configured. */
export class Misplaced extends Error {}

type Context = Pick<Kernel, "store"> & { newId: () => string };

async function filesIn({ store }: Pick<Kernel, "store">): Promise<number> {
	return (await store.files.totals()).reduce((sum, { files }) => sum + files, 0);
}

const read = (text: string | undefined): Place | undefined =>
	text === undefined || text === "" ? undefined : (JSON.parse(text) as Place);

/** Throws `Misplaced`, `StoreUnavailable`. */
export async function confirmBucket({ store, newId }: Context, bucket: Bucket): Promise<void> {
	const { documents } = store;
	for (;;) {
		const from = await documents.read(PLACE_DOCUMENT);
		const place = read(from);
		if (place?.isMarked) {
			if ((await markOf(bucket)) === place.id) return;
			const files = await filesIn({ store });
			if (files > 0) throw new Misplaced(elsewhere(files, place, bucket));
		}
		const isOurs = place && !place.isMarked && place.name === bucket.name;
		const begun: Place = isOurs ? place : { id: newId(), name: bucket.name, isMarked: false };
		const begunText = JSON.stringify(begun);
		if (!isOurs && !(await documents.replace({ name: PLACE_DOCUMENT, from, to: begunText }))) continue;
		await bucket.put(MARK, Buffer.from(begun.id));
		const to = JSON.stringify({ ...begun, isMarked: true });
		await documents.replace({ name: PLACE_DOCUMENT, from: begunText, to });
	}
}

/** Checks that a service without a bucket never had one. Throws `Misplaced`, `StoreUnavailable`. */
export async function confirmNoBucket({ store }: Pick<Kernel, "store">): Promise<void> {
	const from = await store.documents.read(PLACE_DOCUMENT);
	const place = read(from);
	if (!place) return;
	const files = await filesIn({ store });
	if (files > 0)
		throw new Misplaced(
			`The store has ${files} files, and those that are not in its own place are in the bucket ${place.name}, but ` +
				"files.bucket is not set. Set it again, or delete the files first.",
		);
	await store.documents.replace({ name: PLACE_DOCUMENT, from, to: "" });
}

async function markOf(bucket: Bucket): Promise<string | undefined> {
	const found = await bucket.get(MARK, { start: 0, end: ID_LENGTH });
	if (!found) return undefined;
	try {
		if (found.bytes !== ID_LENGTH) return undefined;
		return String(Buffer.concat(await Array.fromAsync(found)));
	} finally {
		await found.close();
	}
}

function elsewhere(files: number, place: Place, bucket: Bucket): string {
	const from = place.name === bucket.name ? "are not there any more" : `are in the bucket ${place.name}`;
	return (
		`The store has ${files} files, and files.bucket is ${bucket.name}, but their bytes ${from}. Set files.bucket ` +
		`to the place with the object '${MARK}', or copy all objects from there, '${MARK}' too.`
	);
}
