import type { Signal } from "../../contract/store.ts";

export class Signals {
	#signals: Signal[] = [];
	/** Signals before the open transaction. */
	#before = 0;
	#delivery = false;

	begin(): void {
		this.#before = this.#signals.length;
		this.#delivery = false;
	}

	/** Sent unless the transaction fails; of `delivery` one at most. */
	add(signal: Signal): void {
		if (signal.kind === "delivery") {
			if (this.#delivery) return;
			this.#delivery = true;
		}
		this.#signals.push(signal);
	}

	drop(): void {
		this.#signals.length = this.#before;
	}

	take(): Signal[] {
		const taken = this.#signals;
		if (taken.length > 0) this.#signals = [];
		return taken;
	}
}
