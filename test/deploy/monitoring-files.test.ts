/**
 * Alert rules, their runbooks and the files of Compose (D40): the programs read them, and each alert fires when it
 * should and not before.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ALERT_RULES } from "../../scripts/monitoring/alert-rules.ts";
import { runbookOf } from "../../src/modules/alerts/rules.ts";
import { folder } from "../support/service.ts";
import { noPrometheus, titled } from "./prometheus.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const DEPLOY = join(ROOT, "deploy");
const RULES = join(DEPLOY, "prometheus/rules.yaml");

/** Series in promtool's notation, one value a minute: a fault, and what is near to it. */
interface Case {
	fault: Record<string, string>;
	healthy: Record<string, string>;
}

const ended = (outcome: string): string => `sluice_jobs_ended_total{endpoint="e", outcome="${outcome}"}`;
const health = (state: string): string => `sluice_endpoint_health{endpoint="e", state="${state}"}`;
const gpu = (state: string): string => `sluice_gpu_seconds_total{endpoint="e", state="${state}"}`;
const bucket = (le: string): string => `sluice_store_commit_seconds_bucket{instance="a", le="${le}"}`;
const disk = { 'sluice_budget_limit{job="sluice", instance="a", budget="reservedDisk"}': "100x180" };
const FREE = 'sluice_store_disk_free_bytes{job="sluice", instance="a"}';
const missing = (reason: string): string => `sluice_endpoint_workers_missing{endpoint="e", reason="${reason}"}`;
const refusals = (budget: string): string => `sluice_budget_refusals_total{instance="a", budget="${budget}"}`;
const webhooks = (state: string): string => `sluice_webhooks_total{endpoint="e", state="${state}"}`;
const paused = (value: number): Record<string, string> => ({
	[`sluice_endpoint_paused{endpoint="e"}`]: `${value}x180`,
});

const CASES: Readonly<Record<string, Case>> = {
	SluiceServerDown: {
		fault: { 'up{job="sluice", instance="a"}': "0x180" },
		// Another job, and one that answers again after a minute.
		healthy: { 'up{job="other", instance="a"}': "0x180", 'up{job="sluice", instance="a"}': "1x170 0 1x9" },
	},
	SluiceStoreDown: {
		fault: { 'sluice_store_up{instance="a"}': "0x180" },
		healthy: { 'sluice_store_up{instance="a"}': "1x180" },
	},
	SluiceStoreSlow: {
		fault: { [bucket("0.256")]: "0+98x180", [bucket("1.024")]: "0+100x180", [bucket("+Inf")]: "0+100x180" },
		healthy: { [bucket("0.256")]: "0+100x180", [bucket("1.024")]: "0+100x180", [bucket("+Inf")]: "0+100x180" },
	},
	SluiceDiskAlmostFull: { fault: { ...disk, [FREE]: "399x180" }, healthy: { ...disk, [FREE]: "400x180" } },
	SluiceCrashLoop: { fault: { [health("crashing")]: "1x180" }, healthy: { [health("hindered")]: "1x180" } },
	SluiceNoCapacity: { fault: { [missing("no_gpu_free")]: "1x180" }, healthy: { [missing("image_pull")]: "1x180" } },
	SluiceNoWorkers: {
		fault: { [health("no_workers")]: "1x180" },
		healthy: { [health("no_workers")]: "0x180", [health("paused")]: "1x180" },
	},
	SluiceOldestWait: {
		fault: { 'sluice_job_oldest_wait_seconds{endpoint="e"}': "0+60x180", ...paused(0) },
		healthy: { 'sluice_job_oldest_wait_seconds{endpoint="e"}': "0+60x180", ...paused(1) },
	},
	SluiceFailures: {
		fault: { [ended("failed")]: "0+6x180", [ended("completed")]: "0+94x180" },
		// Five of a hundred; cancelled jobs are no failures.
		healthy: { [ended("failed")]: "0+5x180", [ended("completed")]: "0+95x180", [ended("cancelled")]: "0+99x180" },
	},
	SluiceWebhookBacklog: {
		fault: { 'sluice_webhooks_pending{endpoint="e"}': "501x180" },
		healthy: { 'sluice_webhooks_pending{endpoint="e"}': "500x180" },
	},
	SluiceWebhooksFail: {
		fault: { [webhooks("failed")]: "0x170 1x10" },
		healthy: { [webhooks("failed")]: "3x180", [webhooks("delivered")]: "0+1x180" },
	},
	SluiceRefuses: {
		fault: { [refusals("memory")]: "0x175 1x5" },
		healthy: { [refusals("failedKeysPerAddress")]: "0+1x180", [refusals("memory")]: "7x180" },
	},
	SluiceClockSkew: {
		fault: { 'sluice_clock_offset_seconds{instance="a"}': "-1.5x180" },
		healthy: { 'sluice_clock_offset_seconds{instance="a"}': "-0.9x180" },
	},
	SluiceReplicationAsync: {
		fault: { 'sluice_store_standbys{commits="go_on"}': "1x180", 'sluice_store_standbys{commits="wait"}': "0x180" },
		healthy: { 'sluice_store_standbys{commits="go_on"}': "0x180", 'sluice_store_standbys{commits="wait"}': "2x180" },
	},
	SluiceSwaps: {
		fault: { [gpu("starting")]: "0+2x180", [gpu("busy")]: "0+1x180" },
		healthy: { [gpu("starting")]: "0+1x180", [gpu("busy")]: "0+2x180" },
	},
};

