/** `sluice keys`: API keys (D30, D36). */
import type { Key, NewKey } from "../../kernel/api/keys.ts";
import { SCOPES } from "../../kernel/core/access/key-request.ts";
import { didYouMean } from "../../kernel/lib/nearest.ts";
import { systemClock } from "../../kernel/system/clock.ts";
import type { CommandGroup, FlagValues } from "../framework/command.ts";
import { spanOf } from "../framework/common-flags.ts";
import { CliError } from "../client/errors.ts";
import { listAction, serviceAction } from "../framework/service-action.ts";
import { shortTime } from "../framework/table.ts";

const list = listAction<Key>({
	name: "list",
	args: [],
	summary: "list all keys; key values are not shown",
	request: "GET /v1/keys",
	member: "keys",
	empty: "No API keys besides SLUICE_API_KEY. Create one: sluice keys create --name 'nightly batch' --scope write\n",
	columns: {
		ID: "id",
		NAME: "name",
		SCOPES: ({ scopes }) => scopes.join(","),
		ENDPOINTS: ({ endpoints }) => endpoints?.join(",") ?? "all",
		CREATED: ({ createdAt }) => shortTime(createdAt),
		EXPIRES: ({ expiresAt }) => shortTime(expiresAt) ?? "never",
		"LAST USED": ({ lastUsedAt }) => shortTime(lastUsedAt) ?? "never",
		FROM: "lastUsedAddress",
	},
});

const EXPIRES = {
	expires: { value: "SPAN", summary: "let the key expire after this time, such as 90d or 12h" },
} as const;

/** The service takes years of four digits only, and dates end at some point. */
const LONGEST = "36500d";

function expiresAt({ expires }: FlagValues): string | undefined {
	if (expires === undefined) return undefined;
	const span = spanOf("expires", expires);
	if (span > spanOf("expires", LONGEST))
		throw new CliError(
			`Option --expires must be at most ${LONGEST}, not '${expires}'. Without it the key does not expire.`,
		);
	return new Date(systemClock.now() + span).toISOString();
}

const create = serviceAction<NewKey>({
	name: "create",
	args: [],
	summary: "create a key; its value is printed to stdout and not shown again",
	flags: {
		name: { value: "NAME", summary: "what the key is for" },
		scope: { value: "SCOPES", many: true, summary: "read, write or admin; comma-separated or repeated (default read)" },
		endpoint: { value: "ID", many: true, summary: "restrict the key to this endpoint; may be repeated (default all)" },
		...EXPIRES,
	},
	examples: ["sluice keys create --name batch --scope write --endpoint hello --expires 90d"],
	request: "POST /v1/keys",
	body({ flags, lists }) {
		if (flags["name"] === undefined)
			throw new CliError("Missing option --name. Usage: sluice keys create --name NAME [options]");
		const listed = (flag: string): string[] | undefined => lists[flag]?.flatMap((value) => value.split(","));
		const scopes = listed("scope") ?? ["read"];
		const unknown = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope));
		if (unknown !== undefined)
			throw new CliError(`--scope must be read, write or admin, not '${unknown}'.${didYouMean(unknown, SCOPES)}`);
		return {
			name: flags["name"],
			scopes,
			endpoints: listed("endpoint"),
			expiresAt: expiresAt(flags),
		};
	},
	note({ id, name, scopes, endpoints }) {
		const scope = `${scopes.join(", ")} on ${endpoints?.join(", ") ?? "all endpoints"}`;
		return `Created key '${name}' with the id ${id}: ${scope}. The key is not shown again.\n`;
	},
	shownOnce: "key",
	text: ({ key }) => `${key}\n`,
});

const rotate = serviceAction<NewKey>({
	name: "rotate",
	args: ["ID"],
	summary: "replace a key; the new one is printed to stdout, the earlier one becomes invalid at once",
	flags: EXPIRES,
	examples: ["sluice keys rotate 3f2a91c4 --expires 90d"],
	request: "POST /v1/keys/{ID}/rotate",
	body: ({ flags }) => ({ expiresAt: expiresAt(flags) }),
	note: ({ name }) => `Rotated key '${name}'. The earlier one is no longer valid. The new one is not shown again.\n`,
	shownOnce: "key",
	text: ({ key }) => `${key}\n`,
});

const revoke = serviceAction<Key>({
	name: "revoke",
	args: ["ID"],
	summary: "revoke a key with immediate effect",
	examples: ["sluice keys revoke 3f2a91c4"],
	request: "DELETE /v1/keys/{ID}",
	text: ({ name }) => `Revoked key '${name}'.\n`,
});

export const keys: CommandGroup = {
	name: "keys",
	summary: "list, create, rotate and revoke API keys",
	actions: [list, create, rotate, revoke],
};
