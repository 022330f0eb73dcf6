/**
 * Admission where several servers share a store: the limits hold for all of them together (spec 8,
 * D24). Requests that arrive while the store is asked, or in one turn of the event loop, share the
 * next question. The store is not asked about unlimited operations, nor about a rate that is known
 * to be used up. While it does not answer, this server counts alone.
 */
import type { Clock } from "../../clock.ts";
import { type Limits, limitsOf } from "../../core/limits.ts";
import { WINDOW_MS } from "../../core/rate-window.ts";
import type { EpochMs } from "../../core/time.ts";
import type { EventBus } from "../../events.ts";
import { loop, type Loop } from "../../service.ts";
import type { LimitAnswer, LimitAsk, LimitStore } from "../../store/contract/limits.ts";
import {
	admission,
	type Admission,
	type AdmissionRequest,
	type Admit,
	overConcurrency,
	overRate,
	quota,
} from "./admission.ts";

/**
 * How long the running requests of a server count after its last report, and time between two
 * reports, ms. Those of a dead server are free within 10 s (D24).
 */
const ALIVE_MS = 9000;
const REPORT_MS = 2500;

/** How long a request waits for an answer before this server counts alone, ms. */
const LATE_MS = 1000;

/** Pause between two attempts while the store is unavailable, ms. */
const PAUSE_MS = 500;

/**
 * Pauses before a request is refused because of those running at other servers, ms: the end of a
 * client's last request may be reported later than its next one arrives here.
 */
const RETRY_MS = [5, 10, 20, 40];

/** Time between two removals of outdated rows from the store, ms. */
const FORGET_MS = 30_000;

/** Maximum number of budgets in one question: the store locks each until its end. */
const MAX_ASKS = 50;

/** Reason for ending a wait: without one an exception object would be created each time. */
const ANSWERED = "answered";

/** A request that waits for its answer. */
interface Waiter {
	request: AdmissionRequest;
	resolve: (admission: Admission) => void;
	done: boolean;
	/** Answers so far that neither admitted nor refused it. */
	tries: number;
}

/** One operation of one endpoint. */
interface Budget {
	endpoint: string;
	operation: AdmissionRequest["operation"];
	/** Limits as of the last request. */
	limits: Readonly<Limits>;
	running: number;
	waiting: Waiter[];
	/** Set while its rate is used up. */
	full?: Full | undefined;
}

/** A rate of `limit` is used up until `freeAt`; its oldest request was at `oldest`. */
interface Full {
	limit: number;
	oldest: EpochMs;
	freeAt: EpochMs;
}

/** The question to the store about one budget. */
interface Question {
	budget: Budget;
	ask: LimitAsk;
	waiters: Waiter[];
}

export interface SharedAdmissionDeps {
	limits: LimitStore;
	/** Id of this server. */
	server: string;
	clock: Clock;
	now: () => EpochMs;
	events: EventBus;
}

