/**
 * Lets requests in where several servers share a store: the limits hold for all of them together
 * (spec 8, D24). All requests that come while a question is under way, and in the same turn of the
 * event loop, go out as one question. Nothing is asked about what is not limited, nor about a rate
 * that is known to be used up. While the store gives no answer, this server counts alone.
 */
import type { Clock } from "../../clock.ts";
import { limitsOf } from "../../core/limits.ts";
import type { Limits } from "../../core/limits.ts";
import { WINDOW_MS } from "../../core/rate-window.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Loop } from "../../service.ts";
import type { LimitAnswer, LimitAsk, LimitStore } from "../../store/contract/limits.ts";
import { admission, overConcurrency, overRate, quota } from "./admission.ts";
import type { Admission, Admit, AdmissionRequest } from "./admission.ts";

/**
 * How long places count without a word from the server that holds them, and how often it tells, ms.
 * Those of a dead one are free within 10 s (D24).
 */
const ALIVE_MS = 9000;
const TELL_MS = 2500;

/**
 * How long a request waits for an answer before this server counts alone, ms. Once it does, nobody
 * waits: whoever needs the store is told by it that it is away.
 */
const LATE_MS = 1000;

/** Pause between two tries while the store is away, ms. */
const PAUSE_MS = 500;

/**
 * Pauses before a request is refused because of what is under way at other servers, ms. A client
 * that goes from one server to another may be faster than the word that its last request has ended.
 */
const AGAIN_MS = [5, 10, 20, 40];

/** How often what counts no more is removed from the store, ms. */
const FORGET_MS = 30_000;

/** Most budgets in one question: each is locked until its end. */
const MOST_ASKS = 50;

/** A request that waits for its answer; once it has one, others change nothing. */
interface Waiter {
	asked: AdmissionRequest;
	resolve: (admission: Admission) => void;
	done: boolean;
	/** Answers so far that did not refuse it yet. */
	tries: number;
}

/** What is known here of an operation of an endpoint. */
interface Budget {
	endpoint: string;
	operation: AdmissionRequest["operation"];
	/** As of the last request. */
	limits: Readonly<Limits>;
	underWay: number;
	waiting: Waiter[];
	/** Its rate is used up until then, whoever asks. */
	full?: Full | undefined;
}

/**
 * A rate of `limit` that is used up: at least until `freeAt`. The oldest request came at `oldest`.
 */
interface Full {
	limit: number;
	oldest: number;
	freeAt: number;
}

/** What went out about a budget. */
interface Question {
	budget: Budget;
	ask: LimitAsk;
	waiters: Waiter[];
}

/** What {@link sharedAdmission} needs. */
export interface SharedAdmissionDeps {
	limits: LimitStore;
	/** Id of this server. */
	server: string;
	clock: Clock;
	/** ms since the epoch, alike on all servers. */
	now: () => number;
	events: EventBus;
}

/**
 * Admission by all servers together. `loop` tells again what is under way here, and tries again
 * when the store was away; it is to be started.
 */
