/** Servers that limit requests together, over one store in memory. */
import { expect } from "vitest";
import { given } from "./given.ts";
import type { ManualClock } from "./manual-clock.ts";
import type { Admission, AdmissionRequest } from "../../src/kernel/engine/limits/admission.ts";
import { eventBus } from "../../src/kernel/events.ts";
import { createLimits, type Limits } from "../../src/kernel/engine/limits/limits.ts";
import type { CountRow, LimitStore } from "../../src/kernel/store/contract/cluster.ts";

export interface LimitingServer {
	admit: Limits["admit"];
	faults: string[];
	/** Ends it as SIGKILL does: it stores nothing more. */
	kill(): Promise<void>;
	stop(): Promise<void>;
}

/** The store of the servers, and what it does. */
export class LimitServers {
	readonly rows = new Map<string, CountRow>();
	/** Names of the store's operations so far. */
	calls: string[] = [];
	/** Error of each operation while set. */
	fails: Error | undefined;
	/** No operation ends before this. */
	hangs: Promise<void> | undefined;
	#runs = 0;
	readonly #clock: ManualClock;

	constructor(clock: ManualClock) {
		this.#clock = clock;
	}

	/** Starts a server; `others`: others are alive. */
	async start(id: string, { others = true } = {}): Promise<LimitingServer> {
		const events = eventBus();
		const faults: string[] = [];
		events.on("fault", ({ where, error }) => faults.push(`${where}: ${(error as Error).message}`));
		let isKilled = false;
		const limits = createLimits(
			given({
				clock: this.#clock,
				now: this.#clock.now,
				events,
				store: { limits: this.#store(() => isKilled) },
				server: id,
				run: `run-${(this.#runs += 1)}`,
				others: () => others,
			}),
		);
		await limits.recall();
		for (const service of limits.services) service.start();
		const stop = async (): Promise<void> => {
			for (const service of limits.services) await service.stop();
		};
		return {
			admit: limits.admit,
			faults,
			stop,
			async kill() {
				isKilled = true;
				await stop();
			},
		};
	}

	/** Servers that know of each other. */
	async pair(): Promise<[LimitingServer, LimitingServer]> {
		return [await this.start("a"), await this.start("b")];
	}

	/** The only server, or its next start. */
	single(): Promise<LimitingServer> {
		return this.start("", { others: false });
	}

	#store(isKilled: () => boolean): LimitStore {
		const called = async (name: string): Promise<void> => {
			if (isKilled()) throw new Error("killed");
			this.calls.push(name);
			await this.hangs;
			if (this.fails) throw this.fails;
		};
		return {
			put: async (row) => {
				await called("put");
				this.rows.set(row.run, row);
			},
			list: async ({ after }) => {
				await called("list");
				return [...this.rows.values()].filter(({ at }) => at > after);
			},
			expire: async ({ until }) => {
				await called("expire");
				for (const { run, at } of [...this.rows.values()]) if (at <= until) this.rows.delete(run);
			},
		};
	}
}

/** A request to the one endpoint of these tests. */
export function request(limits: AdmissionRequest["endpoint"]["limits"]): AdmissionRequest {
	return { endpoint: { id: "ep", limits }, operation: "run" };
}

export const rate = (per10s: number): AdmissionRequest => request({ run: { per10s, concurrent: "off" } });
export const atOnce = (concurrent: number): AdmissionRequest => request({ run: { per10s: "off", concurrent } });

/** The answer to a request that need not wait. */
export function asked(server: LimitingServer, q: AdmissionRequest): Admission {
	const answer = server.admit(q);
	expect(answer).not.toBeInstanceOf(Promise);
	return answer as Admission;
}

/** Sends this number of requests, each after the end of the one before; returns the number of those admitted. */
export function burst(server: LimitingServer, q: AdmissionRequest, requests: number): number {
	const admitted = Array.from({ length: requests }, () => {
		const { release } = asked(server, q);
		release?.();
		return release !== undefined;
	});
	return admitted.filter(Boolean).length;
}
