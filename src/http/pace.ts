/**
 * Time that management calls of one caller take of the store and the event loop (D41). An account
 * fills steadily and is charged while any call of its owner runs, once for up to four of them.
 * With nothing left the calls run one after the other as the account fills.
 */
import type { Clock } from "../clock.ts";
import type { LocalMs } from "../core/time.ts";

/** Time that an account gains in a second, ms; a full account, and the deepest debt. */
const SHARE_MS = 150;
const MOST_MS = 2 * SHARE_MS;
const DEEPEST_MS = 12 * SHARE_MS;

/** Maximum concurrent calls per owner; a call's cost is known only afterwards. */
const SIDE_BY_SIDE = 4;

/** What no handler sees of a request: parsing, authentication, writing; ms. */
const REQUEST_MS = 0.25;

/** Calls of one owner that wait to {@link Pace.spend}; beyond, those whose client has left go first. */
const MOST_WAITING = 256;

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

/** A client that may leave while its call waits. */
type Departing = Readonly<{ disconnected: boolean }>;

export interface Pace {
	/** Resolves when it is the turn of the owner's call. */
	enter(owner: string): Promise<Turn>;
	/**
	 * Waits like a call, and charges so many ms; false, without a charge, if too many calls of the
	 * owner wait already or the caller has left meanwhile.
	 */
	spend(owner: string, ms: number, caller: Departing): Promise<boolean>;
}

interface Waiting {
	caller: Departing | undefined;
	/** With whether its turn has come. */
	resolve: (turn: boolean) => void;
}

interface Account {
	/** Time left, ms. */
	balance: number;
	/** Time of the account. */
	at: LocalMs;
	running: number;
	waiting: Waiting[];
	/** Whether {@link letIn} sleeps. */
	sleeping: boolean;
}

export function pace(clock: Clock): Pace {
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

	/** Lets calls in as far as the account allows. */
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

	/** Whether one more may wait. */
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

		async spend(owner, ms, caller) {
			const account = accountOf(owner);
			if (!hasRoom(account) || !(await turnOf(account, caller))) return false;
			if (!caller.disconnected) change(account, -ms);
			leave(account);
			return !caller.disconnected;
		},
	};
}
