/** Sends mails about alerts. Loaded only if a receiver needs it, because it brings an SMTP client. */
import { createTransport } from "nodemailer";
import { type AlertMessage, textOf } from "./message.ts";
import type { AlertReceiver } from "./settings.ts";
import { printable } from "../../kernel/lib/terminal-text.ts";
import { masked } from "../../kernel/lib/masked.ts";

/** Time after which an SMTP server that sends nothing has failed, ms. */
const TIMEOUT_MS = 10_000;
const TOTAL_MS = 30_000;
const MOST_TEXT = 50_000;
const SHOWN_ERROR = 256;

/** Sends a mail. Returns why it was not accepted; rejects only when the signal aborts. */
export async function sendMail(
	{ smtp: { host, port, tls, user, password }, from, to }: Extract<AlertReceiver, { type: "email" }>,
	message: AlertMessage,
	signal: AbortSignal,
): Promise<string | undefined> {
	const transport = createTransport({
		host,
		port,
		secure: tls === "tls",
		requireTLS: tls === "starttls",
		ignoreTLS: tls === "off",
		...(user !== undefined && { auth: { user, pass: password ?? "" } }),
		connectionTimeout: TIMEOUT_MS,
		greetingTimeout: TIMEOUT_MS,
		socketTimeout: TIMEOUT_MS,
		disableFileAccess: true,
		disableUrlAccess: true,
	});
	const limit = AbortSignal.any([signal, AbortSignal.timeout(TOTAL_MS)]);
	try {
		await transport.sendMail({
			from: { name: "Sluice", address: from },
			to,
			subject: `[Sluice] ${message.title}`,
			text: textOf(message, MOST_TEXT),
			messageId: `<${message.id}@sluice>`,
			signal: limit,
		});
		return undefined;
	} catch (error) {
		signal.throwIfAborted();
		if (limit.aborted) return `the server did not accept it within ${TOTAL_MS / 1000} s`;
		return printable(masked((error as Error).message, secretsOf(user, password))).slice(0, SHOWN_ERROR);
	} finally {
		transport.close();
	}
}

/** Returns user and password in the forms in which the server receives them (AUTH PLAIN and LOGIN). */
function secretsOf(user = "", password?: string): string[] {
	if (password === undefined) return [];
	return [...[`\0${user}\0${password}`, password].map((each) => Buffer.from(each).toString("base64")), password];
}
