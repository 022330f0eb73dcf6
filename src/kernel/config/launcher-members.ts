/** Members of `sluice.yaml` that belong to launchers. */
import type { FileContext } from "../launchers/definition.ts";
import { LAUNCHERS } from "../launchers/index.ts";
import type { Schema } from "../lib/schema.ts";

export function launcherMembers(): Record<string, Schema> {
	return Object.fromEntries(LAUNCHERS.flatMap(({ file }) => (file ? [[file.member, file.schema]] : [])));
}

/** What launchers have read, by type. Faults are added to `problems`. */
export function readLauncherMembers(
	file: Readonly<Record<string, unknown>>,
	context: FileContext,
	problems: string[],
): Record<string, unknown> {
	return Object.fromEntries(
		LAUNCHERS.flatMap(({ type, file: own }) => (own ? [[type, own.read(file[own.member], context, problems)]] : [])),
	);
}
