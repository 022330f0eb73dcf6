/** A store that keeps large payloads in files: the database thread stores only their locations. */
import { isFound, SEARCHED_CHARACTERS } from "../../../core/jobs/job-search.ts";
import { type JsonBlocks, type JsonText, LARGE_BYTES, release, sizeOf, stringOf } from "../../../lib/json/json-text.ts";
import type { Claim, Claimed, JobStore, ListedJob } from "../../contract/jobs.ts";
import { type Store, StoreUnavailable } from "../../contract/store.ts";
import { damageOf } from "../file/disk-errors.ts";
import { type FileBlock, isInFile, placeOf, textInFile } from "./file-block.ts";
import type { PayloadFiles } from "./payload-files.ts";

type ClaimQuery = Parameters<JobStore["claim"]>[0];

const keyOf = ({ segment, at }: FileBlock): string => `${segment}:${at}`;

export function withPayloadFiles(store: Store, files: PayloadFiles): Store {
	const { stored, loaded, withTexts, keep, taken } = payloadTexts(files);

	/**
	 * Returns a claimed job with its input, or a {@link StoreUnavailable} if the payload file cannot be read at present.
	 */
	async function withInput(claimed: Claimed): Promise<Claimed | StoreUnavailable> {
		try {
			return await withTexts(claimed, "input");
		} catch (error) {
			if (error instanceof StoreUnavailable && error.why === "unreadable") return error;
			return { ...claimed, input: undefined, damage: damageOf(error) };
		}
	}

	/**
	 * Returns jobs whose payload file cannot be read to the queue, without counting a loss and with their deadline. Later
	 * claims skip them until the file can be read, so that they delay no other job.
	 */
	async function claim(q: ClaimQuery): Promise<Claim> {
		const isWhole = files.unreadableFiles.size === 0;
		const found = await jobs.claim(isWhole ? q : { ...q, without: files.unreadable(q.now) });
		if (found.jobs.every(({ input }) => typeof input !== "object")) return found;
		const read = await Promise.all(found.jobs.map(withInput));
		const ready = read.filter((each): each is Claimed => !(each instanceof StoreUnavailable));
		if (ready.length === read.length) return { ...found, jobs: ready };
		const { endpoint, worker, release, now } = q;
		// From the last to the first, because each goes to the front.
		const returns = [...found.jobs.entries()].toReversed().map(async ([n, { job }]) => {
			const why = read[n];
			if (!(why instanceof StoreUnavailable)) return;
			const { id, attempt } = job;
			const outcome = { on: "release", attempt, workerEnd: why.message } as const;
			await jobs.report({ endpoint, id, worker, release, outcome, now });
		});
		await Promise.all(returns).catch((error: unknown) => {
			// The end of their lease requeues them.
			if (!(error instanceof StoreUnavailable)) throw error;
		});
		// Other jobs may wait after them.
		return ready.length === 0 ? await claim(q) : { jobs: ready, fenced: true };
	}

	/** Returns a listed job with the beginning of its input; undefined if that shows that the search does not match. */
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
					keep(place, q.input as JsonBlocks);
					return jobs.insert({ ...q, input }).finally(() => release(taken(place) ?? ""));
				}),
			report(q) {
				const { output = "" } = q.outcome;
				if (typeof output === "string") return jobs.report(q);
				return stored(output, (text) => jobs.report({ ...q, outcome: { ...q.outcome, output: text } }));
			},
			progress: (q) => stored(q.value, (value) => jobs.progress({ ...q, value })),
			claim,
			get: async (q) => await withTexts(await jobs.get(q), "output"),
			retain: async (q) => await withTexts(await jobs.retain(q), "output"),
			async list(q) {
				const page = await jobs.list(q);
				if (!page.jobs.some(({ inputHead }) => placeOf(inputHead))) return page;
				const found = await Promise.all(page.jobs.map((each) => withHead(each, q.search)));
				return { ...page, jobs: found.filter((each) => each !== undefined) };
			},
			record: async (q) => await withTexts(await jobs.record(q), "input", "output"),
		},
		webhooks: {
			...webhooks,
			async body(q) {
				const body = await webhooks.body(q);
				return body && (await loaded(body));
			},
			async input(q) {
				const input = await webhooks.input(q);
				try {
					return input && (await loaded(input));
				} catch (error) {
					damageOf(error);
					return undefined;
				}
			},
		},
		async close() {
			await store.close();
			await files.close();
		},
	};
}

/** Payloads on their way between their files and the store's rows, which have only their locations. */
function payloadTexts(files: PayloadFiles) {
	/** Inputs whose insert has not been answered yet; a claim in the same commit takes them from here. */
	const fresh = new Map<string, JsonBlocks>();

	async function stored<T>(text: JsonText, use: (text: JsonText, place?: FileBlock) => Promise<T>): Promise<T> {
		if (typeof text === "string") return await use(text);
		if (sizeOf(text) < LARGE_BYTES) return await use(stringOf(text));
		const { block, settled } = await files.write(text);
		try {
			const answer = await use(textInFile(block), block);
			settled();
			return answer;
		} catch (error) {
			// The row may have been committed; then the next start needs the file, otherwise it removes it.
			if (!(error instanceof StoreUnavailable && error.unsure)) settled();
			throw error;
		}
	}

	async function loaded(text: JsonText): Promise<JsonText> {
		if (typeof text === "string") return text;
		const place = placeOf(text);
		if (place) return taken(place) ?? (await files.read(place));
		const blocks = text as readonly (Uint8Array | FileBlock)[];
		const parts = await Promise.all(blocks.map(async (block) => (isInFile(block) ? await files.read(block) : [block])));
		return parts.flat();
	}

	/** Returns an input once, since its memory then belongs to the caller. */
	function taken(place: FileBlock): JsonBlocks | undefined {
		const text = fresh.get(keyOf(place));
		if (text) fresh.delete(keyOf(place));
		return text;
	}

	async function withTexts<T extends object | undefined>(found: T, ...members: ("input" | "output")[]): Promise<T> {
		const given = found as Partial<Record<"input" | "output", JsonText>> | undefined;
		const large = members.filter((member) => typeof given?.[member] === "object");
		if (!given || large.length === 0) return found;
		const texts = await Promise.all(large.map(async (member) => [member, await loaded(given[member]!)] as const));
		return { ...found, ...Object.fromEntries(texts) };
	}

	return {
		/** Calls `use` with the text, or with its location once a file has it. */
		stored,
		/** Returns a text whose parts may be locations. */
		loaded,
		/** Returns `found` with its large members loaded. */
		withTexts,
		/** Keeps an input for a claim of the same commit, until it is `taken`. */
		keep: (place: FileBlock, input: JsonBlocks): void => void fresh.set(keyOf(place), input),
		taken,
	};
}
