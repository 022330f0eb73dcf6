import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/sequencer.ts";

/**
 * What depends on the store: these files run on PostgreSQL too. `SLUICE_TEST_STORE=postgres vitest
 * run --project sluice test/spec` does all of the specification.
 */
const ON_BOTH_STORES = [
	"client/{control-characters,idempotency}",
	"client/jobs",
	"client/{purge,retention,retry,states}",
	"client/{stream,stream-events}",
	"client/webhooks/{security,settings,webhooks}",
	"v1/bulk",
	"worker/{access,clock,fence,lease,outage}",
	"worker/{results,results-together}",
];

/**
 * What depends on connections, bodies and addresses: these files run over TLS too.
 * `SLUICE_TEST_TLS=1 vitest run --project sluice test/spec` does all of the specification.
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
 * What the console does in a second browser. `SLUICE_TEST_BROWSER=firefox vitest run --project system
 * test/console` does all of it.
 */
const IN_BOTH_BROWSERS = ["pages", "jobs"];

/** Tests of several real processes, of a platform or of a browser: the only ones that are retried. */
const SYSTEM = ["e2e", "cluster", "console", "launchers", "torture"].map((folder) => `test/${folder}/**/*.test.ts`);

export default defineConfig({
	test: {
		globalSetup: ["./test/support/postgres-run.ts"],
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
					include: ["src/**/*.test.ts", "test/**/*.test.ts", "console/src/**/*.test.ts"],
					exclude: SYSTEM,
				},
			},
			{
				extends: true,
				test: {
					name: "system",
					include: SYSTEM,
					// A second try is for what a busy machine does to processes. The closing line names and
					// counts the tests that needed it.
					retry: 1,
				},
			},
			{
				extends: true,
				test: {
					name: "postgres",
					include: ON_BOTH_STORES.map((name) => `test/spec/${name}.test.ts`),
					env: { SLUICE_TEST_STORE: "postgres" },
				},
			},
			{
				extends: true,
				test: {
					name: "tls",
					include: OVER_TLS.map((name) => `test/spec/${name}.test.ts`),
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
		],
	},
});