export function sharedAdmission({
	limits: store,
	server,
	clock,
	now,
	events,
}: SharedAdmissionDeps): {
	admit: Admit;
	loop: Loop /** Budgets in memory. */;
	readonly size: number;
} {
	const budgets = new Map<string, Budget>();
	/** Budgets about which something is to be asked or told. */
	const next = new Set<Budget>();
	/** Counts while the store is away, and only then. */
	let alone = admission(now);
	let away = false;
	/** What is being asked and told now; one question at a time. */
	let under: readonly Question[] | undefined;
	/**
	 * Ends when those who wait for the next question have their answers; absent when nobody waits.
	 */
	let waited: AbortController | undefined;
	let scheduled = false;
	let forgotAt = -Infinity;

	function budgetOf(asked: AdmissionRequest): Budget {
		const key = keyOf(asked);
		const limits = limitsOf(asked.endpoint, asked.operation);
		let budget = budgets.get(key);
		if (!budget)
			budgets.set(
				key,
				(budget = {
					endpoint: asked.endpoint.id,
					operation: asked.operation,
					limits,
					underWay: 0,
					waiting: [],
				}),
			);
		budget.limits = limits;
		return budget;
	}

	function admit(asked: AdmissionRequest): ReturnType<Admit> {
		const limits = limitsOf(asked.endpoint, asked.operation);
		if (limits.per10s === undefined && limits.concurrent === undefined) return undefined;
		if (away) return alone.admit(asked);
		const full = budgets.get(keyOf(asked))?.full;
		if (full && full.limit === limits.per10s) {
			const at = now();
			if (isFull(full, at)) return overFull(asked, full, at);
		}
		return new Promise((resolve) => wait({ asked, resolve, done: false, tries: 0 }));
	}

	function wait(waiter: Waiter): void {
		const budget = budgetOf(waiter.asked);
		budget.waiting.push(waiter);
		if (!waited) void late((waited = new AbortController()).signal);
		tell(budget);
	}

	/** Has it asked or told with the next question. */
	function tell(budget: Budget): void {
		next.add(budget);
		if (scheduled || under || away) return;
		scheduled = true;
		setImmediate(() => {
			scheduled = false;
			void ask();
		});
	}

	async function ask(): Promise<void> {
		if (under) return;
		const questions = [...next].slice(0, MOST_ASKS).map(questionOf);
		under = questions;
		for (const { budget } of questions) next.delete(budget);
		const answered = waited;
		waited = undefined;
		try {
			const at = now();
			const answers = await store.take({
				server,
				asks: questions.map((question) => question.ask),
				windowMs: WINDOW_MS,
				aliveMs: ALIVE_MS,
				now: at,
			});
			away = false;
			for (const [index, question] of questions.entries()) settle(question, answers[index]!, at);
		} catch (error) {
			countAlone(error);
			// When it is back, it may know nothing any more of what is under way.
			for (const { budget } of questions) next.add(budget);
			for (const budget of budgets.values()) if (budget.underWay > 0) next.add(budget);
		} finally {
			answered?.abort();
			under = undefined;
		}
		for (const budget of next) tell(budget);
		// Where there were more than fit into one question.
		if (!waited && [...next].some(({ waiting }) => waiting.length > 0))
			void late((waited = new AbortController()).signal);
	}

	function settle(
		{ budget, ask: { held, count, per10s, concurrent = 0 }, waiters }: Question,
		answer: LimitAnswer,
		at: number,
	): void {
		const { granted, oldest } = answer;
		const full =
			per10s === undefined || answer.freeAt === undefined
				? undefined
				: { limit: per10s, oldest: oldest ?? at, freeAt: answer.freeAt };
		const quotaAt = (used: number): Pick<Admission, "quota"> =>
			per10s === undefined
				? {}
				: {
						quota: quota({
							limit: per10s,
							used,
							resetMs: oldest === undefined ? 0 : oldest + WINDOW_MS - at,
						}),
					};
		for (const [index, waiter] of waiters.entries()) {
			if (waiter.done) continue;
			if (index < granted) {
				budget.underWay += 1;
				waiter.resolve({
					...quotaAt(answer.used - granted + index + 1),
					release: () => release(budget),
				});
			} else if (full) waiter.resolve(overFull(waiter.asked, full, at));
			else if (held + granted < concurrent && waiter.tries < AGAIN_MS.length) void again(waiter);
			else
				waiter.resolve({
					...quotaAt(answer.used),
					refusal: overConcurrency(waiter.asked, concurrent),
				});
		}
		if (count > 0) budget.full = full;
		// Somebody has ended meanwhile, or did not wait so long.
		if (budget.limits.concurrent !== undefined && budget.underWay !== held + granted)
			next.add(budget);
	}

	async function again(waiter: Waiter): Promise<void> {
		await clock.sleep(AGAIN_MS[waiter.tries]!);
		waiter.tries += 1;
		if (away) waiter.resolve(alone.admit(waiter.asked) ?? {});
		else wait(waiter);
	}

	function release(budget: Budget): void {
		budget.underWay -= 1;
		if (budget.limits.concurrent !== undefined) tell(budget);
	}

	/** After the time for an answer. One that has arrived during a long turn is read first. */
	async function late(answered: AbortSignal): Promise<void> {
		await clock.sleep(LATE_MS, answered);
		await new Promise((resolve) => setImmediate(resolve));
		if (!answered.aborted) countAlone(new Error(`The store gave no answer in ${LATE_MS} ms.`));
	}

	/** The store is away: who waits is counted here. */
	function countAlone(error: unknown): void {
		if (!away) {
			away = true;
			alone = admission(now);
			events.emit("fault", { where: "counting requests together with the other servers", error });
			telling.nudge();
		}
		waited?.abort();
		waited = undefined;
		for (const waiters of [
			...(under ?? []).map((question) => question.waiters),
			...[...next].map(({ waiting }) => waiting.splice(0)),
		]) {
			for (const waiter of waiters) {
				if (waiter.done) continue;
				waiter.done = true;
				waiter.resolve(alone.admit(waiter.asked) ?? {});
			}
		}
	}

	/** Budgets that nobody uses go. */
	function sweep(at: number): void {
		for (const [key, budget] of budgets)
			if (budget.underWay === 0 && !next.has(budget) && !(budget.full && isFull(budget.full, at)))
				budgets.delete(key);
	}

	const telling = loop({
		clock,
		retryMs: TELL_MS,
		onError: (error) =>
			events.emit("fault", { where: "removing requests that count no more", error }),
		step: async () => {
			const at = now();
			// One that is being asked about is in use.
			if (!under) sweep(at);
			if (away) {
				void ask();
				return PAUSE_MS;
			}
			for (const budget of budgets.values())
				if (budget.underWay > 0 && budget.limits.concurrent !== undefined) tell(budget);
			if (Math.abs(at - forgotAt) >= FORGET_MS) {
				forgotAt = at;
				await store.forget({ windowMs: WINDOW_MS, now: at });
			}
			return TELL_MS;
		},
	});

	return {
		admit,
		loop: telling,
		get size() {
			return budgets.size;
		},
	};
}

function keyOf({ endpoint, operation }: AdmissionRequest): string {
	return `${endpoint.id}/${operation}`;
}

function questionOf(budget: Budget): Question {
	const { endpoint, operation, limits, underWay, waiting } = budget;
	const waiters = waiting.splice(0);
	return {
		budget,
		waiters,
		ask: { endpoint, operation, ...limits, held: underWay, count: waiters.length },
	};
}

/** Whether nothing can have changed that. More than a window is no wait: the clock was set back. */
function isFull({ freeAt }: Full, at: number): boolean {
	return at < freeAt && at >= freeAt - WINDOW_MS;
}

/** The answer to a request when the rate is used up. */
function overFull(asked: AdmissionRequest, { limit, oldest, freeAt }: Full, at: number): Admission {
	const waitMs = Math.min(freeAt - at, WINDOW_MS);
	const oldestLeavesMs = oldest + WINDOW_MS - at;
	return {
		quota: quota({
			limit,
			used: limit,
			resetMs: oldestLeavesMs > 0 ? Math.min(oldestLeavesMs, waitMs) : waitMs,
		}),
		refusal: overRate(asked, limit, waitMs),
	};
}
