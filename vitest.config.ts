import { defineConfig } from "vitest/config";

/**
 * What depends on the store: these files run on PostgreSQL too. `SLUICE_TEST_STORE=postgres vitest
 * run --project sluice test/spec` does all of the specification.
 */
const ON_BOTH_STORES = [
	"client/idempotency",
	"client/jobs",
	"client/{purge,retention,retry,states}",
	"client/{stream,stream-events}",
	"client/webhooks/webhooks",
	"worker/{access,fence,lease,outage}",
	"worker/{results,results-together}",
];

export default defineConfig({
	test: {
		globalSetup: ["./test/support/postgres-run.ts"],
		// Most tests wait more than they compute.
		maxWorkers: 2,
		// A machine that stands still for a second fails one of five thousand now and then; it is named
		// as retried. What fails twice is broken.
		retry: 1,
		testTimeout: 30_000,
		hookTimeout: 30_000,
		reporters: ["default", "./test/support/closing-line.ts"],
		projects: [
			{
				extends: true,
				test: {
					name: "sluice",
					include: ["src/**/*.test.ts", "test/**/*.test.ts", "console/src/**/*.test.ts"],
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
		],
	},
});
