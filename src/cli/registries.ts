/** `sluice registries`: logins to registries of container images (D36, D45). */
import type { Registry } from "../api/registries.ts";
import type { Action, CommandGroup } from "./command.ts";
import { JSON_FLAG, printAnswer } from "./common-flags.ts";
import { CliError } from "./errors.ts";
import { readSecret } from "./secret-input.ts";
import { path } from "./service-client.ts";
import { shortTime, table } from "./table.ts";

const NONE =
	"No logins to registries: images are pulled without credentials. " +
	"Set one: sluice registries login registry.example.com --username ci\n";

const list: Action = {
	name: "list",
	args: [],
	summary: "list registries with a login; passwords are not shown",
	flags: JSON_FLAG,
	async run(input) {
		const answer = await input.service.request("GET", "/v1/registries");
		const { registries: all } = answer.json as { registries: Registry[] };
		const row = (each: Registry): (string | undefined)[] => [each.registry, each.username, shortTime(each.updatedAt)];
		return printAnswer(answer, input, () =>
			all.length === 0 ? NONE : table(["REGISTRY", "USER", "SET"], all.map(row)),
		);
	},
};

const login: Action = {
	name: "login",
	args: ["REGISTRY"],
	summary: "set user and password for a registry; the password is read from stdin, or asked for",
	flags: { username: { value: "NAME", short: "u", summary: "the user (required)" }, ...JSON_FLAG },
	examples: ["sluice registries login registry.example.com --username ci < password.txt"],
	async run(input) {
		const [registry = ""] = input.args;
		const { username } = input.flags;
		if (username === undefined)
			throw new CliError("Missing option --username. Usage: sluice registries login REGISTRY --username NAME");
		const password = await readSecret(`Password of ${username} at ${registry}: `);
		if (password === "") throw new CliError("The password is empty. Pass it on stdin.");
		const answer = await input.service.request("PUT", path`/v1/registries/${registry}`, { username, password });
		const { registry: name } = answer.json as Registry;
		return printAnswer(
			answer,
			input,
			() => `Stored the login of ${username} to ${name}. It is checked at the next pull.\n`,
		);
	},
};

const logout: Action = {
	name: "logout",
	args: ["REGISTRY"],
	summary: "remove the login to a registry",
	flags: JSON_FLAG,
	async run(input) {
		const [registry = ""] = input.args;
		const answer = await input.service.request("DELETE", path`/v1/registries/${registry}`);
		return printAnswer(answer, input, () => `Removed the login to ${(answer.json as Registry).registry}.\n`);
	},
};

export const registries: CommandGroup = {
	name: "registries",
	summary: "list, set and remove logins to registries of container images",
	actions: [list, login, logout],
};
