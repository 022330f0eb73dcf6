/** What the server's page says is wrong, and with which bounds. */
import { expect, it } from "vitest";
import { ALERT_NAMES, ruleOf, runbookOf } from "../../../../src/modules/alerts/rules.ts";
import { bucketsOf, quantile, samplesOf } from "../../values/metric-samples.ts";
import { BOUNDS, commitsOf, FAMILIES, problemsOf } from "./server-checks.ts";

/** Samples in the text format; a server without problems, but for the lines given. */
function samples(lines: string) {
	const healthy = `
# HELP sluice_store_up Whether the store can be read and written.
sluice_store_up 1
sluice_store_disk_free_bytes 9e9
sluice_budget_limit{budget="reservedDisk"} 268435456
sluice_budget_limit{budget="connections"} 10000
sluice_budget_used{budget="connections"} 12
sluice_jobs{endpoint="hello",state="queued"} 3`;
	return samplesOf(`${lines}\n${healthy}`, FAMILIES, 0);
}

const commits = (counts: readonly [string, number][]): string =>
	[
		...counts.map(([bound, count]) => `sluice_store_commit_seconds_bucket{le="${bound}"} ${count}`),
		`sluice_store_commit_seconds_count ${counts.at(-1)![1]}`,
	].join("\n");

const about = (lines: string, first?: string): string[] =>
	problemsOf(samples(lines), first === undefined ? undefined : samples(first)).map(({ about: each }) => each);

it("the bounds and runbooks are those of the alert rules", () => {
	for (const [page, bound] of Object.entries(BOUNDS)) {
		const name = ALERT_NAMES.find((each) => runbookOf(each) === `docs/runbooks/${page}.md`);
		expect(ruleOf(name!).threshold, page).toBe(bound);
	}
});

it("a healthy server has no problem; each bound has its own", () => {
	expect(about("")).toEqual([]);
	expect(about("sluice_store_up 0")).toEqual(["store"]);
	expect(about("sluice_store_disk_free_bytes 1000000000")).toEqual(["disk"]);
	expect(about("sluice_store_disk_free_bytes 1100000000")).toEqual([]);
	expect(about("sluice_clock_offset_seconds -1.5")).toEqual(["skew"]);
	expect(about("nodejs_eventloop_delay_p99_seconds 0.3")).toEqual(["loop"]);
	expect(about('sluice_budget_used{budget="connections"} 9000')).toEqual(["budget connections"]);
	const refused = (count: number): string => `sluice_budget_refusals_total{budget="connections"} ${count}`;
	expect(about(refused(3), refused(3)), "refused before the page was opened").toEqual([]);
	const [problem] = problemsOf(samples(refused(4)), samples(refused(3)));
	expect(problem).toMatchObject({ about: "budget connections", fix: "../docs/runbooks/refuses/" });
});

it("commits: of the time since the page was opened, else since the start", () => {
	const slow = commits([
		["0.1", 0],
		["1", 100],
		["+Inf", 100],
	]);
	const then = commits([
		["0.1", 100],
		["1", 200],
		["+Inf", 200],
	]);
	expect(about(slow)).toEqual(["commits"]);
	expect(about(then, slow), "fast since then").toEqual([]);
	expect(commitsOf(samples(then), samples(slow))).toMatchObject({ count: 100, isWhole: false });
	expect(commitsOf(samples(slow), samples(slow))).toMatchObject({ count: 100, isWhole: true });
});

it("quantiles by a straight line in their bucket; labels with escapes", () => {
	const all = samplesOf(
		'a_bucket{le="1"} 10\na_bucket{le="2"} 20\na_bucket{le="+Inf"} 20\nb{name="x \\"y\\" \\\\ }",other="z"} 1',
		["a", "b"],
		0,
	);
	const buckets = bucketsOf(all, undefined, "a");
	expect([0.5, 0.75, 1].map((share) => quantile(buckets, share))).toEqual([1, 1.5, 2]);
	expect(quantile([], 0.5)).toBeUndefined();
	expect(quantile([[Infinity, 3]], 0.5)).toBe(0);
	expect(all.by("b", "name")).toEqual([['x "y" \\ }', 1]]);
	expect(all.of("b", { other: "z" })).toBe(1);
});
