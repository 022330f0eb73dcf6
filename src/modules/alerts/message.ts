/** Builds the message to receivers of alerts: it contains all alerts that are due at the same time. */
import type { alertView } from "./state.ts";

export interface AlertMessage {
	/** Id of the message, the same when it is repeated. */
	id: string;
	/** Title, one line. */
	title: string;
	/** Whether a critical alert fires. */
	urgent: boolean;
	alerts: readonly ReturnType<typeof alertView>[];
}

/** Builds a message. The most urgent alerts come first: they make the title, and are kept if not all have room. */
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

/** Returns the text of a message, at most `limit` characters; alerts that do not fit are counted. */
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
