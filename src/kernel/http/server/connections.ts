/**
 * Counts a server's connections and bounds the unfinished headers of those without a valid key or token (D41). With
 * TLS a connection is its plain socket from before the handshake, and its bytes are encrypted.
 */
import type { Socket } from "node:net";
import type { BudgetMeter } from "../../core/budgets.ts";
import type { Clock } from "../../system/clock.ts";
import { plainSocketOf } from "./tls.ts";

/** Unfinished headers are checked after this time, ms, and after this number of new connections. */
const CHECK_MS = 50;
const CHECK_CONNECTIONS = 32;

/** Maximum bytes of unfinished headers of all unidentified connections together. */
const HEADERS_BYTES = 32 * 1024 * 1024;

/** Maximum unanswered requests of a connection, unidentified and identified. */
const PIPELINED = 256;
const PIPELINED_KNOWN = 1024;

export interface Connection {
	readonly socket: Socket;
	/** Bytes read up to the last complete headers while unidentified. */
	mark: number;
	waiting: number;
}

export class Connections {
	private readonly all = new Map<Socket, Connection>();
	/** Oldest first. */
	private readonly unidentified = new Set<Connection>();
	private readonly d: { budget: BudgetMeter; clock: Clock; closed: () => void };
	/** Bytes of connections that are closed. */
	private readonly passed = { received: 0, sent: 0 };
	private checking = false;
	private unchecked = 0;

	constructor(d: Connections["d"]) {
		this.d = d;
	}

	get size(): number {
		return this.all.size;
	}

	/** Returns the bytes of all connections so far. */
	bytes(): { received: number; sent: number } {
		const sum = { ...this.passed };
		for (const socket of this.all.keys()) addBytes(sum, socket);
		return sum;
	}

	/** Adds a connection. Above the budget it replaces the oldest unidentified connection, or is closed. */
	readonly add = (socket: Socket): void => {
		while (!this.d.budget.take(1)) {
			const [oldest] = this.unidentified;
			if (!oldest) return void socket.destroy();
			this.close(oldest);
		}
		const connection: Connection = { socket, mark: 0, waiting: 0 };
		this.all.set(socket, connection);
		this.unidentified.add(connection);
		socket.once("close", () => this.forget(connection));
		if ((this.unchecked += 1) >= CHECK_CONNECTIONS) this.check();
		void this.checkWhileAny();
	};

	received(requestSocket: Socket): Connection | undefined {
		// The parser may still process bytes of a connection that was closed.
		const connection = this.all.get(plainSocketOf(requestSocket));
		if (!connection) return undefined;
		const isKnown = !this.unidentified.has(connection);
		if (!isKnown) connection.mark = connection.socket.bytesRead;
		connection.waiting += 1;
		if (connection.waiting <= (isKnown ? PIPELINED_KNOWN : PIPELINED)) return connection;
		this.d.budget.refuse();
		this.close(connection);
		return undefined;
	}

	identified(connection: Connection): void {
		this.unidentified.delete(connection);
	}

	closeAll(): void {
		for (const socket of this.all.keys()) socket.destroy();
	}

	private forget(connection: Connection): void {
		if (!this.all.delete(connection.socket)) return;
		addBytes(this.passed, connection.socket);
		this.unidentified.delete(connection);
		this.d.budget.give(1);
		this.d.closed();
	}

	private close(connection: Connection): void {
		this.forget(connection);
		connection.socket.destroy();
	}

	/** Closes connections with the most unfinished headers until the rest fits. */
	private check(): void {
		this.unchecked = 0;
		const unfinished = [...this.unidentified].map((each) => [each, each.socket.bytesRead - each.mark] as const);
		let bytes = unfinished.reduce((sum, [, size]) => sum + size, 0);
		if (bytes <= HEADERS_BYTES) return;
		for (const [connection, size] of unfinished.toSorted(([, a], [, b]) => b - a)) {
			this.d.budget.refuse();
			this.close(connection);
			bytes -= size;
			if (bytes <= HEADERS_BYTES) return;
		}
	}

	private async checkWhileAny(): Promise<void> {
		if (this.checking) return;
		this.checking = true;
		while (this.unidentified.size > 0) {
			await this.d.clock.sleep(CHECK_MS);
			this.check();
		}
		this.checking = false;
	}
}

function addBytes(to: { received: number; sent: number }, { bytesRead, bytesWritten }: Socket): void {
	to.received += bytesRead;
	to.sent += bytesWritten;
}
