/**
 * Calls of the service: same origin, by the session's cookie and page token (D31). Failures are
 * shown by their sentence, code and details (D2).
 */
import { sessionHeaders } from "./page-token.ts";
import { T } from "../text/text.ts";

/** The service's address: the page's own, up to `/console/`. */
export const BASE =
	location.origin + location.pathname.slice(0, Math.max(0, location.pathname.lastIndexOf("/console"))) + "/";

/** Statuses of a service that starts or stops, or of a proxy without one. */
const OUTAGES: readonly number[] = [502, 503, 504];

/** Ms until what failed for an outage is tried again. */
export const OUTAGE_MS = 3000;

/** A refusal of the service, or no answer at all (code `offline`). */
export class Failure extends Error {
	readonly status: number;
	readonly code: string;
	readonly details: readonly Fault[];

	constructor(status: number, { error, code, details }: { error: string; code: string; details?: readonly Fault[] }) {
		super(error);
		this.status = status;
		this.code = code;
		this.details = details ?? [];
	}

	/** The service did not answer, or is starting or stopping: the same call may succeed soon. */
	get outage(): boolean {
		return this.status === 0 || OUTAGES.includes(this.status);
	}

	/** What is wrong with a field or something in it. */
	faultOf(name: string): string | undefined {
		return this.details.find(({ field }) => isIn(field, name))?.message;
	}

	/** Without the details that these fields show; without its sentence if they show all. */
	beyond(names: readonly string[]): Failure | undefined {
		const rest = this.details.filter(({ field }) => !names.some((name) => isIn(field, name)));
		if (rest.length === 0 && this.details.length > 0) return undefined;
		return new Failure(this.status, { error: this.message, code: this.code, details: rest });
	}
}

const isIn = (field: string, name: string): boolean =>
	field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`);

/** One bad field of a request. */
export interface Fault {
	field: string;
	message: string;
}

interface Ask {
	method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
	body?: unknown;
	/** The body as it is to be sent, in place of `body`. */
	text?: string;
	/** A form, in place of both. */
	form?: FormData;
	/** How many of the first bytes of the answer are asked for. */
	first?: number | undefined;
	signal?: AbortSignal | undefined;
}

let onSignedOut: () => void = () => {};

/** Says what happens when the session is over. */
export function whenSignedOut(run: () => void): void {
	onSignedOut = run;
}

/** The answer as an object. Throws `Failure`; an aborted call throws `AbortError`. */
export async function ask<A>(path: string, options: Ask = {}): Promise<A> {
	return JSON.parse(await askText(path, options)) as A;
}

/** The answer as text. */
export async function askText(path: string, options: Ask = {}): Promise<string> {
	const response = await askResponse(path, options);
	return await response.text().catch(unreachable);
}

/** The answer with its body unread, once the service has accepted the request. */
export async function askResponse(
	path: string,
	{ method = "GET", body, text = body === undefined ? undefined : JSON.stringify(body), form, first, signal }: Ask = {},
): Promise<Response> {
	const response = await fetch(BASE + path, {
		method,
		headers: {
			...sessionHeaders(),
			...(text === undefined ? {} : { "Content-Type": "application/json" }),
			...(first === undefined ? {} : { Range: `bytes=0-${first - 1}` }),
		},
		...(form ? { body: form } : text === undefined ? {} : { body: text }),
		...(signal ? { signal } : {}),
		cache: "no-store",
		redirect: "error",
	}).catch(unreachable);
	if (response.ok) return response;
	const answer = await response.text().catch(unreachable);
	if (response.status === 401 && !path.startsWith("console/session")) await checkSession();
	throw new Failure(response.status, failureOf(answer, response.status));
}

/** A connection that failed, unless the page has closed it. */
export function unreachable(error: unknown): never {
	if (error instanceof DOMException && error.name === "AbortError") throw error;
	throw new Failure(0, { error: T.offline, code: "offline" });
}

/** 401 also means "without permission" (D3): only a session that is over leads to the sign-in. */
async function checkSession(): Promise<void> {
	try {
		await askText("console/session");
	} catch (error) {
		if (error instanceof Failure && error.status === 401) onSignedOut();
	}
}

function failureOf(answer: string, status: number): { error: string; code: string; details?: Fault[] } {
	try {
		const body = JSON.parse(answer) as { error?: unknown; code?: string; details?: Fault[] };
		const openai = openaiFailure(body);
		if (openai !== undefined) return openai;
		if (typeof body.error === "string")
			return {
				error: body.error,
				code: body.code ?? String(status),
				...(body.details ? { details: body.details } : {}),
			};
	} catch {
		// Something between the page and the service answered in its stead.
	}
	return { error: T.unexpected(status), code: String(status) };
}

/** A failure in OpenAI's format: `{"error": {"message", "type", "code"}}`. */
export function openaiFailure(body: unknown): { error: string; code: string } | undefined {
	const { error } = (body ?? {}) as {
		error?: { message?: unknown; code?: unknown; type?: unknown };
	};
	if (typeof error !== "object" || typeof error?.message !== "string") return undefined;
	return {
		error: error.message,
		code: [error.code, error.type].find((each) => typeof each === "string") ?? "openai",
	};
}

/** `?name=value` of what is there. */
export function search(query: Readonly<Record<string, string | number | undefined>>): string {
	const params = new URLSearchParams();
	for (const [name, value] of Object.entries(query))
		if (value !== undefined && value !== "") params.set(name, String(value));
	return params.size > 0 ? `?${params}` : "";
}

/** The path of an endpoint's own part of `/v1`. */
export function ofEndpoint(id: string, rest = ""): string {
	return `v1/endpoints/${encodeURIComponent(id)}${rest}`;
}
