/**
 * Sends a message about alerts to a receiver (D53): one POST in its form, or a mail. Addresses are the operator's, so
 * private ones are called too.
 */
import { type AlertMessage, textOf } from "./message.ts";
import type { AlertReceiver } from "./settings.ts";
import type { SignedPost, PostRequest } from "../../kernel/post/contract.ts";
import type { SendAlert } from "./contract.ts";
import { masked } from "../../kernel/lib/masked.ts";

/** Characters: https://docs.discord.com/developers/resources/webhook, https://docs.ntfy.sh/config (bytes). */
const MOST = { discord: 2000, ntfy: 4096, slack: 4000 } as const;

export function alertSender(post: SignedPost): SendAlert {
	return async (receiver, message, signal) => {
		if (receiver.type === "email") return (await import("./mail.ts")).sendMail(receiver, message, signal);
		const { status = 0, answer, error } = await post({ id: message.id, signal, ...postOf(receiver, message) });
		if (error !== undefined) return error;
		return status >= 200 && status < 300
			? undefined
			: `the receiver answered ${status}${answer === undefined ? "" : `: ${masked(answer, secretsOf(receiver))}`}`;
	};
}

/** Minimum length of a secret part of an address; shorter parts are words. */
const SHORTEST_SECRET = 8;

function secretsOf(receiver: Exclude<AlertReceiver, { type: "email" }>): string[] {
	const { pathname, search, searchParams } = new URL(receiver.url);
	const parts = [...pathname.split("/"), ...searchParams.values()];
	return [
		pathname.slice(1),
		search,
		...parts.filter(({ length }) => length >= SHORTEST_SECRET),
		receiver.type === "webhook" ? receiver.secret : "",
		receiver.type === "ntfy" ? (receiver.token ?? "") : "",
	];
}

function postOf(
	receiver: Exclude<AlertReceiver, { type: "email" }>,
	message: AlertMessage,
): Pick<PostRequest, "url" | "body" | "secrets" | "headers"> {
	const { url, type } = receiver;
	if (type === "webhook") {
		const { title, alerts } = message;
		return { url, secrets: [receiver.secret], body: JSON.stringify({ title, alerts }) };
	}
	if (type === "ntfy") {
		const { token } = receiver;
		const headers = {
			"content-type": "text/plain; charset=utf-8",
			title: message.title,
			priority: message.urgent ? "5" : "3",
			...(token !== undefined && { authorization: `Bearer ${token}` }),
		};
		return { url, secrets: [], headers, body: textOf(message, MOST.ntfy) };
	}
	const text = textOf(message, MOST[type]);
	// Slack reads markup in these characters; Discord would notify everyone who is mentioned.
	const content =
		type === "slack"
			? { text: text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;") }
			: { content: text, allowed_mentions: { parse: [] } };
	return { url, secrets: [], body: JSON.stringify(content) };
}
