/** `sluice keys`: API keys (D30, D36). */
import { JSON_FLAG, printed } from "./common-flags.ts";
import { CliError, noun } from "./command.ts";
import type { Action } from "./command.ts";
import { callService, path } from "./service-client.ts";
import { short, table } from "./table.ts";

interface Key {
	id: string;
	name: string;
	scopes: string[];
	endpoints?: string[];
	createdAt: string;
	lastUsedAt?: string;
}

const NONE =
	"There is no key but the one of SLUICE_API_KEY. Make one: sluice keys create --name 'nightly batch' --scope write\n";

const list: Action = {
	name: "list",
	args: [],
	summary: "all keys, without what they are",
	flags: JSON_FLAG,
	async run(given) {
		const told = await callService(process.env).ask("GET", "/v1/keys");
		return printed(told, given, () => {
			const { keys } = told.json as { keys: Key[] };
			return keys.length === 0
				? NONE
				: table(["ID", "NAME", "SCOPES", "ENDPOINTS", "MADE", "LAST USED"], keys.map(row));
		});
	},
};

function row({ id, name, scopes, endpoints, createdAt, lastUsedAt }: Key): (string | undefined)[] {
	return [
		id,
		name,
		scopes.join(","),
		endpoints?.join(",") ?? "all",
		short(createdAt),
		short(lastUsedAt) ?? "never",
	];
}

const create: Action = {
	name: "create",
	args: [],
	summary: "make a key and print it this once, alone on stdout",
	flags: {
		name: { value: "NAME", summary: "what the key is for" },
		scope: {
			value: "SCOPES",
			many: true,
			summary: "read, write or admin; several with commas between them or repeated (default read)",
		},
		endpoint: {
			value: "ID",
			many: true,
			summary: "good for this endpoint only; may be repeated (default all)",
		},
		...JSON_FLAG,
	},
	async run(given) {
		const { flags, lists } = given;
		if (flags["name"] === undefined)
			throw new CliError("--name is missing: sluice keys create --name NAME [options]");
		const listed = (name: string): string[] =>
			(lists[name] ?? []).flatMap((each) => each.split(","));
		const [scopes, endpoints] = [listed("scope"), listed("endpoint")];
		const body = {
			name: flags["name"],
			scopes: scopes.length > 0 ? scopes : ["read"],
			...(endpoints.length > 0 ? { endpoints } : {}),
		};
		const told = await callService(process.env).ask("POST", "/v1/keys", body);
		const made = told.json as Key & { key: string };
		if (!flags["json"])
			process.stderr.write(
				`Key '${made.name}' with the id ${made.id}: ${made.scopes.join(", ")} on ${made.endpoints?.join(", ") ?? "all endpoints"}. It is shown only this once.\n`,
			);
		return printed(told, given, () => `${made.key}\n`);
	},
};

const revoke: Action = {
	name: "revoke",
	args: ["ID"],
	summary: "end a key: its next call is refused",
	flags: JSON_FLAG,
	async run(given) {
		const [id = ""] = given.args;
		const told = await callService(process.env).ask("DELETE", path`/v1/keys/${id}`);
		return printed(told, given, () => `Key '${(told.json as Key).name}' is revoked.\n`);
	},
};

export const keys = noun({
	name: "keys",
	summary: "list, make and revoke API keys",
	actions: [list, create, revoke],
});
