/**
 * Time that management calls of one caller take of the store and the event loop (D41). An account
 * fills by the budget and is charged while any call of its owner runs, once for up to four of them.
 * With nothing left the calls run one after the other as the account fills.
 */
import type { BudgetMeter } from "../budgets.ts";
import type { Clock } from "../clock.ts";
import type { LocalMs } from "../core/time.ts";

/** A full account, and the deepest debt, in budgets of a second. */
const MOST = 2;
const DEEPEST = 12;

/** Calls of one owner at once: what the first ones cost is known when they have ended. */
const SIDE_BY_SIDE = 4;

/** What no handler sees of a request: parsing, authentication, writing; ms. */
const REQUEST_MS = 0.25;

/** Accounts above this number are dropped when they are full again. */
const KEPT_ACCOUNTS = 1000;

/** A running call. */
export interface Turn {
	/** Charges so many ms more. */
	charge(ms: number): void;
	/** Waits for what takes no time here, such as the client; then for the next turn. */
	outside<T>(wait: Promise<T>): Promise<T>;
	/** `forgive`: also the debt, of a call that the store kept waiting. */
	end(forgive?: boolean): void;
}

export interface Pace {
	/** Resolves when it is the turn of the owner's call. */
	enter(owner: string): Promise<Turn>;
	/** Waits like a call, and charges so many ms. */
	spend(owner: string, ms: number): Promise<void>;
}

interface Account {
	/** Time left, ms. */
	balance: number;
	/** As of. */
	at: LocalMs;
	running: number;
	waiting: (() => void)[];
	/** Whether {@link letIn} sleeps. */
	sleeping: boolean;
}

/** `meter`: ms in a second. */
export function pace({ clock, meter }: { clock: Clock; meter: BudgetMeter }): Pace {
	const share = meter.limit / 1000;
	const most = MOST * meter.limit;
	const accounts = new Map<string, Account>();

	function accountOf(owner: string): Account {
		let account = accounts.get(owner);
		if (account) return account;
		if (accounts.size >= KEPT_ACCOUNTS) dropFull();
		account = { balance: most, at: clock.now(), running: 0, waiting: [], sleeping: false };
		accounts.set(owner, account);
		return account;
	}

	function dropFull(): void {
		for (const [owner, account] of accounts) {
			if (account.running > 0 || account.waiting.length > 0) continue;
			settle(account);
			if (account.balance === most) accounts.delete(owner);
		}
	}

	function settle(account: Account): void {
		const passed = Math.max(0, clock.now() - account.at);
		account.at += passed;
		change(account, passed * (account.running > 0 ? share - 1 : share));
	}

	function change(account: Account, by: number): void {
		account.balance = Math.min(most, Math.max(-DEEPEST * meter.limit, account.balance + by));
	}

	/** Lets calls in as far as the account allows. */
	async function letIn(account: Account): Promise<void> {
		while (account.waiting.length > 0 && !account.sleeping) {
			settle(account);
			if (account.running >= SIDE_BY_SIDE) return;
			if (account.balance > 0 || (account.balance === 0 && account.running === 0)) {
				account.running += 1;
				change(account, -REQUEST_MS);
				account.waiting.shift()!();
			} else if (account.running > 0) return;
			else {
				account.sleeping = true;
				await clock.sleep(Math.ceil(-account.balance / share));
				account.sleeping = false;
			}
		}
	}

	function leave(account: Account): void {
		settle(account);
		account.running -= 1;
		void letIn(account);
	}

	function turnOf(account: Account): Promise<void> {
		const { promise, resolve } = Promise.withResolvers<void>();
		account.waiting.push(resolve);
		void letIn(account);
		return promise;
	}

	return {
		async enter(owner) {
			const account = accountOf(owner);
			await turnOf(account);
			let inside = true;
			return {
				charge: (ms) => change(account, -ms),
				async outside(wait) {
					if (!inside) return await wait;
					inside = false;
					leave(account);
					try {
						return await wait;
					} finally {
						await turnOf(account);
						inside = true;
					}
				},
				end(forgive) {
					if (!inside) return;
					inside = false;
					settle(account);
					if (forgive) account.balance = Math.max(0, account.balance);
					leave(account);
				},
			};
		},

		async spend(owner, ms) {
			const account = accountOf(owner);
			await turnOf(account);
			change(account, -ms);
			leave(account);
		},
	};
}
