/** A module of the kernel, with the commands that `sluice` has for it. */
import type { Command } from "../cli/framework/command.ts";
import type { Finding } from "../kernel/core/finding.ts";
import type { Random } from "../kernel/lib/ids.ts";
import type { Module } from "../kernel/module.ts";
import type { Clock } from "../kernel/system/clock.ts";

/** Groups of the help text. */
export type CommandHeading = "Start" | "Run" | "Access" | "Data" | "Help";

export interface ServiceModule<Settings = unknown> extends Module<Settings> {
	readonly commands?: { heading: CommandHeading; load(): Promise<readonly Command[]> };
	/** Checks what its settings name. Findings contain no secrets. */
	doctor?(settings: Settings, q: { clock: Clock; random: Random }): Promise<Finding[]>;
}
