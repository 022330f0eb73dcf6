/**
 * Records what passes between the adapter and the server, by the channels of Node for each HTTP request of this
 * process. The adapter has no code for it, so what is shown is what is sent without it.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { Clock } from "../../../kernel/system/clock.ts";

/** The first bytes of a body. */
export class BodyStart {
	bytes = 0;
	readonly #max: number;
	#kept = Buffer.alloc(0);

	constructor(max: number) {
		this.#max = max;
	}

	add(piece: Uint8Array | string): void {
		const bytes = Buffer.from(piece as string);
		this.bytes += bytes.length;
		const room = this.#max - this.#kept.length;
		if (room > 0) this.#kept = Buffer.concat([this.#kept, bytes.subarray(0, room)]);
	}

	get isCut(): boolean {
		return this.bytes > this.#kept.length;
	}

	/** A character that the bound splits is omitted. */
	get text(): string {
		return new TextDecoder().decode(this.#kept, { stream: true });
	}
}

/** A request whose body is sent. */
export interface SentRequest {
	request: ClientRequest;
	body: BodyStart;
}

/** An answer that has ended, or was cut. */
export interface ReceivedAnswer {
	request: ClientRequest;
	answer: IncomingMessage;
	body: BodyStart;
	/** Time since the start of the request. */
	ms: number;
}

interface RecordOptions {
	clock: Clock;
	/** Bytes of a body that are kept. */
	maxBody: number;
	onSent: (sent: SentRequest) => void;
	onAnswer: (received: ReceivedAnswer) => void;
}

const CREATED = "http.client.request.created";
const ANSWERED = "http.client.response.finish";

/** Returns a function that ends the record. */
export function recordExchanges({ clock, maxBody, onSent, onAnswer }: RecordOptions): () => void {
	const startedAt = new WeakMap<ClientRequest, number>();
	function created(message: unknown): void {
		const { request } = message as { request: ClientRequest };
		const body = new BodyStart(maxBody);
		startedAt.set(request, clock.now());
		request.once("pipe", (source: Readable) => source.on("data", (piece: Uint8Array | string) => body.add(piece)));
		request.once("finish", () => onSent({ request, body }));
	}
	function answered(message: unknown): void {
		const { request, response: answer } = message as { request: ClientRequest; response: IncomingMessage };
		const body = new BodyStart(maxBody);
		// `answer.on` would let the body flow before the adapter reads it.
		EventEmitter.prototype.on.call(answer, "data", (piece: Buffer) => body.add(piece));
		answer.once("close", () =>
			onAnswer({ request, answer, body, ms: Math.round(clock.now() - (startedAt.get(request) ?? clock.now())) }),
		);
	}
	subscribe(CREATED, created);
	subscribe(ANSWERED, answered);
	return () => {
		unsubscribe(CREATED, created);
		unsubscribe(ANSWERED, answered);
	};
}
