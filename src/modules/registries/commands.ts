/** `sluice registries`: logins to registries of container images (D36, D45). */
import type { Registry } from "./routes.ts";
import type { CommandGroup } from "../../cli/framework/command.ts";
import { readSecret } from "../../cli/framework/common-flags.ts";
import { CliError } from "../../cli/client/errors.ts";
import { listAction, serviceAction } from "../../cli/framework/service-action.ts";
import { shortTime } from "../../cli/framework/table.ts";

const list = listAction<Registry>({
	name: "list",
	args: [],
	summary: "list registries with a login; passwords are not shown",
	request: "GET /v1/registries",
	member: "registries",
	empty:
		"No logins to registries: images are pulled without credentials. " +
		"Set one: sluice registries login registry.example.com --username ci\n",
	columns: { REGISTRY: "registry", USER: "username", SET: ({ updatedAt }) => shortTime(updatedAt) },
});

const login = serviceAction<Registry>({
	name: "login",
	args: ["REGISTRY"],
	summary: "set user and password for a registry; the password is read from stdin, or asked for",
	flags: { username: { value: "NAME", short: "u", summary: "the user (required)" } },
	examples: ["sluice registries login registry.example.com --username ci < password.txt"],
	request: "PUT /v1/registries/{REGISTRY}",
	async body({ args: [registry], flags: { username } }) {
		if (username === undefined)
			throw new CliError("Missing option --username. Usage: sluice registries login REGISTRY --username NAME");
		const password = await readSecret(`Password of ${username} at ${registry}: `);
		if (password === "") throw new CliError("The password is empty. Pass it on stdin.");
		return { username, password };
	},
	text: ({ registry }, { flags }) =>
		`Stored the login of ${flags["username"]} to ${registry}. It is checked at the next pull.\n`,
});

const logout = serviceAction<Registry>({
	name: "logout",
	args: ["REGISTRY"],
	summary: "remove the login to a registry",
	examples: ["sluice registries logout registry.example.com"],
	request: "DELETE /v1/registries/{REGISTRY}",
	text: ({ registry }) => `Removed the login to ${registry}.\n`,
});

export const registries: CommandGroup = {
	name: "registries",
	summary: "list, set and remove logins to registries of container images",
	actions: [list, login, logout],
};
