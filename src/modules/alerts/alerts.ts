/** Alerts for people (D53): evaluates the rules, sends messages, and shows other servers what fires here. */
import { summaryOf } from "./rules.ts";
import type { AlertSettings } from "./settings.ts";
import { type Alert, evaluate, type Firing, keyOf, silenceOf } from "./state.ts";
import { MOST_SILENCES, type Silence } from "./silence.ts";
import { ApiError, badRequest } from "../../kernel/core/errors.ts";
import { loop } from "../../kernel/system/loop.ts";
import { busOf } from "../../kernel/events.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import { known, sharedDocument } from "./document.ts";
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

interface ShownAlert extends Alert {
	/** Time of the last message about the alert, once all receivers have accepted it. */
	notifiedAt?: number | undefined;
}

export type Alerts = ReturnType<typeof createAlerts>;

export function createAlerts(d: Deps) {
	const { settings = OFF, cluster } = d;
	const events = busOf<typeof EVENTS>(d.events);
	const measure = alertEvaluator(d, settings);
	const notifier = alertNotifier(d, settings);
	const silences = sharedDocument<readonly Silence[]>(d, "alerts.silences", []);
	/** Alerts that fire, by the id of the server that evaluates their rules. */
	const shown = sharedDocument<Readonly<Record<string, readonly ShownAlert[]>>>(d, "alerts.firing", {});
	const firing: Firing = new Map();
	/** Silences as they were last read: they hold during an outage of the store. */
	let lastSilences: readonly Silence[] = [];

	const lasting = (all: readonly Silence[]): Silence[] => known(all).filter(({ until }) => until > d.now());

	const own = (): ShownAlert[] =>
		[...firing.values()].map((alert) => ({ ...alert, notifiedAt: notifier.notifiedAt(alert) }));

	/** Reads the alerts that fire at other live servers. */
	async function ofOthers(): Promise<ShownAlert[]> {
		const all = cluster.shared ? await shown.read() : {};
		return cluster.members().flatMap(({ id, self }) => (self ? [] : known(all[id] ?? [])));
	}

	async function share(): Promise<void> {
		const { shared, id = "" } = cluster;
		if (!shared) return;
		const alive = new Set(cluster.members().map((each) => each.id));
		await shown.update((all) => ({
			...Object.fromEntries(Object.entries(all).filter(([server]) => server !== id && alive.has(server))),
			...(firing.size > 0 && { [id]: own() }),
		}));
	}

	function unlessUnavailable(error: unknown): void {
		if (!(error instanceof StoreUnavailable)) throw error;
	}

	async function step(): Promise<number> {
		const { fired, resolved } = evaluate(firing, await measure());
		for (const alert of fired) events.emit("alert.fired", factsOf(alert));
		for (const alert of resolved) events.emit("alert.resolved", factsOf(alert));
		lastSilences = (await silences.read().catch(unlessUnavailable)) ?? lastSilences;
		const now = d.now();
		notifier.notify(firing, (alert) => silenceOf(lastSilences, alert, now) !== undefined);
		await share().catch(unlessUnavailable);
		return EVALUATE_MS;
	}

	const repeated = loop({
		clock: d.clock,
		retryMs: EVALUATE_MS,
		onError: (error) => events.emit("fault", { where: "evaluating alerts", error }),
		step,
	});
	const service = {
		start: repeated.start,
		async stop() {
			notifier.stop();
			await repeated.stop();
			await notifier.ended();
		},
	};

	return {
		enabled: d.settings !== undefined,
		receivers: notifier.names,
		viewer: notifier.viewer,
		test: notifier.test,
		/** Returns the alerts that fire at any server, the oldest first, and the silences. Without settings: no alerts. */
		async list(): Promise<{ alerts: ShownAlert[]; silences: Silence[] }> {
			const all = d.settings ? [...(await ofOthers()), ...own()] : [];
			// While another server takes a rule over, both have its alerts.
			const alerts = [...new Map(all.map((alert) => [keyOf(alert), alert])).values()];
			return {
				alerts: alerts.toSorted((a, b) => a.since - b.since),
				silences: lasting(await silences.read()),
			};
		},
		/** Adds a silence, which replaces one of the same rule and endpoint. Throws 400 when there are too many. */
		async silence(silence: Silence): Promise<void> {
			await silences.update((all) => {
				const next = [...lasting(all).filter((each) => !isSame(each, silence)), silence];
				const message = `would be silence ${next.length}; end some of the others first.`;
				if (next.length > MOST_SILENCES) throw badRequest([{ field: "", message }]);
				return next;
			});
		},
		/** Ends a silence. Throws `silence_not_found`. */
		async endSilence(silence: Pick<Silence, "name" | "endpoint">): Promise<void> {
			await silences.update((all) => {
				const found = lasting(all);
				const next = found.filter((each) => !isSame(each, silence));
				if (next.length === found.length) throw new ApiError(ERRORS.silence_not_found, { alert: silence.name });
				return next;
			});
		},
		services: d.settings ? [service] : [],
	};
}

type SilenceKey = Pick<Silence, "name" | "endpoint">;

function isSame(a: SilenceKey, b: SilenceKey): boolean {
	return a.name === b.name && a.endpoint === b.endpoint;
}

function factsOf({ name, labels, value }: Alert) {
	return { alert: name, summary: summaryOf(name, labels, value) };
}