/** `loop` reports the running requests of this server, and asks an unavailable store again. */
export function sharedAdmission({ limits: store, server, clock, now, events }: SharedAdmissionDeps): {
	admit: Admit;
	loop: Loop;
	/** Budgets in memory. */
	readonly size: number;
} {
	const budgets = new Map<string, Budget>();
	/** Budgets of the next question. */
	const next = new Set<Budget>();
	/** Counts while the store is unavailable, and only then. */
	let alone = admission(now);
	let unavailable = false;
	/** The question in progress; one at a time. */
	let asking: readonly Question[] | undefined;
	/** Aborts when the requests of the next question have their answers; absent without requests. */
	let answered: AbortController | undefined;
	let scheduled = false;
	let removedAt = -Infinity;

	function budgetOf(request: AdmissionRequest): Budget {
		const key = keyOf(request);
		const limits = limitsOf(request.endpoint, request.operation);
		let budget = budgets.get(key);
		if (!budget)
			budgets.set(
				key,
				(budget = {
					endpoint: request.endpoint.id,
					operation: request.operation,
					limits,
					running: 0,
					waiting: [],
				}),
			);
		budget.limits = limits;
		return budget;
	}

	function admit(request: AdmissionRequest): ReturnType<Admit> {
		const limits = limitsOf(request.endpoint, request.operation);
		if (limits.per10s === undefined && limits.concurrent === undefined) return undefined;
		if (unavailable) return alone.admit(request);
		const full = budgets.get(keyOf(request))?.full;
		if (full && full.limit === limits.per10s) {
			const at = now();
			if (isFull(full, at)) return overFull(request, full, at);
		}
		return new Promise((resolve) => wait({ request, resolve, done: false, tries: 0 }));
	}

	function wait(waiter: Waiter): void {
		const budget = budgetOf(waiter.request);
		budget.waiting.push(waiter);
		if (!answered) void expectAnswer((answered = new AbortController()).signal);
		enqueue(budget);
	}

	/** Adds it to the next question. */
	function enqueue(budget: Budget): void {
		next.add(budget);
		if (scheduled || asking || unavailable) return;
		scheduled = true;
		setImmediate(() => {
			scheduled = false;
			void ask();
		});
	}

	async function ask(): Promise<void> {
		if (asking) return;
		const questions = [...next].slice(0, MAX_ASKS).map(questionOf);
		asking = questions;
		for (const { budget } of questions) next.delete(budget);
		const current = answered;
		answered = undefined;
		try {
			const at = now();
			const answers = await store.take({
				server,
				asks: questions.map((question) => question.ask),
				windowMs: WINDOW_MS,
				aliveMs: ALIVE_MS,
				now: at,
			});
			unavailable = false;
			for (const [index, question] of questions.entries()) settle(question, answers[index]!, at);
		} catch (error) {
			countAlone(error);
			// An available store may have lost what runs here.
			for (const { budget } of questions) next.add(budget);
			for (const budget of budgets.values()) if (budget.running > 0) next.add(budget);
		} finally {
			current?.abort(ANSWERED);
			asking = undefined;
		}
		for (const budget of next) enqueue(budget);
		// More requests than fit into one question.
		if (!answered && [...next].some(({ waiting }) => waiting.length > 0))
			void expectAnswer((answered = new AbortController()).signal);
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
				budget.running += 1;
				waiter.resolve({
					...quotaAt(answer.used - granted + index + 1),
					release: () => release(budget),
				});
			} else if (full) waiter.resolve(overFull(waiter.request, full, at));
			else if (held + granted < concurrent && waiter.tries < RETRY_MS.length) void retryLater(waiter);
			else
				waiter.resolve({
					...quotaAt(answer.used),
					refusal: overConcurrency(waiter.request, concurrent),
				});
		}
		if (count > 0) budget.full = full;
		// A request has ended meanwhile, or was counted alone.
		if (budget.limits.concurrent !== undefined && budget.running !== held + granted) next.add(budget);
	}

	async function retryLater(waiter: Waiter): Promise<void> {
		await clock.sleep(RETRY_MS[waiter.tries]!);
		waiter.tries += 1;
		if (unavailable) waiter.resolve(alone.admit(waiter.request) ?? {});
		else wait(waiter);
	}

	function release(budget: Budget): void {
		budget.running -= 1;
		if (budget.limits.concurrent !== undefined) enqueue(budget);
	}

	/** After the time for an answer. One that arrived during a long turn is read first. */
	async function expectAnswer(signal: AbortSignal): Promise<void> {
		await clock.sleep(LATE_MS, signal);
		await new Promise((resolve) => setImmediate(resolve));
		if (!signal.aborted) countAlone(new Error(`The store gave no answer in ${LATE_MS} ms.`));
	}

	/** The store is unavailable: waiting requests are counted here. */
	function countAlone(error: unknown): void {
		if (!unavailable) {
			unavailable = true;
			alone = admission(now);
			events.emit("fault", { where: "counting requests together with the other servers", error });
			reports.nudge();
		}
		answered?.abort();
		answered = undefined;
		for (const waiters of [
			...(asking ?? []).map((question) => question.waiters),
			...[...next].map(({ waiting }) => waiting.splice(0)),
		]) {
			for (const waiter of waiters) {
				if (waiter.done) continue;
				waiter.done = true;
				waiter.resolve(alone.admit(waiter.request) ?? {});
			}
		}
	}

	/** Removes unused budgets. */
	function sweep(at: number): void {
		for (const [key, budget] of budgets)
			if (budget.running === 0 && !next.has(budget) && !(budget.full && isFull(budget.full, at))) budgets.delete(key);
	}

	const reports = loop({
		clock,
		retryMs: REPORT_MS,
		onError: (error) => events.emit("fault", { where: "removing outdated requests", error }),
		step: async () => {
			const at = now();
			// Budgets of the question in progress are in use.
			if (!asking) sweep(at);
			if (unavailable) {
				void ask();
				return PAUSE_MS;
			}
			for (const budget of budgets.values())
				if (budget.running > 0 && budget.limits.concurrent !== undefined) enqueue(budget);
			if (Math.abs(at - removedAt) >= FORGET_MS) {
				removedAt = at;
				await store.forget({ windowMs: WINDOW_MS, now: at });
			}
			return REPORT_MS;
		},
	});

	return {
		admit,
		loop: reports,
		get size() {
			return budgets.size;
		},
	};
}

function keyOf({ endpoint, operation }: AdmissionRequest): string {
	return `${endpoint.id}/${operation}`;
}

function questionOf(budget: Budget): Question {
	const { endpoint, operation, limits, running, waiting } = budget;
	const waiters = waiting.splice(0);
	return {
		budget,
		waiters,
		ask: { endpoint, operation, ...limits, held: running, count: waiters.length },
	};
}

/** More than a window ahead is no wait: the clock was set back. */
function isFull({ freeAt }: Full, at: number): boolean {
	return at < freeAt && at >= freeAt - WINDOW_MS;
}

/** The answer to a request when the rate is used up. */
function overFull(request: AdmissionRequest, { limit, oldest, freeAt }: Full, at: number): Admission {
	const waitMs = Math.min(freeAt - at, WINDOW_MS);
	const oldestLeavesMs = oldest + WINDOW_MS - at;
	return {
		quota: quota({
			limit,
			used: limit,
			resetMs: oldestLeavesMs > 0 ? Math.min(oldestLeavesMs, waitMs) : waitMs,
		}),
		refusal: overRate(request, limit, waitMs),
	};
}
