import { SERVICE_FLAGS } from "../client/connection.ts";
import type { ServiceClient } from "../client/service-client.ts";

export interface Flag {
	/** Placeholder. A switch has none. */
	value?: string;
	short?: string;
	summary: string;
	many?: true;
}

export type Flags = Readonly<Record<string, Flag>>;

/** A given switch has the value "true". */
export type FlagValues = Readonly<Record<string, string | undefined>>;

export interface ActionInput {
	args: readonly (string | undefined)[];
	flags: FlagValues;
	lists: Readonly<Record<string, readonly string[]>>;
	rest: readonly string[];
	/** Chosen by `--url` and `--key`, a context, or `SLUICE_URL` and `SLUICE_API_KEY`. */
	service: ServiceClient;
}

export interface Action {
	name: string;
	summary: string;
	/** Placeholders. Brackets mark an optional one, a final `...` a repeatable one. */
	args: readonly string[];
	flags: Flags;
	synopsis?: string;
	rest?: true;
	/** Command lines, each with a comment after two spaces and `#`. */
	examples?: readonly string[];
	local?: true;
	env?: Readonly<Record<string, string>>;
	/** Exit code of all failures, where 2 has another meaning. */
	failureCode?: 1;
	run(input: ActionInput): Promise<number>;
}

/** Actions on one kind of object. The default verb is `list`. */
export interface CommandGroup {
	name: string;
	summary: string;
	actions: readonly Action[];
}

export type Command = Action | CommandGroup;

export function flagsOf({ flags, local }: Action): Flags {
	return local ? flags : { ...flags, ...SERVICE_FLAGS };
}
