/** The store of SQLite with large texts in payload files: the database thread has only their places. */
import { isFound, SEARCHED_CHARACTERS } from "../../../core/job-search.ts";
import {
	type JsonBlocks,
	type JsonText,
	LARGE_BYTES,
	release,
	sizeOf,
	stringOf,
} from "../../../core/json/json-text.ts";
import type { Claimed, ListedJob } from "../../contract/jobs.ts";
import { type Store, StoreUnavailable } from "../../contract/store.ts";
import { damageOf } from "../disk-errors.ts";
import { type FileBlock, isInFile, placeOf, textInFile } from "./file-block.ts";
import type { PayloadFiles } from "./payload-files.ts";

const keyOf = ({ segment, at }: FileBlock): string => `${segment}:${at}`;

/** `store`: over the database thread. */
export function withPayloadFiles(store: Store, files: PayloadFiles): Store {
	/** Inputs whose insert is not answered yet: a claim in the same commit takes them from here. */
	const fresh = new Map<string, JsonBlocks>();

	/** Calls `use` with the form of a text in the store. */
	async function stored<T>(text: JsonText, use: (text: JsonText, place?: FileBlock) => Promise<T>): Promise<T> {
		if (typeof text === "string") return await use(text);
		if (sizeOf(text) < LARGE_BYTES) return await use(stringOf(text));
		const { block, settled } = await files.write(text);
		try {
			const answer = await use(textInFile(block), block);
			settled();
			return answer;
		} catch (error) {
			// Its row may be committed: then the next start needs the file, else it removes it.
			if (!(error instanceof StoreUnavailable && error.unsure)) settled();
			throw error;
		}
	}

	/** The text behind its form in the store. */
	async function loaded(text: JsonText): Promise<JsonText> {
		if (typeof text === "string") return text;
		const place = placeOf(text);
		if (place) return taken(place) ?? (await files.read(place));
		const blocks = text as readonly (Uint8Array | FileBlock)[];
		const parts = await Promise.all(blocks.map(async (block) => (isInFile(block) ? await files.read(block) : [block])));
		return parts.flat();
	}

	/** An input that is in memory still, once: its memory is the caller's. */
	function taken(place: FileBlock): JsonBlocks | undefined {
		const text = fresh.get(keyOf(place));
		if (text) fresh.delete(keyOf(place));
		return text;
	}

	/** An answer with its texts, of which it has these. */
	async function withTexts<T, M extends keyof T>(found: T, ...members: M[]): Promise<T> {
		const large = members.filter((member) => typeof found[member] === "object");
		if (large.length === 0) return found;
		const texts = await Promise.all(
			large.map(async (member) => [member, await loaded(found[member] as JsonText)] as const),
		);
		return { ...found, ...Object.fromEntries(texts) };
	}

	/** A claimed job with its input, or why it cannot be read. */
	async function withInput(claimed: Claimed): Promise<Claimed> {
		try {
			return await withTexts(claimed, "input");
		} catch (error) {
			return { ...claimed, input: undefined, damage: damageOf(error) };
		}
	}

	/**
	 * A job in a list with the beginning of its input; undefined where that decides that the search
	 * does not find it.
	 */
	async function withHead(listed: ListedJob, search = ""): Promise<ListedJob | undefined> {
		const place = placeOf(listed.inputHead);
		if (!place) return listed;
		const inputHead = await files.head(place, SEARCHED_CHARACTERS);
		return isFound(listed, { head: stringOf(inputHead ?? ""), search }) ? { ...listed, inputHead } : undefined;
	}

	const { jobs, webhooks } = store;
	return {
		...store,
		jobs: {
			...jobs,
			insert: (q) =>
				stored(q.input, (input, place) => {
					if (!place) return jobs.insert({ ...q, input });
					fresh.set(keyOf(place), q.input as JsonBlocks);
					return jobs.insert({ ...q, input }).finally(() => release(taken(place) ?? ""));
				}),
			report(q) {
				const { output = "" } = q.outcome;
				if (typeof output === "string") return jobs.report(q);
				return stored(output, (text) => jobs.report({ ...q, outcome: { ...q.outcome, output: text } }));
			},
			progress: (q) => stored(q.value, (value) => jobs.progress({ ...q, value })),
			async claim(q) {
				const claim = await jobs.claim(q);
				if (claim.jobs.every(({ input }) => typeof input !== "object")) return claim;
				return { ...claim, jobs: await Promise.all(claim.jobs.map(withInput)) };
			},
			async get(q) {
				const found = await jobs.get(q);
				return found && (await withTexts(found, "output"));
			},
			async retain(q) {
				const found = await jobs.retain(q);
				return found && (await withTexts(found, "output"));
			},
			async list(q) {
				const page = await jobs.list(q);
				if (!page.jobs.some(({ inputHead }) => placeOf(inputHead))) return page;
				const found = await Promise.all(page.jobs.map((each) => withHead(each, q.search)));
				return { ...page, jobs: found.filter((each) => each !== undefined) };
			},
			async record(q) {
				const found = await jobs.record(q);
				return found && (await withTexts(found, "input", "output"));
			},
		},
		webhooks: {
			...webhooks,
			async body(q) {
				const body = await webhooks.body(q);
				return body && (await loaded(body));
			},
		},
		async ping() {
			await store.ping();
			await files.confirm();
		},
		confirm: () => files.confirm(),
		async close() {
			await store.close();
			await files.close();
		},
	};
}
