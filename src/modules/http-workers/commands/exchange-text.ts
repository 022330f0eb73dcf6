/** Requests and answers of `sluice http test` as text, without the server's credentials. */
import type { HttpSetting } from "../../../cli/commands/jobs/http-setting.ts";
import { printable, printableLines } from "../../../kernel/lib/terminal-text.ts";
import type { BodyStart, ReceivedAnswer, SentRequest } from "./exchange-record.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** Headers whose values are credentials by their name. */
const SECRET_HEADER = /auth|cookie|token|secret|key$/i;
/** Characters. A shorter value is no secret, and a part of many words. */
const SHORTEST_SECRET = 4;
const HIDDEN = "***";
/** Characters of a body. */
const MAX_SHOWN = 4096;

/** Shows each request and answer once: repeated polls with an equal answer are omitted. */
export function exchangeTexts(q: { mapping: HttpSetting; env: Variables; origin: string }) {
	const secrets = secretsOf(q.mapping, q.env);
	const hide = (text: string): string => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, HIDDEN), text);
	const shown = new Map<string, string>();
	return {
		/** Undefined for a request that was shown. */
		request({ request, body }: SentRequest): string | undefined {
			const line = lineOf(request);
			if (shown.has(line)) return undefined;
			shown.set(line, "");
			const headers = Object.entries(request.getHeaders()).map(
				([name, value]) =>
					`  ${name}: ${SECRET_HEADER.test(name) && name !== "idempotency-key" ? HIDDEN : String(value)}`,
			);
			const [method, target] = line.split(" ");
			const head = hide(`${method} ${q.origin}${target}\n${printableLines(headers.join("\n"))}\n`);
			return head + bodyText(body, hide);
		},
		/** Undefined for an answer like the last one to such a request. */
		answer({ request, answer, body, ms }: ReceivedAnswer): string | undefined {
			const line = lineOf(request);
			const type = answer.headers["content-type"] ?? "no content type";
			const head = `HTTP ${answer.statusCode} ${printable(type)}`;
			const text = `${answer.complete ? "" : "The answer was not read to its end.\n"}${bodyText(body, hide)}`;
			const whole = `${head}\n${text}`;
			if (shown.get(line) === whole) return undefined;
			shown.set(line, whole);
			return `${head}, ${ms} ms, for ${hide(printable(line))}\n${text}`;
		},
	};
}

function lineOf({ method, path }: { method: string; path: string }): string {
	return `${method} ${path}`;
}

function bodyText(body: BodyStart, hide: (text: string) => string): string {
	if (body.bytes === 0) return "";
	const text = hide(body.text);
	const more = text.length > MAX_SHOWN || body.isCut ? `… (${body.bytes} bytes)` : "";
	return `\n${printableLines(text.slice(0, MAX_SHOWN)).replace(/^/gm, "  ")}${more}\n`;
}

/** Values of the variables that a mapping sends, longest first, since one may begin with another. */
function secretsOf(mapping: HttpSetting, env: Variables): string[] {
	const names = [...JSON.stringify(mapping).matchAll(/\{env\.(\w+)\}/g)].map(([, name]) => name!);
	return names
		.map((name) => env[name] ?? "")
		.filter((value) => value.length >= SHORTEST_SECRET)
		.toSorted((a, b) => b.length - a.length);
}
