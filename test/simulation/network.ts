/**
 * Requests of clients and workers to a simulated server: messages are delayed and overtake each
 * other, are lost or sent twice, connections break, and the server does not listen while it is down.
 */
import type { Caller } from "../../src/kernel/engine/jobs/wait.ts";
import type { Answer, Api, Call } from "../torture/api.ts";
import type { Result } from "../torture/history.ts";
import type { Process } from "./process.ts";
import type { World } from "./world.ts";

export interface Request {
	method: string;
	/** Between slashes; and the query. */
	path: readonly string[];
	query: URLSearchParams;
	body: string;
	key: string | undefined;
}

export interface Reply {
	status: number;
	text: string;
	/** Header `Sluice-Next-Offset`. */
	next?: string;
	/** Called when the reply was written, or lost. */
	sent?: (written: boolean) => void | Promise<void>;
}

/** The server's side of a request. */
export interface Connection {
	readonly caller: Caller;
	/** Aborts when the caller has left. */
	readonly left: AbortSignal;
	/** Part of a reply that goes on; false when the connection is broken. */
	write(text: string): boolean;
}

/** A server as the network sees it. */
export interface Listener {
	process: Process;
	listens(): boolean;
	answer(request: Request, connection: Connection): Promise<Reply>;
	/** An error after the answer. */
	failed(error: unknown): void;
}

export interface NetworkOptions {
	world: World;
	random: () => number;
	server: () => Listener;
}

/** Part of the messages that take long, and how long others and those take at most, ms. */
const [LONG, USUAL_MS, LONG_MS] = [0.04, 4, 250];

/** Until a side learns that its connection is broken, at most, ms. */
const BREAK_MS = 800;

/** Part of the requests that arrive twice, where that is harmless by design. */
const TWICE = 0.03;

const REFUSED_MS = 150;

export class Network {
	/** Part of the messages that are lost, and of connections that break; 1: a partition. */
	loss = 0;
	private readonly o: NetworkOptions;
	private readonly open = new Set<Exchange>();

	constructor(o: NetworkOptions) {
		this.o = o;
	}

	delay(): number {
		const { random } = this.o;
		return random() < LONG ? random() * LONG_MS : 0.1 + random() * USUAL_MS;
	}

	isLost(): boolean {
		return this.loss > 0 && this.o.random() < this.loss;
	}

	/** Some connections break; with a partition all of them. */
	breakConnections(): void {
		for (const exchange of [...this.open]) if (this.isLost()) exchange.break();
	}

	private exchange(url: string, call: Call, stream: boolean): Promise<Ended> {
		const exchange = new Exchange(this, this.o, requestOf(url, call), stream, call.signal);
		this.open.add(exchange);
		return exchange.ended.finally(() => this.open.delete(exchange));
	}

	/** As clients and workers use it. */
	readonly api: Api = {
		url: () => "",
		call: async (url, call = {}) => {
			const from = this.o.world.now;
			const { result, status, text, next } = await this.exchange(url, call, false);
			const isJson = text.startsWith("{") || text.startsWith("[");
			const json = isJson ? JSON.parse(text) : undefined;
			const answer: Answer = { result, from, to: this.o.world.now, status, text, next, json };
			if (result === "fail" && status === undefined) await this.o.world.sleep(REFUSED_MS);
			return answer;
		},
		open: async (url, headers) => {
			const { status, text } = await this.exchange(url, { headers }, true);
			return status === undefined ? { text } : { status, text };
		},
		close: () => Promise.resolve(),
	};
}

interface Ended {
	result: Result;
	status: number | undefined;
	text: string;
	next: string | undefined;
}

/** One request with its answer, and the connection for it. */
class Exchange {
	readonly ended: Promise<Ended>;
	private end!: (ended: Ended) => void;
	private over = false;
	private readonly network: Network;
	private readonly o: NetworkOptions;
	private readonly request: Request;
	private readonly stream: boolean;
	private readonly caller: Caller = { disconnected: false };
	private readonly left = new AbortController();
	private answered = false;
	private status: number | undefined;
	/** Of a reply in parts: what has arrived, and when the last part does. */
	private text = "";
	private arrivesAt = 0;
	private broken = false;
	private server: Listener | undefined;

	constructor(network: Network, o: NetworkOptions, request: Request, stream: boolean, signal: AbortSignal | undefined) {
		this.network = network;
		this.o = o;
		this.request = request;
		this.stream = stream;
		this.ended = new Promise((resolve) => (this.end = resolve));
		signal?.addEventListener("abort", () => this.leave(), { once: true });
		if (signal?.aborted) this.finish("unknown");
		else if (network.isLost()) this.break();
		else this.send();
	}

