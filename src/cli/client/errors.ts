/** Ends the command. Exit code 2 is wrong usage, 1 a failure. */
export class CliError extends Error {
	readonly exitCode: number;
	/** HTTP status of the answer that refused the call. */
	readonly status: number | undefined;
	/** Code of the error in that answer, such as `endpoint_not_found`. */
	readonly code: string | undefined;
	constructor(message: string, exitCode = 2, status?: number, code?: string) {
		super(message);
		this.exitCode = exitCode;
		this.status = status;
		this.code = code;
	}
}

export function failureReason(error: unknown): string {
	const { cause, message } = error as Error;
	return cause instanceof Error && cause.message !== "" ? cause.message : message;
}

export function noServiceAt(base: string, reason: string): string {
	return `No service answers at ${base} (${reason}).`;
}

export function noServiceError(base: string, error: unknown): CliError {
	const sentence = noServiceAt(base, failureReason(error));
	return new CliError(`${sentence} Start it with 'sluice serve', or set SLUICE_URL.`, 1);
}

export function notSluice(base: string, status: number): string {
	return `The server at ${base} is not Sluice (HTTP ${status}).`;
}

export const SET_URL = "Set SLUICE_URL to the address of the service.";

export function notSluiceError(base: string, status: number): CliError {
	return new CliError(`${notSluice(base, status)} ${SET_URL}`, 1);
}
