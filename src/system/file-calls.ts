/**
 * Calls on files that may hang, such as those of a shared folder whose server has died. Each holds one of the four
 * threads of Node's pool until the system answers, so they are bounded: a folder that hangs blocks only its own calls,
 * and never the last thread.
 */
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, systemClock } from "./clock.ts";

const MOST = 3;
const MOST_OF_A_GROUP = 2;

/** Maximum time of one call, ms, without its wait for others. */
const ANSWER_MS = 5000;

interface Call {
	path: string;
	/** Calls that may hang together: those of one folder, unless the caller knows better. */
	group: string;
	/** It has not answered in time, and still holds its thread. */
	isLate: boolean;
	begin(): void;
	fail(error: Error): void;
}

export class FileCalls {
	readonly #clock: Clock;
	readonly #running = new Set<Call>();
	/** Calls by group. The group that began a call last is the last one, so none waits without end. */
	readonly #waiting = new Map<string, Call[]>();

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/**
	 * The answer of `call`, an error after 5 s, or one at once where all that it would wait for hangs. Calls on one path
	 * follow each other.
	 */
	run<T>(path: string, call: () => Promise<T>, group = dirname(path)): Promise<T> {
		return new Promise((resolve, reject) => {
			const entry: Call = {
				...{ path, group, isLate: false, fail: reject },
				begin: () => void this.#answer(entry, call).then(resolve, reject),
			};
			const queue = this.#waiting.get(group) ?? [];
			queue.push(entry);
			this.#waiting.set(group, queue);
			this.#go();
		});
	}

	/** A file that is opened too late is closed again. */
	async open(path: string, flags: string | number, q: { group?: string; mode?: number } = {}): Promise<FileHandle> {
		let isWanted = true;
		const call = async (): Promise<FileHandle> => {
			const file = await open(path, flags, q.mode);
			if (!isWanted) await file.close();
			return file;
		};
		return await this.run(path, call, q.group).catch((error: unknown) => {
			isWanted = false;
			throw error;
		});
	}

	async #answer<T>(entry: Call, call: () => Promise<T>): Promise<T> {
		const over = new AbortController();
		const answer = call().finally(() => {
			over.abort();
			this.#running.delete(entry);
			this.#go();
		});
		const late = this.#clock.sleep(ANSWER_MS, over.signal).then(() => {
			if (over.signal.aborted) return answer;
			entry.isLate = true;
			this.#go();
			throw hangs(entry);
		});
		return await Promise.race([answer, late]);
	}

	/** Begins what may run now, a call of each group in turn, and fails what would wait without end. */
	#go(): void {
		for (const [group, queue] of this.#waiting) {
			const hasBegun = this.#beginOne(queue);
			if (hasBegun || queue.length === 0) this.#waiting.delete(group);
			if (hasBegun && queue.length > 0) this.#waiting.set(group, queue);
		}
	}

	#beginOne(queue: Call[]): boolean {
		for (let at = 0; at < queue.length; ) {
			const entry = queue[at]!;
			const holders = this.#holdersOf(entry);
			if (holders && !holders.every(({ isLate }) => isLate)) {
				// The others wait for the same, unless it waits for its own path.
				if (holders[0]!.path !== entry.path) return false;
				at += 1;
				continue;
			}
			queue.splice(at, 1);
			if (holders) {
				entry.fail(hangs(entry));
				continue;
			}
			this.#running.add(entry);
			entry.begin();
			return true;
		}
		return false;
	}

	/** What a call waits for; undefined: it may run. */
	#holdersOf({ path, group }: Call): Call[] | undefined {
		const all = [...this.#running];
		const samePath = all.filter((each) => each.path === path);
		if (samePath.length > 0) return samePath;
		const sameGroup = all.filter((each) => each.group === group);
		if (sameGroup.length >= MOST_OF_A_GROUP) return sameGroup;
		return all.length >= MOST ? all : undefined;
	}
}

function hangs({ path }: Call): Error {
	return Object.assign(new Error(`${path} does not answer: its file system hangs`), { code: "ETIMEDOUT" });
}

/** The pool is one for the whole process, and so is its bound. */
export const fileCalls = new FileCalls(systemClock);