/** Minutes at which the rules are read: all ranges and pauses have passed. */
const AT = 180;

const promtool = (...args: string[]) => spawnSync("promtool", args, { encoding: "utf8" });

/** promtool's test of all alerts at once: each fires with these series, or none does. */
function expectation(kind: keyof Case): object {
	const series: Record<string, string> = Object.assign({}, ...Object.values(CASES).map((each) => each[kind]));
	return {
		interval: "1m",
		input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
		promql_expr_test: ALERT_RULES.map(({ name }) => ({
			expr: `count(ALERTS{alertname="${name}", alertstate="firing"}) or vector(0)`,
			eval_time: `${AT}m`,
			exp_samples: [{ labels: "{}", value: Number(kind === "fault") }],
		})),
	};
}

describe.skipIf(noPrometheus !== undefined)(titled("deploy/prometheus"), () => {
	it("D40: rules and configuration are read by promtool and amtool", () => {
		expect(promtool("check", "rules", RULES)).toMatchObject({ status: 0 });
		const prometheus = join(DEPLOY, "prometheus/prometheus.yaml");
		expect(promtool("check", "config", "--syntax-only", prometheus)).toMatchObject({ status: 0 });
		const alertmanager = join(DEPLOY, "prometheus/alertmanager.yaml");
		expect(spawnSync("amtool", ["check-config", alertmanager])).toMatchObject({ status: 0 });
	});

	it("D40: each alert fires at its fault, and not near to it", () => {
		const place = folder();
		try {
			const file = join(place.path, "test.yaml");
			const tests = [expectation("fault"), expectation("healthy")];
			writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }));
			const { status, stdout, stderr } = promtool("test", "rules", file);
			expect(status, stdout + stderr).toBe(0);
		} finally {
			place.remove();
		}
	});
});

describe("compose.observability.yaml", () => {
	const services = Object.values<any>(
		parse(readFileSync(join(ROOT, "compose.observability.yaml"), "utf8"), { merge: true }).services,
	);

	it("pins images of others to a version, and mounts files that exist", () => {
		const images = services.map(({ image }) => image as string).filter((image) => image !== "sluice");
		expect(images).toHaveLength(4);
		for (const image of images) expect(image).toMatch(/^\$\{[A-Z]+_IMAGE:-[a-z-]+\/[a-z-]+:v?\d+\.\d+\.\d+\}$/);
		const paths = services.flatMap(({ volumes }) => volumes as string[]).filter((each) => each.startsWith("./"));
		expect(paths).toHaveLength(5);
		for (const each of paths) expect(existsSync(join(ROOT, each.split(":")[0]!)), each).toBe(true);
	});

	it.skipIf(spawnSync("docker-compose", ["version"]).status !== 0)("is read by docker-compose", () => {
		const env = { ...process.env, SLUICE_API_KEY: "key", GRAFANA_PASSWORD: "password" };
		const args = ["-f", join(ROOT, "compose.observability.yaml"), "config", "--quiet"];
		expect(spawnSync("docker-compose", args, { env })).toMatchObject({ status: 0 });
	});
});

describe("docs/runbooks", () => {
	it("has one page for each alert, which begins with what to type", () => {
		const pages = readdirSync(join(ROOT, "docs/runbooks")).filter((file) => file !== "README.md");
		expect(pages.toSorted()).toEqual(ALERT_RULES.map((rule) => basename(runbookOf(rule.name))).toSorted());
		for (const rule of ALERT_RULES) {
			const text = readFileSync(join(ROOT, runbookOf(rule.name)), "utf8");
			expect(text.startsWith(`# ${rule.name}\n\n\`\`\`sh\n`), rule.name).toBe(true);
			expect(text).toContain("\n## Causes\n");
		}
	});
});
