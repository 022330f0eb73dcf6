/**
 * Alerts for people (D53): evaluates the rules, records which alerts fire, and sends the messages that receivers have
 * not accepted yet.
 */
import { summaryOf } from "./rules.ts";
import type { AlertSettings } from "./settings.ts";
import { type Alert, type AlertState, evaluated, keyOf, MOST_SILENCES, type Silence, sent } from "./state.ts";
import { ApiError, badRequest } from "../../kernel/core/errors.ts";
import { loop } from "../../kernel/system/loop.ts";
import { busOf } from "../../kernel/events.ts";
import { alertDocument } from "./document.ts";
import { ERRORS } from "./errors.ts";
import type { EVENTS } from "./events.ts";
import { alertEvaluator, type EvaluatorContext } from "./evaluator.ts";
import { alertNotifier, type NotifierContext } from "./notifier.ts";

const EVALUATE_MS = 15_000;

const OFF: AlertSettings = { receivers: [], rules: new Map(), repeatMs: Infinity };

interface Deps extends EvaluatorContext, NotifierContext {
	/** Settings of alerts; undefined: nothing is evaluated. */
	settings: AlertSettings | undefined;
}

export type Alerts = ReturnType<typeof createAlerts>;

export function createAlerts(d: Deps) {
	const { settings = OFF } = d;
	const events = busOf<typeof EVENTS>(d.events);
	const { repeatMs } = settings;
	const evaluator = alertEvaluator(d, settings);
	const notifier = alertNotifier(d, settings);
	const { owns } = evaluator;
	const document = alertDocument(d, owns);

	/** Returns the alerts that fire, by key. */
	function firing({ alerts }: AlertState): Map<string, Alert> {
		const own = alerts.filter((alert) => owns(alert) && alert.resolvedAt === undefined);
		return new Map(own.map((alert) => [keyOf(alert), alert]));
	}

	async function evaluate(): Promise<void> {
		const result = await evaluator.evaluate(document.copy().alerts);
		const q = { ...result, now: d.now(), owns, receivers: notifier.names, repeatMs };
		let before = new Map<string, Alert>();
		const state = await document.updateAnyway((found) => {
			before = firing(found);
			return evaluated(found, q);
		});
		const after = firing(state);
		for (const [key, alert] of after) if (!before.has(key)) events.emit("alert.fired", factsOf(alert));
		for (const [key, alert] of before) if (!after.has(key)) events.emit("alert.resolved", factsOf(alert));
	}

	async function notify(name: string): Promise<void> {
		const owed = document.copy().alerts.filter((alert) => owns(alert) && alert.owed.includes(name));
		if (await notifier.notify(name, owed)) await document.updateAnyway((state) => sent(state, name, owed));
	}

	/** Messages in flight by receiver: a receiver that hangs delays neither the rules nor other receivers. */
	const sending = new Map<string, Promise<void>>();

	function onError(error: unknown): void {
		if (!notifier.stopped.aborted) events.emit("fault", { where: "evaluating alerts", error });
	}

	function beginTo(name: string): void {
		if (sending.has(name)) return;
		const end = notify(name)
			.catch(onError)
			.finally(() => sending.delete(name));
		sending.set(name, end);
	}

	const repeated = loop({
		clock: d.clock,
		retryMs: EVALUATE_MS,
		onError,
		step: async () => {
			await evaluate();
			notifier.names.forEach(beginTo);
			return EVALUATE_MS;
		},
	});
	const service = {
		start: repeated.start,
		async stop() {
			notifier.stop();
			await repeated.stop();
			await Promise.all(sending.values());
		},
	};

	return {
		enabled: d.settings !== undefined,
		receivers: notifier.names,
		viewer: notifier.viewer,
		test: notifier.test,
		/**
		 * Returns the alerts that fire, the oldest first, and the silences. Without settings it returns no alerts: earlier
		 * ones were not resolved.
		 */
		async list(): Promise<AlertState> {
			const { alerts: stored, silences } = await document.read();
			const alerts = d.settings ? stored : [];
			const now = d.now();
			return {
				alerts: alerts.filter(({ resolvedAt }) => resolvedAt === undefined).toSorted((a, b) => a.since - b.since),
				silences: silences.filter(({ until }) => until > now),
			};
		},
		/** Adds a silence, which replaces one of the same rule and endpoint. Throws 400 when there are too many. */
		async silence(silence: Silence): Promise<void> {
			await document.update((state) => {
				const silences = [...others(state, silence), silence];
				const message = `would be silence ${silences.length}; end some of the others first.`;
				if (silences.length > MOST_SILENCES) throw badRequest([{ field: "", message }]);
				return { ...state, silences };
			});
		},
		/** Ends a silence. Throws `silence_not_found`. */
		async endSilence(silence: Pick<Silence, "name" | "endpoint">): Promise<void> {
			await document.update((state) => {
				const silences = others(state, silence);
				if (silences.length === state.silences.length)
					throw new ApiError(ERRORS.silence_not_found, { alert: silence.name });
				return { ...state, silences };
			});
		},
		services: d.settings ? [service] : [],
	};
}

/** Returns all silences except that of the same rule and endpoint. */
function others({ silences }: AlertState, { name, endpoint }: Pick<Silence, "name" | "endpoint">): Silence[] {
	return silences.filter((each) => each.name !== name || each.endpoint !== endpoint);
}

function factsOf({ name, labels, value }: Alert) {
	return { alert: name, summary: summaryOf(name, labels, value) };
}
