/** Settings of an endpoint as stored: the values of `env` encrypted, their names readable (D22). */
import type { Endpoint } from "../../core/endpoint.ts";
import type { Encryption } from "../access/encryption.ts";

/** `sealedEnv` replaces `env`; earlier versions stored `env`. */
interface StoredSettings extends Record<string, unknown> {
	env?: Record<string, unknown>;
	sealedEnv?: Record<string, string>;
}

/** Settings that `readEndpoint` takes. */
export interface OpenedSettings {
	settings: Record<string, unknown>;
	/** Variables that were encrypted with an unknown key; missing in `settings`. */
	unreadable: string[];
}

/** JSON text for the store. Values that `before`, the stored text, already has keep their text. */
export function sealSettings(
	settings: Omit<Endpoint, "id" | "webhookSecret">,
	encryption: Encryption,
	before?: string,
): string {
	const { env, ...rest } = settings;
	const stored = before === undefined ? {} : (JSON.parse(before) as StoredSettings);
	const sealed = new Map(Object.entries(stored.sealedEnv ?? {}));
	const sealedEnv = Object.entries(env).map(([name, value]) => {
		const text = sealed.get(name);
		return [
			name,
			text !== undefined && keeps(text, value, encryption) ? text : encryption.encrypt(value),
		];
	});
	return JSON.stringify({ ...rest, sealedEnv: Object.fromEntries(sealedEnv) });
}

function keeps(text: string, value: string, encryption: Encryption): boolean {
	if (!encryption.isCurrent(text)) return false;
	const opened = encryption.decrypt(text);
	return opened.ok && opened.text === value;
}

/** The opposite of {@link sealSettings}; also reads settings of earlier versions. */
export function openSettings(text: string, encryption: Encryption): OpenedSettings {
	const { sealedEnv, ...settings } = JSON.parse(text) as StoredSettings;
	if (sealedEnv === undefined) return { settings, unreadable: [] };
	const env: [string, string][] = [];
	const unreadable: string[] = [];
	for (const [name, sealed] of Object.entries(sealedEnv)) {
		const opened = encryption.decrypt(sealed);
		if (opened.ok) env.push([name, opened.text]);
		else unreadable.push(name);
	}
	return { settings: { ...settings, env: Object.fromEntries(env) }, unreadable };
}

/** Whether a stored text has values in clear, or encrypted with another than the current key. */
export function isOutdated(text: string, encryption: Encryption): boolean {
	const { env, sealedEnv } = JSON.parse(text) as StoredSettings;
	return (
		Object.keys(env ?? {}).length > 0 ||
		Object.values(sealedEnv ?? {}).some((sealed) => !encryption.isCurrent(sealed))
	);
}
