/** Settings of an endpoint as stored: the values of `env` encrypted, their names readable (D22). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { SealedEndpoint } from "../../store/contract/access.ts";
import type { Encryption } from "../../secrets/encryption.ts";

/** `sealedEnv` replaces `env`. */
interface StoredSettings extends Record<string, unknown> {
	sealedEnv?: Record<string, string>;
}

export interface OpenedSettings {
	settings: Record<string, unknown>;
	/** Names of variables that were encrypted with an unknown key; `settings` lacks them. */
	unreadable: string[];
}

/** Encrypts the values of `env`. Values that `before`, the stored text, already has keep their ciphertext. */
export function sealSettings(settings: Pick<Endpoint, "env">, encryption: Encryption, before?: string): string {
	const { env, ...rest } = settings;
	const stored = before === undefined ? {} : (JSON.parse(before) as StoredSettings);
	const sealed = new Map(Object.entries(stored.sealedEnv ?? {}));
	const sealedEnv = Object.entries(env).map(([name, value]) => {
		const text = sealed.get(name);
		return [name, text !== undefined && keeps(text, value, encryption) ? text : encryption.encrypt(value)];
	});
	return JSON.stringify({ ...rest, sealedEnv: Object.fromEntries(sealedEnv) });
}

function keeps(text: string, value: string, encryption: Encryption): boolean {
	if (!encryption.isCurrent(text)) return false;
	const opened = encryption.decrypt(text);
	return opened.ok && opened.text === value;
}

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

/** Encrypts values that have another key with the current one; undefined if there are none. */
export function resealEndpoint(from: SealedEndpoint, encryption: Encryption): SealedEndpoint | undefined {
	const { sealedEnv, ...rest } = JSON.parse(from.settings) as StoredSettings;
	const sealed = Object.entries(sealedEnv ?? {}).map(([name, value]) => [name, resealText(value, encryption)]);
	const settings = JSON.stringify({ ...rest, sealedEnv: Object.fromEntries(sealed) });
	const secret = from.secret === undefined ? undefined : resealText(from.secret, encryption);
	return settings === from.settings && secret === from.secret ? undefined : { settings, secret };
}

/** Encrypts a text with the current key; returns it unchanged if it has that key or cannot be decrypted. */
export function resealText(text: string, encryption: Encryption): string {
	if (encryption.isCurrent(text)) return text;
	const opened = encryption.decrypt(text);
	return opened.ok ? encryption.encrypt(opened.text) : text;
}
