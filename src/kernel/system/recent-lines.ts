/** The last lines of the service's log, in memory (D51). */
import type { Clock } from "./clock.ts";

const MOST_LINES = 1000;

/** Characters. */
const MOST_TEXT = 2 ** 20;

/** A longer line is cut, so that it leaves room for others. */
const LONGEST_LINE = 2 ** 16;

/** An empty list is sent this often while there are no new lines, to keep the connection. */
const KEEP_ALIVE_MS = 15_000;

interface RecentLine {
	text: string;
	time: string;
	level: string;
	endpoint?: string | undefined;
	job?: string | undefined;
}

export interface NumberedLine extends RecentLine {
	/** Number of the next line, since the start of the service. */
	position: number;
}

export class RecentLines {
	readonly #clock: Clock;
	#lines: RecentLine[] = [];
	/** Number of the line after the last one. */
	#end = 0;
	#size = 0;
	#added: PromiseWithResolvers<void> | undefined;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	readonly add = (whole: string, facts: Omit<RecentLine, "text">): void => {
		const text = (whole.length > LONGEST_LINE ? `${whole.slice(0, LONGEST_LINE)}...` : whole).trimEnd();
		this.#lines.push({ text, ...facts });
		this.#end += 1;
		this.#size += text.length;
		while (this.#lines.length > MOST_LINES || this.#size > MOST_TEXT) this.#size -= this.#lines.shift()!.text.length;
		this.#added?.resolve();
		this.#added = undefined;
	};

	/**
	 * The lines that fit from the number `from` on, or the last `tail` of them; with `follow` new ones until `left`.
	 * Lines that were removed before the caller reads on are left out. `outside` runs the waits for new lines.
	 */
	async *read(q: {
		from?: number | undefined;
		tail: number;
		fits: (line: NumberedLine) => boolean;
		follow: boolean;
		left: AbortSignal;
		outside: <T>(wait: Promise<T>) => Promise<T>;
	}): AsyncGenerator<NumberedLine[]> {
		// Numbers of an earlier run of the service may be larger.
		const resumed = q.from !== undefined && q.from <= this.#end ? q.from : undefined;
		for (let at = resumed ?? 0, isFirst = true; !q.left.aborted; isFirst = false) {
			const end = this.#end;
			const lines = this.#from(at).filter(q.fits);
			yield isFirst && resumed === undefined ? lines.slice(Math.max(0, lines.length - q.tail)) : lines;
			if (!q.follow) return;
			at = end;
			if (at === this.#end) await q.outside(this.#next(q.left));
		}
	}

	#from(number: number): NumberedLine[] {
		const first = this.#end - this.#lines.length;
		const from = Math.max(number, first);
		return this.#lines.slice(from - first).map((line, index) => ({ ...line, position: from + index + 1 }));
	}

	async #next(left: AbortSignal): Promise<void> {
		this.#added ??= Promise.withResolvers();
		const over = new AbortController();
		await Promise.race([this.#added.promise, this.#clock.sleep(KEEP_ALIVE_MS, AbortSignal.any([left, over.signal]))]);
		over.abort();
	}
}
