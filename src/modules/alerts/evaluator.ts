/**
 * Evaluates the rules of alerts (D53): each server evaluates the rules about itself, the server that sends webhooks
 * evaluates the rest, since it counts failed deliveries.
 */
import { ruleOf } from "./rules.ts";
import type { AlertSettings } from "./settings.ts";
import { type Evaluation, keyOf } from "./state.ts";
import type { Cluster } from "../../kernel/engine/cluster/cluster.ts";
import { type Measured, type Measurement, serverConditions, serviceConditions } from "./conditions.ts";
import { lostServers } from "./lost-servers.ts";

export interface EvaluatorContext extends Measured {
	cluster: Cluster;
	/** Name of this machine. */
	hostname: string;
}

/** Returns a function that evaluates all rules once, and remembers counters and times until its next call. */
export function alertEvaluator(d: EvaluatorContext, { rules }: Pick<AlertSettings, "rules">) {
	const { cluster, hostname } = d;
	const lost = lostServers(d);
	/** Since when conditions hold, by key. */
	const since = new Map<string, number>();
	const ofServer = serverConditions(d);
	let ofService: ReturnType<typeof serviceConditions> | undefined;

	async function measure(): Promise<Measurement> {
		const members = cluster.members();
		const own = cluster.shared ? (members.find(({ self }) => self)?.url ?? "") : hostname;
		if (cluster.leads("deliveries")) ofService ??= serviceConditions(d);
		// During an outage of the database no other server is known to lead, and alerts last.
		else if (members.some(({ self, leads }) => !self && leads.includes("deliveries"))) ofService = undefined;
		const down = lost.addresses(members.map(({ url }) => url));
		const [server, service] = await Promise.all([ofServer(own), ofService?.(down)]);
		return { ...server, ...service };
	}

	return async (): Promise<Evaluation> => {
		const measured = await measure();
		const now = d.now();
		const active: [string, Parameters<typeof keyOf>[0] & { value: number; fires: boolean }][] = [];
		for (const [name, { threshold, forMs }] of rules)
			for (const [labels, value] of measured[name] ?? []) {
				if (ruleOf(name).comparison === ">" ? !(value > threshold) : !(value < threshold)) continue;
				const key = keyOf({ name, labels });
				const began = since.get(key) ?? now;
				since.set(key, began);
				active.push([key, { name, labels, value, fires: now - began >= forMs }]);
			}
		const holding = new Map(active);
		for (const key of since.keys()) if (!holding.has(key)) since.delete(key);
		return {
			now,
			active: holding,
			isMeasured: (name) => measured[name] !== undefined,
			isElsewhere: (name) => ruleOf(name).of === "service" && ofService === undefined,
		};
	};
}
