/**
 * Calls on files that may hang, such as those of a shared folder whose server has died. Each holds one of the four
 * threads of Node's pool until the system answers, so they are bounded: a folder that hangs blocks only its own calls,
 * several shared folders that hang block only those of shared folders, and nothing takes the last thread.
 */
import { access, type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, systemClock } from "./clock.ts";

const MOST = 3;
const MOST_OF_A_FOLDER = 2;
/** Calls of all shared folders. One more is left to folders of this machine. */
const MOST_SHARED = 2;
const MOST_OF_A_GROUP = 1;

/** Maximum time of one call, ms, without its wait for others. */
const ANSWER_MS = 5000;

interface Call {
	path: string;
	/** On a folder that may be another machine's. */
	isShared: boolean;
	/** Calls that may hang together. A shared folder has a queue of its own beside the folder of the same path. */
	queue: string;
	/** It has not answered in time, and still holds its thread. */
	isLate: boolean;
	begin(): void;
	fail(error: Error): void;
}

export class FileCalls {
	readonly #clock: Clock;
	readonly #running = new Set<Call>();
	/** Calls by queue. The queue that began a call last is the last one, so none waits without end. */
	readonly #waiting = new Map<string, Call[]>();

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/**
	 * The answer of `call`, an error after 5 s, or one at once where all that it would wait for hangs. Calls on one path
	 * follow each other. `group`: the shared folder, or another one that a setting of an endpoint names, whose calls hang
	 * together. Undefined: the file is on this machine, and hangs with the others of its folder.
	 */
	run<T>(path: string, call: () => Promise<T>, group?: string): Promise<T> {
		const isShared = group !== undefined;
		const queue = isShared ? `shared ${group}` : `own ${dirname(path)}`;
		return new Promise((resolve, reject) => {
			const entry: Call = {
				...{ path, isShared, queue, isLate: false, fail: reject },
				begin: () => void this.#answer(entry, call).then(resolve, reject),
			};
			const waiting = this.#waiting.get(queue) ?? [];
			waiting.push(entry);
			this.#waiting.set(queue, waiting);
			this.#go();
		});
	}

	/** A file that is opened too late is closed again. */
	async open(
		path: string,
		flags: string | number,
		q: { group?: string | undefined; mode?: number } = {},
	): Promise<FileHandle> {
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

	/** False also for a file that does not answer. */
	isThere(path: string): Promise<boolean> {
		return this.run(path, () => access(path)).then(
			() => true,
			() => false,
		);
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

	/** Begins what may run now, a call of each queue in turn, and fails what would wait without end. */
	#go(): void {
		for (const [queue, waiting] of this.#waiting) {
			const hasBegun = this.#beginOne(waiting);
			if (hasBegun || waiting.length === 0) this.#waiting.delete(queue);
			if (hasBegun && waiting.length > 0) this.#waiting.set(queue, waiting);
		}
	}

	#beginOne(waiting: Call[]): boolean {
		for (let at = 0; at < waiting.length; ) {
			const entry = waiting[at]!;
			const holders = this.#holdersOf(entry);
			if (holders && !holders.every(({ isLate }) => isLate)) {
				// The others wait for the same, unless it waits for its own path.
				if (holders[0]!.path !== entry.path) return false;
				at += 1;
				continue;
			}
			waiting.splice(at, 1);
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
	#holdersOf({ path, queue, isShared }: Call): Call[] | undefined {
		const all = [...this.#running];
		const samePath = all.filter((each) => each.path === path);
		if (samePath.length > 0) return samePath;
		const sameQueue = all.filter((each) => each.queue === queue);
		if (sameQueue.length >= (isShared ? MOST_OF_A_GROUP : MOST_OF_A_FOLDER)) return sameQueue;
		const shared = all.filter((each) => each.isShared);
		if (isShared && shared.length >= MOST_SHARED) return shared;
		return all.length >= MOST ? all : undefined;
	}
}

function hangs({ path }: Call): Error {
	return Object.assign(new Error(`${path} does not answer: its file system hangs`), { code: "ETIMEDOUT" });
}

/** The pool is one for the whole process, and so is its bound. */
export const fileCalls = new FileCalls(systemClock);
