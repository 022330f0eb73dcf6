/**
 * Alerts for people (D53): evaluates the rules, and sends what receivers have not got. Every server does so for its own
 * rules, and the one that sends webhooks, which counts those that fail, for all others.
 */
import { createHash } from "node:crypto";
import { alertMessage, testMessage } from "../../core/alerts/alert-message.ts";
import { ruleOf, summaryOf } from "../../core/alerts/alert-rules.ts";
import { type AlertSettings, receiverNames } from "../../core/alerts/alert-settings.ts";
import {
	type Alert,
	type AlertState,
	alertView,
	type Evaluation,
	evaluated,
	keyOf,
	MOST_SILENCES,
	type Silence,
	sent,
} from "../../core/alerts/alert-state.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import { hex } from "../../lib/ids.ts";
import { loop } from "../../system/loop.ts";
import type { SendAlert } from "../../alerting/contract.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { alertDocument } from "./alert-document.ts";
import { type Measured, type Measurement, serverConditions, serviceConditions } from "./conditions.ts";
import { lostServers } from "./lost-servers.ts";

const EVALUATE_MS = 15_000;

/** Time after a start in which what fired before lasts, though its condition may not show yet, ms. */
const SETTLE_MS = 120_000;

/** Wait after a failed message, which each further one doubles, ms. */
const FIRST_RETRY_MS = 15_000;
const LONGEST_RETRY_MS = 900_000;

export type Alerts = ReturnType<typeof createAlerts>;

const OFF: AlertSettings = { receivers: [], rules: new Map(), repeatMs: Infinity };

interface Deps extends Measured {
	/** Absent: nothing is evaluated. */
	settings?: AlertSettings;
	send?: SendAlert;
	cluster: Cluster;
	/** Name of this machine. */
	hostname: string;
	/** Address of the service. */
	url: Promise<string>;
}

