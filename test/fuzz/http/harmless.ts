/** Keeps generated bodies from starting programs and from calling other machines. */
import { isObject } from "../../../src/kernel/lib/schema.ts";

/** Hosts that webhooks may name. */
const HOSTS = ["127.0.0.1", "[::1]", "localhost", "10.0.0.1"];

/** The body with an external launcher and a webhook to this machine, where it has others. */
export function harmless(text: string): string {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return text;
	}
	if (!isObject(value)) return text;
	const { launcher, webhook } = value;
	const launches = isObject(launcher) && typeof launcher["type"] === "string" && launcher["type"] !== "external";
	const host = typeof webhook === "string" ? URL.parse(webhook)?.hostname : undefined;
	const calls = host !== undefined && !HOSTS.includes(host);
	if (!launches && !calls) return text;
	return JSON.stringify({
		...value,
		...(launches ? { launcher: { type: "external" } } : {}),
		...(calls ? { webhook: "http://127.0.0.1:9/" } : {}),
	});
}
