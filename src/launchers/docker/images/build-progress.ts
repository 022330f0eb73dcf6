/** Steps of a build from what a Docker daemon sends: records of BuildKit, or the lines of the builder before it. */

export interface BuildLine {
	id?: string;
	/** Base64 of a record of BuildKit, or the id of the image. */
	aux?: string | { ID?: string };
	stream?: string;
	error?: string;
}

interface Step {
	name: string;
	isDone: boolean;
	/** Its last output. */
	log: string;
}

export interface BuildState {
	/** The step that runs, such as `[2/3] RUN pip install runpod`. */
	step: string;
	done: number;
	/** Steps that are known so far. */
	total: number;
}

const LOG_LENGTH = 4000;
const MOST_STEPS = 4096;

/** Numbers of members in BuildKit's records. */
const RECORD = { vertex: 1, log: 3 } as const;
const VERTEX = { digest: 1, name: 3, started: 5, completed: 6 } as const;
const LOG = { vertex: 1, text: 4 } as const;

export function buildProgress() {
	const steps = new Map<string, Step>();
	let current = "";
	let plainLog = "";

	function stepOf(digest: string): Step {
		const step = steps.get(digest) ?? { name: "", isDone: false, log: "" };
		if (steps.size < MOST_STEPS) steps.set(digest, step);
		return step;
	}

	function readVertex(bytes: Buffer): void {
		const members = new Map(membersOf(bytes));
		const step = stepOf(textIn(members.get(VERTEX.digest)));
		step.name = textIn(members.get(VERTEX.name)).replaceAll(/\s+/g, " ");
		step.isDone = members.has(VERTEX.completed);
		if (members.has(VERTEX.started) && !step.isDone) current = step.name;
	}

	function readLog(bytes: Buffer): void {
		const members = new Map(membersOf(bytes));
		const step = stepOf(textIn(members.get(LOG.vertex)));
		step.log = (step.log + textIn(members.get(LOG.text))).slice(-LOG_LENGTH);
	}

	return {
		read({ id, aux, stream }: BuildLine): BuildState {
			if (id === "moby.buildkit.trace" && typeof aux === "string")
				for (const [member, value] of membersOf(Buffer.from(aux, "base64"))) {
					if (member === RECORD.vertex) readVertex(value);
					if (member === RECORD.log) readLog(value);
				}
			if (stream !== undefined) plainLog = (plainLog + stream).slice(-LOG_LENGTH);
			const plain = /^(?:Step|STEP) \d+\/\d+ ?: .*/.exec(stream ?? "")?.[0];
			if (plain !== undefined) current = plain;
			const all = [...steps.values()];
			return { step: current, done: all.filter(({ isDone }) => isDone).length, total: all.length };
		},
		/** The last output of the step that failed: the one that has not ended. */
		log(): string {
			const failed = [...steps.values()].filter(({ isDone, log }) => !isDone && log !== "").at(-1);
			return (failed ?? [...steps.values()].filter(({ log }) => log !== "").at(-1))?.log ?? plainLog;
		},
	};
}

/** Members of a record in the wire format of Protocol Buffers, those with bytes only; as far as it is whole. */
function* membersOf(bytes: Buffer): Generator<[member: number, value: Buffer]> {
	let at = 0;
	/** Undefined at the end. */
	const number = (): number | undefined => {
		let value = 0;
		for (let factor = 1; at < bytes.length; factor *= 128) {
			const byte = bytes[at++]!;
			value += (byte & 127) * factor;
			if (byte < 128) return value;
		}
		return undefined;
	};
	while (at < bytes.length) {
		const key = number();
		if (key === undefined) return;
		const kind = key % 8;
		if (kind === 0) number();
		else if (kind === 2) {
			const length = number();
			if (length === undefined || length > bytes.length - at) return;
			yield [Math.floor(key / 8), bytes.subarray(at, (at += length))];
		} else return;
	}
}

function textIn(bytes: Buffer | undefined): string {
	return bytes?.toString("utf8") ?? "";
}
