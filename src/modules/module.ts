/** A module of the kernel, with the commands that `sluice` has for it. */
import type { Command } from "../cli/framework/command.ts";
import type { Module } from "../kernel/module.ts";

/** Groups of the help text. */
export type CommandHeading = "Start" | "Run" | "Access" | "Data" | "Help";

export interface ServiceModule<Settings = unknown> extends Module<Settings> {
	readonly commands?: { heading: CommandHeading; load(): Promise<readonly Command[]> };
}
