/**
 * A run of the project `sluice` ends with no process of its own alive. Programs inherit `PATH`, so a folder in it that
 * is not there marks those of this run.
 */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { TestProject } from "vitest/node";
import { until } from "./until.ts";

const MARK = `/nonexistent/tests-${randomUUID()}`;

/** Processes of Vitest itself, which end after this. */
const VITEST = /vitest/;

export default function setup(project: TestProject): (() => Promise<void>) | undefined {
	if (process.platform !== "linux" || project.name !== "sluice") return undefined;
	process.env["PATH"] += `:${MARK}`;
	project.config.env["PATH"] = process.env["PATH"];
	return async () => {
		let left: string[] = [];
		await until("the end of all programs", () => (left = living()).length === 0, 5000).catch(() => {
			process.exitCode = 1;
			throw new Error(`these programs of the tests still run:\n${left.join("\n")}`);
		});
	};
}

function living(): string[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
		.flatMap((pid) => {
			try {
				const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
				const isOwn = readFileSync(`/proc/${pid}/environ`, "utf8").includes(MARK);
				return isOwn && !VITEST.test(command) ? [`${pid}: ${command}`] : [];
			} catch {
				// It has ended, or is another user's.
				return [];
			}
		});
}
