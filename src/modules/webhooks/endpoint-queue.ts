/** Waiting deliveries of one endpoint, and bounds of those in flight (D21). */
import type { DueDelivery } from "../../kernel/store/contract/webhooks.ts";

class InFlight {
	count = 0;
	bytes = 0;
	readonly #maxCount: number;
	readonly #maxBytes: number;

	constructor(maxCount: number, maxBytes: number) {
		this.#maxCount = maxCount;
		this.#maxBytes = maxBytes;
	}

	hasSender(): boolean {
		return this.count < this.#maxCount;
	}

	/** Whether a body of this size may be sent now; any size may if nothing else is in flight. */
	hasRoom(bytes: number): boolean {
		return this.bytes === 0 || this.bytes + bytes <= this.#maxBytes;
	}
}

/** `others`: sends to receivers that are not known to be healthy. */
export class Sends {
	readonly all: InFlight;
	readonly others: InFlight;

	constructor(senders: number, bytes: number) {
		this.all = new InFlight(senders, bytes);
		this.others = new InFlight(senders / 2, bytes / 2);
	}

	add(healthy: boolean, count: number, bytes: number): void {
		for (const each of healthy ? [this.all] : [this.all, this.others]) {
			each.count += count;
			each.bytes += bytes;
		}
	}
}

export interface Lane {
	name: string;
	waiting: { delivery: DueDelivery; heldUntil: number }[];
	sending: number;
}

export class EndpointQueue {
	readonly id: string;
	readonly healthy = new Map<string, Lane>();
	readonly others = new Map<string, Lane>();
	readonly sends: Sends;
	/** Characters of waiting deliveries. */
	weight = 0;

	constructor(id: string, sends: Sends) {
		this.id = id;
		this.sends = sends;
	}

	group(healthy: boolean): Map<string, Lane> {
		return healthy ? this.healthy : this.others;
	}

	lane(name: string): Lane | undefined {
		return this.healthy.get(name) ?? this.others.get(name);
	}

	/** Returns a copy, so that the queue may change during iteration. */
	get lanes(): Lane[] {
		return [...this.healthy.values(), ...this.others.values()];
	}
}
