/** `sluice sessions`: sessions of the console (D31, D36). */
import type { ConsoleSession } from "../api/sessions.ts";
import type { Action, CommandGroup } from "./command.ts";
import { JSON_FLAG, printAnswer } from "./common-flags.ts";
import { CliError } from "./errors.ts";
import { path, queryOf } from "./service-client.ts";
import { shortTime, table } from "./table.ts";

const HEADINGS = ["ID", "KEY", "BY", "CLIENT", "ADDRESS", "SIGNED IN", "LAST USED", "EXPIRES"];

const list: Action = {
	name: "list",
	args: [],
	summary: "list sessions of the web console, last used first",
	flags: JSON_FLAG,
	examples: ["sluice sessions list"],
	async run(input) {
		const answer = await input.service.request("GET", "/v1/sessions");
		const { sessions } = answer.json as { sessions: ConsoleSession[] };
		return printAnswer(answer, input, () =>
			sessions.length === 0
				? "No one is signed in to the console. Print a sign-in link: sluice console\n"
				: table(HEADINGS, sessions.map(row)),
		);
	},
};

function row(session: ConsoleSession): (string | undefined)[] {
	const { id, keyName, signIn, client, address, createdAt, lastUsedAt, expiresAt } = session;
	const times = [createdAt, lastUsedAt, expiresAt].map(shortTime);
	return [id, keyName, signIn, client, address, ...times];
}

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
		const {
			args: [id],
			flags,
			service,
		} = input;
		const given = [id, flags["all"], flags["key-id"]].filter((each) => each !== undefined);
		if (given.length !== 1) throw new CliError("Usage: sluice sessions end ID, or with --all, or with --key-id ID.");
		if (id !== undefined) {
			const answer = await service.request("DELETE", path`/v1/sessions/${id}`);
			return printAnswer(answer, input, () => `Ended session ${id}.\n`);
		}
		const query = queryOf({ key: flags["key-id"] }, ["key"]);
		const answer = await service.request("DELETE", path`/v1/sessions?${query}`);
		const { ended } = answer.json as { ended: number };
		return printAnswer(answer, input, () => `Ended ${ended} ${ended === 1 ? "session" : "sessions"}.\n`);
	},
};

export const sessions: CommandGroup = {
	name: "sessions",
	summary: "list and end sessions of the web console",
	actions: [list, end],
};
