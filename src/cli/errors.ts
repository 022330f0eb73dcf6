/** Errors of the command line, and sentences shared by several commands. */

/** Ends the command: `message` goes to stderr. Exit code 2: wrong usage; 1: failure. */
export class CliError extends Error {
	readonly exitCode: number;
	constructor(message: string, exitCode = 2) {
		super(message);
		this.exitCode = exitCode;
	}
}

/** Why a `fetch` or socket call failed. */
export function failureReason(error: unknown): string {
	const { cause, message } = error as Error;
	return cause instanceof Error && cause.message !== "" ? cause.message : message;
}

export function noServiceAt(base: string, reason: string): string {
	return `No service answers at ${base} (${reason}).`;
}

export const START_SERVICE = "Start it with 'sluice serve', or set SLUICE_URL.";

/** Error for responses that cannot be Sluice's, such as a proxy's. */
export function notSluice(base: string, status: number): string {
	return `The server at ${base} is not Sluice (HTTP ${status}).`;
}

export const SET_URL = "Set SLUICE_URL to the address of the service.";

export function notSluiceError(base: string, status: number): CliError {
	return new CliError(`${notSluice(base, status)} ${SET_URL}`, 1);
}
