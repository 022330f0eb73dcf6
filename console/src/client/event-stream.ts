/**
 * Server-sent events over `fetch`: an `EventSource` cannot send the session's header. It reconnects
 * after a lost connection and resumes after the last event (`Last-Event-ID`).
 */
import { BASE } from "./api.ts";
import { after } from "./clock.ts";
import { sessionHeaders } from "./page-token.ts";

/** Ms until a lost connection is tried again. */
const RECONNECT_MS = 3000;

export interface StreamEvent {
	/** `message` if it has no name. */
	name: string;
	data: string;
	id: string;
}

interface Listener {
	onOpen?: () => void;
	onEvent: (event: StreamEvent) => void;
	/** The connection was lost, or the service refused it; only a lost one is tried again. */
	onError: (why: "lost" | "refused") => void;
}

/** Listens until the function returned is called. */
export function openEvents(path: string, { onOpen, onEvent, onError }: Listener): () => void {
	const closed = new AbortController();
	let lastId = "";
	let stopWaiting: (() => void) | undefined;

	async function connect(): Promise<void> {
		const response = await fetch(BASE + path, {
			headers: {
				Accept: "text/event-stream",
				...(lastId === "" ? {} : { "Last-Event-ID": lastId }),
				...sessionHeaders(),
			},
			signal: closed.signal,
			cache: "no-store",
			redirect: "error",
		});
		const type = response.headers.get("Content-Type") ?? "";
		if (!response.ok || !response.body || !type.startsWith("text/event-stream")) {
			await response.body?.cancel();
			if (response.status >= 500) throw new Error("The service is not ready.");
			return onError("refused");
		}
		onOpen?.();
		const read = reader((event) => {
			lastId = event.id;
			if (!closed.signal.aborted) onEvent(event);
		});
		const texts = response.body.pipeThrough(new TextDecoderStream()).getReader();
		for (let part = await texts.read(); !part.done; part = await texts.read()) read(part.value);
		throw new Error("The connection has ended.");
	}

	function start(): void {
		connect().catch(() => {
			if (closed.signal.aborted) return;
			onError("lost");
			stopWaiting = after(RECONNECT_MS, start);
		});
	}

	start();
	return () => {
		stopWaiting?.();
		closed.abort();
	};
}

/** Reads the pieces of a stream of events, which may be cut anywhere. */
export function reader(onEvent: (event: StreamEvent) => void): (piece: string) => void {
	/** Pieces of a line that has not ended. */
	let unfinished: string[] = [];
	let name = "";
	let id = "";
	let data: string[] = [];

	function onLine(line: string): void {
		if (line === "") {
			if (data.length > 0) onEvent({ name: name || "message", data: data.join("\n"), id });
			name = "";
			data = [];
			return;
		}
		const colon = line.indexOf(":");
		const field = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
		if (field === "event") name = value;
		else if (field === "data") data.push(value);
		else if (field === "id") id = value;
	}

	return (piece) => {
		const [first = "", ...rest] = piece.split("\n");
		unfinished.push(first);
		for (const next of rest) {
			onLine(unfinished.join("").replace(/\r$/, ""));
			unfinished = [next];
		}
	};
}
