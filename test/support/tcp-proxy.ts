/**
 * A TCP proxy with faults that a test switches: what a network does between a service and its
 * database.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";

/**
 * A proxy on 127.0.0.1. What is switched holds for open and for new connections, until {@link
 * TcpProxy.pass}.
 */
export interface TcpProxy {
	readonly port: number;
	/** Connections that are open now. */
	readonly open: number;
	/** Connections accepted so far. */
	readonly accepted: number;
	/** The same address (`postgres://...`), by way of this proxy. */
	through(url: string): string;
	/** No faults any more. What was held goes out. Resolves when it accepts connections. */
	pass(): Promise<void>;
	/** Each piece arrives this much later, ms; pieces do not wait for each other. */
	slow(latency: { toServerMs?: number; toClientMs?: number }): void;
	/**
	 * Accepts, and holds what both sides send, or one of them: nothing arrives there, nothing is
	 * closed.
	 */
	silent(towards?: Side): void;
	/** No new connections (ECONNREFUSED); the open ones go on. */
	refuse(): void;
	/** Resets all open connections, now. What is held is lost. */
	cut(): void;
	/**
	 * Ends the connection that is the first to get more than `bytes` of answers from now on, after
	 * exactly these. Resolves when that has happened; all others go on.
	 */
	cutAfter(bytes: number): Promise<void>;
	/** New connections go to another port on 127.0.0.1 from now on. */
	lead(port: number): void;
	/** Resolves when something arrives from a client. */
	heard(): Promise<void>;
	/** Resets all connections and ends. */
	close(): void;
}

export type Side = "server" | "client";

/** What travels: bytes, the end of one side's sending, or a broken connection. */
type Piece = Buffer | "end" | "reset";

interface Link {
	client: Socket;
	server: Socket;
	/** Bytes of answers since the latest `cutAfter`. */
	answered: number;
}

/**
 * A proxy to a port on 127.0.0.1. Where nothing listens there, connections are accepted and reset.
 */
export async function tcpProxy(target: number): Promise<TcpProxy> {
	const port = await freePort();
	const links = new Set<Link>();
	let accepted = 0;
	let latency = { toServerMs: 0, toClientMs: 0 };
	/** Towards the sides that hear nothing. */
	const silences = new Map<Side, PromiseWithResolvers<void>>();
	let cutting: { bytes: number; done: PromiseWithResolvers<void> } | undefined;
	let hearing = Promise.withResolvers<void>();

	const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
		accepted += 1;
		const link: Link = {
			client,
			server: connect({ port: target, host: "127.0.0.1", allowHalfOpen: true, noDelay: true }),
			answered: 0,
		};
		links.add(link);
		const toServer = lane(
			"server",
			() => latency.toServerMs,
			(piece) => put(link.server, piece),
		);
		const toClient = lane(
			"client",
			() => latency.toClientMs,
			(piece) => answer(link, piece),
		);
		client.on("data", () => {
			hearing.resolve();
			hearing = Promise.withResolvers();
		});
		for (const [from, send] of [
			[client, toServer],
			[link.server, toClient],
		] as const) {
			from.on("data", send);
			from.on("end", () => send("end"));
			from.on("error", () => send("reset"));
			from.on("close", () => {
				if (client.destroyed && link.server.destroyed) links.delete(link);
			});
		}
	});

	/** One direction of a connection: pieces leave in order, each when it is due. */
	function lane(towards: Side, delay: () => number, deliver: (piece: Piece) => void): (piece: Piece) => void {
		let last = Promise.resolve();
		return (piece) => {
			const ms = delay();
			// A timer of 0 ms would take one.
			const due = ms > 0 ? sleep(ms, undefined, { ref: false }) : undefined;
			last = last
				.then(() => due)
				.then(async () => {
					while (silences.has(towards)) await silences.get(towards)!.promise;
					deliver(piece);
				});
		};
	}

	function answer(link: Link, piece: Piece): void {
		if (!cutting || typeof piece === "string" || link.client.destroyed) return put(link.client, piece);
		const room = cutting.bytes - link.answered;
		link.answered += piece.length;
		if (piece.length <= room) return put(link.client, piece);
		// An end, no reset: a reset would take back what the client has not read yet.
		link.client.end(piece.subarray(0, room));
		link.server.resetAndDestroy();
		cutting.done.resolve();
		cutting = undefined;
	}

	async function listen(): Promise<void> {
		if (!listener.listening) await once(listener.listen(port, "127.0.0.1"), "listening");
	}

	function refuse(): void {
		if (listener.listening) listener.close();
	}

	function cut(): void {
		for (const { client, server } of links) {
			client.resetAndDestroy();
			server.resetAndDestroy();
		}
	}

	function endSilence(): void {
		const held = [...silences.values()];
		silences.clear();
		for (const each of held) each.resolve();
	}

	await listen();
	return {
		port,
		get open() {
			return links.size;
		},
		get accepted() {
			return accepted;
		},
		through(url) {
			const by = new URL(url);
			by.port = String(port);
			return by.href;
		},
		async pass() {
			latency = { toServerMs: 0, toClientMs: 0 };
			cutting = undefined;
			endSilence();
			await listen();
		},
		slow({ toServerMs = 0, toClientMs = 0 }) {
			latency = { toServerMs, toClientMs };
		},
		silent(towards) {
			for (const side of towards ? [towards] : (["server", "client"] as const))
				if (!silences.has(side)) silences.set(side, Promise.withResolvers());
		},
		refuse,
		cut,
		cutAfter(bytes) {
			for (const link of links) link.answered = 0;
			cutting = { bytes, done: Promise.withResolvers() };
			return cutting.done.promise;
		},
		lead: (to) => void (target = to),
		heard: () => hearing.promise,
		close() {
			refuse();
			cut();
			endSilence();
		},
	};
}

function put(to: Socket, piece: Piece): void {
	if (to.destroyed) return;
	if (piece === "reset") to.resetAndDestroy();
	else if (to.writableEnded) return;
	else if (piece === "end") to.end();
	else to.write(piece);
}
