import { systemClock } from "../../kernel/system/clock.ts";
import { styled } from "./style.ts";

/** Prints a line after the time of day, for commands that run until they are stopped. */
export function printTimed(line: string): void {
	const time = new Date(systemClock.wall()).toTimeString().slice(0, 8);
	process.stdout.write(`${styled("dim", time)} ${line}\n`);
}
