/**
 * Connections of one server (D41): counted, and those without a valid key or token hold a bounded
 * amount of unfinished headers together, since any client can open them. With TLS a connection is
 * its plain socket, from before the handshake on, and its bytes are the encrypted ones.
 */
import type { Socket } from "node:net";
import type { BudgetMeter } from "../budgets.ts";
import type { Clock } from "../clock.ts";
import { plainSocketOf } from "./tls.ts";

/** Time between two counts of unfinished headers, ms, and new connections between two. */
const CHECK_MS = 50;
const CHECK_CONNECTIONS = 32;

/** Maximum bytes of unfinished headers of all connections without a valid key or token so far. */
const HEADERS_BYTES = 32 * 1024 * 1024;

/** Maximum unanswered requests of a connection, without and with a valid key or token. */
const PIPELINED = 256;
const PIPELINED_KNOWN = 1024;

export interface Connections {
	readonly size: number;
	/** Counts a connection; one too many takes the place of the oldest without a key, or is closed. */
	add(socket: Socket): void;
	/** The headers of a request have arrived; false when too many wait: the connection is closed. */
	received(socket: Socket): boolean;
	/** The answer to a request is sent, or its connection closed. */
	answered(socket: Socket): void;
	/** A request on it had a valid key or token. */
	identified(socket: Socket): void;
	closeAll(): void;
}

/** `closed`: after each closed connection. */
export function connections(o: { budget: BudgetMeter; clock: Clock; closed: () => void }): Connections {
	const { budget, clock } = o;
	const all = new Set<Socket>();
	/** Oldest first, with the bytes read up to the last complete headers. */
	const unidentified = new Map<Socket, number>();
	/** Requests without an answer so far. */
	const waiting = new Map<Socket, number>();
	let checking = false;
	let unchecked = 0;

	function forget(socket: Socket): void {
		if (!all.delete(socket)) return;
		unidentified.delete(socket);
		waiting.delete(socket);
		budget.give(1);
		o.closed();
	}

	function close(socket: Socket): void {
		forget(socket);
		socket.destroy();
	}

	/** Closes the connections with most unfinished headers until the others fit. */
	function check(): void {
		unchecked = 0;
		const unfinished = [...unidentified].map(([socket, mark]) => [socket, socket.bytesRead - mark] as const);
		let bytes = unfinished.reduce((sum, [, size]) => sum + size, 0);
		if (bytes <= HEADERS_BYTES) return;
		for (const [socket, size] of unfinished.toSorted(([, a], [, b]) => b - a)) {
			budget.refuse();
			close(socket);
			bytes -= size;
			if (bytes <= HEADERS_BYTES) return;
		}
	}

	async function checkWhileAny(): Promise<void> {
		if (checking) return;
		checking = true;
		while (unidentified.size > 0) {
			await clock.sleep(CHECK_MS);
			check();
		}
		checking = false;
	}

	return {
		get size() {
			return all.size;
		},

		add(socket) {
			while (!budget.take(1)) {
				const [oldest] = unidentified.keys();
				if (!oldest) return void socket.destroy();
				close(oldest);
			}
			all.add(socket);
			unidentified.set(socket, 0);
			socket.once("close", () => forget(socket));
			if ((unchecked += 1) >= CHECK_CONNECTIONS) check();
			void checkWhileAny();
		},

		received(requestSocket) {
			const socket = plainSocketOf(requestSocket);
			// The parser goes on with what it has read of a connection that was closed.
			if (!all.has(socket)) return false;
			const known = !unidentified.has(socket);
			if (!known) unidentified.set(socket, socket.bytesRead);
			const count = (waiting.get(socket) ?? 0) + 1;
			if (count > (known ? PIPELINED_KNOWN : PIPELINED)) {
				budget.refuse();
				close(socket);
				return false;
			}
			waiting.set(socket, count);
			return true;
		},

		answered(requestSocket) {
			const socket = plainSocketOf(requestSocket);
			const count = waiting.get(socket);
			if (count !== undefined) waiting.set(socket, count - 1);
		},

		identified: (socket) => void unidentified.delete(plainSocketOf(socket)),

		closeAll() {
			for (const socket of all) socket.destroy();
		},
	};
}