	private send(): void {
		const { network, request } = this;
		const { world, random } = this.o;
		world.after(network.delay(), () => this.arrive());
		if (isRepeatable(request) && random() < TWICE) world.after(network.delay(), () => this.arriveAgain());
	}

	/** The client gives up, or is dead: the server learns of it later, if the network allows. */
	private leave(): void {
		this.finish("unknown");
		if (!this.network.isLost()) this.o.world.after(this.network.delay(), () => this.disconnect());
	}

	/** Both sides learn of it, each in its time. */
	break(): void {
		if (this.broken) return;
		this.broken = true;
		const { world, random } = this.o;
		world.after(random() * BREAK_MS, () => this.finish("unknown"));
		world.after(random() * BREAK_MS, () => this.disconnect());
	}

	private disconnect(): void {
		this.broken = true;
		if (this.caller.disconnected || this.answered || !this.server) return;
		this.server.process.after(0, () => {
			if (this.answered) return;
			this.caller.disconnected = true;
			this.left.abort();
			this.caller.onDisconnect?.();
		});
	}

	private arrive(): void {
		const server = this.o.server();
		if (!server.listens()) return this.refuse();
		// What was sent before the break may still arrive.
		if (this.broken && this.o.random() < 0.5) return;
		this.server = server;
		server.process.onEnd(() => {
			if (!this.over) this.o.world.after(this.network.delay(), () => this.finish("unknown"));
		});
		server.process.after(0, () => void this.serve(server));
	}

	private refuse(): void {
		this.o.world.after(this.network.delay(), () => this.finish("fail"));
	}

	private async serve(server: Listener): Promise<void> {
		const reply = await server.answer(this.request, {
			caller: this.caller,
			left: this.left.signal,
			write: (text) => this.write(text),
		});
		this.answered = true;
		const written = !this.broken && !this.caller.disconnected && server.process.act();
		if (written) {
			if (this.network.isLost()) this.o.world.after(BREAK_MS, () => this.finish("unknown"));
			else this.transmit(() => this.deliver(reply));
		}
		try {
			await reply.sent?.(written);
		} catch (error) {
			server.failed(error);
		}
	}

	/** A proxy has repeated it: the answer goes nowhere. */
	private arriveAgain(): void {
		const server = this.o.server();
		if (!server.listens()) return;
		// A report has no number of its attempt in this protocol. After its answer the job may have been retried, and
		// handed to the same worker again.
		if (this.over && this.request.path[2]?.startsWith("job-done")) return;
		const alone = { caller: { disconnected: false }, left: new AbortController().signal };
		const connection = { ...alone, write: () => true };
		server.process.after(0, () => void server.answer(this.request, connection));
	}

	private write(text: string): boolean {
		if (this.broken || this.caller.disconnected || !this.server?.process.act()) return false;
		this.status = 200;
		if (this.network.isLost()) {
			this.break();
			return true;
		}
		this.transmit(() => (this.text += text));
		return true;
	}

	/** What is sent over one connection arrives in order. */
	private transmit(arrive: () => void): void {
		const { world } = this.o;
		this.arrivesAt = Math.max(this.arrivesAt, world.now + this.network.delay());
		world.after(this.arrivesAt - world.now, () => {
			if (!this.over) arrive();
		});
	}

	private deliver({ status, text, next }: Reply): void {
		this.status ??= status;
		this.text += text;
		const result = status < 300 ? "ok" : status < 500 ? "fail" : "unknown";
		this.finish(result, next);
	}

	private finish(result: Result, next?: string): void {
		if (this.over) return;
		this.over = true;
		// Of a reply that goes on, what has arrived before it broke is an answer.
		const status = result === "unknown" && !this.stream && !next ? this.failed() : this.status;
		this.end({ result, status, text: this.text, next });
	}

	private failed(): number | undefined {
		return this.status !== undefined && this.status >= 500 ? this.status : undefined;
	}
}

function requestOf(url: string, { method, body, headers }: Call): Request {
	const at = url.indexOf("?");
	return {
		method: method ?? (body === undefined ? "GET" : "POST"),
		path: (at < 0 ? url : url.slice(0, at)).split("/").slice(1),
		query: new URLSearchParams(at < 0 ? "" : url.slice(at + 1)),
		body: body ?? "",
		key: headers?.["idempotency-key"],
	};
}

/** Operations that a client or worker may repeat without another effect. */
function isRepeatable({ path: [kind, , operation], query, key }: Request): boolean {
	if (kind === "v2") return key !== undefined || operation === "status" || operation === "cancel";
	return (
		operation === "ping" ||
		operation === "job-done" ||
		operation === "job-done-batch" ||
		((operation === "job-stream" || operation === "job-stream-batch") && query.has("attempt"))
	);
}
