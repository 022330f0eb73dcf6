/** `sluice alerts` (D36, D53). */
import type { Alert, Alerts, Silence, TestResult } from "./routes.ts";
import { CliError } from "../../cli/client/errors.ts";
import { path } from "../../cli/client/service-client.ts";
import type { Action, CommandGroup } from "../../cli/framework/command.ts";
import { formatOf, OUTPUT_FLAGS, printAnswer, spanOf } from "../../cli/framework/common-flags.ts";
import { listAction, serviceAction } from "../../cli/framework/service-action.ts";
import { shortTime, table } from "../../cli/framework/table.ts";

const list = listAction<Alert>({
	name: "list",
	args: [],
	summary: "list alerts that fire, and silences",
	request: "GET /v1/alerts",
	member: "alerts",
	empty: (_, { answer }) => `No alert fires.\n${notes(answer)}`,
	columns: {
		ALERT: "name",
		SEVERITY: "severity",
		SINCE: ({ since }) => shortTime(since),
		SILENCED: ({ silencedUntil }) => (silencedUntil === undefined ? "-" : `until ${shortTime(silencedUntil)}`),
		SUMMARY: "summary",
		"WHAT TO DO": "runbook",
	},
	below: notes,
});

function notes(answer: Record<string, unknown>): string {
	const { enabled, silences } = answer as unknown as Alerts;
	if (!enabled) return "Alerts are off: add alerts to sluice.yaml; see docs/guides/alerts.md.\n";
	return silences.map((each) => `Silenced: ${silenceText(each)}\n`).join("");
}

function silenceText({ name, endpoint, until, comment }: Silence): string {
	return (
		`${name}${endpoint === undefined ? "" : ` of ${endpoint}`} until ${shortTime(until)}` +
		(comment === undefined ? "" : ` (${comment})`)
	);
}

const ENDPOINT_FLAG = { endpoint: { value: "ID", summary: "only of this endpoint" } } as const;

const silence = serviceAction<Silence>({
	name: "silence",
	args: ["ALERT"],
	summary: "suppress messages about an alert for a time",
	flags: {
		for: { value: "TIME", summary: "how long, such as 30m or 2h (default 2h)" },
		...ENDPOINT_FLAG,
		comment: { value: "TEXT", summary: "why" },
	},
	examples: ["sluice alerts silence SluiceOldestWait --for 2h --endpoint hello"],
	request: "PUT /v1/alerts/{ALERT}/silence",
	body: ({ flags: { for: time, endpoint, comment } }) => ({
		...(time !== undefined && { for: Math.round(spanOf("for", time) / 1000) }),
		endpoint,
		comment,
	}),
	text: (answer) => `Silenced ${silenceText(answer)}.\n`,
});

const unsilence = serviceAction({
	name: "unsilence",
	args: ["ALERT"],
	summary: "end a silence",
	flags: ENDPOINT_FLAG,
	examples: ["sluice alerts unsilence SluiceOldestWait --endpoint hello"],
	request: "DELETE /v1/alerts/{ALERT}/silence",
	query: ({ endpoint }) => new URLSearchParams(endpoint === undefined ? [] : [["endpoint", endpoint]]),
	text: (_, { args: [alert] }) => `Ended the silence of ${alert}.\n`,
});

const test: Action = {
	name: "test",
	args: [],
	summary: "send a test message to each receiver; exit code 1 if one does not accept it",
	flags: OUTPUT_FLAGS,
	async run(input) {
		formatOf(input.flags);
		const answer = await input.service.request("POST", path`/v1/alerts/test`);
		const { receivers } = answer.json as { receivers: TestResult[] };
		if (receivers.length === 0)
			throw new CliError("There are no receivers: add alerts.receivers to sluice.yaml; see docs/guides/alerts.md.", 1);
		printAnswer(answer, input, () =>
			table(
				["RECEIVER", "RESULT"],
				receivers.map(({ receiver, error }) => [receiver, error ?? "received"]),
			),
		);
		return Number(receivers.some(({ error }) => error !== undefined));
	},
};

export const alerts: CommandGroup = {
	name: "alerts",
	summary: "list and silence alerts, and test their receivers",
	actions: [list, silence, unsilence, test],
};
