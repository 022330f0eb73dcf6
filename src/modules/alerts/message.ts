/** What receivers of alerts get: all alerts that are due at once, in one message. */
import type { alertView } from "./state.ts";

export interface AlertMessage {
	/** The same when the message is repeated. */
	id: string;
	/** One line. */
	title: string;
	/** Whether a critical alert fires. */
	urgent: boolean;
	alerts: readonly ReturnType<typeof alertView>[];
}

/** The most urgent first, which name the message and have room in it. */
export function alertMessage(id: string, given: AlertMessage["alerts"]): AlertMessage {
	const alerts = given.toSorted((a, b) => rankOf(a) - rankOf(b));
	const [first, ...others] = alerts;
	const more = others.length === 0 ? "" : ` and ${others.length} more`;
	return {
		id,
		title: `${first?.status === "resolved" ? "Resolved: " : ""}${first?.name}${more}`,
		urgent: alerts.some(({ status, severity }) => status === "firing" && severity === "critical"),
		alerts,
	};
}

function rankOf({ status, severity }: AlertMessage["alerts"][number]): number {
	if (status === "resolved") return 2;
	return severity === "critical" ? 0 : 1;
}

export function testMessage(id: string): AlertMessage {
	return { id, title: "Test of Sluice's alerts", urgent: false, alerts: [] };
}

/** At most `limit` characters; alerts that have no room are counted. */
export function textOf({ alerts, title }: AlertMessage, limit: number): string {
	if (alerts.length === 0) return `${title}: this receiver works.`;
	const paragraphs = alerts.map(({ name, status, severity, summary, since, runbook }) =>
		status === "resolved"
			? `RESOLVED ${name}: it had fired since ${since}, last as: ${summary}`
			: `${severity.toUpperCase()} ${name}: ${summary}\nSince ${since}. What to do: ${runbook}`,
	);
	let text = "";
	for (const [index, paragraph] of paragraphs.entries()) {
		const rest = `\n\nand ${paragraphs.length - index} more: sluice alerts`;
		if (text.length + paragraph.length + rest.length + 2 > limit) return (text + rest).trim().slice(0, limit);
		text += text === "" ? paragraph : `\n\n${paragraph}`;
	}
	return text;
}
