/** `sluice keys`: API keys (D30, D36). */
import type { Key, NewKey } from "../api/keys.ts";
import { systemClock } from "../clock.ts";
import type { Action, ActionInput, CommandGroup } from "./command.ts";
import { JSON_FLAG, printAnswer } from "./common-flags.ts";
import { CliError } from "./errors.ts";
import { path } from "./service-client.ts";
import { spanOf } from "./spans.ts";
import { shortTime, table } from "./table.ts";

const NO_KEYS =
	"No API keys besides SLUICE_API_KEY. Create one: sluice keys create --name 'nightly batch' --scope write\n";

const HEADINGS = ["ID", "NAME", "SCOPES", "ENDPOINTS", "CREATED", "EXPIRES", "LAST USED", "FROM"];

const list: Action = {
	name: "list",
	args: [],
	summary: "list all keys; key values are not shown",
	flags: JSON_FLAG,
	examples: ["sluice keys list"],
	async run(input) {
		const answer = await input.service.request("GET", "/v1/keys");
		const { keys } = answer.json as { keys: Key[] };
		return printAnswer(answer, input, () => (keys.length === 0 ? NO_KEYS : table(HEADINGS, keys.map(row))));
	},
};

function row(key: Key): (string | undefined)[] {
	const { id, name, scopes, endpoints, createdAt, expiresAt, lastUsedAt, lastUsedAddress } = key;
	return [
		id,
		name,
		scopes.join(","),
		endpoints?.join(",") ?? "all",
		shortTime(createdAt),
		shortTime(expiresAt) ?? "never",
		shortTime(lastUsedAt) ?? "never",
		lastUsedAddress,
	];
}

const EXPIRES = {
	expires: { value: "SPAN", summary: "let the key expire after this time, such as 90d or 12h" },
} as const;

function expiryOf({ flags }: Pick<ActionInput, "flags">): { expiresAt?: string } {
	const { expires } = flags;
	if (expires === undefined) return {};
	const at = systemClock.now() + spanOf("expires", expires);
	return { expiresAt: new Date(at).toISOString() };
}

const create: Action = {
	name: "create",
	args: [],
	summary: "create a key; its value is printed to stdout and not shown again",
	flags: {
		name: { value: "NAME", summary: "what the key is for" },
		scope: {
			value: "SCOPES",
			many: true,
			summary: "read, write or admin; comma-separated or repeated (default read)",
		},
		endpoint: {
			value: "ID",
			many: true,
			summary: "restrict the key to this endpoint; may be repeated (default all)",
		},
		...EXPIRES,
		...JSON_FLAG,
	},
	examples: ["sluice keys create --name batch --scope write --endpoint hello --expires 90d"],
	async run(input) {
		const { flags, lists } = input;
		if (flags["name"] === undefined)
			throw new CliError("Missing option --name. Usage: sluice keys create --name NAME [options]");
		const listed = (flag: string): string[] => (lists[flag] ?? []).flatMap((value) => value.split(","));
		const [scopes, endpoints] = [listed("scope"), listed("endpoint")];
		const answer = await input.service.request("POST", "/v1/keys", {
			name: flags["name"],
			scopes: scopes.length > 0 ? scopes : ["read"],
			...(endpoints.length > 0 ? { endpoints } : {}),
			...expiryOf(input),
		});
		const created = answer.json as NewKey;
		const { id, name } = created;
		const scope = `${created.scopes.join(", ")} on ${created.endpoints?.join(", ") ?? "all endpoints"}`;
		if (!flags["json"])
			process.stderr.write(`Created key '${name}' with the id ${id}: ${scope}. The key is not shown again.\n`);
		return printAnswer(answer, input, () => `${created.key}\n`);
	},
};

const rotate: Action = {
	name: "rotate",
	args: ["ID"],
	summary: "replace a key; the new one is printed to stdout, the one before stays valid for a while",
	flags: {
		overlap: { value: "SPAN", summary: "how long the key before stays valid (default 24h)" },
		...EXPIRES,
		...JSON_FLAG,
	},
	examples: ["sluice keys rotate 3f2a91c4 --overlap 24h"],
	async run(input) {
		const [id = ""] = input.args;
		const answer = await input.service.request("POST", path`/v1/keys/${id}/rotate`, {
			overlapMs: spanOf("overlap", input.flags["overlap"] ?? "24h"),
			...expiryOf(input),
		});
		const { name, key, previousUntil } = answer.json as NewKey;
		if (!input.flags["json"])
			process.stderr.write(
				`Rotated key '${name}'. The one before is valid until ${shortTime(previousUntil)}. ` +
					"The new one is not shown again.\n",
			);
		return printAnswer(answer, input, () => `${key}\n`);
	},
};

const revoke: Action = {
	name: "revoke",
	args: ["ID"],
	summary: "revoke a key with immediate effect",
	flags: JSON_FLAG,
	examples: ["sluice keys revoke 3f2a91c4"],
	async run(input) {
		const [id = ""] = input.args;
		const answer = await input.service.request("DELETE", path`/v1/keys/${id}`);
		return printAnswer(answer, input, () => `Revoked key '${(answer.json as Key).name}'.\n`);
	},
};

export const keys: CommandGroup = {
	name: "keys",
	summary: "list, create, rotate and revoke API keys",
	actions: [list, create, rotate, revoke],
};
