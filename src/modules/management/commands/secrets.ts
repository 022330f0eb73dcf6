/** `sluice secrets`: values that env of endpoints names as {{ RUNPOD_SECRET_name }} (D36, D49). */
import type { Secret } from "../routes/secrets.ts";
import { path, type ServiceClient } from "../../../cli/client/service-client.ts";
import type { Action, CommandGroup } from "../../../cli/framework/command.ts";
import { OUTPUT_FLAGS, printAnswer, readSecret } from "../../../cli/framework/common-flags.ts";
import { CliError } from "../../../cli/client/errors.ts";
import { listAction } from "../../../cli/framework/service-action.ts";
import { shortTime } from "../../../cli/framework/table.ts";

const list = listAction<Secret>({
	name: "list",
	args: [],
	summary: "list secrets; values are not shown",
	request: "GET /v2/account/secrets",
	member: "secrets",
	empty: "No secrets. Set one: sluice secrets set hf_token < token.txt\n",
	columns: {
		NAME: "name",
		SET: ({ valueLastUpdatedAt }) => shortTime(valueLastUpdatedAt),
		DESCRIPTION: ({ description }) => description ?? "",
	},
});

async function find(service: ServiceClient, name: string): Promise<Secret | undefined> {
	const { json } = await service.request("GET", path`/v2/account/secrets?${new URLSearchParams({ name })}`);
	return (json as { secrets: Secret[] }).secrets.find((each) => each.name === name);
}

const set: Action = {
	name: "set",
	args: ["NAME"],
	summary: "create a secret or change its value, which is read from stdin, or asked for",
	flags: { description: { value: "TEXT", summary: "what it is; an empty text removes it" }, ...OUTPUT_FLAGS },
	examples: ["sluice secrets set hf_token < token.txt"],
	async run(input) {
		const { args, flags, service } = input;
		const name = args[0]!;
		const value = await readSecret(`Value of ${name}: `);
		if (value === "") throw new CliError("The value is empty. Pass it on stdin.");
		const given = { value, ...(flags["description"] !== undefined && { description: flags["description"] }) };
		const known = await find(service, name);
		const answer = known
			? await service.request("PATCH", path`/v2/account/secrets/${known.id}`, given)
			: await service.request("POST", "/v2/account/secrets", { name, ...given });
		return printAnswer(answer, input, () =>
			known
				? `Changed ${name}. Workers that start from now on get the new value.\n`
				: `Stored ${name}. In env of an endpoint: {{ RUNPOD_SECRET_${name} }}\n`,
		);
	},
};

const remove: Action = {
	name: "remove",
	args: ["NAME"],
	summary: "remove a secret; workers of endpoints that still name it do not start",
	flags: {},
	examples: ["sluice secrets remove hf_token"],
	async run({ args: [name = ""], service }) {
		const known = await find(service, name);
		if (!known) throw new CliError(`There is no secret '${name}'. 'sluice secrets list' lists those that exist.`, 1);
		await service.request("DELETE", path`/v2/account/secrets/${known.id}`);
		process.stdout.write(`Removed ${name}.\n`);
		return 0;
	},
};

export const secrets: CommandGroup = {
	name: "secrets",
	summary: "list, set and remove secrets, which workers get as variables",
	actions: [list, set, remove],
};
