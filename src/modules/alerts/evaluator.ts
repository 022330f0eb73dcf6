/**
 * Evaluates the rules of alerts (D53): each server evaluates the rules about itself, the server that sends webhooks
 * evaluates the rest, since it counts failed deliveries.
 */
import { ruleOf } from "./rules.ts";
import type { AlertSettings } from "./settings.ts";
import { type Alert, type Evaluation, keyOf } from "./state.ts";
import type { Cluster } from "../../kernel/engine/cluster/cluster.ts";
import { type Measured, type Measurement, serverConditions, serviceConditions } from "./conditions.ts";
import { lostServers } from "./lost-servers.ts";

/** Time after a start for which earlier alerts last although their condition may not show yet, ms. */
const SETTLE_MS = 120_000;

export interface EvaluatorContext extends Measured {
	cluster: Cluster;
	/** Name of this machine. */
	hostname: string;
}

export function alertEvaluator(d: EvaluatorContext, { rules }: Pick<AlertSettings, "rules">) {
	const { cluster, now, hostname } = d;
	const lost = lostServers(d);
	/** Since when conditions hold, by key. */
	const since = new Map<string, number>();
	const ofServer = { measure: serverConditions(d), startedAt: now() };
	let ofService: { measure: ReturnType<typeof serviceConditions>; startedAt: number } | undefined;

	const instances = (): string[] => (cluster.shared ? cluster.members().map(({ url }) => url) : [hostname]);
	const own = (): string => (cluster.shared ? (cluster.members().find(({ self }) => self)?.url ?? "") : hostname);

	async function measure(alerts: readonly Alert[]): Promise<Measurement> {
		if (!cluster.leads("deliveries")) ofService = undefined;
		else ofService ??= { measure: serviceConditions(d), startedAt: now() };
		const down = lost.addresses(alerts, instances());
		const [server, service] = await Promise.all([ofServer.measure(own()), ofService?.measure(down)]);
		return { ...server, ...service };
	}

	function isUnknown({ name, since: firedAt }: Alert, measured: Measurement): boolean {
		if (!rules.has(name)) return false;
		const { of, windowSeconds = 0 } = ruleOf(name);
		const { startedAt } = (of === "server" ? ofServer : ofService) ?? { startedAt: now() };
		const settled = startedAt + Math.max(SETTLE_MS, windowSeconds * 1000);
		return measured[name] === undefined || (firedAt < startedAt && now() < settled);
	}

	return {
		/**
		 * Whether this server evaluates the rule of the alert. The server that evaluates for all owns alerts about servers
		 * that ended.
		 */
		owns({ name, labels: { instance = "" } }: Alert): boolean {
			if (ruleOf(name).of === "server" && instance === own()) return true;
			return ofService !== undefined && (ruleOf(name).of === "service" || !instances().includes(instance));
		},
		/** Evaluates the rules. `alerts`: the alerts that fire so far. */
		async evaluate(alerts: readonly Alert[]): Promise<Pick<Evaluation, "active" | "unknown">> {
			const measured = await measure(alerts);
			const active = new Map<string, Pick<Alert, "name" | "labels" | "value"> & { fires: boolean }>();
			for (const [name, { threshold, forMs }] of rules)
				for (const [labels, value] of measured[name] ?? []) {
					if (ruleOf(name).comparison === ">" ? !(value > threshold) : !(value < threshold)) continue;
					const key = keyOf({ name, labels });
					const began = since.get(key) ?? now();
					since.set(key, began);
					active.set(key, { name, labels, value, fires: now() - began >= forMs });
				}
			for (const key of since.keys()) if (!active.has(key)) since.delete(key);
			return { active, unknown: (alert) => isUnknown(alert, measured) };
		},
	};
}
