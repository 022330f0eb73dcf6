/**
 * Clients that upload, read and delete the same files at all servers. A file is known by its name, which is in no other
 * upload: one that had no answer is looked for in the list.
 */
import type { Answer, Api, Call } from "./api.ts";
import { type ChangeOp, brief } from "./history.ts";
import type { EndpointName } from "./plan.ts";
import type { Time } from "./time.ts";
import type { Tracker } from "./tracker.ts";

const ENDPOINT: EndpointName = "bulk";
const PATH = `/v2/${ENDPOINT}/openai/v1/files`;

const PAUSE_MS = 200;
const RETRY_MS = 50;

/** Files that are there at one time. */
const KEPT = 30;

/** What was deleted is read again at the end, the latest. */
const REMEMBERED = 100;

/** Parts of the operations. */
const [UPLOADS, DELETIONS, LOOKS] = [0.35, 0.2, 0.1];

/** Bytes at most of a usual file, and of one in so many that takes several writes. */
const [SMALL, LARGE, ONE_LARGE_OF] = [4000, 700_000, 5];

const BOUNDARY = "torture";

/** No bytes are there, as if the row were not. */
const MISSING = new Set(["file_not_found", "file_missing"]);

interface Stored {
	name: string;
	id: string;
}

export interface FileClients {
	/** One of them, until the signal. */
	work(by: string, signal: AbortSignal): Promise<void>;
	/** Reads all files at each of these servers, those that were deleted too. */
	readAll(servers: readonly string[]): Promise<void>;
}

export function fileClients(q: { api: Api; time: Time; tracker: Tracker; random: () => number }): FileClients {
	const { api, time, tracker, random } = q;
	let serial = 0;
	const kept: Stored[] = [];
	const deleted: Stored[] = [];
	/** Uploads without an answer. */
	const unsure = new Set<string>();
	const whole = (most: number): number => Math.floor(random() * most);
	const anyServer = (): string => api.url(whole(1000));

	function changed(
		by: string,
		server: string,
		answer: Answer,
		change: Pick<ChangeOp, "object" | "how" | "sets">,
	): void {
		const { result, from, to } = answer;
		tracker.record({ op: "change", by, ...change, server, result, from, to });
	}

	async function upload(by: string): Promise<void> {
		const name = `n-${(serial += 1)}`;
		const size = whole(ONE_LARGE_OF) === 0 ? LARGE : SMALL;
		const content = `${name} `.repeat(Math.ceil(size / name.length)).slice(0, whole(size));
		const server = anyServer();
		const answer = await api.call(`${server}${PATH}`, formOf({ name, content, purpose: "user_data" }));
		changed(by, server, answer, { object: `file ${name}`, how: "create", sets: { content: brief(content) } });
		if (answer.result === "ok") kept.push({ name, id: answer.json.id as string });
		else if (answer.result === "unknown") unsure.add(name);
	}

	async function remove(by: string, file: Stored): Promise<void> {
		const server = anyServer();
		const answer = await api.call(`${server}${PATH}/${file.id}`, { method: "DELETE" });
		changed(by, server, answer, { object: `file ${file.name}`, how: "delete", sets: {} });
		// Another client may have deleted it, or this one without an answer.
		if (answer.result === "unknown" || !kept.includes(file)) return;
		kept.splice(kept.indexOf(file), 1);
		deleted.push(file);
		if (deleted.length > REMEMBERED) deleted.shift();
	}

	/** Whether the server answered. */
	async function read(by: string, { name, id }: Stored, server: string): Promise<boolean> {
		const answer = await api.call(`${server}${PATH}/${id}/content`);
		const { result, from, to, status, text, json } = answer;
		const isMissing = result !== "ok" && MISSING.has(json?.error?.code as string);
		if (result !== "ok" && !isMissing) return false;
		// A part that was not asked for is no content.
		const content = status === 200 ? brief(text) : `status ${status}`;
		const shown = isMissing ? { missing: true as const } : { members: { content } };
		tracker.record({ op: "shown", by, object: `file ${name}`, server, ...shown, result: "ok", from, to });
		return true;
	}

	/** Finds uploads that had no answer. Whether the server answered. */
	async function look(server: string): Promise<boolean> {
		const { result, json } = await api.call(`${server}${PATH}`);
		if (result !== "ok") return false;
		for (const { filename: name, id } of json.data as { filename: string; id: string }[])
			if (unsure.delete(name)) kept.push({ name, id });
		return true;
	}

	return {
		async work(by, signal) {
			while (!signal.aborted) {
				const file = kept[whole(kept.length)];
				const chance = random();
				if (!file || (chance < UPLOADS && kept.length < KEPT)) await upload(by);
				else if (chance < UPLOADS + DELETIONS) await remove(by, file);
				else if (chance < UPLOADS + DELETIONS + LOOKS) await look(anyServer());
				else await read(by, file, anyServer());
				await time.sleep(random() * PAUSE_MS, signal);
			}
		},
		async readAll(servers) {
			const answered = async (step: () => Promise<boolean>): Promise<void> => {
				while (!(await step())) await time.sleep(RETRY_MS);
			};
			for (const server of servers) await answered(() => look(server));
			for (const file of [...kept, ...deleted])
				for (const server of servers) await answered(() => read("audit", file, server));
		},
	};
}

/** The request that uploads a file. */
export function formOf({ name, content, purpose }: { name: string; content: string; purpose: string }): Call {
	const part = (head: string, body: string): string =>
		`--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
	const file = part(`name="file"; filename="${name}"`, content);
	return {
		body: `${part('name="purpose"', purpose)}${file}--${BOUNDARY}--\r\n`,
		headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
	};
}
