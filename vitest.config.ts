import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { bundledDatabaseThread } from "./test/support/database-thread.ts";
import { GATE_OVER_TLS, outsideGate } from "./test/support/gate.ts";
import { LongestFirst } from "./test/support/sequencer.ts";
import { otherTitles, ownFiles, withoutModule } from "./test/support/without-module.ts";
import { KERNEL_SPECIFICATION, OF_ALL_MODULES } from "./test/modules.ts";

/**
 * Parts of the specification whose meaning depends on the store: they run on PostgreSQL too. All of
 * it: `SLUICE_TEST_STORE=postgres vitest run --project sluice test/spec`.
 */
const ON_BOTH_STORES = [
	"client/{idempotency,states,stream}",
	"client/background/{background,stream}",
	"client/batches/batches",
	"client/files/{bounds,bucket,downloads,files,lent}",
	"client/job-files/job-files",
	"client/videos/videos",
	"client/webhooks/webhooks",
	"s3/{objects,races,requests,uploads}",
	"worker/{clock,fence,lease,outage,results,returns}",
];

/**
 * What depends on connections, bodies and addresses: it runs over TLS too. All of it: `SLUICE_TEST_TLS=1
 * vitest run --project sluice test/spec`.
 */
const OVER_TLS = [
	"client/{bodies,concurrency,connections,cut-upload,http,malformed-http,memory,payloads,stream-slow}",
	"client/openai/stream",
	"console/session",
	"docs",
	"v1/{documents,feed,logs}",
	"worker/{answers,chunks-together,pipelined,results-together,sdk,stop,take}",
];

/**
 * What the console does in a second browser. All of it: `SLUICE_TEST_BROWSER=firefox vitest run
 * --project system test/console`.
 */
const IN_BOTH_BROWSERS = ["pages", "jobs"];

/** Searches, and bugs planted to prove that the tools find them: for changes of the tools. */
const VERIFY = ["test/torture/planted*.test.ts", "test/simulation/planted.test.ts", "test/soak/**/*.test.ts"];

/** Tests with PostgreSQL, several processes, platforms, browsers, other languages. */
const SYSTEM = [
	...["e2e", "cluster", "console", "launchers", "torture", "clients", "examples", "deploy", "http-servers"].map(
		(folder) => `test/${folder}/**/*.test.ts`,
	),
	"test/store/postgres*.test.ts",
	"test/store/earlier-versions.test.ts",
	"test/job-path/postgres.test.ts",
	"src/kernel/store/postgres/*.test.ts",
	"src/kernel/engine/cluster/cluster.test.ts",
];

/** Two machines with Docker, one by ssh, with deadlines of seconds: after all others, one file at a time. */
const HOSTS = ["test/launchers/docker-hosts.test.ts", "test/e2e/docker-hosts.test.ts"];

/** Compiled modules, those in TypeScript too: each database thread and each worker of a test would compile its own. */
const COMPILED = fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url));

/** What the gate leaves to the whole run (test/support/gate.ts). Without it every file runs that is asked for. */
const GATE = process.env["SLUICE_TESTS"] === "gate";
const LEFT_OUT = GATE ? outsideGate() : [];

/** A module that the service is to do without (test/modules.ts). */
const WITHOUT = process.env["SLUICE_TEST_WITHOUT"];

export default defineConfig({
	plugins: [bundledDatabaseThread(), ...(WITHOUT ? [withoutModule(WITHOUT)] : [])],
	test: {
		env: { NODE_COMPILE_CACHE: COMPILED },
		...(WITHOUT && { testNamePattern: otherTitles(WITHOUT) }),
		globalSetup: ["./test/support/postgres-run.ts", "./test/support/own-processes.ts"],
		// Most tests wait more than they compute: this is for 2 cores.
		maxWorkers: 3,
		sequence: { sequencer: LongestFirst },
		testTimeout: 60_000,
		hookTimeout: 60_000,
		// The default is a second, in which a busy machine may not even have drawn a page.
		expect: { poll: { timeout: 30_000 } },
		reporters: ["default", "./test/support/closing-line.ts"],
		projects: [
			{
				extends: true,
				test: {
					name: "sluice",
					isolate: false,
					include: ["src/**/*.test.ts", "packages/*/src/**/*.test.ts", "test/**/*.test.ts", "console/src/**/*.test.ts"],
					exclude: [...SYSTEM, ...VERIFY],
				},
			},
			{
				extends: true,
				test: {
					name: "system",
					include: SYSTEM,
					exclude: [...VERIFY, ...HOSTS, ...LEFT_OUT],
					// A second try is for what a busy machine does to processes. The closing line names and
					// counts the tests that needed it.
					retry: 1,
				},
			},
			{
				extends: true,
				test: {
					name: "postgres",
					isolate: false,
					include: ON_BOTH_STORES.map((name) => `test/spec/${name}.test.ts`),
					env: { SLUICE_TEST_STORE: "postgres" },
				},
			},
			{
				extends: true,
				test: {
					name: "tls",
					isolate: false,
					include: (GATE ? GATE_OVER_TLS : OVER_TLS).map((name) => `test/spec/${name}.test.ts`),
					env: { SLUICE_TEST_TLS: "1" },
				},
			},
			{
				extends: true,
				test: {
					name: "firefox",
					include: IN_BOTH_BROWSERS.map((name) => `test/console/${name}.test.ts`),
					env: { SLUICE_TEST_BROWSER: "firefox" },
					retry: 1,
				},
			},
			{
				extends: true,
				test: {
					name: "hosts",
					include: HOSTS,
					exclude: LEFT_OUT,
					retry: 1,
					maxWorkers: 1,
					sequence: { groupOrder: 1 },
				},
			},
			{
				extends: true,
				test: { name: "verify", include: VERIFY, retry: 1 },
			},
			{
				extends: true,
				test: {
					name: "without",
					isolate: false,
					include: WITHOUT ? ["test/removal.test.ts", ...KERNEL_SPECIFICATION] : [],
					exclude: WITHOUT ? [...OF_ALL_MODULES, ...ownFiles(WITHOUT)] : [],
				},
			},
		],
	},
});
