/** What is wrong with a server, by its samples: as the alert rules say it, and what to do. */
import { bytes, duration, number } from "../../text/format.ts";
import { bucketsOf, quantile, type Samples } from "../../values/metric-samples.ts";
import { T } from "../../text/text.ts";

/** As in the alert rules; their runbooks say what to do. */
export const BOUNDS = {
	"store-slow": 0.5,
	"disk-almost-full": 4,
	"clock-skew": 1,
} as const;

/** Seconds; no alert rule has it. */
const SLOW_LOOP = 0.2;
/** Share of a budget from which it is nearly spent. */
const NEARLY_SPENT = 0.9;

export interface Problem {
	text: string;
	/** Page of the documentation. */
	fix: string;
	/** The value of the page that it is about. */
	about: "store" | "commits" | "disk" | "skew" | "loop" | `budget ${string}`;
}

/** Prefixes of the families that are read. */
export const FAMILIES = [
	"sluice_store_",
	"sluice_budget_",
	"sluice_http_requests_",
	"sluice_leases_",
	"sluice_clock_",
	"sluice_build_",
	"process_",
	"nodejs_",
];

export const budgetName = (id: string): string => (T.server.budgetNames as Readonly<Record<string, string>>)[id] ?? id;

/** Budgets of bytes by their size, others as a number. */
export function budgetValue(id: string, value: number): string {
	return ["memory", "stored", "reservedDisk"].includes(id) ? bytes(value) : number(value);
}

/** `first`: the samples when the page was opened. */
export function problemsOf(now: Samples, first: Samples | undefined): readonly Problem[] {
	const problems: Problem[] = [];
	const add = (about: Problem["about"], text: string, page: string): void =>
		void problems.push({ about, text, fix: `../docs/${page}/` });
	const texts = T.server.checks;
	const ms = (seconds: number): string => duration(seconds * 1000);
	if (now.of("sluice_store_up") === 0) add("store", texts.storeDown, "runbooks/store-down");
	const { p99 } = commitsOf(now, first);
	const slow = BOUNDS["store-slow"];
	if (p99 !== undefined && p99 > slow) add("commits", texts.storeSlow(ms(p99), ms(slow)), "runbooks/store-slow");
	const free = now.of("sluice_store_disk_free_bytes");
	const reserve = now.of("sluice_budget_limit", { budget: "reservedDisk" }) ?? 0;
	const times = BOUNDS["disk-almost-full"];
	if (free !== undefined && free < times * reserve)
		add("disk", texts.diskFull(bytes(free), times, bytes(reserve)), "runbooks/disk-almost-full");
	const skew = Math.abs(now.of("sluice_clock_offset_seconds") ?? 0);
	if (skew > BOUNDS["clock-skew"]) add("skew", texts.skew(ms(skew), ms(BOUNDS["clock-skew"])), "runbooks/clock-skew");
	const loop = now.of("nodejs_eventloop_delay_p99_seconds") ?? 0;
	if (loop > SLOW_LOOP) add("loop", texts.loop(ms(loop), ms(SLOW_LOOP)), "scaling");
	for (const [budget, limit] of now.by("sluice_budget_limit", "budget")) {
		const used = now.of("sluice_budget_used", { budget }) ?? 0;
		const refused = (at: Samples): number => at.of("sluice_budget_refusals_total", { budget }) ?? 0;
		const name = budgetName(budget);
		// Wrong keys are a scan, and lock out no valid key; free disk has a bound of its own.
		if (budget === "failedKeysPerAddress" || budget === "reservedDisk") continue;
		if (limit > 0 && used >= NEARLY_SPENT * limit)
			add(
				`budget ${budget}`,
				texts.budget(name, budgetValue(budget, used), budgetValue(budget, limit)),
				"runbooks/refuses",
			);
		else if (first && refused(now) > refused(first)) add(`budget ${budget}`, texts.refuses(name), "runbooks/refuses");
	}
	return problems;
}

/** Commits since the page was opened, or since the start of the service while there were none; s. */
export function commitsOf(
	now: Samples,
	first: Samples | undefined,
): { p50: number | undefined; p99: number | undefined; count: number; isWhole: boolean } {
	const name = "sluice_store_commit_seconds";
	const total = (at: Samples | undefined): number => at?.of(`${name}_count`) ?? 0;
	const recent = total(now) - total(first);
	const isWhole = first === undefined || recent === 0;
	const buckets = bucketsOf(now, isWhole ? undefined : first, name);
	return { p50: quantile(buckets, 0.5), p99: quantile(buckets, 0.99), count: isWhole ? total(now) : recent, isWhole };
}

/** Whether the counters go on: a balancer may lead to another server, and a server may have restarted. */
export function isSameProcess(before: Samples, samples: Samples): boolean {
	const [then, since] = [before, samples].map((each) => each.readAt - 1000 * (each.of("process_uptime_seconds") ?? 0));
	return Math.abs(then! - since!) < 1000;
}
