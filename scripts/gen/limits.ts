/** `docs/reference/limits.md`: rates, concurrency, sizes and bounds, with the numbers that hold. */
import { type Budget, BUDGETS } from "../../src/kernel/core/budgets.ts";
import { ENDPOINT_DEFAULTS } from "../../src/kernel/core/endpoints/endpoint-schema.ts";
import { DEFAULT_LIMITS, LIMITED_OPERATIONS } from "../../src/kernel/core/endpoints/limits.ts";
import { MAX_LOSSES } from "../../src/kernel/core/jobs/job-transitions.ts";
import { CHUNK_LIMIT, RESULT_LIMIT } from "../../src/kernel/core/jobs/report.ts";
import { SUBMISSION_JSON, SUBMISSION_SCHEMA } from "../../src/kernel/core/jobs/submission.ts";
import { POST_TIMEOUT_MS } from "../../src/kernel/post/contract.ts";
import { DELIVERY_KEPT_MS } from "../../src/modules/webhooks/schedule.ts";
import { SPECIFIED_SCHEDULE } from "../../src/kernel/core/webhooks.ts";
import { ROUTES } from "../../src/modules/tables.ts";
import { SYNC_WAIT, STREAM_WAIT } from "../../src/kernel/api/jobs.ts";
import { code, duration, grouped, type Page, table } from "./markdown.ts";
import { schemaTable } from "./schema.ts";

export const limits: Page = {
	file: "limits.md",
	title: "Limits",
	about: "rates, concurrency, sizes, times and bounds",
	body() {
		const rates = LIMITED_OPERATIONS.map((operation) => {
			const { per10s, concurrent } = DEFAULT_LIMITS[operation];
			return [
				code(`/${operation}`),
				per10s === undefined ? "none" : grouped(per10s),
				concurrent === undefined ? "none" : grouped(concurrent),
			];
		});
		const sizes = Map.groupBy(
			ROUTES.filter(({ body }) => body !== undefined),
			({ maxBody }) => maxBody,
		);
		const bodies = [...sizes]
			.toSorted(([a], [b]) => a - b)
			.map(([bytes, rows]) => [grouped(bytes), rows.map(({ name }) => code(name)).join(", ")]);
		const { retention, leaseMs } = ENDPOINT_DEFAULTS;
		return `
## Rates

For each endpoint and operation; \`/v2\` and \`/sdk/v2\` count together. Beyond them the answer is
429 with \`Retry-After\`. Answers have \`RateLimit-Limit\`, \`RateLimit-Remaining\` and
\`RateLimit-Reset\`. \`/retry\` and \`/health\` have no limits. Operators change or switch off each
number with \`limits\` of [the endpoint](config.md#settings-of-an-endpoint).

${table(["Operation", "Requests in any 10 s", "At once"], rates)}

## The queue

A submission or a \`/retry\` is refused with 429 while more than 50 jobs **and** more than
\`workersMax * 500\` wait, or more than \`limits.queue\`. Jobs that return after a loss are never
refused.

## Sizes

${table(["Largest body, bytes", "Operations"], bodies)}

${table(
	["Size", "Limit"],
	[
		["A result", `${grouped(RESULT_LIMIT)} bytes; a larger one fails the job`],
		["A chunk of a stream", `${grouped(CHUNK_LIMIT)} bytes; a larger one is split`],
		["Nesting of a submission", `${SUBMISSION_JSON.maxDepth} deep`],
		["An integer in a submission", `${grouped(SUBMISSION_JSON.maxDigits)} digits`],
	],
)}

## A submission

${schemaTable(SUBMISSION_SCHEMA)}

## Budgets

What callers may hold or use of one server, whatever their keys allow. Members of \`budgets\`
in [\`sluice.yaml\`](config.md); \`/metrics\` has \`sluice_budget_limit\`, \`sluice_budget_used\` and
\`sluice_budget_refusals_total\` for each that is not a time.

${table(
	["Budget", "Default", "Bounds", "What it counts", "Once it is spent"],
	Object.entries<Budget>(BUDGETS).map(([name, one]) => [
		code(name),
		amount(one.default, one.unit),
		`${grouped(one.minimum)} to ${grouped(one.maximum)}`,
		one.description,
		one.beyond,
	]),
)}

## Times

${table(
	["What", "Time"],
	[
		["A wait of /runsync and /status-sync", `${grouped(SYNC_WAIT.default)} ms; ${code("?wait=")} 1,000 to 300,000 ms`],
		["A wait of /stream", `${grouped(STREAM_WAIT.default)} ms; ${code("?wait=")} 1,000 to 300,000 ms`],
		["The result of a /run job", duration(retention.run)],
		["The result of a /runsync or /openai job", duration(retention.runsync)],
		["The record of a job without its result", duration(retention.records)],
		["A lease without renewal", `${duration(leaseMs)}; after ${MAX_LOSSES} losses the job is FAILED`],
		[
			"An attempt of a webhook",
			`${duration(POST_TIMEOUT_MS)}; ${SPECIFIED_SCHEDULE.length + 1} attempts, ` +
				`${duration(SPECIFIED_SCHEDULE[0]!)} apart`,
		],
		["A webhook delivery is kept", duration(DELIVERY_KEPT_MS)],
	],
)}`;
	},
};

function amount(value: number, unit: Budget["unit"]): string {
	if (unit === "ms") return duration(value);
	return unit === "bytes" ? `${grouped(value)} bytes` : grouped(value);
}
