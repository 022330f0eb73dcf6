/** What a command is. Running it: `run-command.ts`; its help: `help.ts`. */
import { SERVICE_FLAGS } from "./connection.ts";
import type { ServiceClient } from "./service-client.ts";

export interface Flag {
	/** Placeholder in help texts; absent for a switch. */
	value?: string;
	/** One letter. */
	short?: string;
	summary: string;
	/** Repeatable. */
	many?: true;
}

export type Flags = Readonly<Record<string, Flag>>;

/** A switch that is set has the value "true". */
export type FlagValues = Readonly<Record<string, string | undefined>>;

/** The parsed command line. */
export interface ActionInput {
	/** Undefined for an omitted optional argument. */
	args: readonly (string | undefined)[];
	flags: FlagValues;
	/** Values of repeatable flags. */
	lists: Readonly<Record<string, readonly string[]>>;
	/** Arguments after `--`. */
	rest: readonly string[];
	/** Chosen by `--url` and `--key`, a context, or `SLUICE_URL` and `SLUICE_API_KEY`. */
	service: ServiceClient;
}

/** A command, or a verb of a group. */
export interface Action {
	name: string;
	summary: string;
	/** Placeholders; optional ones in brackets, a repeatable last one with `...`. */
	args: readonly string[];
	flags: Flags;
	/** Overrides the generated one. */
	synopsis?: string;
	/** Takes a command line after `--`. */
	rest?: true;
	/** Lines that can be pasted, with what they do after two spaces and `#`. */
	examples?: readonly string[];
	/** Calls no running service. */
	local?: true;
	/** Variables that it reads, besides those of all that call a service. */
	env?: Readonly<Record<string, string>>;
	/** Returns the exit code. */
	run(input: ActionInput): Promise<number>;
}

/** Actions on one kind of object, such as `jobs list`, the default verb. */
export interface CommandGroup {
	name: string;
	summary: string;
	actions: readonly Action[];
}

export type Command = Action | CommandGroup;

/** The flags of an action: its own, and those that choose the service. */
export function flagsOf({ flags, local }: Action): Flags {
	return local ? flags : { ...flags, ...SERVICE_FLAGS };
}
