/** A real Prometheus and Alertmanager, which end with the test that started them. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { rulesText } from "../../scripts/monitoring/rule-files.ts";
import type { PrometheusRule } from "../../scripts/monitoring/alert-rules.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";

/** Why they cannot be started here. */
export const noPrometheus: string | undefined = ["promtool", "prometheus", "prometheus-alertmanager"]
	.filter((program) => {
		try {
			execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
			return false;
		} catch {
			return true;
		}
	})
	.map((program) => `${program} is not installed`)[0];

/** A title that names what is missing. */
export function titled(title: string): string {
	return noPrometheus === undefined ? title : `${title} (skipped: ${noPrometheus})`;
}

export interface Sample {
	metric: Record<string, string>;
	value: string;
}

export interface Prometheus {
	query(promql: string): Promise<Sample[]>;
	end(): Promise<void>;
}

async function started(program: string, args: readonly string[], folder: string, url: string) {
	const log = createWriteStream(join(folder, `${program}.log`));
	const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
	child.stdout.pipe(log);
	child.stderr.pipe(log);
	const exited = once(child, "exit");
	await until(`${program} is ready`, async () => {
		if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
		return (await fetch(`${url}/-/ready`)).ok;
	});
	return async (): Promise<void> => {
		child.kill();
		await exited;
	};
}

/**
 * Both in a folder. The targets (host and port) are scraped with the key, and rules are read, every second;
 * Alertmanager calls the receiver at once.
 */
export async function startPrometheus(q: {
	folder: string;
	targets: readonly string[];
	key: string;
	rules: readonly PrometheusRule[];
	receiver: string;
}): Promise<Prometheus> {
	const [port, alertPort, clusterPort] = [await freePort(), await freePort(), await freePort()];
	const url = `http://127.0.0.1:${port}`;
	const write = (name: string, content: unknown): void =>
		writeFileSync(join(q.folder, name), typeof content === "string" ? content : stringify(content));
	write("sluice.key", q.key);
	write("rules.yaml", rulesText(q.rules));
	write("prometheus.yaml", {
		global: { scrape_interval: "1s", evaluation_interval: "1s" },
		rule_files: ["rules.yaml"],
		alerting: { alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertPort}`] }] }] },
		scrape_configs: [
			{
				job_name: "sluice",
				authorization: { credentials_file: "sluice.key" },
				static_configs: [{ targets: q.targets }],
			},
		],
	});
	write("alertmanager.yaml", {
		route: { receiver: "test", group_by: ["..."], group_wait: "0s", group_interval: "1s", repeat_interval: "1h" },
		receivers: [{ name: "test", webhook_configs: [{ url: q.receiver }] }],
	});
	const [endPrometheus, endAlertmanager] = await Promise.all([
		started(
			"prometheus",
			[
				"--config.file=prometheus.yaml",
				`--storage.tsdb.path=${join(q.folder, "tsdb")}`,
				`--web.listen-address=127.0.0.1:${port}`,
			],
			q.folder,
			url,
		),
		started(
			"prometheus-alertmanager",
			[
				"--config.file=alertmanager.yaml",
				`--storage.path=${join(q.folder, "alerts")}`,
				`--web.listen-address=127.0.0.1:${alertPort}`,
				`--cluster.listen-address=127.0.0.1:${clusterPort}`,
			],
			q.folder,
			`http://127.0.0.1:${alertPort}`,
		),
	]);
	return {
		async query(promql) {
			const answer = await fetch(`${url}/api/v1/query`, {
				method: "POST",
				body: new URLSearchParams({ query: promql }),
			});
			const body: any = await answer.json();
			if (body.status !== "success") throw new Error(`${promql}: ${body.error}`);
			return body.data.result.map(({ metric, value }: any) => ({ metric, value: value[1] }));
		},
		end: async () => void (await Promise.all([endPrometheus(), endAlertmanager()])),
	};
}
