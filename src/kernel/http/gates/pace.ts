/**
 * Paces management calls by the time they take of the store and the event loop (D41). An owner's account fills
 * steadily and is charged while any call runs, once for up to four. An empty account runs calls one after the other
 * as it fills.
 */
import type { Clock } from "../../system/clock.ts";
import type { LocalMs } from "../../lib/time.ts";

/** Gain per second, maximum balance and maximum debt, ms. */
const SHARE_MS = 150;
const MOST_MS = 2 * SHARE_MS;
const DEEPEST_MS = 12 * SHARE_MS;

/** Maximum concurrent calls per owner, since a call's cost is known only afterwards. */
const SIDE_BY_SIDE = 4;

/** Cost outside the handler: parsing, authentication, writing, ms. */
const REQUEST_MS = 0.25;

/** Maximum waits of one owner in {@link Pace.spend}. Above it, calls whose client has left go first. */
const MOST_WAITING = 256;

/** Above this number, full accounts are dropped. */
const KEPT_ACCOUNTS = 1000;

export interface Turn {
	charge(ms: number): void;
	/** Waits without a charge, such as for the client, then for the next turn. */
	outside<T>(wait: Promise<T>): Promise<T>;
	/** `forgive` also cancels the debt, for a call that the store kept waiting. */
	end(forgive?: boolean): void;
}

type Departing = Readonly<{ disconnected: boolean }>;

export type Pace = ReturnType<typeof pace>;

interface Waiting {
	caller: Departing | undefined;
	/** False: the caller left. */
	resolve: (turn: boolean) => void;
}

interface Account {
	balance: number;
	/** When the balance was computed. */
	at: LocalMs;
	running: number;
	waiting: Waiting[];
	sleeping: boolean;
}

export function pace(clock: Clock) {
	const share = SHARE_MS / 1000;
	const accounts = new Map<string, Account>();

	function accountOf(owner: string): Account {
		let account = accounts.get(owner);
		if (account) return account;
		if (accounts.size >= KEPT_ACCOUNTS) dropFull();
		account = { balance: MOST_MS, at: clock.now(), running: 0, waiting: [], sleeping: false };
		accounts.set(owner, account);
		return account;
	}

	function dropFull(): void {
		for (const [owner, account] of accounts) {
			if (account.running > 0 || account.waiting.length > 0) continue;
			settle(account);
			if (account.balance === MOST_MS) accounts.delete(owner);
		}
	}

	function settle(account: Account): void {
		const passed = Math.max(0, clock.now() - account.at);
		account.at += passed;
		change(account, passed * (account.running > 0 ? share - 1 : share));
	}

	function change(account: Account, by: number): void {
		account.balance = Math.min(MOST_MS, Math.max(-DEEPEST_MS, account.balance + by));
	}

	async function letIn(account: Account): Promise<void> {
		while (account.waiting.length > 0 && !account.sleeping) {
			settle(account);
			if (account.running >= SIDE_BY_SIDE) return;
			if (account.balance > 0 || (account.balance === 0 && account.running === 0)) {
				account.running += 1;
				change(account, -REQUEST_MS);
				account.waiting.shift()!.resolve(true);
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

	function turnOf(account: Account, caller?: Departing): Promise<boolean> {
		const { promise, resolve } = Promise.withResolvers<boolean>();
		account.waiting.push({ caller, resolve });
		void letIn(account);
		return promise;
	}

	function hasRoom(account: Account): boolean {
		if (account.waiting.length < MOST_WAITING) return true;
		const stay: Waiting[] = [];
		for (const each of account.waiting)
			if (each.caller?.disconnected) each.resolve(false);
			else stay.push(each);
		account.waiting = stay;
		return stay.length < MOST_WAITING;
	}

	return {
		async enter(owner: string): Promise<Turn> {
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

		/**
		 * Waits like a call, then charges this time, ms. False without a charge if too many calls wait or the caller has
		 * left.
		 */
		async spend(owner: string, ms: number, caller: Departing): Promise<boolean> {
			const account = accountOf(owner);
			if (!hasRoom(account) || !(await turnOf(account, caller))) return false;
			if (!caller.disconnected) change(account, -ms);
			leave(account);
			return !caller.disconnected;
		},
	};
}
