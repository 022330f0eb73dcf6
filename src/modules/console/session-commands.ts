/** `sluice sessions`: sessions of the console (D31, D36). */
import type { ConsoleSession } from "./routes.ts";
import type { Action, CommandGroup } from "../../cli/framework/command.ts";
import { JSON_FLAG, printAnswer } from "../../cli/framework/common-flags.ts";
import { CliError } from "../../cli/client/errors.ts";
import { listAction } from "../../cli/framework/service-action.ts";
import { path, queryOf } from "../../cli/client/service-client.ts";
import { counted, shortTime } from "../../cli/framework/table.ts";

const list = listAction<ConsoleSession>({
	name: "list",
	args: [],
	summary: "list sessions of the web console, last used first",
	request: "GET /v1/sessions",
	member: "sessions",
	empty: "No one is signed in to the console. Print a sign-in link: sluice console\n",
	columns: {
		ID: "id",
		KEY: "keyName",
		BY: "signIn",
		CLIENT: "client",
		ADDRESS: "address",
		"SIGNED IN": ({ createdAt }) => shortTime(createdAt),
		"LAST USED": ({ lastUsedAt }) => shortTime(lastUsedAt),
		EXPIRES: ({ expiresAt }) => shortTime(expiresAt),
	},
});

const end: Action = {
	name: "end",
	args: ["[ID]"],
	summary: "end a session, or all of them",
	flags: {
		all: { summary: "end all sessions" },
		"key-id": { value: "ID", summary: "end all sessions of the key with this id" },
		...JSON_FLAG,
	},
	examples: ["sluice sessions end --all"],
	async run(input) {
		const { flags, service } = input;
		const [id] = input.args;
		const given = [id, flags["all"], flags["key-id"]].filter((each) => each !== undefined);
		if (given.length !== 1) throw new CliError("Usage: sluice sessions end ID, or with --all, or with --key-id ID.");
		const query = queryOf({ key: flags["key-id"] }, ["key"]);
		const answer = await service.request(
			"DELETE",
			id === undefined ? path`/v1/sessions?${query}` : path`/v1/sessions/${id}`,
		);
		return printAnswer(answer, input, () => {
			if (id !== undefined) return `Ended session ${id}.\n`;
			const { ended } = answer.json as { ended: number };
			return `Ended ${counted(ended, "session")}.\n`;
		});
	},
};

export const sessions: CommandGroup = {
	name: "sessions",
	summary: "list and end sessions of the web console",
	actions: [list, end],
};