export function createAlerts(d: Deps) {
	const { settings = OFF, send = async () => undefined, cluster, events } = d;
	const receivers = receiverNames(settings.receivers);
	const lost = lostServers(d);
	const stopped = new AbortController();
	/** Since when conditions hold, by key. */
	const since = new Map<string, number>();
	const failures = new Map<string, { count: number; retryAt: number }>();
	const ofServer = { measure: serverConditions(d), startedAt: d.now() };
	let ofService: { measure: ReturnType<typeof serviceConditions>; startedAt: number } | undefined;

	const instances = (): string[] => (cluster.shared ? cluster.members().map(({ url }) => url) : [d.hostname]);
	const own = (): string => (cluster.shared ? (cluster.members().find(({ self }) => self)?.url ?? "") : d.hostname);

	/** Those of servers that are no more are of the one that evaluates for all. */
	function owns({ name, labels }: Alert): boolean {
		const { instance = "" } = labels;
		if (ruleOf(name).of === "server" && instance === own()) return true;
		return ofService !== undefined && (ruleOf(name).of === "service" || !instances().includes(instance));
	}

	const document = alertDocument(d, owns);

	async function measure(): Promise<Measurement> {
		if (!cluster.leads("deliveries")) ofService = undefined;
		else ofService ??= { measure: serviceConditions(d), startedAt: d.now() };
		const down = lost.addresses(document.copy().alerts, instances());
		const [server, service] = await Promise.all([ofServer.measure(own()), ofService?.measure(down)]);
		return { ...server, ...service };
	}

	function evaluation(measured: Measurement): Evaluation {
		const now = d.now();
		const active = new Map<string, Pick<Alert, "name" | "labels" | "value"> & { fires: boolean }>();
		for (const [name, { threshold, forMs }] of settings.rules)
			for (const [labels, value] of measured[name] ?? []) {
				if (ruleOf(name).comparison === ">" ? !(value > threshold) : !(value < threshold)) continue;
				const key = keyOf({ name, labels });
				const began = since.get(key) ?? now;
				since.set(key, began);
				active.set(key, { name, labels, value, fires: now - began >= forMs });
			}
		for (const key of since.keys()) if (!active.has(key)) since.delete(key);
		return {
			now,
			owns,
			active,
			receivers,
			repeatMs: settings.repeatMs,
			unknown: (alert) => isUnknown(alert, measured, now),
		};
	}

	function isUnknown({ name, since: firedAt }: Alert, measured: Measurement, now: number): boolean {
		if (!settings.rules.has(name)) return false;
		const { of, windowSeconds = 0 } = ruleOf(name);
		const { startedAt } = (of === "server" ? ofServer : ofService) ?? { startedAt: now };
		const settled = startedAt + Math.max(SETTLE_MS, windowSeconds * 1000);
		return measured[name] === undefined || (firedAt < startedAt && now < settled);
	}

	async function evaluate(): Promise<void> {
		const q = evaluation(await measure());
		let before = new Map<string, Alert>();
		const state = await document.updateAnyway((found) => {
			before = firing(found);
			return evaluated(found, q);
		});
		const after = firing(state);
		for (const [key, alert] of after) if (!before.has(key)) events.emit("alert.fired", factsOf(alert));
		for (const [key, alert] of before) if (!after.has(key)) events.emit("alert.resolved", factsOf(alert));
		await Promise.all(receivers.map((name, index) => notify(name, index)));
	}

	/** Those of this server, by key. */
	function firing({ alerts }: AlertState): Map<string, Alert> {
		const own = alerts.filter((alert) => owns(alert) && alert.resolvedAt === undefined);
		return new Map(own.map((alert) => [keyOf(alert), alert]));
	}

	async function viewer() {
		const url = await d.url;
		const iso = (at: number): string => new Date(d.calendar.of(at)).toISOString();
		return (alert: Alert) => alertView(alert, { url, iso });
	}

	/** One message with all alerts that the receiver has not got. */
	async function notify(name: string, index: number): Promise<void> {
		const owed = document.copy().alerts.filter((alert) => owns(alert) && alert.owed.includes(name));
		const { count = 0, retryAt = 0 } = failures.get(name) ?? {};
		if (owed.length === 0 || d.now() < retryAt) return;
		const message = alertMessage(idOf(owed), owed.map(await viewer()));
		const reason = await send(settings.receivers[index]!, message, stopped.signal);
		if (reason === undefined) {
			failures.delete(name);
			await document.updateAnyway((state) => sent(state, name, owed));
			return;
		}
		const retryMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** count);
		failures.set(name, { count: Math.min(count + 1, 20), retryAt: d.now() + retryMs });
		events.emit("alert.unsent", { receiver: name, reason, retryMs });
	}

	const evaluator = loop({
		clock: d.clock,
		retryMs: EVALUATE_MS,
		onError(error) {
			if (!stopped.signal.aborted) events.emit("fault", { where: "evaluating alerts", error });
		},
		step: async () => {
			await evaluate();
			return EVALUATE_MS;
		},
	});

	return {
		enabled: d.settings !== undefined,
		/** Names of {@link AlertSettings.receivers}. */
		receivers,
		/** Alerts that fire, the oldest first, and silences. */
		async list() {
			const { alerts, silences } = await document.read();
			const now = d.now();
			return {
				alerts: alerts.filter(({ resolvedAt }) => resolvedAt === undefined).toSorted((a, b) => a.since - b.since),
				silences: silences.filter(({ until }) => until > now),
			};
		},
		viewer,
		/** In place of one of the same rule and endpoint. Throws 400 when there are too many. */
		async silence(silence: Silence): Promise<void> {
			await document.update((state) => {
				const silences = [...state.silences.filter((each) => !isSame(each, silence)), silence];
				if (silences.length > MOST_SILENCES)
					throw badRequest([
						{ field: "", message: `would be silence ${silences.length}; end some of the others first.` },
					]);
				return { ...state, silences };
			});
		},
		/** Throws `silence_not_found`. */
		async endSilence(silence: Pick<Silence, "name" | "endpoint">): Promise<void> {
			await document.update((state) => {
				const silences = state.silences.filter((each) => !isSame(each, silence));
				if (silences.length === state.silences.length) throw new ApiError("silence_not_found", { alert: silence.name });
				return { ...state, silences };
			});
		},
		/** Sends a test message to each receiver; returns why one has not got it. */
		test: async (): Promise<{ receiver: string; error: string | undefined }[]> => {
			const message = testMessage(`alert_${hex(d.random(8))}`);
			const sends = settings.receivers.map((each) => send(each, message, stopped.signal));
			return (await Promise.all(sends)).map((error, index) => ({ receiver: receivers[index]!, error }));
		},
		services: d.settings
			? [
					{
						start: evaluator.start,
						async stop() {
							stopped.abort();
							await evaluator.stop();
						},
					},
				]
			: [],
	};
}

function isSame(one: Pick<Silence, "name" | "endpoint">, other: Pick<Silence, "name" | "endpoint">): boolean {
	return one.name === other.name && one.endpoint === other.endpoint;
}

function factsOf({ name, labels, value }: Alert) {
	return { alert: name, summary: summaryOf(name, labels, value) };
}

/** The same for the same message, as receivers of webhooks expect of one that is repeated. */
function idOf(alerts: readonly Alert[]): string {
	const parts = alerts.map((alert) => [keyOf(alert), alert.notifiedAt, alert.resolvedAt]);
	return `alert_${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)}`;
}
