/** Lengths of time on the command line, such as `90d` and `24h`. */
import { CliError } from "./errors.ts";

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** In ms. Throws {@link CliError}. */
export function spanOf(flag: string, text: string): number {
	const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
	if (count === undefined)
		throw new CliError(`Option --${flag} must be a number and s, m, h or d, such as 24h, not '${text}'.`);
	return Number(count) * UNITS[unit as keyof typeof UNITS];
}
